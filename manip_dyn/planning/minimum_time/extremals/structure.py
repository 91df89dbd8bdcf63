"""Switching structures, which contain the switches of each effort, and extremals."""

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
"""Normalized effort above which efforts in cells count as full."""


class Switching(NamedTuple):
    """Structure of a motion: the initial controls and all switches.

    Attributes:
        controls: Initial controls (n,).
        joints: Joints that switch, in order of time (m,).
        values: New controls of these joints' efforts (m,), or contact points.
        times: Switch times, s, in non-decreasing order (m,).
        t_final: Final time, s.
    """

    controls: Controls
    joints: tuple[int, ...]
    values: Controls
    times: Vector
    t_final: float

    def arcs(self) -> list[tuple[float, float, Controls]]:
        """Return start, end (s) and controls (n,) of every arc between switches."""
        edges, controls, arcs = [0.0, *self.times.tolist(), self.t_final], self.controls, []
        for k, (begin, end) in enumerate(itertools.pairwise(edges)):
            arcs.append((begin, end, controls))
            if k < len(self.joints) and not self.values[k].is_contact:
                controls = controls_after(controls, self.joints[k], self.values[k])
        return arcs

    def jumps(self) -> list[tuple[int, int]]:
        """Return the switches at which a costate jumps, and the index of this costate in (x, p).

        The costate of a joint's position jumps where the joint leaves a position limit or has a
        contact point with it. The costate of its speed jumps at a contact point with a speed
        limit, at a smooth entry or exit, and at a handover where the previous effort has reached
        its limit.
        """
        n, arcs, jumps = len(self.controls), self.arcs(), []
        for switch, (joint, value) in enumerate(zip(self.joints, self.values, strict=True)):
            before = arcs[switch][2][joint]
            if value.kind == Kind.CONTACT_POSITION:
                jumps.append((switch, 2 * n + joint))
            elif before.is_boundary_arc_of_position:
                jumps.append((switch, 2 * n + before.held_or_own(joint)))
            elif value.kind == Kind.CONTACT_SPEED:
                jumps.append((switch, 3 * n + joint))
            elif is_smooth(before, value):
                holding = value if value.is_boundary_arc_of_speed else before
                jumps.append((switch, 3 * n + holding.held_or_own(joint)))
        return jumps

    def per_joint(self) -> list[list[float]]:
        """Return the switch times of each joint, s."""
        arcs, times = self.arcs(), []
        for joint in range(len(self.controls)):
            jumps = [
                end
                for (_, end, before), (_, _, after) in itertools.pairwise(arcs)
                if before[joint] != after[joint]
            ]
            contacts = [t for t, value in self.events(joint) if value.is_contact]
            times.append(sorted(jumps + contacts))
        return times

    def events(self, joint: int) -> list[tuple[float, Control]]:
        """Return times, s, and new controls of the switches of one joint."""
        return [(t, value) for t, j, value in self.rows() if j == joint]

    def rows(self) -> list[tuple[float, int, Control]]:
        """Return times, s, joints and new controls of all switches."""
        return list(zip(self.times.tolist(), self.joints, self.values, strict=True))

    @property
    def has_singular(self) -> bool:
        """Whether any effort is singular on an arc."""
        return SINGULAR in self.values or SINGULAR in self.controls

    @property
    def has_limits(self) -> bool:
        """Whether any joint is at a position or speed limit on an arc."""
        return any(value.is_at_limit for value in self.values)

    def key(self) -> tuple:
        """Return the key of the structure: initial controls, joints and new controls."""
        return (*self.controls, *self.joints, *self.values)

    def tidied(self) -> Switching:
        """Return the structure with sorted switches and without vanished arcs."""
        controls, rows = list(self.controls), []
        for joint in range(len(controls)):
            events: list[tuple[float, Control]] = []
            for t, value in self.events(joint):
                if events and t <= events[-1][0]:
                    begin, latest = events.pop()
                    t, before = 0.5 * (t + begin), _current(controls[joint], events)
                    if latest.kind in (Kind.POSITION, Kind.SPEED) and value == before:
                        events.append((t, latest.shrunk()))
                if value != _current(controls[joint], events):
                    events.append((t, value))
            while events and events[0][0] <= 0.0:
                controls[joint] = _current(controls[joint], [events.pop(0)])
            rows += [(t, joint, value) for t, value in events if t < self.t_final]
        return assembled(controls, rows, self.t_final)


def _current(first: Control, events: list[tuple[float, Control]]) -> Control:
    """Return the control of an effort after its events; contact points do not change it."""
    changes = [value for _, value in events if not value.is_contact]
    return changes[-1] if changes else first


def assembled(
    controls: Sequence[Control], rows: list[tuple[float, int, Control]], t_final: float
) -> Switching:
    """Return the structure with switches given as (time, joint, new control)."""
    rows = sorted(rows)
    return Switching(
        tuple(controls),
        tuple(joint for _, joint, _ in rows),
        tuple(value for _, _, value in rows),
        np.array([t for t, _, _ in rows]),
        float(t_final),
    )


def alternating(first: float, times: list[float]) -> list[tuple[float, Control]]:
    """Return times and new controls of an effort that alternates between its limits."""
    return [(t, control_of_sign(first * (-1.0) ** (k + 1))) for k, t in enumerate(times)]


class BoundaryArc(NamedTuple):
    """Cells of a motion in which an effort holds its own or another joint at a limit.

    Attributes:
        joint: Joint of the effort.
        first: Index of the first cell.
        last: Index after the last cell.
        control: The control as in `Switching.values`; it may be a contact point.
    """

    joint: int
    first: int
    last: int
    control: Control


class Extremal(NamedTuple):
    """A motion that satisfies all of Pontryagin's conditions, with its costates.

    Attributes:
        switching: Controls, switches and final time.
        costate: Initial costates (2 n,), s per unit of the state.
        jumps: Jumps of the costates at `Switching.jumps`.
        residual: Largest violation of the conditions, in units of positions and speeds.
        curvature: Smallest second derivative of the final time by the switches along feasible
            directions, s/s^2; inf if there are none. If negative, the extremal is not a local
            minimum.
    """

    switching: Switching
    costate: Vector
    jumps: Vector
    residual: float
    curvature: float


class Guess(NamedTuple):
    """Guess of the costates of an extremal.

    Attributes:
        costate: Initial costates (2 n,), s per unit of the state.
        jumps: Jumps of the costates at `Switching.jumps`.
        nodes: State and costate (arcs, 4 n) at the starts of all arcs, for multiple shooting. They
            need not be continuous (Bock, Plitt 1984, IFAC Proceedings 17).
    """

    costate: Vector
    jumps: Vector | None = None
    nodes: Matrix | None = None
