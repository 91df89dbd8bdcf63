"""Departures: points at which a motion changes to the next one."""

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
        """Rate and mass ratio with which the arm follows its plan."""

    def stamp_at(self, time: float) -> int | None:
        """Return the stamp, ns, at a time of the plan, s; None if it is never reached."""

    def planned(self, measured: MeasuredState) -> tuple[Vector, Vector]:
        """Return the planned positions and velocities (n,) at the time of a state."""

    def segments(self, measured: MeasuredState) -> list[Segment]:
        """Return the efforts for a measured state."""


@dataclass(frozen=True, eq=False)
class Departure:
    """A point on the plan of a motion. An arm with a lower rate reaches it later.

    Attributes:
        motion: The motion.
        time: Time of its plan, s.
        q: Positions (n,) of the plan at this time, rad or m.
        v: Velocities (n,) of the plan, per s. At another rate the arm has these times that rate,
            and follows the next motion at that rate.
        lead: Time between the request and the departure, s.
    """

    motion: DepartingMotion
    time: float
    q: Vector
    v: Vector
    lead: float

    @property
    def moving(self) -> bool:
        """Whether the arm moves at the departure; at rest it can wait for the next motion."""
        return bool(np.any(self.v))

    @property
    def stamp_ns(self) -> int | None:
        """Stamp of the departure at the current pace; None if the arm has left the plan."""
        return self.motion.stamp_at(self.time)
