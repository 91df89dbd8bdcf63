"""Projection of an arm's state onto the path of a motion that the arm lags behind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.planning.execution.sampled_motion import SampledMotion
from manip_dyn.robot import Robot


class PathProjection(NamedTuple):
    """Projection of a state onto the path of a motion.

    Attributes:
        time: Time of the nearest point of the motion, s.
        rate: Speed of the arm along the path at that point, relative to the motion.
        off: Largest distance of a joint from that point, rad or m.
        q: Positions (n,) of the motion at that point.
        v: Velocities (n,) of the motion at that point.
        speeds_up: Whether the kinetic energy of the motion increases at that point.
    """

    time: float
    rate: float
    off: float
    q: Vector
    v: Vector
    speeds_up: bool


def project_on_path(
    robot: Robot, motion: SampledMotion, t: float, q: Vector, v: Vector
) -> PathProjection | None:
    """Project a state (q, v) onto the part of a motion's path before time `t`, s.

    The metric is the kinetic energy. The result is None if the arm does not lag behind, or if the
    motion is at rest at the nearest point.
    """
    mass = customize(robot).unchecked.mass_matrix(q)
    last = min(int(np.searchsorted(motion.times, t, side="right")), len(motion.times) - 1)
    away = motion.q[: last + 1] - q
    distance = np.einsum("ki,ij,kj->k", away, mass, away)[::-1]
    farther = np.flatnonzero(np.diff(distance) > 0.0)
    nearest = last - (int(farther[0]) if farther.size else last)
    along = mass @ motion.v[nearest]
    energy = float(motion.v[nearest] @ along)
    if nearest == 0 or energy <= 0.0:
        return None
    time = float(motion.times[nearest]) - float(away[nearest] @ along) / energy
    if not 0.0 < time < t:
        return None
    there, speed = motion.state(time)
    along = mass @ speed
    before, after = motion.v[nearest - 1], motion.v[min(nearest + 1, last)]
    return PathProjection(
        time,
        float(v @ along) / float(speed @ along),
        float(np.abs(there - q).max()),
        there,
        speed,
        float((after - before) @ along) > 0.0,
    )
