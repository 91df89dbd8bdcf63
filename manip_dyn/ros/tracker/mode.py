"""What the two modes of the tracker have in common."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, NamedTuple, Protocol

from rclpy.node import Node

from manip_dyn.clik import TrackingSample
from manip_dyn.clik.control.reference import Reference
from manip_dyn.ros.pacing import PacingStatistics
from manip_dyn.ros.parameters.clik_tracker import ClikTrackerParameters


class Calls(NamedTuple):
    """What a mode calls.

    Attributes:
        begun: When the path begins, with the stamp at path time 0, ns.
        before_step: Before every step of the reference.
        told: With every new stamp, ns, and the sample that belongs to it.
        lock: Held meanwhile, where time passes in a thread of its own.
    """

    begun: Callable[[int], None]
    before_step: Callable[[], None]
    told: Callable[[int, TrackingSample], None]
    lock: RLock


class Mode(Protocol):
    """How the joints come to move.

    Attributes:
        problem: What is wrong, or nothing.
    """

    problem: str

    def __init__(
        self, node: Node, reference: Reference, parameters: ClikTrackerParameters, calls: Calls
    ):
        """Make publishers; nothing is called yet."""

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
