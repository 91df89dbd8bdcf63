"""Candidates for minimum time: the extremals near sketches, with samples and certificates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from manip_dyn.planning.at_limits import stays_of
from manip_dyn.planning.certificate import Certificate, certificate
from manip_dyn.planning.course import FULL, Course, course, wanted
from manip_dyn.planning.efforts import Kind
from manip_dyn.planning.extremal import Extremal, Shooter
from manip_dyn.planning.sequential import Sequence, Sketch
from manip_dyn.planning.singular import between_limits, near_zero
from manip_dyn.planning.starts import AGREE, ARRIVED, sketches
from manip_dyn.planning.switching import Switching, read_off
from manip_dyn.planning.takeovers import taken_over
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

SLACK = 1.002
"""A sketch slower than a certified motion by this ratio is not looked at."""
REVISIONS = 4
"""How often a structure is changed to what its own switching functions ask for."""
TAKEOVERS = 4
"""How many extremals along limits of speed are changed at the ends of their stays."""
SINGULAR_TRIES, WITH_LIMITS = 10, 4
"""How many structures with a singular arc are tried where no bang-bang one holds; along limits,
where each takes longer."""


class Candidate(NamedTuple):
    """An extremal with its samples, certificate and the limits that it passes."""

    extremal: Extremal
    along: Course
    certificate: Certificate
    passed: str


def candidates(robot: Robot, start: Vector, goal: Vector) -> list[Candidate]:
    """Return the extremals that are worth a comparison, the fastest that holds last."""
    shooter = Shooter(robot, start, goal)
    found: list[Candidate] = []
    seen: list[tuple] = []
    changed = set[tuple]()
    for number, lot in enumerate(sketches(robot, start, goal), start=1):
        for sketch in sorted(lot, key=lambda each: each.duration):
            key = read_off(sketch.controls, sketch.duration, stays_of(robot, sketch)).key()
            known = any(key == other and abs(sketch.duration / t - 1.0) < AGREE - 1.0
                        for other, t in seen)  # fmt: skip
            if known or sketch.duration > SLACK * _fastest(found):
                continue
            seen.append((key, sketch.duration))
            candidate = _candidate(robot, shooter, sketch, goal, changed)
            if candidate is not None:
                found.append(candidate)
        if number >= 2 and _fastest(found) < np.inf:
            break
    return found


def _fastest(found: list[Candidate]) -> float:
    """Return the least time of the certified motions within the limits, s."""
    return min(
        (
            each.extremal.switching.t_final
            for each in found
            if each.certificate.holds and not each.passed
        ),
        default=np.inf,
    )


def _candidate(
    robot: Robot, shooter: Shooter, sketch: Sketch, goal: Vector, known: set[tuple]
) -> Candidate | None:
    """Return the extremal near a sketch: bang-bang if that holds, else with a singular arc."""
    latest = None
    for attempt in range(2):
        if attempt == 1:
            sketch = Sequence(robot, shooter.start[: robot.n], goal).refined(sketch)
            if sketch.miss > ARRIVED:
                break
        found, trail = None, list[Candidate]()
        for structure in _structures(robot, sketch):
            found = _revised(robot, shooter, goal, structure, None, trail) or found
            if found is not None and found.certificate.holds and not found.passed:
                return found
        latest = found or latest
        found = _with_takeovers(robot, shooter, goal, trail, known) or _with_singular_arc(
            robot, shooter, sketch, goal, found
        )
        if found is not None:
            return found
    return latest


def _structures(robot: Robot, sketch: Sketch) -> Iterator[Switching]:
    """Yield the structures that a sketch may have.

    Brief stays at limits are touches or rests, and other efforts may keep joints at limits.
    """
    known: list[tuple] = []
    contact = Kind.CONTACT_POSITION
    for brief, beside in ((contact, None), (Kind.POSITION, None), (contact, 0), (contact, 1)):
        stays = stays_of(robot, sketch, brief, beside)
        structure = read_off(sketch.controls, sketch.duration, stays)
        if structure.key() not in known:
            known.append(structure.key())
            yield structure


def _revised(
    robot: Robot,
    shooter: Shooter,
    goal: Vector,
    switching: Switching,
    costate: Vector | None,
    trail: list[Candidate],
) -> Candidate | None:
    """Return the extremal of a structure, changed to what its own conditions ask for.

    All on the way go to `trail`.
    """
    latest = None
    for _ in range(REVISIONS):
        solved = shooter.solve(switching, costate)
        found = _checked_extremal(robot, goal, shooter.start, solved)
        if found is None:
            return latest
        latest, costate = found, found.extremal.costate
        trail.append(found)
        if found.certificate.margin > 0.0 and found.certificate.singular_effort <= FULL:
            return latest
        revised = wanted(found.along, found.extremal.switching)
        if revised.key() == switching.key():
            return latest
        switching = revised
    return latest


def _with_takeovers(
    robot: Robot, shooter: Shooter, goal: Vector, tries: list[Candidate], known: set[tuple]
) -> Candidate | None:
    """Return an extremal with another end of a stay at a limit of speed, if one holds.

    Of the candidates to try that one is changed which lacks least; it goes to `known`.
    """
    new: dict[tuple, Candidate] = {}
    for each in tries:
        switching = each.extremal.switching
        new[(switching.key(), round(switching.t_final, 7))] = each
    marks = [mark for mark in new if mark not in known]
    if not marks or len(known) >= TAKEOVERS:
        return None
    mark = min(marks, key=lambda each: new[each].certificate.lack)
    known.add(mark)
    best, seen = new[mark], {each.extremal.switching.key() for each in tries}
    for switching in taken_over(robot, best.along, best.extremal.switching):
        if switching.key() in seen:
            continue
        seen.add(switching.key())
        solved = shooter.solve(switching, best.extremal.costate)
        found = _checked_extremal(robot, goal, shooter.start, solved)
        if found is not None and found.certificate.holds and not found.passed:
            return found
    return None


def _with_singular_arc(
    robot: Robot, shooter: Shooter, sketch: Sketch, goal: Vector, latest: Candidate | None
) -> Candidate | None:
    """Return the first extremal with a singular arc whose certificate holds, if there is one."""
    inside = between_limits(sketch.controls, sketch.duration, stays_of(robot, sketch))
    tries = [(each, sketch.costate) for each in inside]
    if latest is not None:
        hints = near_zero(latest.along, latest.extremal.switching)
        tries += [(each, latest.extremal.costate) for each in hints]
    most = WITH_LIMITS if stays_of(robot, sketch) else SINGULAR_TRIES
    for switching, costate in tries[:most]:
        found = _revised(robot, shooter, goal, switching, costate, [])
        if found is not None and found.certificate.holds and not found.passed:
            return found
    return None


def _checked_extremal(
    robot: Robot, goal: Vector, start: Vector, extremal: Extremal | None
) -> Candidate | None:
    along = None if extremal is None else course(robot, start[: robot.n], extremal)
    if extremal is None or along is None:
        return None
    proof = certificate(robot, goal, extremal, along)
    return Candidate(extremal, along, proof, _passed(robot, along))


def _passed(robot: Robot, along: Course) -> str:
    """Return which limit of position or speed a motion passes, or nothing."""
    n = robot.n
    for i, joint in enumerate(robot.joint_names):
        share = float(np.abs(along.shares[:, i]).max())
        if share > FULL:
            return f"joint '{joint}' would need {share:.4g} times its effort limit"
        q, v = along.states[:, i], along.states[:, n + i]
        speed = float(np.abs(v).max())
        if speed > robot.v_max[i] * (1.0 + 1e-9):
            return (
                f"joint '{joint}' would reach {speed:.4g} {robot.unit(i)}/s; its limit is "
                f"{robot.v_max[i]:.4g}"
            )
        low, high = _range(along.times, q, v)
        for value, limit in ((low, robot.q_min[i]), (high, robot.q_max[i])):
            if not robot.q_min[i] - 1e-9 <= value <= robot.q_max[i] + 1e-9:
                return (
                    f"joint '{joint}' would pass {value:.4g} {robot.unit(i)}; its limit is "
                    f"{limit:.4g}"
                )
    return ""


def _range(times: Vector, q: Vector, v: Vector) -> tuple[float, float]:
    """Return least and largest position, turning points between samples included."""
    turning = np.flatnonzero(v[:-1] * v[1:] < 0.0)
    h, a, b = np.diff(times)[turning], v[turning], v[turning + 1]
    first, way = q[turning], q[turning + 1] - q[turning]
    # On the cubic through both: its slope is a + 2 c z + d z^2 with one root between them.
    c, d = 3.0 * way / h - 2.0 * a - b, 3.0 * (a + b) - 6.0 * way / h
    z = -a / (c + np.copysign(np.sqrt(np.maximum(c * c - a * d, 0.0)), -a))
    peaks = first + h * z * (a + z * (c + z * d / 3.0))
    reached = np.append(q, peaks)
    return float(reached.min()), float(reached.max())
