"""Switching structures: which joint's effort jumps when; and extremals, which have one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.planning.minimum_time.extremals.controls import (
    SINGULAR,
    Control,
    Controls,
    Kind,
    control_of_sign,
    controls_after,
    is_smooth,
)

BANG = 0.999
"""Efforts in cells beyond this share of their limit count as being at it."""


class Switching(NamedTuple):
    """Efforts at their limits, each with jumps from one to the other, or between them for a while.

    Attributes:
        controls: What the efforts (n,) do at first.
        joints: The joint that switches, in order of time (m,).
        values: What that joint's effort does afterwards (m,), or its contact point.
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
                controls = controls_after(controls, self.joints[place], self.values[place])
        return found

    def jumps(self) -> list[tuple[int, int]]:
        """Return the switches at which a costate jumps, and its place in (x, p).

        That of the joint's position jumps where it leaves a limit of position or has a contact
        point with one, that
        of its speed where it has one with a limit of speed, comes to it or leaves it smoothly,
        or another effort keeps it there from now on and the one before has come to its limit.
        """
        n, arcs, found = len(self.controls), self.arcs(), []
        for place, (joint, value) in enumerate(zip(self.joints, self.values, strict=True)):
            before = arcs[place][2][joint]
            if value.kind == Kind.CONTACT_POSITION:
                found.append((place, 2 * n + joint))
            elif before.is_boundary_arc_of_position:
                found.append((place, 2 * n + before.kept_or_own(joint)))
            elif value.kind == Kind.CONTACT_SPEED:
                found.append((place, 3 * n + joint))
            elif is_smooth(before, value):
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
            contacts = [t for t, value in self.events(joint) if value.is_contact]
            found.append(sorted(jumps + contacts))
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
                        kept.append((t, latest.shrunk()))
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
    return [(t, control_of_sign(first * (-1.0) ** (k + 1))) for k, t in enumerate(times)]


class BoundaryArc(NamedTuple):
    """Where an effort keeps a joint, its own or another one, at a limit, in cells of a motion.

    Attributes:
        joint: The joint whose effort it is.
        first: The cell at whose begin it begins.
        last: The cell at whose begin it ends.
        control: What the effort does, as in `Switching.values`; it may be a contact point.
    """

    joint: int
    first: int
    last: int
    control: Control


class Extremal(NamedTuple):
    """A motion that meets all of Pontryagin's conditions, and its costates.

    Attributes:
        switching: Controls, switches and final time.
        costate: Costates (2 n,) at the start, s per unit of the state.
        jumps: By how much costates jump at `Switching.jumps`.
        residual: Largest violation of the conditions, positions and speeds as they are.
        curvature: Least second derivative of the final time along changes of the switches that
            still arrive, s/s^2; inf where there are none. Below 0 it is no local minimum.
    """

    switching: Switching
    costate: Vector
    jumps: Vector
    residual: float
    curvature: float


class Guess(NamedTuple):
    """What is known of the costates of an extremal.

    Attributes:
        costate: Costates (2 n,) at the start, s per unit of the state.
        jumps: By how much costates jump at `Switching.jumps`.
        nodes: State and costate (arcs, 4 n) at the begins of all arcs. They need not fit together:
            multiple shooting (Bock, Plitt 1984, IFAC Proceedings 17).
    """

    costate: Vector
    jumps: Vector | None = None
    nodes: Matrix | None = None
