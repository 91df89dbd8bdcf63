"""Minimum-time planning without a guess: exact for up to three joints, on grids for more.

Interior-point methods find locally fastest motions on grids. The structure of a motion on a grid
is the initial guess for an extremal, which Newton's method computes to rounding. The plan is the
fastest certified extremal, or the fastest motion refined on grids.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector, distinct_digits, finite_vector, not_negative
from manip_dyn.core.deprecation import warn_deprecated
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.certificate import Certificate, Convergence
from manip_dyn.planning.endpoints import (
    check_effort_limits,
    check_speed_limits,
    check_without_friction,
    checked_postures,
    holding_effort,
)
from manip_dyn.planning.minimum_time.budget import UNLIMITED, Budget, Progress
from manip_dyn.planning.minimum_time.convergence import convergence
from manip_dyn.planning.minimum_time.extremals import ExtremalMotion
from manip_dyn.planning.minimum_time.nodes import efforts_at, inverse_kernels_of
from manip_dyn.planning.minimum_time.search import EQUAL, EXACT, Basin, MotionSearch
from manip_dyn.planning.minimum_time.splines import CELLS, Ends, SplineMotion, spline_of_plan
from manip_dyn.planning.plan import Plan
from manip_dyn.robot import Robot

METHOD = "minimum_time"
STILL = 1e-6
"""Joint distance between start and goal (rad or m) below which both are equal, and joint velocity
(rad/s or m/s) below which the arm is at rest."""
DEFAULT_BUDGETS = 1.0, 3.0
"""Default budgets, s: for up to two joints, and for more."""


def plan_minimum_time(
    robot: Robot,
    q0: ArrayLike,
    qf: ArrayLike,
    exhaustive: float | None = None,
    *,
    v0: ArrayLike | None = None,
    vf: ArrayLike | None = None,
    budget: float | Literal["default"] | None = "default",
    progress: Callable[[Progress], object] | None = None,
) -> Plan:
    """Plan the fastest motion of an arm within its limits of effort, speed and position.

    All joints may move, including those with equal start and goal. The model includes gravity,
    damping, springs and rotor inertias.

    For up to three joints from rest to rest, a plan with status ``solved`` satisfies Pontryagin's
    conditions (Fan 2003, eqs. 2.22 to 2.27), with residuals in `Plan.certificate`. These
    conditions are necessary, and several motions can satisfy them. The search compares the motions
    that it reaches from different initial guesses; `Plan.certificate.searched` reports how many
    guesses, motions and extremals were compared. No extremal and no refined motion among them is
    faster than a ``solved`` plan.

    A plan with status ``converged`` was refined on grids of up to 2048 cells. Its certificate, a
    `Convergence`, estimates how much faster nearby motions can be. An ``uncertified`` plan reaches
    the goal, but `Plan.reason` names conditions or limits that it violates, or states that only a
    motion along the straight joint path was found. If start and goal are equal and at rest, the
    status is ``at_goal`` and `Plan.certificate` is None.

    The planner first computes a converged motion, then certificates and other motions. When the
    budget is spent, it returns the best motion so far, and `Plan.reason` names the unfinished
    steps. A larger budget does not change the result of a search that was completed.

    Args:
        robot: The arm; all efforts must have limits.
        q0: Start positions (n,), rad or m.
        qf: Goal positions (n,), rad or m.
        exhaustive: Deprecated: additional budget, s.
        v0: Start velocities (n,), rad/s or m/s. Default: at rest. If all are below 1e-6, the arm
            is at rest.
        vf: Goal velocities (n,), as `v0`.
        budget: CPU time (s) for planning, without compiling, or None to complete the search.
            Default: 1 s for up to two joints, 3 s for more.
        progress: Function that is called with a `Progress` after each improvement.

    Returns:
        The plan, with the status ``solved``, ``converged``, ``uncertified`` or ``at_goal``.

    Raises:
        ManipDynError: If an argument is invalid, the arm cannot hold its weight at the start or
            the goal, the arm cannot stop from `v0` or `vf` before it reaches a limit, no motion
            within the limits is found, or joints have dry friction.
    """
    customize(robot)  # raises if `robot` is not a Robot
    if progress is not None and not callable(progress):
        raise ManipDynError(f"progress must be a function, got {progress!r}.")
    seconds = _seconds(robot, budget, exhaustive)
    start, goal = checked_postures(robot, q0, qf)
    check_without_friction(robot, "a minimum-time plan")
    speeds = [_velocities(robot, *row) for row in (("start", v0), ("goal", vf))]
    check_effort_limits(robot, range(robot.n))
    check_speed_limits(robot, range(robot.n))
    holding_effort(robot, "start", start, strictly=True)
    hold = holding_effort(robot, "goal", goal, strictly=True)
    ends = Ends(start, speeds[0], goal, speeds[1])
    if not ends.moving and np.abs(goal - start).max() < STILL:
        return Plan.standing(robot, start, goal, hold, METHOD)
    obstacle = _stopping_obstacle(robot, goal, ends.vf) if np.any(ends.vf) else ""
    if obstacle:
        raise ManipDynError(
            f"the arm cannot be stopped in time beyond the goal: {obstacle}. Use a slower arrival "
            "or a goal farther from the limits."
        )
    return _searched(robot, ends, hold, Budget(seconds, progress))


def _seconds(
    robot: Robot, budget: float | Literal["default"] | None, exhaustive: float | None
) -> float | None:
    """Return the budget, s, or None without a limit."""
    if isinstance(budget, str):
        if budget != "default":
            raise ManipDynError(f"budget must be a time in s, None or 'default', got {budget!r}.")
        seconds = DEFAULT_BUDGETS[robot.n > 2]
    elif budget is None:
        return None
    else:
        seconds = not_negative("budget", budget, "s")
    if exhaustive is not None:
        seconds += not_negative("exhaustive", exhaustive, "s")
        warn_deprecated("plan_minimum_time(exhaustive=...)", "budget=...", stacklevel=4)
    return seconds


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
    return speeds if np.any(np.abs(speeds) >= STILL) else np.zeros(robot.n)


def _searched(robot: Robot, ends: Ends, hold: Vector, budget: Budget) -> Plan:
    """Return the best plan of a search, or raise an error with the reason."""
    search = MotionSearch(robot, ends, budget)
    straight = None if robot.n <= EXACT else straight_plan(robot, ends, budget)
    search.run(None if straight is None else spline_of_plan(ends, straight, CELLS[0]))
    best = search.best
    if best is None or best.extremal is None:
        straight = straight or straight_plan(robot, ends, budget)
    if best is None:
        if straight is None:
            raise _no_motion(robot, ends, budget)
        reason = "it arrives, along the straight path, but nothing could be refined on grids"
        return replace(straight, method=METHOD, status="uncertified", reason=reason)
    plan = _plan_of(robot, ends, hold, search, best)
    if straight is not None:
        plan = faster_plan(plan, straight)
    return replace(plan, reason=plan.reason + _notes(search, best, plan.is_unique))


def _no_motion(robot: Robot, ends: Ends, budget: Budget) -> ManipDynError:
    """Return the error with the reason for which no motion was found."""
    obstacle = _stopping_obstacle(robot, ends.q0, ends.v0) if np.any(ends.v0) else ""
    if obstacle:
        return ManipDynError(
            f"the arm cannot be stopped in time from the start: {obstacle}. Use a slower start or "
            "one farther from the limits."
        )
    before = _stopping_obstacle(robot, ends.qf, -ends.vf) if np.any(ends.vf) else ""
    return ManipDynError(
        f"the goal cannot be reached at its velocities: before it {before}."
        if before
        else "no motion within the limits was found, neither straight nor by detours"
        + (f" within {budget.seconds:g} s. budget=None tries more." if budget.is_over else ".")
    )


def _plan_of(robot: Robot, ends: Ends, hold: Vector, search: MotionSearch, best: Basin) -> Plan:
    """Return the plan of the fastest motion: its extremal if it is certified."""
    proof: Certificate | Convergence
    motion: ExtremalMotion | SplineMotion
    if best.extremal is not None:
        proof = replace(best.extremal.certificate, searched=search.summary())
        motion = ExtremalMotion(robot, ends.q0, best.extremal.extremal)
        switches = motion.switching.per_joint()
        status, reason = "solved", "the certificate holds"
    else:
        assert best.refined is not None
        proof = convergence(robot, best.refined, search.grid_summary())
        motion = SplineMotion(robot, best.refined, proof)
        switches = motion.switches
        status, reason = _judged(
            proof, f"motions near it are not faster by more than {proof.gap:.2g} s"
        )
    return Plan(
        robot,
        ends.q0,
        ends.qf,
        best.duration,
        switches,
        [best.duration] * robot.n,
        motion,
        hold,
        METHOD,
        status,
        reason,
        certificate=proof,
        extremal=motion,
        is_unique=search.is_unique,
        v0=None if best.extremal is not None else ends.v0,
        vf=None if best.extremal is not None else ends.vf,
    )


def _judged(proof: Convergence, reason: str) -> tuple[str, str]:
    """Return the status of a refined motion, and `reason` or the violated conditions."""
    if proof.holds:
        return "converged", reason
    return "uncertified", f"it arrives, but {'; '.join(proof.failures)}"


def _notes(search: MotionSearch, best: Basin, is_unique: bool | None) -> str:
    """Return additions to the reason: equally fast motions, extent and unfinished steps."""
    second, note = search.summary().second, ""
    if is_unique is False:
        note = (
            "; the fastest motion is not unique, because not all efforts affect its duration"
            if best.has_free_efforts
            else "; another motion is equally fast"
        )
    basins = "one basin" if search.motions == 1 else f"{search.motions} basins"
    note += f"; {basins} from {search.guesses} initial guesses"
    if search.duration < second < CLOSE * search.duration:
        note += f"; second-best extremal {second:.9g} s"
    return note + (f"; when the time was up, {search.undone}" if search.undone else "")


CLOSE = 1.001
"""The second-best extremal is reported if it is slower by less than this ratio."""


def straight_plan(robot: Robot, ends: Ends, budget: Budget = UNLIMITED) -> Plan | None:
    """Return the fastest motion along the straight joint path, or None.

    The result is None if an end is not at rest, or if there is no such motion within the limits.
    """
    if ends.moving:
        return None
    with budget.paused():
        from manip_dyn.planning.path_timing.planner import time_path  # loads scipy

    try:
        return time_path(robot, np.array([ends.q0, ends.qf])).plan
    except ManipDynError:
        return None


def faster_plan(plan: Plan, straight: Plan) -> Plan:
    """Return the faster one of a plan and the fastest motion along the straight path."""
    proof = plan.certificate
    if plan.t_final <= straight.t_final or not isinstance(proof, Convergence):
        return plan
    gap = max(proof.gap - (plan.t_final - straight.t_final), 0.0)
    proof = replace(proof, gap=gap, t_final=straight.t_final)
    status, reason = _judged(
        proof, f"the straight path; motions near it are not faster by more than {gap:.2g} s"
    )
    return replace(
        straight,
        method=METHOD,
        status=status,
        reason=reason,
        certificate=proof,
        is_unique=plan.is_unique if plan.t_final < EQUAL * straight.t_final else None,
    )


SHORTEST_STOP, LONGEST_STOP, STOPS_TRIED = 1e-3, 20.0, 120
"""Range of stopping times, s, and number of trials."""
STOPPING_SAMPLES = 32


def _stopping_obstacle(robot: Robot, q: Vector, v: Vector) -> str:
    """Return why the arm cannot stop from a state (n,), or "" if it can.

    The check brakes all joints simultaneously with constant decelerations.
    """
    z, why = np.linspace(0.0, 1.0, STOPPING_SAMPLES)[:, None], ""
    least, kernels = inf, inverse_kernels_of(robot)
    for duration in np.geomspace(SHORTEST_STOP, LONGEST_STOP, STOPS_TRIED):
        place, speed = q + duration * v * z * (1.0 - 0.5 * z), v * (1.0 - z)
        tau = np.empty_like(place)
        efforts_at(kernels, place, speed, np.tile(-v / duration, (STOPPING_SAMPLES, 1)), tau)
        load = (np.abs(tau) / robot.tau_max).max(axis=0)
        beyond = np.maximum(place[-1] - robot.q_max, robot.q_min - place[-1])
        if load.max() <= 1.0 and beyond.max() <= 0.0:
            return ""
        lack = max(float(load.max()) - 1.0, 0.0) + max(float(beyond.max()), 0.0)
        if lack < least:
            least, i, j = lack, int(beyond.argmax()), int(load.argmax())
            times = distinct_digits(load[j], 1.0, digits=3)[0]
            why = (
                f"joint '{robot.joint_names[i]}' passes its limit by {beyond[i]:.3g} "
                f"{robot.unit(i)}"
                if beyond[i] > 0.0
                else f"joint '{robot.joint_names[j]}' needs {times} times its effort limit"
            )
    return why
