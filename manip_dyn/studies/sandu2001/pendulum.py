"""Errors of the stiff double pendulum, as Sandu et al. (2001), section 5.1, define them.

At every step of a run the angle and the rate of the first pendulum are compared with a reference
run of small constant steps, between whose points a cubic through the four nearest interpolates.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.integration import Jacobian, integrate
from manip_dyn.multibody import (
    Joint,
    Mechanism,
    MovingBody,
    RotationalSpring,
    simulate_mechanism,
)
from manip_dyn.robot import load_robot
from manip_dyn.studies.sandu2001.settings import Settings

DURATION, REFERENCE_STEPS = 2.0, 2_000_000
FIRST, SECOND, SPEED = 2.0 * math.pi, 23.0 * math.pi / 12.0, 10.0
"""Both pendulums' angles from the horizontal, rad, and the second's rate, rad/s."""
RUNS = {
    "joint": ("joint", "paper"),
    "joint, scaled": ("joint", "scaled"),
    "joint, our control": ("joint", "ours"),
    "cartesian": ("cartesian", "paper"),
    "cartesian, scaled": ("cartesian", "scaled"),
    "cartesian, our control": ("cartesian", "ours"),
    "joint, rodas5p": ("joint", "rodas5p"),
    "cartesian, rodas5p": ("cartesian", "rodas5p"),
}
"""Run -> coordinates and step control: eq. 13 to 16, the same with scaled estimates, or ours; the
last two have another method with our control."""


def options(kind: str, settings: Settings) -> dict[str, Any]:
    """Return the arguments of `integrate` that a run's step control is."""
    if kind == "rodas5p":
        return {"method": "rodas5p"}
    if kind == "ours":
        return {}
    return {"control": settings.control("scaled" if kind == "scaled" else "plain")}


class Run(NamedTuple):
    """A run: its steps' times (k,), s, and the first pendulum's angle and rate (k, 2)."""

    t: Vector
    states: Vector
    steps: int
    failures: int


class Errors(NamedTuple):
    """Largest and root mean square error of angle or rate; the steps.

    Attributes:
        largest: Largest error, rad or rad/s.
        at: When it was, s: t* of the paper.
        value: Of the reference there, rad or rad/s.
        mean: Root mean square error.
        steps: Steps of the run.
    """

    largest: float
    at: float
    value: float
    mean: float
    steps: int


@cache
def reference() -> Run:
    """Return the run of RK8 with steps of 1 microsecond, a tenth of the fastest time constant."""
    robot = load_robot("stiff_pendulum")
    found = integrate(
        customize(robot).right_hand_side,
        (0.0, DURATION),
        start(),
        method="rk8",
        step=DURATION / REFERENCE_STEPS,
        p=np.zeros(2),
    )
    return Run(found.t, found.y[:, [0, 2]], found.steps, 0)


def run(coordinates: str, tolerance: float, how: dict[str, Any]) -> Run:
    """Return a run in joint or Cartesian coordinates at a tolerance; `how` as from `options`."""
    how = {"method": "rosenbrock_nystrom"} | how
    if coordinates == "joint":
        robot = load_robot("stiff_pendulum")
        kernels = customize(robot)
        found = integrate(
            kernels.right_hand_side,
            (0.0, DURATION),
            start(),
            rtol=tolerance,
            atol=tolerance,
            p=np.zeros(2),
            jacobian=Jacobian(kernels.linearization, 2, mass=True),
            **how,
        )
        return Run(found.t, found.y[:, [0, 2]], found.steps, found.failures)
    motion = simulate_mechanism(cartesian_pendulum(), DURATION, rtol=tolerance, **how)
    return Run(motion.t, first_link(motion.q, motion.v), motion.steps, motion.failures)


def first_link(q: Matrix, v: Matrix) -> Matrix:
    """Return the first pendulum's angle and rate (k, 2) from all coordinates and rates (k, N)."""
    e, rate = q[:, [3, 6]], v[:, [3, 6]]
    angle = FIRST + 2.0 * np.arctan2(e[:, 1], e[:, 0])
    speed = 2.0 * (e[:, 0] * rate[:, 1] - e[:, 1] * rate[:, 0])
    return np.column_stack([angle, speed])


def errors(found: Run, exact: Run) -> tuple[Errors, Errors]:
    """Return the errors of the angle, rad, and of the rate, rad/s, as the paper defines them."""
    wanted = interpolated(exact, found.t)
    wrong = np.abs(found.states - wanted)
    worst = wrong.argmax(axis=0)
    means = np.sqrt((wrong**2).mean(axis=0))
    angle, rate = (
        Errors(
            largest=float(wrong[worst[i], i]),
            at=float(found.t[worst[i]]),
            value=float(wanted[worst[i], i]),
            mean=float(means[i]),
            steps=found.steps,
        )
        for i in range(2)
    )
    return angle, rate


def interpolated(exact: Run, t: Vector) -> Matrix:
    """Return the states (k, 2) of a run at times (k,) by cubics through four points."""
    place = np.searchsorted(exact.t, t, side="right") - 1
    first = np.clip(place - 1, 0, len(exact.t) - 4)
    times = exact.t[first[:, np.newaxis] + np.arange(4)]
    total = np.zeros((len(t), exact.states.shape[1]))
    for i in range(4):
        weight = np.ones(len(t))
        for j in range(4):
            if j != i:
                weight *= (t - times[:, j]) / (times[:, i] - times[:, j])
        total += weight[:, np.newaxis] * exact.states[first + i]
    return total


def cartesian_pendulum(
    inertias: tuple[float, float] = (1.0, 0.225), gravity: float = 9.81
) -> Mechanism:
    """Return the pendulum as bodies, joints and rotational springs, in the plane x-y.

    Args:
        inertias: Of both links about their centres of mass, kg m^2; default: slender rods.
        gravity: Along -y, m/s^2.
    """
    axis, turn = (0.0, 0.0, 1.0), (math.cos(SECOND / 2), 0.0, 0.0, math.sin(SECOND / 2))
    out = 1.5 * np.array([math.cos(SECOND), math.sin(SECOND), 0.0])
    side = SPEED * 1.5 * np.array([-math.sin(SECOND), math.cos(SECOND), 0.0])
    return Mechanism(
        [
            MovingBody("first", 3.0, [inertias[0]] * 3, (1.0, 0.0, 0.0)),
            MovingBody(
                "second",
                0.3,
                [inertias[1]] * 3,
                out + np.array([2.0, 0.0, 0.0]),
                turn,
                side,
                (0.0, 0.0, SPEED),
            ),
        ],
        [
            Joint("revolute", ("ground", "first"), (0.0, 0.0, 0.0), axis),
            Joint("revolute", ("first", "second"), (2.0, 0.0, 0.0), axis),
        ],
        [
            RotationalSpring(("ground", "first"), axis, 400.0, 15.0, 1.5 * math.pi - FIRST),
            RotationalSpring(("first", "second"), axis, 3e5, 5e4, FIRST - SECOND),
        ],
        (0.0, -gravity, 0.0),
    )


def start() -> Vector:
    """Return the joint angles and rates (4,) at the start."""
    return np.array([FIRST, SECOND - FIRST, 0.0, SPEED])
