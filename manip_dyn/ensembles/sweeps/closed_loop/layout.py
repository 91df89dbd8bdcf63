"""What the compiled loop takes, from robots, conditions and what an executor follows."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from manip_dyn.codegen.kernel_addresses import addresses
from manip_dyn.core.checks import Matrix, finite_vector
from manip_dyn.ensembles.sweeps.closed_loop.compiled.arm import Arm, Kernels, Scratch
from manip_dyn.ensembles.sweeps.closed_loop.compiled.law import Law
from manip_dyn.ensembles.sweeps.closed_loop.compiled.switching import Switched
from manip_dyn.ensembles.sweeps.closed_loop.compiled.tracking import Followed
from manip_dyn.ensembles.sweeps.closed_loop.conditions import Conditions
from manip_dyn.planning import Tuning
from manip_dyn.planning.execution.braking import BrakingCurve
from manip_dyn.planning.execution.executor import Tracking
from manip_dyn.planning.execution.online_switching import OnlineSwitching
from manip_dyn.planning.execution.sampled_motion import SampledMotion
from manip_dyn.robot import Robot

CURVE = 1000
"""Cells of a braking curve; between them it is cubic, which is exact for constant efforts."""


@lru_cache(maxsize=64)
def kernels_of(robot: Robot) -> Kernels:
    """Return the addresses of a robot's kernels; compiled at need."""
    return Kernels(*addresses(robot, *Kernels._fields))


def arm_of(robot: Robot, about: Conditions) -> Arm:
    """Return the arm that is really there."""
    given, n = about.disturbance, robot.n
    push = np.full(n, given) if np.ndim(given) == 0 else given
    payload = np.zeros(10)
    payload[0] = about.payload / about.mass_scale
    return Arm(
        mass_scale=float(about.mass_scale),
        payload=payload,
        wrench=np.zeros(6),
        damping=np.array(robot.damping),
        stiffness=np.array(robot.stiffness),
        rest=np.array(robot.rest),
        armature=np.array(robot.armature),
        push=finite_vector("disturbance", push, n),
        push_begin=float(about.disturbance_start),
        push_end=float(about.disturbance_start + about.disturbance_duration),
        step=float(about.step),
    )


def scratch_of(n: int) -> Scratch:
    """Return memory for an arm of n joints."""
    return Scratch(
        **{name: np.zeros(n) for name in ("q", "v", "zero", "bias", "pivots", "tau")},
        mass=np.zeros((n, n)),
        place=np.zeros(2 * n),
        rates=np.zeros((4, 2 * n)),
    )


def law_of(robot: Robot, tuning: Tuning) -> Law:
    """Return the feedback, with an integral of zero."""
    n = robot.n
    arrays = ("sum", "wanted", "asked", "there", "zero", "lack", "pivots")
    return Law(
        stiffness=float(tuning.stiffness),
        damping=float(tuning.damping),
        integral=float(tuning.integral),
        tolerance=float(tuning.tolerance),
        limit=np.array(robot.tau_max),
        saturated=np.zeros(1),
        mass=np.zeros((n, n)),
        part=np.zeros((n, n)),
        **{name: np.zeros(n) for name in arrays},
    )


def nothing_to_follow(n: int) -> Tracking:
    """Return what stands for a reference while a joint is switched."""
    standing = SampledMotion.standing(np.zeros(n), np.zeros(n))
    return Tracking(standing, 0.0, np.zeros(n), 0.0, False, None, np.zeros(n), False, None)


def followed(tracking: Tracking, returns: int, n: int) -> Followed:
    """Return the reference of an executor that has needed so many other motions."""
    heard = np.nan if tracking.heard is None else tracking.heard
    reference = tracking.reference._asdict()
    return Followed(
        **{name: np.array(value, dtype=np.float64) for name, value in reference.items()},
        goal=np.array(tracking.goal),
        begin=float(tracking.begin),
        off_plan=float(tracking.off_plan),
        stopping=bool(tracking.stopping),
        integrates=returns > 0,
        heard=np.array([heard, np.nan]),
        q_ref=np.zeros(n),
        v_ref=np.zeros(n),
        correction=np.zeros(n),
    )


def switched(switching: OnlineSwitching, tracking: Tracking) -> Switched:
    """Return the joint that is switched, with its braking curve."""
    curve, (rows, spacing) = switching.curve, _rows(switching.curve)
    n = len(tracking.goal)
    return nothing_to_switch(n)._replace(
        joint=int(switching.joint),
        sign=float(curve.sign),
        drive=float(curve.drive),
        inertia=float(curve.motion.inertia),
        damping=float(curve.motion.damping),
        off_plan=float(tracking.off_plan),
        goal=np.array(tracking.goal),
        posture=np.array(tracking.goal),
        curve=rows,
        spacing=spacing,
    )


@lru_cache(maxsize=8)
def _rows(curve: BrakingCurve) -> tuple[Matrix, float]:
    """Return a curve as `Switched` has it."""
    times = np.linspace(0.0, curve.duration, CURVE + 1)
    states = [curve.state(t) for t in times]
    rows = [(q, v, curve.motion.acceleration(q, v, curve.brake)) for q, v in states]
    return np.array(rows), float(times[1])


def nothing_to_switch(n: int) -> Switched:
    """Return what stands for a joint that is switched where none is."""
    numbers: dict[str, Any] = dict.fromkeys(Switched._fields, 0.0)
    numbers |= {name: np.zeros(n) for name in ("goal", "posture", "load", "q", "v", "bias")}
    numbers |= {"joint": 0, "curve": np.zeros((1, 3)), "mass": np.zeros((n, n))}
    return Switched(**numbers)
