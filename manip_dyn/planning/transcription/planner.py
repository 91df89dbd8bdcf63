"""The fastest motion between two states on fine grids, for any number of joints."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.convergence import Convergence, GridSearched
from manip_dyn.planning.interior_points.detours import random_swings, swings
from manip_dyn.planning.plan import Plan
from manip_dyn.planning.transcription.costates import costates_of
from manip_dyn.planning.transcription.refinement import ROUGH, Refined, refined, rough
from manip_dyn.planning.transcription.search import CoarseSearch
from manip_dyn.planning.transcription.spline import Ends, Spline
from manip_dyn.planning.transcription.spline_grid import Solved
from manip_dyn.planning.transcription.spline_motion import SplineMotion
from manip_dyn.planning.transcription.straight import on_grid, straight_path
from manip_dyn.robot import Robot

NEAR, MOST = 1.05, 6
"""Motions of the coarse grid that take longer by more than this ratio are not compared on the
next one, nor more of them than this."""
NOT_FASTER = "motions near it are not faster by more than"
UNREFINED = "it arrives, along the straight path, but nothing could be refined on grids"
GROWTH = 3.0
"""From one grid to the next the cells are four times as many: the rest of an error that falls
with their number is a third of the difference."""


def converged_plan(
    robot: Robot, ends: Ends, hold: Vector, method: str, exhaustive: float = 0.0
) -> Plan | None:
    """Return the fastest motion found between two states, refined; None if there is none.

    Args:
        robot: The arm.
        ends: The states.
        hold: Efforts (n,) that keep the arm at the goal, N m or N.
        method: Who made the plan.
        exhaustive: For how long random detours are tried besides, s.
    """
    search = CoarseSearch(robot, ends)
    distance = max(float(np.abs(ends.qf - ends.q0).max()), _room_to_turn(ends))
    search.search(swings(robot, distance))
    if exhaustive > 0.0:
        search.search(random_swings(robot, distance), exhaustive)
    straight = straight_path(robot, ends)
    guesses = [] if straight is None else [on_grid(ends, straight, ROUGH)]
    solved = _compared(robot, ends, search, guesses)
    told = _searched(search, solved)
    for each in solved:
        found = refined(robot, ends, each)
        if found is not None:
            plan = _plan(robot, ends, hold, method, found, told)
            return plan if straight is None else not_slower(plan, straight, method, told)
    if straight is None:
        return None
    return replace(straight, method=method, status="uncertified", reason=UNREFINED)


def not_slower(plan: Plan, straight: Plan, method: str, told: GridSearched) -> Plan:
    """Return a plan, or what is faster: one refined from the straight path, or that path."""
    if plan.t_final <= straight.t_final:
        return plan
    robot, still = plan.robot, np.zeros(plan.robot.n)
    ends = Ends(plan.q0, still, plan.qf, still)
    begun = rough(robot, ends, on_grid(ends, straight, ROUGH))
    found = None if begun is None else refined(robot, ends, begun)
    if found is not None:
        other = _plan(robot, ends, plan.hold, method, found, told)
        plan = min(plan, other, key=lambda each: each.t_final)
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
    return replace(straight, method=method, status=status, reason=reason, certificate=proof)


def _room_to_turn(ends: Ends) -> float:
    """Return a distance (rad or m) for detours of a moving arm, a second's at its speeds."""
    return float(np.abs([ends.v0, ends.vf]).max())


def _compared(
    robot: Robot, ends: Ends, search: CoarseSearch, guesses: list[Spline]
) -> list[Solved]:
    """Return the fastest motions of the coarse search on the next grid, the fastest first.

    More guesses are on that grid already.
    """
    found = list[Solved]()
    near = [
        each
        for each in search.motions[:MOST]
        if each.duration <= NEAR * search.motions[0].duration
    ]
    for motion in [*near, *guesses]:
        better = rough(robot, ends, motion)
        if better is not None:
            found.append(better)
    return sorted(found, key=lambda each: each.spline.duration)


def _searched(search: CoarseSearch, solved: list[Solved]) -> GridSearched:
    times = [each.spline.duration for each in solved] or [inf]
    others = [t for t in times if t > times[0] * (1.0 + 1e-6)]
    return GridSearched(
        search.guesses, len(search.motions), len(solved), min(others, default=inf), times[0]
    )


def _plan(
    robot: Robot, ends: Ends, hold: Vector, method: str, found: Refined, searched: GridSearched
) -> Plan:
    proof = _certificate(robot, found, searched)
    motion, t_final = SplineMotion(robot, found.spline, proof), found.spline.duration
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


def _certificate(robot: Robot, found: Refined, searched: GridSearched) -> Convergence:
    along, solved, t_final = costates_of(robot, found.solved), found.solved, found.spline.duration
    on_grid = found.durations[-1]
    barrier = on_grid * (solved.weight * solved.limits + abs(solved.promised))
    grid = max(found.durations[-2] - on_grid, 0.0) / GROWTH
    return Convergence(
        gap=t_final - on_grid + barrier + grid,
        t_final=t_final,
        kkt=abs(solved.promised),
        hamiltonian=float(np.sqrt(np.mean(along.hamiltonians**2))),
        load=found.load,
        durations=tuple(found.durations),
        cells=solved.spline.cells,
        times=along.times * (t_final / solved.spline.duration),
        costates=along.costates,
        switching=along.switching,
        hamiltonians=along.hamiltonians,
        passed=_passed(robot, found.spline),
        searched=searched,
    )


def _passed(robot: Robot, spline: Spline) -> str:
    """Return which limit of position or speed a motion passes, or nothing."""
    q, v, _ = spline.joints(np.linspace(0.0, spline.duration, 4 * spline.cells + 1))
    for i, joint in enumerate(robot.joint_names):
        speed = float(np.abs(v[:, i]).max())
        if speed > robot.v_max[i] * (1.0 + 1e-9):
            return f"joint '{joint}' reaches {speed:.6g} {robot.unit(i)}/s"
        for value in (float(q[:, i].min()), float(q[:, i].max())):
            if not robot.q_min[i] - 1e-9 <= value <= robot.q_max[i] + 1e-9:
                return f"joint '{joint}' passes {value:.6g} {robot.unit(i)}"
    return ""
