"""The fastest motion between two states on fine grids, for any number of joints."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.certificate import GridSearchSummary
from manip_dyn.planning.interior_points.detours import random_swings, swings
from manip_dyn.planning.plan import Plan
from manip_dyn.planning.transcription.floor import not_slower
from manip_dyn.planning.transcription.refined_plan import refined_plan
from manip_dyn.planning.transcription.refinement import ROUGH, refined, rough
from manip_dyn.planning.transcription.sampled import on_grid
from manip_dyn.planning.transcription.search import CoarseSearch
from manip_dyn.planning.transcription.solved import Solved
from manip_dyn.planning.transcription.spline import Ends, Spline
from manip_dyn.robot import Robot

NEAR, MOST = 1.05, 6
"""Motions of the coarse grid that take longer by more than this ratio are not compared on the
next one, nor more of them than this."""
UNREFINED = "it arrives, along the straight path, but nothing could be refined on grids"


def converged_plan(
    robot: Robot,
    ends: Ends,
    hold: Vector,
    method: str,
    exhaustive: float = 0.0,
    straight: Plan | None = None,
) -> Plan | None:
    """Return the fastest motion found between two states, refined; None if there is none.

    Args:
        robot: The arm.
        ends: The states.
        hold: Efforts (n,) that keep the arm at the goal, N m or N.
        method: Who made the plan.
        exhaustive: For how long random detours are tried besides, s.
        straight: The fastest motion along the straight path: one more guess, and a floor.
    """
    search = CoarseSearch(robot, ends)
    distance = max(float(np.abs(ends.qf - ends.q0).max()), _room_to_turn(ends))
    search.search(swings(robot, distance))
    if exhaustive > 0.0:
        search.search(random_swings(robot, distance), exhaustive)
    guesses = [] if straight is None else [on_grid(ends, straight, ROUGH)]
    solved = _compared(robot, ends, search, guesses)
    told = _searched(search, solved)
    for each in solved:
        found = refined(robot, ends, each)
        if found is not None:
            plan = refined_plan(robot, ends, hold, method, found, told)
            if straight is None:
                return plan
            begin = partial(from_straight, robot, ends, hold, method, straight, told)
            return not_slower(plan, straight, begin)
    if straight is None:
        return None
    return replace(straight, method=method, status="uncertified", reason=UNREFINED)


def from_straight(
    robot: Robot, ends: Ends, hold: Vector, method: str, straight: Plan, told: GridSearchSummary
) -> Plan | None:
    """Return what the straight path is refined to; None if it cannot be. See `converged_plan`."""
    begun = rough(robot, ends, on_grid(ends, straight, ROUGH))
    found = None if begun is None else refined(robot, ends, begun)
    return None if found is None else refined_plan(robot, ends, hold, method, found, told)


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


def _searched(search: CoarseSearch, solved: list[Solved]) -> GridSearchSummary:
    times = [each.spline.duration for each in solved] or [inf]
    others = [t for t in times if t > times[0] * (1.0 + 1e-6)]
    return GridSearchSummary(
        search.guesses, len(search.motions), len(solved), min(others, default=inf), times[0]
    )
