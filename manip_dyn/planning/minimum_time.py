"""Exact minimum time from rest to rest, by Pontryagin's principle and without a guess.

Linear programs on a grid find nearly optimal motions from several smooth ones, Newton's method
makes extremals of them, and the fastest whose certificate holds is the plan.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import customize
from manip_dyn.errors import ManipDynError
from manip_dyn.planning.bang_bang import BangBangPlan
from manip_dyn.planning.candidates import Candidate, candidates
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector, finite_vector

STILL = 1e-6
"""Start and goal that differ by less in every joint (rad or m) are the same."""


def plan_minimum_time(robot: Robot, q0: ArrayLike, qf: ArrayLike) -> BangBangPlan:
    """Plan the fastest motion from rest at `q0` to rest at `qf` within the effort limits.

    All joints may move, also those whose start and goal are the same. Gravity, damping, springs
    and rotor inertias count. What is returned as ``solved`` meets Pontryagin's conditions (Fan
    2003, eqs. 2.22 to 2.27): `BangBangPlan.certificate` has the numbers. They are necessary
    conditions, and several motions can meet them; the search compares those that it reaches from
    different starts.

    Args:
        robot: The arm; all its efforts have limits.
        q0: Start (n,), rad or m.
        qf: Goal (n,), rad or m.

    Raises:
        ManipDynError: If an argument is bad, the arm cannot hold itself at start or goal, every
            motion that was found passes a limit of position or speed on the way, or none was
            found.
    """
    customize(robot)  # refuses what is no robot
    start, goal = _checked(robot, q0, qf)
    hold = _hold(robot, "goal", goal)
    if np.abs(goal - start).max() < STILL:
        zero, reason = np.zeros(robot.n), "start and goal are the same"
        return BangBangPlan(robot, start, goal, None, hold, "at_goal", reason, None, zero, 0.0)
    found = candidates(robot, start, goal)
    best = _best(robot, found)
    return _plan(robot, start, goal, hold, best, _faster(found, best))


def _checked(robot: Robot, q0: ArrayLike, qf: ArrayLike) -> tuple[Vector, Vector]:
    start, goal = finite_vector("start", q0, robot.n), finite_vector("goal", qf, robot.n)
    robot.check_within_limits("start", start)
    robot.check_within_limits("goal", goal)
    for joint, limit in zip(robot.joint_names, robot.tau_max, strict=True):
        if not 0.0 < limit < np.inf:
            raise ManipDynError(
                f"joint '{joint}' has the effort limit {limit:g}; bang-bang control expects a "
                "finite one above 0"
            )
    _hold(robot, "start", start)
    return start, goal


def _hold(robot: Robot, name: str, q: Vector) -> Vector:
    """Return the efforts (n,) that hold the arm at rest, if it has them."""
    zero = np.zeros(robot.n)
    hold = customize(robot).unchecked.inverse_dynamics(q, zero, zero)
    for i in np.flatnonzero(np.abs(hold) >= robot.tau_max):
        raise ManipDynError(
            f"joint '{robot.joint_names[i]}' needs the effort {hold[i]:.4g} to be held at its "
            f"{name}; its limit is {robot.tau_max[i]:.4g}"
        )
    return hold


def _best(robot: Robot, found: list[Candidate]) -> Candidate:
    """Return the fastest certified motion, or the fastest that arrives."""
    allowed = [each for each in found if not each.passed]
    if not found:
        raise ManipDynError(
            f"no minimum-time motion of robot '{robot.name}' was found between start and goal: "
            "no search converged"
        )
    if not allowed:
        first = min(found, key=lambda each: each.extremal.switching.t_final)
        raise ManipDynError(f"every minimum-time motion found passes a limit: {first.passed}")
    return min(
        allowed,
        key=lambda each: (not each.certificate.holds, each.extremal.switching.t_final),
    )


def _faster(found: list[Candidate], best: Candidate) -> str:
    """Return what is to be told about a faster motion that is not the plan, or nothing."""
    quickest = min(found, key=lambda each: each.extremal.switching.t_final)
    t_final = quickest.extremal.switching.t_final
    if t_final >= best.extremal.switching.t_final * (1.0 - 1e-9):
        return ""
    why = quickest.passed or "; ".join(quickest.certificate.failures)
    return f"; a faster motion, {t_final:.6g} s, is not the plan: {why}"


def _plan(
    robot: Robot, start: Vector, goal: Vector, hold: Vector, best: Candidate, faster: str
) -> BangBangPlan:
    proof, n, kernels = best.certificate, robot.n, customize(robot).unchecked
    status, reason = "solved", "the certificate holds"
    if not proof.holds:
        status, reason = "uncertified", f"it arrives, but {'; '.join(proof.failures)}"
    energies = [kernels.energy(x[:n], x[n : 2 * n])[0] for x in best.along.states]
    q, v = best.along.states[-1, :n], best.along.states[-1, n : 2 * n]
    net_work = 0.5 * v * (kernels.mass_matrix(q) @ v)
    return BangBangPlan(
        robot,
        start,
        goal,
        best.extremal.switching,
        hold,
        status,
        reason + faster,
        proof,
        net_work,
        float(max(energies)),
    )
