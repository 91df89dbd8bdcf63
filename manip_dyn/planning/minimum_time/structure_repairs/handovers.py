"""Where another effort may keep a joint at its limit of speed: structures to try.

At the ends of a boundary arc the joint's own effort may come to its limit within less than an
SLP solution shows. There is a handover: another effort keeps the joint for a while.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.planning.minimum_time.extremals.controls import Control, boundary_control, full
from manip_dyn.planning.minimum_time.extremals.structure import Switching, assembled
from manip_dyn.planning.minimum_time.extremals.trajectory import Trajectory
from manip_dyn.robot import Robot

SHARE = 0.1
"""How much of the boundary arc, or of the arc beside it, the other effort gets at first."""


def with_handovers(robot: Robot, along: Trajectory, switching: Switching) -> Iterator[Switching]:
    """Yield structures with other ends of boundary arcs of speed.

    Another effort keeps the joint at first or at last, or the effort that does comes from, or
    goes to, its other limit.
    """
    n, arcs = robot.n, switching.arcs()
    for place, (mine, value) in enumerate(zip(switching.joints, switching.values, strict=True)):
        before, after = arcs[place][2], arcs[place + 1][2]
        arrives = value.is_boundary_arc_of_speed and before[mine].is_full
        kept = (value if arrives else before[mine]).kept(mine)
        if kept is None or not (arrives or value.is_full):
            continue
        ends = _Ends(switching, place)
        yield ends.from_other_limit() if arrives else ends.to_other_limit()
        q = along.states[along.arcs == place + arrives, :n][0 if arrives else -1]
        gains = np.linalg.inv(customize(robot).unchecked.mass_matrix(q.copy()))[kept[0]]
        for other in range(n):
            if not (after[other].is_full and before[other].is_full):
                continue
            keeper = boundary_control(other, *kept, kept[1] * float(np.sign(gains[other])))
            if arrives:
                yield ends.other_first(other, keeper)
            else:
                yield from (ends.other_last(other, keeper, sign) for sign in (1.0, -1.0))


class _Ends:
    """Changes a structure where a joint comes to its limit of speed or leaves it."""

    def __init__(self, switching: Switching, place: int):
        """Take the structure and the place of that switch."""
        edges = [0.0, *switching.times.tolist(), switching.t_final]
        self._switching, self._place, self._time = switching, place, edges[place + 1]
        self._controls = switching.arcs()[place][2]
        self._mine, self._value = switching.joints[place], switching.values[place]
        self._before = SHARE * (edges[place + 1] - edges[place])
        self._after = SHARE * (edges[place + 2] - edges[place + 1])

    def _with(self, *rows: tuple[float, int, Control], without: int | None = None) -> Switching:
        """Return the structure with these rows instead of the switch, and without another."""
        kept = [
            row for k, row in enumerate(self._switching.rows()) if k not in (self._place, without)
        ]
        return assembled(self._switching.controls, kept + list(rows), self._switching.t_final)

    def from_other_limit(self) -> Switching:
        """Return the structure in which the effort comes from its other limit."""
        other_limit = full(-self._controls[self._mine].direction)
        earlier = (self._time - self._before, self._mine, other_limit)
        return self._with(earlier, (self._time, self._mine, self._value))

    def to_other_limit(self) -> Switching:
        """Return the structure in which the effort goes to its other limit."""
        later = (self._time + self._after, self._mine, self._value)
        return self._with((self._time, self._mine, full(-self._value.direction)), later)

    def other_first(self, other: int, keeper: Control) -> Switching:
        """Return the structure in which another effort keeps the joint at first."""
        t, before = self._time, self._controls[self._mine].direction
        rows = [(t, other, keeper), (t + self._after, self._mine, self._value)]
        if before * self._value.direction > 0.0:
            rows.append((t - self._before, self._mine, full(-before)))
        usual = self._controls[other]
        if usual.direction * keeper.direction < 0.0:
            rows.append((t + 2.0 * self._after, other, usual))
        return self._with(*rows)

    def other_last(self, other: int, keeper: Control, sign: float) -> Switching:
        """Return the structure in which another effort keeps the joint at last.

        It goes on with `sign`.
        """
        t, usual = self._time, self._controls[other]
        rows = [(t - self._before, other, keeper), (t, other, full(sign))]
        if self._value.direction * self._controls[self._mine].direction < 0.0:
            rows.append((t + self._after, self._mine, self._value))
        without = None
        if full(sign) != usual:
            later = range(self._place + 1, len(self._switching.joints))
            mine = [k for k in later if self._switching.joints[k] == other]
            if mine and self._switching.values[mine[0]] == full(sign):
                without = mine[0]
            else:
                rows.append((t + 2.0 * self._after, other, usual))
        return self._with(*rows, without=without)
