"""Pontryagin's conditions, checked along a motion: they make its certificate.

The motion and its costates have been integrated once more, from the start, with nothing of the
search but the initial costates and the switches (`sampling`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from manip_dyn.core.checks import Vector
from manip_dyn.planning.certificate import Certificate
from manip_dyn.planning.minimum_time.extremals.controls import Controls, are_full, effort_signs
from manip_dyn.planning.minimum_time.extremals.structure import Extremal, Switching
from manip_dyn.planning.minimum_time.extremals.trajectory import (
    SAMPLES,
    Trajectory,
    refined,
    refined_arcs,
)
from manip_dyn.robot import Robot

NOTHING = 1e-9
"""A switching function below this share of the largest is zero."""


def certificate(robot: Robot, goal: Vector, extremal: Extremal, along: Trajectory) -> Certificate:
    """Return what the samples of a motion say about Pontryagin's conditions."""
    n = robot.n
    end = along.states[-1, : 2 * n] - np.concatenate([goal, np.zeros(n)])
    largest = np.abs(along.switching).max(axis=0)
    singular = largest < NOTHING * largest.max()
    places = refined_arcs(along)[:-1]
    margins = [
        _margin(along, extremal.switching, places, joint, largest[joint])
        for joint in np.flatnonzero(~singular).tolist()
    ]
    return Certificate(
        costates=extremal.costate,
        jumps=extremal.jumps,
        boundary=float(np.abs(end).max()),
        distance=float(np.abs(goal - along.states[0, :n]).max()),
        hamiltonian=float(np.abs(along.hamiltonians).max()),
        margin=min(margins),
        curvature=extremal.curvature,
        singular=tuple(robot.joint_names[joint] for joint in np.flatnonzero(singular)),
        **_inner_arcs(robot, along, extremal, largest),
        times=along.times,
        switching=along.switching,
        hamiltonians=along.hamiltonians,
    )


def _inner_arcs(robot: Robot, along: Trajectory, extremal: Extremal, largest: Vector) -> dict:
    """Return what there is to say about efforts that lie between their limits."""
    t_final = extremal.switching.t_final
    singular, effort, rest, strength = [], 0.0, 0.0, np.inf
    for place, (begin, end, controls) in enumerate(extremal.switching.arcs()):
        if are_full(controls):
            continue
        here = along.arcs == place
        for joint in np.flatnonzero([not each.is_full for each in controls]):
            effort = max(effort, float(np.abs(along.shares[here, joint]).max()))
            rest = max(rest, float(np.abs(along.switching[here, joint]).max() / largest[joint]))
            if controls[joint].is_singular:
                singular.append((robot.joint_names[joint], begin, end))
                scale = t_final**2 / largest[joint]
                strength = min(strength, float(along.strengths[here].min() * scale))
    at_limits = list(limit_arcs(along, extremal))
    forces = [force for *_, force in at_limits]
    strongest = max([float(np.abs(force).max()) for force in forces], default=1.0)
    return {
        "singular_arcs": tuple(singular),
        "singular_effort": effort,
        "singular_switching": rest,
        "limit_arcs": tuple(
            (robot.joint_names[joint], kind, begin, end)
            for joint, kind, begin, end, _ in at_limits
        ),
        "limit_force": min([float(force.min()) / strongest for force in forces], default=np.inf),
        "legendre_clebsch": strength,
    }


def limit_arcs(
    along: Trajectory, extremal: Extremal
) -> Iterator[tuple[int, str, float, float, Vector]]:
    """Yield joint, ``speed`` or ``position``, begin, end (s) and multipliers of boundary arcs.

    At a contact point begin and end are the same.

    The multipliers are those of a limit of speed at the samples, s/rad, or those by which the
    costate of a position drops at the begin, between the samples and at the end.
    """
    switching, n = extremal.switching, along.switching.shape[1]
    jumps = dict(zip(switching.jumps(), extremal.jumps, strict=True))
    arcs = switching.arcs()
    for place, (joint, value) in enumerate(zip(switching.joints, switching.values, strict=True)):
        if value.is_contact:
            at, kind = (3, "speed") if value.is_about_speed else (2, "position")
            drop = -value.direction * jumps[place, at * n + joint]
            yield joint, kind, arcs[place][1], arcs[place][1], np.array([drop])
    for joint in range(n):
        begun, latest = 0, NO_LIMIT
        for place, limit in enumerate([*(_limit(each, joint) for _, _, each in arcs), NO_LIMIT]):
            if limit == latest:
                continue
            kind, side = latest
            if latest != NO_LIMIT:
                here = (along.arcs >= begun) & (along.arcs < place)
                force = side * along.forces[here, joint]
                at = 2 if kind == "position" else 3
                places = [(each, at * n + joint) for each in range(begun - 1, place)]
                drops = [-side * jumps[each] for each in places if each in jumps]
                if kind == "position":
                    last = -drops[-1] if drops else force[-1]
                    force = -np.diff(np.concatenate([[0.0], force, [last]]))
                else:
                    # Where it comes or leaves smoothly, or at a smooth handover, the costate of
                    # the speed drops at once.
                    force = np.append(force, np.array(drops) / switching.t_final)
                yield joint, kind, arcs[begun][0], arcs[place - 1][1], force
            begun, latest = place, limit


NO_LIMIT = ("", 0.0)


def _limit(controls: Controls, joint: int) -> tuple[str, float]:
    """Return the kind and the side of the limit at which a joint is, or `NO_LIMIT`."""
    for effort, each in enumerate(controls):
        held = each.held(effort)
        if held is not None and held[0] == joint:
            return ("speed" if each.is_about_speed else "position"), held[1]
    return NO_LIMIT


def _margin(
    along: Trajectory, switching: Switching, places: NDArray[np.int64], joint: int, largest: float
) -> float:
    """Return the least switching function of one joint as `Certificate.margin` has it.

    `places` are the arcs of the refined samples but the last.
    """
    t_final = switching.t_final
    controls = [each[joint] for _, _, each in switching.arcs()]
    arc_signs = effort_signs(controls)
    times, values = refined(along, joint)
    signs = arc_signs[places]
    toward = -signs * values[:-1]
    room, least = np.ones(len(toward)), np.inf
    for place, (first, second) in enumerate(pairwise(controls)):
        if first == second:
            continue
        away = np.abs(times[:-1] - switching.times[place]) / t_final
        before, after = arc_signs[place], arc_signs[place + 1]
        is_regular = not (first.is_singular or second.is_singular)
        room = np.minimum(room, away if is_regular else away**2)
        if before * after == -1.0:
            slope = -after * along.slopes[(place + 1) * SAMPLES, joint]
            least = min(least, float(slope * t_final))
    far = (room > 1e-5) & (np.abs(signs) == 1.0)
    return min(least, float((toward[far] / room[far]).min())) / largest
