"""Exact minimum time from rest to rest, by Pontryagin's principle and without a guess.

Linear programs on a grid find nearly optimal motions from several smooth ones, Newton's method
makes extremals of them, and the fastest whose certificate holds is the plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import customize
from manip_dyn.errors import ManipDynError
from manip_dyn.planning.at_limits import stays_of
from manip_dyn.planning.bang_bang import BangBangPlan
from manip_dyn.planning.certificate import Certificate, certificate
from manip_dyn.planning.course import FULL, Course, course, wanted
from manip_dyn.planning.efforts import AT_REST, TOUCH
from manip_dyn.planning.extremal import Extremal, Shooter
from manip_dyn.planning.sequential import Sequence, Sketch
from manip_dyn.planning.singular import between_limits, near_zero
from manip_dyn.planning.starts import AGREE, ARRIVED, sketches
from manip_dyn.planning.switching import Switching, read_off
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector, finite_vector

STILL = 1e-9
"""Start and goal that differ by less in every joint (rad or m) are the same."""
SLACK = 1.002
"""A sketch slower than a certified motion by this ratio is not looked at."""
REVISIONS = 4
"""How often a structure is changed to what its own switching functions ask for."""
SINGULAR_TRIES, WITH_LIMITS = 10, 4
"""How many structures with a singular arc are tried where no bang-bang one holds; along limits,
where each takes longer."""


class Candidate(NamedTuple):
    """An extremal with its samples, certificate and the limits that it passes."""

    extremal: Extremal
    along: Course
    certificate: Certificate
    passed: str


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
    found = _candidates(robot, start, goal)
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


def _candidates(robot: Robot, start: Vector, goal: Vector) -> list[Candidate]:
    """Return the extremals that are worth a comparison, the fastest that holds last."""
    shooter = Shooter(robot, start, goal)
    found: list[Candidate] = []
    seen: list[tuple] = []
    for number, lot in enumerate(sketches(robot, start, goal), start=1):
        for sketch in sorted(lot, key=lambda each: each.duration):
            key = read_off(sketch.controls, sketch.duration, stays_of(robot, sketch)).key()
            known = any(key == other and abs(sketch.duration / t - 1.0) < AGREE - 1.0
                        for other, t in seen)  # fmt: skip
            if known or sketch.duration > SLACK * _fastest(found):
                continue
            seen.append((key, sketch.duration))
            candidate = _candidate(robot, shooter, sketch, goal)
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


def _candidate(robot: Robot, shooter: Shooter, sketch: Sketch, goal: Vector) -> Candidate | None:
    """Return the extremal near a sketch: bang-bang if that holds, else with a singular arc."""
    latest = None
    for attempt in range(2):
        if attempt == 1:
            sketch = Sequence(robot, shooter.start[: robot.n], goal).refined(sketch)
            if sketch.miss > ARRIVED:
                break
        found = None
        for structure in _structures(robot, sketch):
            found = _revised(robot, shooter, goal, structure, None) or found
            if found is not None and found.certificate.holds and not found.passed:
                return found
        latest = found or latest
        found = _with_singular_arc(robot, shooter, sketch, goal, found)
        if found is not None:
            return found
    return latest


def _structures(robot: Robot, sketch: Sketch) -> Iterator[Switching]:
    """Yield the structures that a sketch may have.

    Brief stays at limits are touches or rests, and other efforts may keep joints at limits.
    """
    known: list[tuple] = []
    for brief, beside in ((TOUCH, None), (AT_REST, None), (TOUCH, 0), (TOUCH, 1)):
        stays = stays_of(robot, sketch, brief, beside)
        structure = read_off(sketch.controls, sketch.duration, stays)
        if structure.key() not in known:
            known.append(structure.key())
            yield structure


def _revised(
    robot: Robot, shooter: Shooter, goal: Vector, switching: Switching, costate: Vector | None
) -> Candidate | None:
    """Return the extremal of a structure, changed to what its own conditions ask for."""
    latest = None
    for _ in range(REVISIONS):
        solved = shooter.solve(switching, costate)
        found = _checked_extremal(robot, goal, shooter.start, solved)
        if found is None:
            return latest
        latest, costate = found, found.extremal.costate
        if found.certificate.margin > 0.0 and found.certificate.singular_effort <= FULL:
            return latest
        revised = wanted(found.along, found.extremal.switching)
        if revised.key() == switching.key():
            return latest
        switching = revised
    return latest


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
        found = _revised(robot, shooter, goal, switching, costate)
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
