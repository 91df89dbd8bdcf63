"""Plots of what runs: the last seconds, beside limits."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.viewer.page.charts import GREY, HEIGHT, MANY, colour_of
from manip_dyn.viewer.scene import Scope

LASTS = 10.0
"""How much is shown, s."""
POINTS = 200


class RollingChart:
    """One plot that goes on."""

    def __init__(self, server: Any, scope: Scope):
        """Add the plot to the page."""
        bounds = np.column_stack([scope.low, scope.high])
        self._shares = len(scope.names) > MANY and bool(np.isfinite(bounds).all())
        if self._shares:
            self._middle, self._half = bounds.mean(axis=1), 0.5 * np.ptp(bounds, axis=1)
        title = scope.title
        if self._shares:
            title = f"{title.partition(' [')[0]} [1 at the limits]"
        finite = [] if self._shares else sorted({x for x in bounds.ravel() if np.isfinite(x)})
        self._levels = [-1.0, 1.0] if self._shares else finite if len(finite) <= 4 else []
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
        """Take values (n,) at a time, s; one that goes back begins anew."""
        if self._rows and t < self._rows[-1][0]:
            self._rows.clear()
        if not self._rows or t - self._rows[-1][0] >= LASTS / POINTS:
            shown = (values - self._middle) / self._half if self._shares else values
            self._rows.append((t, np.array(shown, dtype=float)))
        while t - self._rows[0][0] > LASTS:
            self._rows.popleft()

    def show(self) -> None:
        """Draw what was taken."""
        if len(self._rows) > 1:
            self._handle.data = self._data()

    def _data(self) -> tuple[Vector, ...]:
        rows = list(self._rows) or [(0.0, np.zeros(self._count)), (1.0, np.zeros(self._count))]
        t = np.array([each[0] for each in rows])
        values = np.array([each[1] for each in rows])
        return (t, *values.T.copy(), *(np.full(t.size, level) for level in self._levels))
