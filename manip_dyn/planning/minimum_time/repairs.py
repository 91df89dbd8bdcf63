"""Repairs of switching structures whose extremals violate a condition.

The docstrings state how many random goals each repair recovers: of 1,050 goals of the arms in
`manip_dyn.bench.random_arms.KNOWN`, and of 300 goals of 60 random arms (seeds 8101, 8102, 9001).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.certificate import FULL_EFFORT
from manip_dyn.planning.minimum_time.flow import (
    Trajectory,
    refined,
    refined_arcs,
    refined_samples,
)
from manip_dyn.planning.minimum_time.structures import (
    SINGULAR,
    Control,
    Kind,
    Switching,
    assembled,
    boundary_control,
    control_of_sign,
    full,
    is_smooth,
)
from manip_dyn.robot import Robot


def revised(along: Trajectory, switching: Switching) -> Switching:
    """Return the structure with full efforts that have the signs of the switching functions.

    Efforts between their limits remain unchanged unless they exceed a limit; they then become
    full.
    """
    n, arcs, here = along.switching.shape[1], switching.arcs(), refined_arcs(along)
    controls, rows = list(switching.controls), list[tuple[float, int, Control]]()
    contacts = [row for row in switching.rows() if row[2].is_contact]
    for joint in range(n):
        times, values = refined(along, joint)
        own = [controls_of_arc[joint] for _, _, controls_of_arc in arcs]
        is_full = np.array([control.is_full for control in own])[here]
        normalized = along.normalized_efforts[refined_samples(along), joint]
        signs = np.where(is_full, -np.sign(values), np.sign(normalized)).tolist()
        is_revised = is_full | (np.abs(normalized) > FULL_EFFORT)
        required = [
            control_of_sign(sign) if new else own[arc]
            for sign, new, arc in zip(signs, is_revised.tolist(), here.tolist(), strict=True)
        ]
        clear = ~is_full | (np.abs(values) > 1e-9 * np.abs(values).max())
        first = int(np.argmax(clear * (1.0 + np.abs(values)) * (times <= times[3])))
        controls[joint] = current = required[first]
        for k in np.flatnonzero(clear).tolist():
            if required[k] == current:
                continue
            arc, previous = int(here[k]), int(here[k - 1])
            is_handover = arc > previous and switching.joints[previous] != joint
            if not (is_handover and [current, required[k]] == [own[previous], own[arc]]):
                a, b = values[k - 1], values[k]
                fraction = a / (a - b) if a * b < 0.0 else 0.0
                t = float(times[k - 1] + fraction * (times[k] - times[k - 1]))
                rows.append((t, joint, required[k]))
            current = required[k]
    return assembled(controls, rows + contacts, switching.t_final)


AT_LIMIT = 1e-9
"""Distance from a limit below which a joint has reached it, rad or m."""


def within_limits(robot: Robot, along: Trajectory, switching: Switching) -> Switching:
    """Return the structure with a contact point or an arc at the limit that is exceeded most.

    It is a contact point at a position limit. A speed limit is exceeded around a switch; the
    effort that switches there then holds the joint at its limit. The structure is unchanged if no
    such limit is exceeded.
    """
    n, rows = robot.n, switching.rows()
    q, v = along.states[:, :n], along.states[:, n : 2 * n]
    beyond = np.stack([robot.q_min - q, q - robot.q_max], axis=2)
    if beyond.max() > AT_LIMIT:
        sample, joint, upper = np.unravel_index(int(beyond.argmax()), beyond.shape)
        contact = Control(Kind.CONTACT_POSITION, 1.0 if upper else -1.0)
        rows.append((float(along.times[sample]), int(joint), contact))
    elif rows:
        excess = np.abs(v) / robot.v_max - 1.0
        sample, joint = np.unravel_index(int(excess.argmax()), excess.shape)
        nearest = int(np.abs(switching.times - along.times[sample]).argmin())
        _, effort, after = rows[nearest]
        outside = along.times[excess[:, joint] > AT_LIMIT]
        if outside.size and after.is_full:
            side = float(np.sign(v[sample, joint]))
            holding = _holding(robot, q[sample], effort, int(joint), side)
            begin, end = float(outside[0]), float(outside[-1])
            rows[nearest] = end, effort, after
            rows.append((begin, effort, holding))
    return assembled(switching.controls, rows, switching.t_final)


def _holding(robot: Robot, q: Vector, effort: int, joint: int, side: float) -> Control:
    """Return the control of an effort that holds a joint at a speed limit at `q` (n,)."""
    gains = np.linalg.inv(customize(robot).unchecked.mass_matrix(q.copy()))[joint]
    return boundary_control(effort, joint, side, side * float(np.sign(gains[effort])))


PULSE_LENGTH = 4e-3
"""Initial length of a pulse that is shorter than a cell, as a fraction of the duration."""
NEAR_SWITCH = 4
"""Smallest number of nodes between a switch and such a pulse."""


def with_pulses(switching: Switching, push: Matrix) -> Switching:
    """Return the structure with short pulses to the opposite limit where switches are missing.

    They are inserted where the multipliers of the effort limits (nodes, n) are smallest between
    two switches. If a pulse is shorter than a cell, the effort does not change its sign there.
    """
    last, size = len(push) - 1, np.abs(push)
    near = np.round(switching.times / switching.t_final * last)
    is_dip = (size[1:-1] < size[:-2]) & (size[1:-1] <= size[2:]) & (push[:-2] * push[2:] > 0.0)
    dips = sorted(
        (size[node, joint], node, joint)
        for node, joint in (np.argwhere(is_dip) + np.array([1, 0])).tolist()
        if not np.any((np.array(switching.joints) == joint) & (abs(near - node) <= NEAR_SWITCH))
    )
    rows = switching.rows()
    for _, node, joint in dips[: switching.missing]:
        t, sign = node / last * switching.t_final, float(push[node, joint])
        half = 0.5 * PULSE_LENGTH * switching.t_final
        rows += [(t - half, joint, full(-sign)), (t + half, joint, full(sign))]
    return assembled(switching.controls, rows, switching.t_final)


def with_limit_approaches(
    robot: Robot, switching: Switching, start: Vector, goal: Vector
) -> Switching:
    """Return the structure with arcs from the start to limits, and from limits to the goal.

    They are added for joints that are at a position limit in the first or the last arc of the
    structure, but not at the start or the goal. Each consists of two full efforts of equal
    duration with opposite signs.
    """
    controls, rows, t_final = list(switching.controls), switching.rows(), switching.t_final
    last = switching.arcs()[-1][2]
    for joint in range(robot.n):
        first, final = switching.controls[joint], last[joint]
        if first.kind == Kind.POSITION:
            half = _half(robot, start, joint, first.direction)
            if half > 0.0:
                controls[joint] = full(first.direction)
                rows += [(half, joint, full(-first.direction)), (2.0 * half, joint, first)]
        if final.kind == Kind.POSITION:
            half = _half(robot, goal, joint, final.direction)
            if half > 0.0:
                rows += [
                    (t_final - 2.0 * half, joint, full(-final.direction)),
                    (t_final - half, joint, full(final.direction)),
                ]
    return assembled(controls, rows, t_final)


def _half(robot: Robot, q: Vector, joint: int, side: float) -> float:
    """Return half of the time, s, from rest at `q` (n,) to rest at a limit of a joint."""
    limit = robot.q_max if side > 0.0 else robot.q_min
    distance = abs(float(limit[joint] - q[joint]))
    inverse = np.linalg.inv(customize(robot).unchecked.mass_matrix(np.array(q)))
    fastest = float(inverse[joint, joint] * robot.tau_max[joint])
    return float(np.sqrt(distance / fastest)) if distance > AT_LIMIT else 0.0


BRIEF = 5e-4
"""Initial guess of the length of the arc, relative to the duration."""


def with_end_arcs(along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield structures with an effort at its limit before or after singular arcs at the ends.

    The first structures have the signs of the switching functions at the ends, the others the
    opposite signs, because the switching functions are only approximate there. This repair
    recovers 2 of 1,050 and 1 of 300 goals.
    """
    t_final, arcs = switching.t_final, switching.arcs()
    for side in (-1.0, 1.0):
        controls, rows = list(switching.controls), switching.rows()
        for effort, (first, last) in enumerate(zip(arcs[0][2], arcs[-1][2], strict=True)):
            if last.is_singular:
                sign = side * float(along.switching[-1, effort])
                rows.append(((1.0 - BRIEF) * t_final, effort, control_of_sign(sign)))
            if first.is_singular:
                controls[effort] = control_of_sign(side * float(along.switching[0, effort]))
                rows.append((BRIEF * t_final, effort, first))
        if rows != switching.rows():
            yield assembled(controls, rows, t_final)


INSIDE, OUTSIDE = 0.5, 0.1
"""Lengths of the full arc on both sides of the switch, over the length of the violation.

Next to a singular arc, the second time derivative of the switching function is proportional to
the singular effort minus the actual one. If the singular effort grows linearly, the switching
function is zero again after three times the time to the limit."""


def with_saturated_ends(along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield structures in which efforts that exceed their limits at ends of arcs are full.

    This repair recovers 5 of 1,050 and 2 of 300 goals.
    """
    rows = switching.rows()
    for index, (_, effort, control) in enumerate(rows):
        if not (control.is_singular or control.is_boundary_arc_of_speed):
            continue
        last = _last(switching, index)
        here = np.flatnonzero((along.arcs > index) & (along.arcs <= last))
        loads, times = along.normalized_efforts[here, effort], along.times[here]
        weak = np.abs(loads) > FULL_EFFORT
        if not weak.any() or weak.all():
            continue
        changed = list(rows)
        if weak[0] and (control.is_singular or _hands_over(switching, index)):
            begin, room = float(times[0]), _passing(times, loads)
            changed[index] = (begin + (1.0 + INSIDE) * room, effort, control)
            changed.append((begin - OUTSIDE * room, effort, full(loads[0])))
        if weak[-1] and last < len(rows):
            t, joint, after = rows[last]
            sign, room = full(loads[-1]), _passing(t - times[::-1], loads[::-1])
            early, late = t - (1.0 + INSIDE) * room, t + OUTSIDE * room
            if control.is_singular and joint == effort:
                changed[last] = (early, effort, sign)
                changed += [] if after == sign else [(late, effort, after)]
            elif _hands_over(switching, last):
                usual = switching.arcs()[last + 1][2][effort]
                brakes = after.brakes if usual == sign else not after.brakes
                changed[last] = (early, joint, replace(after, brakes=brakes))
                changed += [] if usual == sign else [(late, effort, usual)]
        if changed != rows:
            yield assembled(switching.controls, changed, switching.t_final)


SINGULAR_FRACTION = 0.6
"""Initial length of a singular arc, relative to the interval with the wrong sign."""

LEFT, TOUCHED, RETURNED = 0.4, 0.8, 2.9
"""Times between the jump of the required effort and the start of a lift-off, its contact point and
its end, over the length of the violation."""


def with_lift_offs(along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield structures in which a joint leaves a position limit that its effort cannot hold.

    The required effort jumps above its limit and falls below it later, or the reverse. The joint
    leaves the limit with a pulse, touches it once at full effort, and returns, braked by a pulse.
    If the required effort changed linearly, a joint without a contact point would return after
    three times the length of the violation. This repair recovers 4 of 1,050 and 1 of 300
    goals.
    """
    rows = switching.rows()
    for index, (_, effort, held) in enumerate(rows):
        if held.kind != Kind.POSITION:
            continue
        last = _last(switching, index)
        here = np.flatnonzero((along.arcs > index) & (along.arcs <= last))
        loads, times = along.normalized_efforts[here, effort], along.times[here]
        weak = np.flatnonzero(np.abs(loads) > FULL_EFFORT)
        for run in np.split(weak, np.flatnonzero(np.diff(weak) > 1) + 1) if weak.size else []:
            a, b = int(run[0]), int(run[-1])
            is_first, is_last = a == 0, b == len(here) - 1
            rises = is_first or times[a] == times[a - 1]
            if rises == (is_last or times[b] == times[b + 1]):
                continue
            if rises:
                t, peak, room = times[a], loads[a], _passing(times[a:], loads[a:])
            else:
                t, peak, room = times[b], loads[b], _passing(times[b] - times[b::-1], loads[b::-1])
            push, away, brief = full(peak), full(-peak), (abs(peak) - 1.0) * room
            delays = -LEFT * room, -0.5 * LEFT * room, RETURNED * room - brief, RETURNED * room
            side, changed = 1.0 if rises else -1.0, list(rows)
            knots = sorted(float(t + side * delay) for delay in delays)
            pulses = [
                (knot, effort, control)
                for knot, control in zip(knots, (away, push, away, held), strict=True)
            ]
            if is_first:
                pulses[:2] = []
                changed[index] = (float(t - brief), effort, push)
            elif is_last:
                pulses[2:] = []
                if last < len(rows):
                    changed[last] = (float(t + brief), *rows[last][1:])
            contact = Control(Kind.CONTACT_POSITION, held.direction)
            touched = float(t + side * TOUCHED * room), effort, contact
            yield assembled(switching.controls, [*changed, *pulses, touched], switching.t_final)


def _passing(times: Vector, loads: Vector) -> float:
    """Return the time, s, for which an effort exceeds its limit from the first sample on."""
    ends = int(np.argmax(np.abs(loads) <= FULL_EFFORT))
    over, under = abs(loads[ends - 1]) - 1.0, 1.0 - abs(loads[ends])
    step = times[ends] - times[ends - 1]
    return float(times[ends - 1] - times[0] + step * over / (over + under))


def _last(switching: Switching, switch: int) -> int:
    """Return the index of the last arc with the control that starts at a switch."""
    arcs, effort, last = switching.arcs(), switching.joints[switch], switch + 1
    while last + 1 < len(arcs) and arcs[last + 1][2][effort] == arcs[switch + 1][2][effort]:
        last += 1
    return last


def _hands_over(switching: Switching, switch: int) -> bool:
    """Return whether a switch is a handover of a joint between two efforts."""
    joint, value = switching.joints[switch], switching.values[switch]
    limit, before = value.held_at_speed(joint), switching.arcs()[switch][2]
    return limit is not None and any(
        effort != joint and control.held_at_speed(effort) == limit
        for effort, control in enumerate(before)
    )


def with_speed_arcs(robot: Robot, along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield structures in which another effort holds a joint at its speed limit for a short time.

    The arc replaces a contact point, or is next to a smooth entry or exit. It contains the
    samples at which the switching function of that effort has the wrong sign. This repair
    recovers 2 of 1,050 and 1 of 300 goals.
    """
    arcs, rows = switching.arcs(), switching.rows()
    for k, (t, joint, value) in enumerate(rows):
        before, is_contact = arcs[k][2][joint], value.kind == Kind.CONTACT_SPEED
        if not (is_contact or is_smooth(before, value)):
            continue
        is_entry = value.is_boundary_arc_of_speed
        limiting = value if is_contact or is_entry else before
        held, side = limiting.held(joint) or (joint, limiting.direction)
        remaining = rows[:k] + rows[k + 1 :]
        for arc, effort in itertools.product((k, k + 1), range(robot.n)):
            usual, is_before = arcs[arc][2][effort], arc == k
            if not usual.is_full or (effort == joint and not is_contact):
                continue
            here = np.flatnonzero(along.arcs == arc)
            wrong = usual.direction * along.switching[here, effort] > 0.0
            run = _run(wrong[::-1] if is_before else wrong)
            if run == 0:
                continue
            far = float(along.times[here[-run] if is_before else here[run - 1]])
            q = along.states[here[-1 if is_before else 0], : robot.n]
            holding = _holding(robot, q, effort, held, side)
            begin, end = sorted((t, far))
            if is_entry:
                brakes = full(holding.direction) != arcs[k + 1][2][effort]
                changed = [(begin, effort, holding), (end, joint, replace(value, brakes=brakes))]
            else:
                brakes = not is_contact and full(before.direction) != value
                holding = replace(holding, brakes=brakes)
                changed = [(begin, effort, holding), (end, effort, usual)]
            yield assembled(switching.controls, remaining + changed, switching.t_final)


def _run(wrong: np.ndarray) -> int:
    """Return the number of consecutive wrong samples after the contact point."""
    length = 1
    while length < len(wrong) and wrong[length]:
        length += 1
    return length if length > 1 else 0


def with_singular_arcs(along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield the structure with singular arcs around switches with slopes of the wrong sign.

    The switching function then has the wrong sign on both sides of the switch: full efforts
    approximate a singular arc that is too brief for the grid. This repair recovers 1 of 1,050 and
    5 of 300 goals.
    """
    removed, added = set[int](), list[tuple[float, int, Control]]()
    arcs, here = switching.arcs(), refined_arcs(along)
    for joint in range(along.switching.shape[1]):
        times, values = refined(along, joint)
        own = [controls[joint] for _, _, controls in arcs]
        signs = np.array([control.direction * control.is_full for control in own])[here]
        is_neutral = (signs != 0.0) & (np.abs(values) < 1e-9 * np.abs(values).max())
        wrong = np.flatnonzero((signs * values > 0.0) | is_neutral)
        for run in np.split(wrong, np.flatnonzero(np.diff(wrong) > 1) + 1) if wrong.size else []:
            first, last = int(here[run[0]]), int(here[run[-1]])
            inner = {k for k in range(first, last) if own[k] != own[k + 1]}
            if not inner or is_neutral[run].all():
                continue
            a, b = float(times[run[0]]), float(times[run[-1]])
            margin = 0.5 * (1.0 - SINGULAR_FRACTION) * (b - a)
            removed |= inner
            added += [(a + margin, joint, SINGULAR), (b - margin, joint, own[last])]
    if added:
        rows = [row for k, row in enumerate(switching.rows()) if k not in removed]
        yield assembled(switching.controls, rows + added, switching.t_final)


def repaired(robot: Robot, along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield the structures of all repairs of an extremal."""
    yield from with_speed_arcs(robot, along, switching)
    yield from with_singular_arcs(along, switching)
    yield from with_saturated_ends(along, switching)
    yield from with_lift_offs(along, switching)
    yield from with_end_arcs(along, switching)
