"""Errors of the stiff double pendulum, as Sandu et al. (2001), section 5.1, define them.

At every step of a run the angle and the rate of the first pendulum are compared with a reference
run of small constant steps, between whose points a cubic through the four nearest interpolates.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.integrate import Jacobian, StepControl, integrate
from manip_dyn.multibody import (
    Joint,
    Mechanism,
    MovingBody,
    RotationalSpring,
    simulate_mechanism,
)
from manip_dyn.robot import load_robot
from manip_dyn.validate import Vector

DURATION, REFERENCE_STEPS = 2.0, 2_000_000
FIRST, SECOND, SPEED = 2.0 * math.pi, 23.0 * math.pi / 12.0, 10.0
"""Both pendulums' angles from the horizontal, rad, and the second's rate, rad/s."""
PAPER = {"control": StepControl("paper", "rms")}
"""Eq. 13 to 16; facmin 0.1, facmax 5 and fac 0.9 are not printed."""
SCALED = {"control": StepControl("paper", "rms", estimate="scaled")}
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "joint": ("joint", PAPER),
    "joint, scaled": ("joint", SCALED),
    "joint, our control": ("joint", {}),
    "cartesian": ("cartesian", PAPER),
    "cartesian, scaled": ("cartesian", SCALED),
    "cartesian, our control": ("cartesian", {}),
    "joint, rodas5p": ("joint", {"method": "rodas5p"}),
    "cartesian, rodas5p": ("cartesian", {"method": "rodas5p"}),
}
"""Run -> coordinates, and more arguments of `integrate`; the last two have another method."""


class Run(NamedTuple):
    """A run: its steps' times (k,), s, and the first pendulum's angle and rate (k, 2)."""

    t: Vector
    states: Vector
    steps: int
    failures: int


class Errors(NamedTuple):
    """Largest and root mean square error of angle or rate, when the largest was, and the steps."""

    largest: float
    at: float
    mean: float
    steps: int


def reference() -> Run:
    """Return the run of RK8 with steps of 1 microsecond, a tenth of the fastest time constant."""
    robot = load_robot("stiff_pendulum")
    found = integrate(
        customize(robot).right_hand_side, (0.0, DURATION), _start(), method="rk8",
        step=DURATION / REFERENCE_STEPS, p=np.zeros(2),
    )  # fmt: skip
    return Run(found.t, found.y[:, [0, 2]], found.steps, 0)


def run(coordinates: str, tolerance: float, options: dict[str, Any]) -> Run:
    """Return a run in joint or Cartesian coordinates at a tolerance."""
    options = {"method": "rosenbrock_nystrom"} | options
    if coordinates == "joint":
        robot = load_robot("stiff_pendulum")
        kernels = customize(robot)
        found = integrate(
            kernels.right_hand_side, (0.0, DURATION), _start(),
            rtol=tolerance, atol=tolerance, p=np.zeros(2),
            jacobian=Jacobian(kernels.linearization, 2, mass=True), **options,
        )  # fmt: skip
        return Run(found.t, found.y[:, [0, 2]], found.steps, found.failures)
    motion = simulate_mechanism(cartesian_pendulum(), DURATION, rtol=tolerance, **options)
    e, rate = motion.q[:, [3, 6]], motion.v[:, [3, 6]]
    angle = FIRST + 2.0 * np.arctan2(e[:, 1], e[:, 0])
    speed = 2.0 * (e[:, 0] * rate[:, 1] - e[:, 1] * rate[:, 0])
    return Run(motion.t, np.column_stack([angle, speed]), motion.steps, motion.failures)


def errors(found: Run, exact: Run) -> tuple[Errors, Errors]:
    """Return the errors of the angle, rad, and of the rate, rad/s, as the paper defines them."""
    wrong = np.abs(found.states - interpolated(exact, found.t))
    worst = wrong.argmax(axis=0)
    means = np.sqrt((wrong**2).mean(axis=0))
    angle, rate = (
        Errors(float(wrong[worst[i], i]), float(found.t[worst[i]]), float(means[i]), found.steps)
        for i in range(2)
    )
    return angle, rate


def interpolated(exact: Run, t: Vector) -> Vector:
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


def cartesian_pendulum() -> Mechanism:
    """Return the pendulum as bodies, joints and rotational springs, in the plane x-y."""
    axis, turn = (0.0, 0.0, 1.0), (math.cos(SECOND / 2), 0.0, 0.0, math.sin(SECOND / 2))
    out = 1.5 * np.array([math.cos(SECOND), math.sin(SECOND), 0.0])
    side = SPEED * 1.5 * np.array([-math.sin(SECOND), math.cos(SECOND), 0.0])
    return Mechanism(
        [
            MovingBody("first", 3.0, (0.01, 1.0, 1.0), (1.0, 0.0, 0.0)),
            MovingBody("second", 0.3, (0.001, 0.225, 0.225), out + np.array([2.0, 0.0, 0.0]),
                       turn, side, (0.0, 0.0, SPEED)),
        ],
        [
            Joint("revolute", ("ground", "first"), (0.0, 0.0, 0.0), axis),
            Joint("revolute", ("first", "second"), (2.0, 0.0, 0.0), axis),
        ],
        [
            RotationalSpring(("ground", "first"), axis, 400.0, 15.0, 1.5 * math.pi - FIRST),
            RotationalSpring(("first", "second"), axis, 3e5, 5e4, FIRST - SECOND),
        ],
        (0.0, -9.81, 0.0),
    )  # fmt: skip


def _start() -> Vector:
    return np.array([FIRST, SECOND - FIRST, 0.0, SPEED])
