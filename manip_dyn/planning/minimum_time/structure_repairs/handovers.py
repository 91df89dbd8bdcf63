"""Handovers at the ends of boundary arcs of speed.

At the ends of a boundary arc, the joint's own effort may reach its limit within less than a cell
of an SLP solution. A handover then occurs: another effort holds the joint for a while.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.planning.minimum_time.extremals.controls import Control, boundary_control, full
from manip_dyn.planning.minimum_time.extremals.structure import Switching, assembled
from manip_dyn.planning.minimum_time.extremals.trajectory import Trajectory
from manip_dyn.robot import Robot

FRACTION = 0.1
"""Initial length of the second effort's arc as a fraction of the adjacent arc."""


def with_handovers(robot: Robot, along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield structures with other ends of boundary arcs of speed.

    Either a second effort holds the joint first or last, or the holding effort switches from or to
    its opposite limit.
    """
    n, arcs = robot.n, switching.arcs()
    for k, (mine, value) in enumerate(zip(switching.joints, switching.values, strict=True)):
        before, after = arcs[k][2], arcs[k + 1][2]
        arrives = value.is_boundary_arc_of_speed and before[mine].is_full
        limit = (value if arrives else before[mine]).held_at_speed(mine)
        if limit is None or not (arrives or value.is_full):
            continue
        ends = _Ends(switching, k)
        yield ends.from_other_limit() if arrives else ends.to_other_limit()
        q = along.states[along.arcs == k + arrives, :n][0 if arrives else -1]
        gains = np.linalg.inv(customize(robot).unchecked.mass_matrix(q.copy()))[limit[0]]
        for second in range(n):
            if not (after[second].is_full and before[second].is_full):
                continue
            direction = limit[1] * float(np.sign(gains[second]))
            holding = boundary_control(second, *limit, direction)
            if arrives:
                yield ends.second_effort_first(second, holding)
            else:
                yield from (ends.second_effort_last(second, holding, sign) for sign in (1.0, -1.0))


class _Ends:
    """Changes a structure where a joint reaches or leaves its speed limit."""

    def __init__(self, switching: Switching, index: int):
        """Store the structure and the index of this switch."""
        edges = [0.0, *switching.times.tolist(), switching.t_final]
        self._switching, self._index, self._time = switching, index, edges[index + 1]
        self._controls = switching.arcs()[index][2]
        self._mine, self._value = switching.joints[index], switching.values[index]
        self._before = FRACTION * (edges[index + 1] - edges[index])
        self._after = FRACTION * (edges[index + 2] - edges[index + 1])

    def _with(self, *rows: tuple[float, int, Control], without: int | None = None) -> Switching:
        """Return the structure with `rows` in place of the switch, and without row `without`."""
        remaining = [
            row for k, row in enumerate(self._switching.rows()) if k not in (self._index, without)
        ]
        return assembled(self._switching.controls, remaining + list(rows), self._switching.t_final)

    def from_other_limit(self) -> Switching:
        """Return the structure in which the effort switches from its opposite limit."""
        other_limit = full(-self._controls[self._mine].direction)
        earlier = (self._time - self._before, self._mine, other_limit)
        return self._with(earlier, (self._time, self._mine, self._value))

    def to_other_limit(self) -> Switching:
        """Return the structure in which the effort switches to its opposite limit."""
        later = (self._time + self._after, self._mine, self._value)
        return self._with((self._time, self._mine, full(-self._value.direction)), later)

    def second_effort_first(self, second: int, holding: Control) -> Switching:
        """Return the structure in which a second effort holds the joint first."""
        t, before = self._time, self._controls[self._mine].direction
        rows = [(t, second, holding), (t + self._after, self._mine, self._value)]
        if before * self._value.direction > 0.0:
            rows.append((t - self._before, self._mine, full(-before)))
        usual = self._controls[second]
        if usual.direction * holding.direction < 0.0:
            rows.append((t + 2.0 * self._after, second, usual))
        return self._with(*rows)

    def second_effort_last(self, second: int, holding: Control, sign: float) -> Switching:
        """Return the structure in which a second effort holds the joint last.

        Afterwards that effort is full with `sign`.
        """
        t, usual = self._time, self._controls[second]
        rows = [(t - self._before, second, holding), (t, second, full(sign))]
        if self._value.direction * self._controls[self._mine].direction < 0.0:
            rows.append((t + self._after, self._mine, self._value))
        without = None
        if full(sign) != usual:
            later = range(self._index + 1, len(self._switching.joints))
            mine = [k for k in later if self._switching.joints[k] == second]
            if mine and self._switching.values[mine[0]] == full(sign):
                without = mine[0]
            else:
                rows.append((t + 2.0 * self._after, second, usual))
        return self._with(*rows, without=without)
