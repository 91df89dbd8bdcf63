"""Charts: curves with limits and marks for results, and rolling charts for running nodes."""

from __future__ import annotations

import html
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.viewer.scene import Curves, Mark, Scope

COLOURS = ("#3b82f6", "#f59e0b", "#10b981", "#ef4444", "#8b5cf6", "#ec4899", "#14b8a6", "#84848f")
GREY = "#8a8f98"
MANY = 3
"""Charts with more curves than this are normalized by the limits, if all limits are finite."""
FAR = 4.0
"""Limits are not drawn if they exceed the largest absolute value by more than this factor."""
FLAT = 0.02
"""Smallest half of the range of an axis relative to the largest limit."""
NOISE, SMALL = 1e-15, 1e-2
"""Errors between these values are multiplied by a power of 1000."""
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
HEIGHT = 150


class Chart:
    """Chart of curves with limits, arcs (thick lines), switches (dots) and a time cursor."""

    def __init__(self, server: Any, curves: Curves, marks: Sequence[Mark] = ()):
        """Create a chart. `show` adds it to the page."""
        self._curves = curves
        self._values, self._bounds, title = _shown(curves)
        self._range = _range(self._values, self._bounds)
        self._marks = [mark for mark in marks if mark.curve is not None]
        self._arcs = [mark for mark in self._marks if mark.end > mark.begin]
        self._server, self._title = server, title
        self._handle: Any = None

    def times(self, t: Vector) -> None:
        """Set the times (k,) of the values in seconds."""
        self._t = t

    def show(self, t: Vector) -> None:
        """Add the chart to the page. `t` (k,) contains the times of the values in seconds."""
        self.times(t)
        low, high = self._range
        colours = [COLOURS[k % len(COLOURS)] for k in range(len(self._curves.names))]
        series: list[dict[str, Any]] = [{"label": "t [s]"}]
        for name, colour in zip(self._curves.names, colours, strict=True):
            series.append({"label": name, "stroke": colour, "width": 1.75, "points": _NONE})
        for _, colour in self._limits():
            series.append({"stroke": colour, "width": 1, "dash": [5, 4], "points": _NONE})
        for arc in self._arcs:
            series.append({"stroke": colours[arc.curve or 0], "width": 6, "points": _NONE})
        for colour in colours:
            dot = {"show": True, "size": 7, "width": 1.5, "fill": colour, "stroke": "#ffffff"}
            series.append({"stroke": colour, "width": 0, "points": dot})
        series.append({"stroke": GREY, "width": 1.5, "points": _NONE})
        self._handle = self._server.gui.add_uplot(
            data=self.data(float(t[0])),
            series=tuple(series),
            title=self._title,
            scales={"x": {"time": False}, "y": {"range": [low, high]}},
            legend={"show": False},
            cursor={"drag": {"x": False, "y": False}},
            height=HEIGHT,
            padding=(4, 12, 0, 0),
        )

    def move(self, now: float) -> None:
        """Move the time cursor to the time `now` (s)."""
        self._handle.data = self.data(now)

    def data(self, now: float) -> tuple[Vector, ...]:
        """Return the times and all series, with two additional rows at `now` for the cursor."""
        t = np.sort(np.concatenate([self._t, [now, now]]))
        here = int(np.searchsorted(t, now))
        columns = [np.interp(t, self._t, column) for column in self._values.T]
        series = [t, *columns]
        series += [np.full(t.size, level) for level, _ in self._limits()]
        for arc in self._arcs:
            inside = (t >= arc.begin) & (t <= arc.end)
            series.append(np.where(inside, columns[arc.curve or 0], np.nan))
        for k, column in enumerate(columns):
            series.append(self._dots(k, t, column))
        line = np.full(t.size, np.nan)
        line[here], line[here + 1] = self._range
        return (*series, line)

    def _dots(self, curve: int, t: Vector, column: Vector) -> Vector:
        dots = np.full(t.size, np.nan)
        for mark in self._marks:
            if mark.curve == curve and mark.begin == mark.end:
                index = min(int(np.searchsorted(t, mark.begin)), t.size - 1)
                dots[index] = column[index]
        return dots

    def _limits(self) -> list[tuple[float, str]]:
        """Return the visible limits with their colours, without duplicates."""
        levels = {}
        for k, pair in enumerate(self._bounds):
            for level in pair:
                if np.isfinite(level) and self._range[0] <= level <= self._range[1]:
                    levels[float(level)] = GREY if float(level) in levels else colour_of(k)
        return [
            (level, GREY if len(self._curves.names) > MANY else c) for level, c in levels.items()
        ]


def legend(names: Sequence[str]) -> str:
    """Return an HTML legend with the names and colours of curves."""
    entry = '<span style="white-space:nowrap;margin-right:1em"><b style="color:{}">■</b> {}</span>'
    entries = (entry.format(colour_of(k), html.escape(name)) for k, name in enumerate(names))
    return f'<div style="font-size:0.8em;line-height:1.5;padding:0 0.8em">{"".join(entries)}</div>'


_NONE = {"show": False}


def colour_of(curve: int) -> str:
    """Return the colour of the curve with an index."""
    return COLOURS[curve % len(COLOURS)]


def _shown(curves: Curves) -> tuple[Matrix, Matrix, str]:
    """Return the values to draw (k, n), their limits (n, 2) and the title.

    More than `MANY` curves with finite limits are normalized to -1 and 1 at their limits. Small
    errors are multiplied by a power of 1000, because axes have at most three decimals.
    """
    bounds = np.column_stack([curves.low, curves.high])
    size = float(np.abs(curves.values).max())
    if not curves.marked and NOISE < size < SMALL:
        power = 3 * int(np.ceil(-np.log10(size) / 3.0))
        unit = f"[10{str(-power).translate(SUPERSCRIPTS)} "
        return curves.values * 10.0**power, bounds, curves.title.replace("[", unit, 1)
    if len(curves.names) <= MANY or not np.isfinite(bounds).all():
        return curves.values, bounds, curves.title
    middle, half = bounds.mean(axis=1), 0.5 * np.ptp(bounds, axis=1)
    normalized = (curves.values - middle) / np.where(half > 0.0, half, 1.0)
    title = f"{curves.title.partition(' [')[0]} [1 at the limits]"
    return normalized, np.tile([-1.0, 1.0], (len(half), 1)), title


def _range(values: Matrix, bounds: Matrix) -> tuple[float, float]:
    """Return the range of the axis: values, near limits, and at least `FLAT` of the limits."""
    low, high = float(values.min()), float(values.max())
    finite = bounds[np.isfinite(bounds)]
    near = finite[np.abs(finite) <= FAR * max(abs(low), abs(high))]
    if near.size:
        low, high = min(low, float(near.min())), max(high, float(near.max()))
    least = FLAT * float(np.abs(finite).max(initial=0.0)) or SMALL
    half = max(0.58 * (high - low), least)
    return 0.5 * (low + high) - half, 0.5 * (low + high) + half


LASTS = 10.0
"""Length of the time axis of a rolling chart, s."""
POINTS = 200


class RollingChart:
    """Chart of the values in the last `LASTS` seconds."""

    def __init__(self, server: Any, scope: Scope):
        """Add the chart to the page."""
        bounds = np.column_stack([scope.low, scope.high])
        self._normalized = len(scope.names) > MANY and bool(np.isfinite(bounds).all())
        if self._normalized:
            self._middle, self._half = bounds.mean(axis=1), 0.5 * np.ptp(bounds, axis=1)
        title = scope.title
        if self._normalized:
            title = f"{title.partition(' [')[0]} [1 at the limits]"
        finite = [] if self._normalized else sorted({x for x in bounds.ravel() if np.isfinite(x)})
        self._levels = [-1.0, 1.0] if self._normalized else finite if len(finite) <= 4 else []
        self._rows: deque[tuple[float, Vector]] = deque(maxlen=POINTS)
        none = {"show": False}
        series: list[dict[str, Any]] = [{"label": "t [s]"}]
        for k, name in enumerate(scope.names):
            series.append({"label": name, "stroke": colour_of(k), "width": 1.75, "points": none})
        for _ in self._levels:
            series.append({"stroke": GREY, "width": 1, "dash": [5, 4], "points": none})
        self._count = len(scope.names)
        self._handle = server.gui.add_uplot(
            data=self._data(),
            series=tuple(series),
            title=title,
            scales={"x": {"time": False}, "y": {}},
            legend={"show": False},
            cursor={"drag": {"x": False, "y": False}},
            height=HEIGHT,
            padding=(4, 12, 0, 0),
        )

    def add(self, t: float, values: Vector) -> None:
        """Add values (n,) at the time `t` (s), unless the last point is too recent.

        If time goes back, the chart restarts.
        """
        if self._rows and t < self._rows[-1][0]:
            self._rows.clear()
        if not self._rows or t - self._rows[-1][0] >= LASTS / POINTS:
            scaled = (values - self._middle) / self._half if self._normalized else values
            self._rows.append((t, np.array(scaled, dtype=float)))
        while t - self._rows[0][0] > LASTS:
            self._rows.popleft()

    def show(self) -> None:
        """Update the chart on the page with the added values."""
        if len(self._rows) > 1:
            self._handle.data = self._data()

    def _data(self) -> tuple[Vector, ...]:
        rows = list(self._rows) or [(0.0, np.zeros(self._count)), (1.0, np.zeros(self._count))]
        t = np.array([time for time, _ in rows])
        values = np.array([row for _, row in rows])
        return (t, *values.T.copy(), *(np.full(t.size, level) for level in self._levels))
