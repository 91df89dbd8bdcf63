"""Switching structures: which joint's effort jumps when, and how they are read off a motion."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from manip_dyn.planning.efforts import (
    SINGULAR,
    Control,
    Controls,
    Kind,
    changed,
    full,
    of_sign,
    smooth,
)
from manip_dyn.validate import Vector

BANG = 0.999
"""Efforts beyond this share of their limit count as being at it."""
BESIDE = 1.0
"""Jumps within as many cells of a stay at a limit are part of it."""
DIP = 0.02
"""Jumps forth and back within less of a cell are noise."""


class Switching(NamedTuple):
    """Efforts at their limits, each with jumps from one to the other, or between them for a while.

    Attributes:
        controls: What the efforts (n,) do at first.
        joints: The joint that switches, in order of time (m,).
        values: What that joint's effort does afterwards (m,), or which limit the joint touches.
        times: When, s, not decreasing (m,).
        t_final: End of the motion, s.
    """

    controls: Controls
    joints: tuple[int, ...]
    values: Controls
    times: Vector
    t_final: float

    def arcs(self) -> list[tuple[float, float, Controls]]:
        """Return begin, end (s) and what the efforts (n,) do, of every arc between switches."""
        edges, controls, found = [0.0, *self.times.tolist(), self.t_final], self.controls, []
        for place, (begin, end) in enumerate(itertools.pairwise(edges)):
            found.append((begin, end, controls))
            if place < len(self.joints) and not self.values[place].is_contact:
                controls = changed(controls, self.joints[place], self.values[place])
        return found

    def jumps(self) -> list[tuple[int, int]]:
        """Return the switches at which a costate jumps, and its place in (x, p).

        That of the joint's position jumps where it leaves or touches a limit of position, that
        of its speed where it touches a limit of speed, comes to it or leaves it smoothly, or
        another effort keeps it there from now on and the one before has come to its limit.
        """
        n, arcs, found = len(self.controls), self.arcs(), []
        for place, (joint, value) in enumerate(zip(self.joints, self.values, strict=True)):
            before = arcs[place][2][joint]
            if value.kind == Kind.CONTACT_POSITION or before.is_boundary_arc_of_position:
                found.append((place, 2 * n + joint))
            elif value.kind == Kind.CONTACT_SPEED:
                found.append((place, 3 * n + joint))
            elif smooth(before, value):
                keeper = value if value.is_boundary_arc_of_speed else before
                found.append((place, 3 * n + keeper.kept_or_own(joint)))
        return found

    def per_joint(self) -> list[list[float]]:
        """Return the switching times of each joint, s."""
        arcs, found = self.arcs(), []
        for joint in range(len(self.controls)):
            jumps = [
                end
                for (_, end, before), (_, _, after) in itertools.pairwise(arcs)
                if before[joint] != after[joint]
            ]
            touched = [t for t, value in self.events(joint) if value.is_contact]
            found.append(sorted(jumps + touched))
        return found

    def events(self, joint: int) -> list[tuple[float, Control]]:
        """Return times, s, of one joint's switches, and what its effort does afterwards."""
        return [(t, value) for t, j, value in self.rows() if j == joint]

    def rows(self) -> list[tuple[float, int, Control]]:
        """Return times, s, joints and new controls of all switches."""
        return list(zip(self.times.tolist(), self.joints, self.values, strict=True))

    @property
    def has_singular(self) -> bool:
        """Whether an effort is singular somewhere."""
        return SINGULAR in self.values or SINGULAR in self.controls

    @property
    def has_limits(self) -> bool:
        """Whether a joint is at a limit of position or speed somewhere."""
        return any(value.is_at_limit for value in self.values)

    def key(self) -> tuple:
        """Return what tells structures apart: first controls and order of the joints."""
        return (*self.controls, *self.joints, *self.values)

    def tidied(self) -> Switching:
        """Return it in order of time: crossings sorted, what has shrunk to nothing left out."""
        controls, rows = list(self.controls), []
        for joint in range(len(controls)):
            kept: list[tuple[float, Control]] = []
            for t, value in self.events(joint):
                if kept and t <= kept[-1][0]:
                    begin, latest = kept.pop()
                    t, before = 0.5 * (t + begin), _current(controls[joint], kept)
                    if latest.kind in (Kind.POSITION, Kind.SPEED) and value == before:
                        kept.append((t, latest.contact()))
                if value != _current(controls[joint], kept):
                    kept.append((t, value))
            while kept and kept[0][0] <= 0.0:
                controls[joint] = _current(controls[joint], [kept.pop(0)])
            rows += [(t, joint, value) for t, value in kept if t < self.t_final]
        return assembled(controls, rows, self.t_final)


def _current(first: Control, events: list[tuple[float, Control]]) -> Control:
    """Return what an effort does after its events; contact points change nothing."""
    later = [value for _, value in events if not value.is_contact]
    return later[-1] if later else first


def assembled(
    controls: Sequence[Control], rows: list[tuple[float, int, Control]], t_final: float
) -> Switching:
    """Return the structure with the switches (time, joint, new control)."""
    rows = sorted(rows)
    return Switching(
        tuple(controls),
        tuple(joint for _, joint, _ in rows),
        tuple(value for _, _, value in rows),
        np.array([t for t, _, _ in rows]),
        float(t_final),
    )


def alternating(first: float, times: list[float]) -> list[tuple[float, Control]]:
    """Return times and new controls of an effort that jumps from one limit to the other."""
    return [(t, of_sign(first * (-1.0) ** (k + 1))) for k, t in enumerate(times)]


class Stay(NamedTuple):
    """What an effort does, `kind` as in `Switching.values`, from one end of a cell to another.

    It keeps a joint, its own or another one, at a limit.
    """

    joint: int
    first: int
    last: int
    kind: Control


def read_off(controls: Vector, duration: float, stays: Sequence[Stay] = ()) -> Switching:
    """Return the structure nearest to efforts over their limits (cells, n) of equal cells.

    Neighbouring values between the limits become one switch with the same impulse, or two where
    the efforts on both sides are the same; what joints do while they stay at limits is left out.
    """
    cells, n = controls.shape
    h = duration / cells
    begun, rows = [full(1.0)] * n, list[tuple[float, int, Control]]()
    for joint in range(n):
        mine = sorted(stay for stay in stays if stay.joint == joint)
        brief = [stay for stay in mine if stay.kind.is_contact]
        touched = [0.5 * (stay.first + stay.last) for stay in brief]
        rows += [(t * h, joint, stay.kind) for t, stay in zip(touched, brief, strict=True)]
        mine = [stay for stay in mine if not stay.kind.is_contact]
        begins, ends = [0, *(s.last for s in mine)], [*(s.first for s in mine), cells]
        for place, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            if begin >= end:  # a stay from the start, up to the end, or right after another
                if place == 0:
                    begun[joint] = full(mine[0].kind.direction)
                if place < len(mine):
                    rows.append((begin * h, joint, mine[place].kind))
                continue
            first, times = _switches(controls[begin:end, joint])
            times = _cleared([begin + t for t in times], touched)
            departure, arrival = begin + 0.1, end - 0.1
            # What is left of the stay in the cells beside it is no switch.
            while place > 0 and times and times[0] < begin + BESIDE:
                departure, first = times.pop(0), -first
            while place < len(mine) and times and times[-1] > end - BESIDE:
                arrival = times.pop()
            if place == 0:
                begun[joint] = full(first)
            elif first * mine[place - 1].kind.direction < 0.0 or not _relieved(
                mine[place - 1], stays
            ):
                rows.append((departure * h, joint, full(first)))
            rows += [(t * h, joint, value) for t, value in alternating(first, times)]
            if place < len(mine):
                rows.append((arrival * h, joint, mine[place].kind))
    return assembled(begun, rows, duration)


def _relieved(stay: Stay, stays: Sequence[Stay]) -> bool:
    """Return whether another effort takes over at the end of a stay."""
    mine = stay.kind.kept(stay.joint)
    return mine is not None and any(
        each.joint != stay.joint and each.first == stay.last and each.kind.kept(each.joint) == mine
        for each in stays
    )


def _cleared(times: list[float], touched: list[float]) -> list[float]:
    """Return switches without pairs beside touches, both in cells."""
    for touch in touched:
        near = [t for t in times if abs(t - touch) < BESIDE + 0.5]
        kept = [sum(near) / len(near)] if len(near) % 2 else []
        times = sorted([t for t in times if t not in near] + kept)
    return times


def _switches(u: Vector) -> tuple[float, list[float]]:
    """Return the first sign and the switches, in cells, of one joint's efforts (cells,)."""
    full = np.flatnonzero(np.abs(u) >= BANG)
    if full.size == 0:
        return (1.0 if u[0] >= 0.0 else -1.0), _coarse_switches(u)
    times: list[float] = []
    first = float(np.sign(u[full[0]]))
    lead = 0.5 * float((1.0 - first * u[: full[0]]).sum())
    if lead > DIP:
        first, times = -first, [lead]
    for a, b in itertools.pairwise(full):
        before, after = np.sign(u[a]), np.sign(u[b])
        middle = u[a + 1 : b]
        against = 0.5 * (1.0 - before * middle)
        if before != after:
            times.append(float(b - against.sum()))
        elif against.sum() > DIP:
            center = float(a + 1.5 + against @ np.arange(b - a - 1) / against.sum())
            half = 0.5 * float(against.sum())
            times += [center - half, center + half]
    last = full[-1]
    tail = 0.5 * float((1.0 - np.sign(u[last]) * u[last + 1 :]).sum())
    if tail > DIP:
        times.append(len(u) - tail)
    return first, times


def _coarse_switches(u: Vector) -> list[float]:
    """Return where the sign of efforts that are nowhere at a limit changes, in cells."""
    return [float(k) for k in range(1, len(u)) if u[k] * u[k - 1] < 0.0]
