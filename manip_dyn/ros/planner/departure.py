"""Where a motion that goes on gives way to another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from manip_dyn.control.continuity import MeasuredState
from manip_dyn.core.checks import Vector
from manip_dyn.planning import Segment
from manip_dyn.planning.execution.time_scaling import Pace


class DepartingMotion(Protocol):
    """The motion that goes on until then."""

    @property
    def pace(self) -> Pace:
        """How the arm follows its plan."""

    def stamp_at(self, time: float) -> int | None:
        """Return the stamp, ns, at which the arm is at a time of the plan, s; None: never."""

    def planned(self, measured: MeasuredState) -> tuple[Vector, Vector]:
        """Return the planned positions and velocities (n,) at the time of a state."""

    def segments(self, measured: MeasuredState) -> list[Segment]:
        """Return the efforts that answer a state."""


@dataclass(frozen=True, eq=False)
class Departure:
    """A place on the plan of a motion; an arm that follows that more slowly is there later.

    Attributes:
        motion: The motion.
        time: Of its plan, s.
        q: Positions (n,) of the plan then, rad or m.
        v: Its velocities (n,), per s. At another rate the arm has these at that rate, and
            follows what begins there at it.
        lead: How long before this was asked for, s.
    """

    motion: DepartingMotion
    time: float
    q: Vector
    v: Vector
    lead: float

    @property
    def moving(self) -> bool:
        """Whether the arm moves there; at rest it can wait for what begins there."""
        return bool(np.any(self.v))

    @property
    def stamp_ns(self) -> int | None:
        """When the arm is there, as it follows the plan now; None if it has left it."""
        return self.motion.stamp_at(self.time)
