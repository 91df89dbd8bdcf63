"""Departures: points of a motion at which the next motion begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from manip_dyn.control.continuity import MeasuredState
from manip_dyn.core.checks import Vector
from manip_dyn.planning import Segment
from manip_dyn.planning.execution.time_scaling import Pace


class DepartingMotion(Protocol):
    """The motion before a departure."""

    @property
    def pace(self) -> Pace:
        """Time rate and mass ratio at which the arm follows its plan."""

    def stamp_at(self, time: float) -> int | None:
        """Return the stamp (ns) of a plan time (s), or None if the arm has left the plan."""

    def planned(self, measured: MeasuredState) -> tuple[Vector, Vector]:
        """Return the planned positions and velocities (n,) at the time of a state."""

    def segments(self, measured: MeasuredState) -> list[Segment]:
        """Return the efforts for a measured state."""


@dataclass(frozen=True, eq=False)
class Departure:
    """A point on the plan of a motion. An arm that executes the plan more slowly reaches it later.

    Attributes:
        motion: The motion.
        time: Time on its plan, s.
        q: Positions (n,) of the plan at this time, rad or m.
        v: Velocities (n,) of the plan at this time, rad/s or m/s. An arm that follows the plan
            at another time rate has `v` times this rate, also at the start of the next motion.
        lead: Requested time from the goal to the departure, s.
    """

    motion: DepartingMotion
    time: float
    q: Vector
    v: Vector
    lead: float

    @property
    def moving(self) -> bool:
        """Whether the arm moves at the departure. An arm at rest can wait for the next motion."""
        return bool(np.any(self.v))

    @property
    def stamp_ns(self) -> int | None:
        """Stamp of the departure at the current pace, ns; None if the arm has left the plan."""
        return self.motion.stamp_at(self.time)
