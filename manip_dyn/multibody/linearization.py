"""The linear motion about the start of a mechanism."""

from __future__ import annotations

from manip_dyn.multibody.equations.linear_motion import Linearization, linear_motion
from manip_dyn.multibody.model.mechanism import Mechanism
from manip_dyn.multibody.model.prepared import prepared

__all__ = ["Linearization", "linearize"]


def linearize(mechanism: Mechanism, t: float = 0.0) -> Linearization:
    """Return J1, J2 and the rest at the mechanism's start; Sandu et al. (2001), eq. 26."""
    memory, y = prepared(mechanism, mechanism.q0, mechanism.v0, mechanism.partition)
    return linear_motion(memory, y, t)
