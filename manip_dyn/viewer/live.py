"""Page of running nodes."""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.viewer.charts import RollingChart, legend
from manip_dyn.viewer.controls import GoalControls, MassControls, PushControls, TimeControls
from manip_dyn.viewer.drawing import Drawing, ground, line, look_at
from manip_dyn.viewer.scene import Colour, Controls, Figure, Level, Scope, Snapshot
from manip_dyn.viewer.server import RATE, Frames, theme

COLOURS: dict[str, Colour] = {
    "desired path": (150, 156, 166),
    "actual path": (59, 130, 246),
    "plan": (245, 158, 11),
}
LEVELS = ("#10b981", "#f59e0b", "#ef4444")
UNWATCHED = 20.0
"""Frames per second while nobody looks: the plots have the last seconds when somebody does."""
HANDLE = 0.25
"""Length of the handle's arrows as a share of the arm's reach."""
PLOTTED, ASKED = 0.2, 1.0
"""Wall time between draws of the plots, and between looks at who listens, s."""


class LivePage:
    """What runs on a page.

    Attributes:
        server: The page.
        handle: What is dragged to send the tool somewhere; None while nobody listens to that.
    """

    def __init__(
        self,
        server: Any,
        figure: Figure,
        newest: Callable[[], Snapshot | None],
        controls: Controls,
        scopes: Sequence[Scope],
        dark: bool = False,
    ):
        """Draw what runs and begin to follow it.

        Args:
            server: The page.
            figure: What moves.
            newest: Returns what is known now; None: nothing yet.
            controls: What it can be told.
            scopes: What is plotted.
            dark: Whether the page begins dark.
        """
        self.server, self._figure, self._newest = server, figure, newest
        self._controls = controls
        self._drawing = Drawing(server, "/live", figure)
        self._lines: dict[str, Matrix] = {}
        ground(server, figure.reach, dark)
        look_at(server, figure.reach)
        gui = server.gui
        gui.add_markdown(f"**{figure.name}**, live")
        self._levels = gui.add_html("")
        self._time = TimeControls(server, controls)
        choice = gui.add_checkbox("dark", dark)
        choice.on_update(lambda _: self._shade(choice.value))
        self._parts: list[Any] = [self._time]
        first = newest()
        if figure.joints and first is not None:
            efforts = next((each.high for each in scopes if "effort" in each.title), np.zeros(0))
            self._parts.append(GoalControls(server, controls, figure, first.coordinates))
            self._parts.append(PushControls(server, controls, figure, efforts))
            self._parts.append(MassControls(server, controls))
        self.handle: Any = None
        self._dragged = False
        self._scopes = {scope.title: scope for scope in scopes}
        self._charts: dict[str, RollingChart] = {}
        self._named: tuple[str, ...] = ()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live page", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join()

    def _plot(self, t: float, title: str, values: Vector) -> None:
        """Take values; the first ones make their plot."""
        if title not in self._charts:
            scope = self._scopes[title]
            if scope.names != self._named:
                self._named = scope.names
                self.server.gui.add_html(legend(scope.names))
            self._charts[title] = RollingChart(self.server, scope)
        self._charts[title].add(t, values)

    def _run(self) -> None:
        plotted = asked = 0.0
        frames = Frames(self._stop)
        while frames.wait(RATE if self.server.get_clients() else UNWATCHED):
            last = time.monotonic()
            now = self._newest()
            if now is None:
                continue
            for title, values in now.values.items():
                self._plot(now.t, title, values)
            with self.server.atomic():
                self._drawing.move(now.coordinates)
                self._draw_lines(now)
                self._lead_handle(now)
            self.server.flush()  # else it is sent a frame later
            if last - plotted >= PLOTTED:
                plotted = last
                for chart in self._charts.values():
                    chart.show()
                self._levels.content = _told(now.levels, now.t)
            if last - asked >= ASKED:
                asked, able = last, self._controls.able()
                for part in self._parts:
                    part.show(able)
                self._offer_handle("target" in able)

    def _draw_lines(self, now: Snapshot) -> None:
        for name, points in now.lines.items():
            if points is not self._lines.get(name):
                self._lines[name] = points
                line(self.server, f"/{name}", points, COLOURS[name])

    def _offer_handle(self, wanted: bool) -> None:
        """Show a handle that sends the tool where it is dragged, while somebody listens."""
        if not wanted or self._figure.tool is None or self.handle is not None:
            return
        scale = HANDLE * self._figure.reach
        self.handle = self.server.scene.add_transform_controls("/target", scale=scale)
        self.handle.on_update(lambda _: self._send(self.handle.position, self.handle.wxyz))

    def _lead_handle(self, now: Snapshot) -> None:
        """Keep the handle where the tool is sent, or is, until it is dragged first."""
        if self.handle is not None and self._figure.tool is not None and not self._dragged:
            place, quaternion = now.tool or self._figure.tool(now.coordinates)
            self.handle.position, self.handle.wxyz = place, quaternion

    def _send(self, place: Vector, quaternion: Vector) -> None:
        self._dragged = True
        self._controls.target(np.array(place), np.array(quaternion))

    def _shade(self, dark: bool) -> None:
        theme(self.server, dark)
        ground(self.server, self._figure.reach, dark)


def _told(levels: Sequence[Level], t: float) -> str:
    """Return how everybody is, as HTML."""
    rows = "".join(
        f'<div><b style="color:{LEVELS[min(each.level, 2)]}">●</b> {html.escape(each.name)}: '
        f'<span style="opacity:0.75">{html.escape(each.sentence)}</span></div>'
        for each in levels
    )
    return f'<div style="font-size:0.8em;line-height:1.5;padding:0 0.8em">{t:.2f} s{rows}</div>'
