"""The fastest motion between two states on fine grids, for any number of joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector, distinct_digits
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.certificate import Convergence, GridSearchSummary
from manip_dyn.planning.plan import Plan
from manip_dyn.planning.transcription.node_motion import (
    derivatives_at,
    efforts_at,
    inverse_kernels_of,
)
from manip_dyn.planning.transcription.refinement import (
    ROUGH_CELLS,
    CoarseSearch,
    random_swings,
    refined_solution,
    rough_solution,
    swings,
)
from manip_dyn.planning.transcription.spline import (
    Ends,
    GridSolution,
    RefinedSolution,
    Spline,
    SplineMotion,
    spline_of_plan,
)
from manip_dyn.robot import Robot

SHORTEST_STOP, LONGEST_STOP, STOPS_TRIED = 1e-3, 20.0, 120
"""Range of stopping times, s, and number of trials."""
STOPPING_SAMPLES = 32


def stopping_obstacle(robot: Robot, q: Vector, v: Vector) -> str:
    """Return why the arm cannot stop from a state (n,), or "" if it can.

    The check brakes all joints simultaneously with constant decelerations.
    """
    z, why = np.linspace(0.0, 1.0, STOPPING_SAMPLES)[:, None], ""
    least, kernels = np.inf, inverse_kernels_of(robot)
    for duration in np.geomspace(SHORTEST_STOP, LONGEST_STOP, STOPS_TRIED):
        place, speed = q + duration * v * z * (1.0 - 0.5 * z), v * (1.0 - z)
        tau = np.empty_like(place)
        efforts_at(kernels, place, speed, np.tile(-v / duration, (STOPPING_SAMPLES, 1)), tau)
        share = (np.abs(tau) / robot.tau_max).max(axis=0)
        beyond = np.maximum(place[-1] - robot.q_max, robot.q_min - place[-1])
        if share.max() <= 1.0 and beyond.max() <= 0.0:
            return ""
        lack = max(float(share.max()) - 1.0, 0.0) + max(float(beyond.max()), 0.0)
        if lack < least:
            least, i, j = lack, int(beyond.argmax()), int(share.argmax())
            times = distinct_digits(share[j], 1.0, digits=3)[0]
            why = (
                f"joint '{robot.joint_names[i]}' passes its limit by {beyond[i]:.3g} "
                f"{robot.unit(i)}"
                if beyond[i] > 0.0
                else f"joint '{robot.joint_names[j]}' needs {times} times its effort limit"
            )
    return why


def straight_plan(robot: Robot, ends: Ends) -> Plan | None:
    """Return the fastest straight motion, or None if an end is not at rest or none exists."""
    if ends.moving:
        return None
    from manip_dyn.planning.path_timing.planner import time_path  # loads scipy

    try:
        return time_path(robot, np.array([ends.q0, ends.qf])).plan
    except ManipDynError:
        return None


def faster_plan(plan: Plan, straight: Plan, again: Callable[[], Plan | None]) -> Plan:
    """Return the faster one of a plan and a motion from the straight path.

    Args:
        plan: The plan.
        straight: The straight path with its fastest timing.
        again: Function that refines the straight path; called only if the plan is slower.
    """
    if plan.t_final <= straight.t_final:
        return plan
    refined = again()
    if refined is not None:
        plan = min(plan, refined, key=lambda candidate: candidate.t_final)
    proof = plan.certificate
    if plan.t_final <= straight.t_final or not isinstance(proof, Convergence):
        return plan
    gap = max(proof.gap - (plan.t_final - straight.t_final), 0.0)
    proof = replace(proof, gap=gap, t_final=straight.t_final)
    status, reason = (
        "converged",
        f"the straight path; motions near it are not faster by {gap:.2g} s",
    )
    if not proof.holds:
        status, reason = "uncertified", f"it arrives, but {'; '.join(proof.failures)}"
    return replace(straight, method=plan.method, status=status, reason=reason, certificate=proof)


class Costates(NamedTuple):
    """Costates, switching functions and Hamiltonians at nodes (k,).

    Attributes:
        times: Node times (k,), s.
        costates: Costates (k, 2 n), s per unit of the state.
        switching: Switching functions (k, n), s per unit of effort and second.
        hamiltonians: Hamiltonians H = 1 + p . x' (k,).
    """

    times: Vector
    costates: Matrix
    switching: Matrix
    hamiltonians: Vector


def costates_of(robot: Robot, solved: GridSolution) -> Costates:
    """Return the costates at the nodes between start and goal.

    The multiplier of an effort limit at a node is the switching function S = M^-1 p_v times the
    cell duration: relaxing the limit for one cell shortens the motion by this amount. p_q follows
    from p_v' = -p_q + D' S - nu, where D contains the derivatives of the efforts by the speeds and
    nu the multipliers of the speed limits (Hartl, Sethi, Vickson 1995, eq. 4.2).
    """
    spline = solved.spline
    times = np.linspace(0.0, spline.duration, spline.cells + 1)
    q, v, a = spline.joints(times)
    by = np.empty((len(q), 3, robot.n, robot.n))
    derivatives_at(inverse_kernels_of(robot), q, v, a, by)
    switching = -spline.cells * solved.effort / robot.tau_max
    force = spline.cells * solved.speed / robot.v_max
    force[1:] = 0.5 * (force[1:] + force[:-1])
    p_v = np.einsum("kij,kj->ki", by[:, 2], switching)
    slope = np.gradient(p_v, times, axis=0)
    p_q = np.einsum("kji,kj->ki", by[:, 1], switching) - slope - force
    hamiltonians = 1.0 + np.sum(p_q * v + p_v * a, axis=1)
    inner = slice(2, -2)  # at both ends a node represents only part of a cell
    return Costates(
        times[inner], np.hstack([p_q, p_v])[inner], switching[inner], hamiltonians[inner]
    )


NOT_FASTER = "motions near it are not faster by more than"
REFINEMENT_RATIO = 3.0
"""Each grid has four times the cells of the previous one, so the remaining first-order error is
a third of the difference between both."""


def refined_plan(
    robot: Robot,
    ends: Ends,
    hold: Vector,
    method: str,
    solution: RefinedSolution,
    searched: GridSearchSummary,
) -> Plan:
    """Return a refined motion as a plan with its certificate.

    Args:
        robot: The arm.
        ends: States of the arm at start and goal.
        hold: Efforts (n,) that hold the arm at the goal, N m or N.
        method: Name of the planning method.
        solution: The refined motion.
        searched: Extent of the preceding search.
    """
    proof = _certificate(robot, solution, searched)
    motion, t_final = SplineMotion(robot, solution, proof), solution.spline.duration
    status = "converged"
    reason = f"{NOT_FASTER} {proof.gap:.2g} s"
    if not proof.holds:
        status, reason = "uncertified", f"it arrives, but {'; '.join(proof.failures)}"
    return Plan(
        robot,
        ends.q0,
        ends.qf,
        t_final,
        motion.switches,
        [t_final] * robot.n,
        motion,
        hold,
        method,
        status,
        reason,
        certificate=proof,
        extremal=motion,
        v0=ends.v0,
        vf=ends.vf,
    )


def _certificate(
    robot: Robot, solution: RefinedSolution, searched: GridSearchSummary
) -> Convergence:
    along, solved, t_final = (
        costates_of(robot, solution.solved),
        solution.solved,
        solution.spline.duration,
    )
    on_grid = solution.durations[-1]
    barrier = on_grid * (solved.weight * solved.limits + abs(solved.promised))
    grid = max(solution.durations[-2] - on_grid, 0.0) / REFINEMENT_RATIO
    return Convergence(
        gap=t_final - on_grid + barrier + grid,
        t_final=t_final,
        kkt=abs(solved.promised),
        hamiltonian=float(np.sqrt(np.mean(along.hamiltonians**2))),
        load=solution.load,
        durations=tuple(solution.durations),
        cells=solved.spline.cells,
        times=along.times * (t_final / solved.spline.duration),
        costates=along.costates,
        switching=along.switching,
        hamiltonians=along.hamiltonians,
        passed=_exceeded_limit(robot, solution.spline),
        searched=searched,
    )


def _exceeded_limit(robot: Robot, spline: Spline) -> str:
    """Return a phrase for the position or speed limit that a motion exceeds, or ""."""
    q, v, _ = spline.joints(np.linspace(0.0, spline.duration, 4 * spline.cells + 1))
    for i, joint in enumerate(robot.joint_names):
        speed = float(np.abs(v[:, i]).max())
        if speed > robot.v_max[i] * (1.0 + 1e-9):
            return f"joint '{joint}' reaches {speed:.6g} {robot.unit(i)}/s"
        for value in (float(q[:, i].min()), float(q[:, i].max())):
            if not robot.q_min[i] - 1e-9 <= value <= robot.q_max[i] + 1e-9:
                return f"joint '{joint}' passes {value:.6g} {robot.unit(i)}"
    return ""


COMPARED_RATIO, MOST_COMPARED = 1.05, 6
"""Maximum ratio to the shortest duration, and maximum number, of motions of the coarse search
that are compared on the next grid."""
NOT_REFINED = "it arrives, along the straight path, but nothing could be refined on grids"


def converged_plan(
    robot: Robot,
    ends: Ends,
    hold: Vector,
    method: str,
    exhaustive: float = 0.0,
    straight: Plan | None = None,
) -> Plan | None:
    """Return the fastest refined motion between two states, or None.

    Args:
        robot: The arm.
        ends: States of the arm at start and goal.
        hold: Efforts (n,) that hold the arm at the goal, N m or N.
        method: Name of the planning method.
        exhaustive: Additional time for random detours, s.
        straight: The fastest motion along the straight path, used as an additional guess and as an
            upper bound of the duration.
    """
    search = CoarseSearch(robot, ends)
    distance = max(float(np.abs(ends.qf - ends.q0).max()), _turning_distance(ends))
    search.search(swings(robot, distance))
    if exhaustive > 0.0:
        search.search(random_swings(robot, distance), exhaustive)
    guesses = [] if straight is None else [spline_of_plan(ends, straight, ROUGH_CELLS)]
    solved = _compare(robot, ends, search, guesses)
    summary = _search_summary(search, solved)
    for candidate in solved:
        solution = refined_solution(robot, ends, candidate)
        if solution is not None:
            plan = refined_plan(robot, ends, hold, method, solution, summary)
            if straight is None:
                return plan
            again = partial(plan_from_straight, robot, ends, hold, method, straight, summary)
            return faster_plan(plan, straight, again)
    if straight is None:
        return None
    return replace(straight, method=method, status="uncertified", reason=NOT_REFINED)


def plan_from_straight(
    robot: Robot, ends: Ends, hold: Vector, method: str, straight: Plan, summary: GridSearchSummary
) -> Plan | None:
    """Return the plan refined from the straight path, or None; see `converged_plan`."""
    start = rough_solution(robot, ends, spline_of_plan(ends, straight, ROUGH_CELLS))
    solution = None if start is None else refined_solution(robot, ends, start)
    return None if solution is None else refined_plan(robot, ends, hold, method, solution, summary)


def _turning_distance(ends: Ends) -> float:
    """Return a distance (rad or m) for detours of a moving arm: 1 s at its speeds."""
    return float(np.abs([ends.v0, ends.vf]).max())


def _compare(
    robot: Robot, ends: Ends, search: CoarseSearch, guesses: list[Spline]
) -> list[GridSolution]:
    """Return the fastest motions of the coarse search on the next grid, fastest first.

    The guesses are already on that grid.
    """
    solutions = list[GridSolution]()
    near = [
        candidate
        for candidate in search.motions[:MOST_COMPARED]
        if candidate.duration <= COMPARED_RATIO * search.motions[0].duration
    ]
    for motion in [*near, *guesses]:
        better = rough_solution(robot, ends, motion)
        if better is not None:
            solutions.append(better)
    return sorted(solutions, key=lambda candidate: candidate.spline.duration)


def _search_summary(search: CoarseSearch, solved: list[GridSolution]) -> GridSearchSummary:
    times = [solution.spline.duration for solution in solved] or [inf]
    slower = [t for t in times if t > times[0] * (1.0 + 1e-6)]
    return GridSearchSummary(
        search.guesses, len(search.motions), len(solved), min(slower, default=inf), times[0]
    )
