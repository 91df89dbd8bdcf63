"""What the two modes of the tracker have in common."""

from __future__ import annotations

from typing import Any, Protocol

from rclpy.node import Node

from manip_dyn.clik.joint_reference import JointReference
from manip_dyn.core.checks import Vector
from manip_dyn.ros.parameters.clik_tracker import ClikTrackerParameters
from manip_dyn.ros.runtime.pacing import PacingStatistics
from manip_dyn.ros.tracker.calls import Calls
from manip_dyn.ros.tracker.states import Facts


class Mode(Protocol):
    """How the joints come to move."""

    def __init__(
        self,
        node: Node,
        reference: JointReference,
        parameters: ClikTrackerParameters,
        calls: Calls,
    ):
        """Make publishers; nothing is called yet."""

    @property
    def positions(self) -> Vector:
        """Where the joints are (n,)."""

    def early(self) -> str:
        """Return why no target can be taken yet, as "before ...", or nothing."""

    def facts(self) -> Facts:
        """Return what is known of the arm now."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """End what runs beside the node."""

    def restart(self) -> str:
        """Begin the path anew; say from where."""

    def pause(self, paused: bool) -> None:
        """Stand still, or go on."""

    def use(self, parameters: ClikTrackerParameters) -> None:
        """Go on by other parameters."""

    def statistics(self) -> PacingStatistics:
        """Return rate and period errors."""

    def report(self) -> dict[str, Any]:
        """Return named values for /diagnostics."""
