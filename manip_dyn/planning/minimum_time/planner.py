"""Minimum-time planning without a guess: exact for up to three joints, on grids for more.

Linear programs on a grid find nearly optimal motions from several smooth ones. Newton's method
computes extremals from them, and the fastest certified extremal is the plan. The plan is a motion
refined on grids (`planning.transcription`) for more joints, for moving starts and goals, and if no
extremal is certified.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector, distinct_digits, finite_vector, not_negative
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.endpoints import (
    check_effort_limits,
    check_speed_limits,
    check_without_friction,
    checked_postures,
    holding_effort,
)
from manip_dyn.planning.minimum_time.extremals.candidate import (
    Candidate,
    alternatives_note,
    best_of,
    is_beaten,
)
from manip_dyn.planning.minimum_time.extremals.extremal_motion import ExtremalMotion
from manip_dyn.planning.minimum_time.search.extremal_search import ExtremalSearch
from manip_dyn.planning.plan import Plan
from manip_dyn.planning.transcription.planner import (
    converged_plan,
    stopping_obstacle,
    straight_plan,
)
from manip_dyn.planning.transcription.spline import Ends
from manip_dyn.robot import Robot

METHOD = "minimum_time"
EXACT = 3
"""Maximum number of joints for exact motions."""
CLOSE = 1.001
"""Maximum ratio of durations at which a motion refined on grids replaces an uncertified one."""
STILL = 1e-6
"""Joint distance between start and goal (rad or m) below which both are equal."""


def plan_minimum_time(
    robot: Robot,
    q0: ArrayLike,
    qf: ArrayLike,
    exhaustive: float = 0.0,
    *,
    v0: ArrayLike | None = None,
    vf: ArrayLike | None = None,
) -> Plan:
    """Plan the fastest motion from `q0` to `qf` within the effort limits.

    All joints may move, including those with equal start and goal. The model includes gravity,
    damping, springs and rotor inertias.

    For up to three joints from rest to rest, a plan with status ``solved`` satisfies Pontryagin's
    conditions (Fan 2003, eqs. 2.22 to 2.27), with residuals in `Plan.certificate`. These
    conditions are necessary, and several motions can satisfy them. The search compares the motions
    that it reaches from different initial guesses; `Plan.certificate.searched` contains their
    numbers. None of them, including those on grids, is faster than a ``solved`` plan.

    A plan with status ``converged`` was refined on grids of up to 2048 cells. Its certificate, a
    `Convergence`, bounds how much faster nearby motions can be.

    Args:
        robot: The arm; all efforts must have limits.
        q0: Start positions (n,), rad or m.
        qf: Goal positions (n,), rad or m.
        exhaustive: Additional time for random detours, s.
        v0: Start velocities (n,), rad/s or m/s. Default: at rest.
        vf: Goal velocities (n,). Default: at rest.

    Returns:
        The plan; `Plan.status` contains its kind.

    Raises:
        ManipDynError: If an argument is invalid, the arm cannot hold itself at start or goal or
            cannot stop in time from their velocities, no motion exists within the limits, or
            joints have dry friction.
    """
    customize(robot)  # raises if `robot` is not a Robot
    exhaustive = not_negative("exhaustive", exhaustive, "s")
    start, goal = checked_postures(robot, q0, qf)
    check_without_friction(robot, "a minimum-time plan")
    speeds = [_velocities(robot, *row) for row in (("start", v0), ("goal", vf))]
    check_effort_limits(robot, range(robot.n))
    check_speed_limits(robot, range(robot.n))
    holding_effort(robot, "start", start, strictly=True)
    hold = holding_effort(robot, "goal", goal, strictly=True)
    ends = Ends(start, speeds[0], goal, speeds[1])
    if not ends.moving and np.abs(goal - start).max() < STILL:
        return Plan.standing(robot, start, goal, hold, METHOD, "at_goal")
    if ends.moving or robot.n > EXACT:
        return _on_grids(robot, ends, hold, exhaustive)
    if robot.n == EXACT:
        return _exact_near(robot, ends, hold, _on_grids(robot, ends, hold, exhaustive))
    refined = cache(partial(_refined, robot, ends, hold, exhaustive))
    try:
        plan = _exact(robot, ends, hold, exhaustive, refined)
    except ManipDynError:
        fallback = refined()
        if fallback is None or not fallback.success:
            raise
        return fallback
    if plan.success:
        return plan
    fallback = refined()
    if fallback is None or not fallback.success or fallback.t_final > CLOSE * plan.t_final:
        return plan
    return fallback


def _velocities(robot: Robot, end: str, velocities: ArrayLike | None) -> Vector:
    """Return the velocities (n,) at start or goal; raise if they exceed the speed limits."""
    if velocities is None:
        return np.zeros(robot.n)
    speeds = finite_vector(f"velocity of the {end}", velocities, robot.n)
    for i in np.flatnonzero(np.abs(speeds) > robot.v_max).tolist():
        speed, most = distinct_digits(speeds[i], robot.v_max[i], digits=4)
        raise ManipDynError(
            f"joint '{robot.joint_names[i]}' moves at {speed} {robot.unit(i)}/s at the "
            f"{end}; its limit is {most}."
        )
    return speeds


def _refined(robot: Robot, ends: Ends, hold: Vector, exhaustive: float) -> Plan | None:
    straight = straight_plan(robot, ends)
    return converged_plan(robot, ends, hold, METHOD, exhaustive, straight)


def _on_grids(robot: Robot, ends: Ends, hold: Vector, exhaustive: float) -> Plan:
    """Return a plan refined on grids, or raise an error with the reason."""
    stopped = stopping_obstacle(robot, ends.qf, ends.vf) if np.any(ends.vf) else ""
    if stopped:
        raise ManipDynError(
            f"the arm cannot be stopped in time beyond the goal: {stopped}. Use a slower arrival "
            "or a goal farther from the limits."
        )
    plan = _refined(robot, ends, hold, exhaustive)
    if plan is not None:
        return plan
    stopped = stopping_obstacle(robot, ends.q0, ends.v0) if np.any(ends.v0) else ""
    if stopped:
        raise ManipDynError(
            f"the arm cannot be stopped in time from the start: {stopped}. Use a slower start or "
            "one farther from the limits."
        )
    arrive = stopping_obstacle(robot, ends.qf, -ends.vf) if np.any(ends.vf) else ""
    raise ManipDynError(
        f"the goal cannot be reached at its velocities: before it {arrive}."
        if arrive
        else "no motion within the limits was found, neither straight nor by detours. "
        "exhaustive=10.0 tries more of them."
    )


def _exact_near(robot: Robot, ends: Ends, hold: Vector, refined: Plan) -> Plan:
    """Return the extremal near a motion refined on grids if it is certified, else the motion."""
    search = ExtremalSearch(robot, ends.q0, ends.qf)
    candidates = search.nearest()
    if not candidates or not candidates[0].holds or candidates[0].t_final > refined.t_final:
        return refined
    proof = replace(candidates[0].certificate, searched=search.summary(candidates))
    best = candidates[0]._replace(certificate=proof)
    return _plan(robot, ends.q0, ends.qf, hold, best, np.inf, "")


def _exact(
    robot: Robot,
    ends: Ends,
    hold: Vector,
    exhaustive: float,
    refined: Callable[[], Plan | None],
) -> Plan:
    """Return the plan of the best extremal."""
    start, goal = ends.q0, ends.qf
    search = ExtremalSearch(robot, start, goal, exhaustive)
    candidates = search.candidates(refined)
    best = best_of(robot, candidates, search.on_grid)
    proof = replace(best.certificate, searched=search.summary(candidates))
    note = alternatives_note(candidates, best, search.on_grid)
    beaten = search.on_grid if is_beaten(best, search.on_grid) else np.inf
    return _plan(robot, start, goal, hold, best._replace(certificate=proof), beaten, note)


def _plan(
    robot: Robot,
    start: Vector,
    goal: Vector,
    hold: Vector,
    best: Candidate,
    on_grid: float,
    note: str,
) -> Plan:
    proof, motion = best.certificate, ExtremalMotion(robot, start, best.extremal)
    status, reason = "solved", "the certificate holds"
    if not proof.holds:
        status, reason = "uncertified", f"it arrives, but {'; '.join(proof.failures)}"
    elif on_grid < np.inf:
        status = "uncertified"
        reason = f"it arrives, but a grid has a faster motion, {on_grid:.6g} s"
    return Plan(
        robot,
        start,
        goal,
        best.t_final,
        best.extremal.switching.per_joint(),
        [best.t_final] * robot.n,
        motion,
        hold,
        METHOD,
        status,
        reason + note,
        certificate=proof,
        extremal=motion,
    )
