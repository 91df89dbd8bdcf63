"""Certificate of an extremal: Pontryagin's conditions, checked at samples of the motion.

The motion and its costates are integrated again from the start, using only the initial costates
and the switches (`sampling`).
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
"""Switching functions below this fraction of the largest one count as zero."""


def certificate(robot: Robot, goal: Vector, extremal: Extremal, along: Trajectory) -> Certificate:
    """Compute the certificate of Pontryagin's conditions from the samples of a motion."""
    n = robot.n
    end = along.states[-1, : 2 * n] - np.concatenate([goal, np.zeros(n)])
    largest = np.abs(along.switching).max(axis=0)
    is_singular = largest < NOTHING * largest.max()
    sample_arcs = refined_arcs(along)[:-1]
    margins = [
        _margin(along, extremal.switching, sample_arcs, joint, largest[joint])
        for joint in np.flatnonzero(~is_singular).tolist()
    ]
    return Certificate(
        costates=extremal.costate,
        jumps=extremal.jumps,
        boundary=float(np.abs(end).max()),
        distance=float(np.abs(goal - along.states[0, :n]).max()),
        hamiltonian=float(np.abs(along.hamiltonians).max()),
        margin=min(margins),
        curvature=extremal.curvature,
        singular=tuple(robot.joint_names[joint] for joint in np.flatnonzero(is_singular)),
        **_inner_arcs(robot, along, extremal, largest),
        times=along.times,
        switching=along.switching,
        hamiltonians=along.hamiltonians,
    )


def _inner_arcs(robot: Robot, along: Trajectory, extremal: Extremal, largest: Vector) -> dict:
    """Return the certificate's fields for efforts between their limits."""
    t_final = extremal.switching.t_final
    singular, effort, rest, strength = [], 0.0, 0.0, np.inf
    for arc, (begin, end, controls) in enumerate(extremal.switching.arcs()):
        if are_full(controls):
            continue
        here = along.arcs == arc
        for joint in np.flatnonzero([not control.is_full for control in controls]):
            effort = max(effort, float(np.abs(along.normalized_efforts[here, joint]).max()))
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
    """Yield joint, ``speed`` or ``position``, start, end (s) and multipliers of boundary arcs.

    At a contact point start and end are equal.

    The multipliers of a speed limit are given at the samples, s/rad. Those of a position limit are
    the decreases of the position's costate at the start, between samples and at the end.
    """
    switching, n = extremal.switching, along.switching.shape[1]
    jumps = dict(zip(switching.jumps(), extremal.jumps, strict=True))
    arcs = switching.arcs()
    for switch, (joint, value) in enumerate(zip(switching.joints, switching.values, strict=True)):
        if value.is_contact:
            at, kind = (3, "speed") if value.is_about_speed else (2, "position")
            drop = -value.direction * jumps[switch, at * n + joint]
            yield joint, kind, arcs[switch][1], arcs[switch][1], np.array([drop])
    for joint in range(n):
        begun, latest = 0, NO_LIMIT
        limits = [*(_limit(controls, joint) for _, _, controls in arcs), NO_LIMIT]
        for switch, limit in enumerate(limits):
            if limit == latest:
                continue
            kind, side = latest
            if latest != NO_LIMIT:
                here = (along.arcs >= begun) & (along.arcs < switch)
                force = side * along.forces[here, joint]
                at = 2 if kind == "position" else 3
                keys = [(k, at * n + joint) for k in range(begun - 1, switch)]
                drops = [-side * jumps[key] for key in keys if key in jumps]
                if kind == "position":
                    last = -drops[-1] if drops else force[-1]
                    force = -np.diff(np.concatenate([[0.0], force, [last]]))
                else:
                    # At a smooth entry, exit or handover the costate of the speed jumps.
                    force = np.append(force, np.array(drops) / switching.t_final)
                yield joint, kind, arcs[begun][0], arcs[switch - 1][1], force
            begun, latest = switch, limit


NO_LIMIT = ("", 0.0)


def _limit(controls: Controls, joint: int) -> tuple[str, float]:
    """Return the kind and the side of the limit that a joint has reached, or `NO_LIMIT`."""
    for effort, control in enumerate(controls):
        limit = control.held(effort)
        if limit is not None and limit[0] == joint:
            return ("speed" if control.is_about_speed else "position"), limit[1]
    return NO_LIMIT


def _margin(
    along: Trajectory,
    switching: Switching,
    sample_arcs: NDArray[np.int64],
    joint: int,
    largest: float,
) -> float:
    """Return the smallest switching function of one joint, scaled as `Certificate.margin`.

    `sample_arcs` contains the arcs of the refined samples, except the last one.
    """
    t_final = switching.t_final
    joint_controls = [controls[joint] for _, _, controls in switching.arcs()]
    arc_signs = effort_signs(joint_controls)
    times, values = refined(along, joint)
    signs = arc_signs[sample_arcs]
    toward = -signs * values[:-1]
    room, least = np.ones(len(toward)), np.inf
    for switch, (first, second) in enumerate(pairwise(joint_controls)):
        if first == second:
            continue
        away = np.abs(times[:-1] - switching.times[switch]) / t_final
        before, after = arc_signs[switch], arc_signs[switch + 1]
        is_regular = not (first.is_singular or second.is_singular)
        room = np.minimum(room, away if is_regular else away**2)
        if before * after == -1.0:
            slope = -after * along.slopes[(switch + 1) * SAMPLES, joint]
            least = min(least, float(slope * t_final))
    far = (room > 1e-5) & (np.abs(signs) == 1.0)
    return min(least, float((toward[far] / room[far]).min())) / largest
