"""Live page of running nodes."""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.robot import Robot
from manip_dyn.viewer.charts import RollingChart, legend
from manip_dyn.viewer.collisions import CollisionControls, CollisionLayers
from manip_dyn.viewer.controls import GoalControls, MassControls, PushControls, TimeControls
from manip_dyn.viewer.drawing import Drawing, bounds_of, ground, line, look_at
from manip_dyn.viewer.scene import Colour, Controls, Figure, Level, Scope, Snapshot
from manip_dyn.viewer.server import RATE, Frames, theme

COLOURS: dict[str, Colour] = {
    "desired path": (150, 156, 166),
    "actual path": (59, 130, 246),
    "plan": (245, 158, 11),
}
LEVELS = ("#10b981", "#f59e0b", "#ef4444")
UNWATCHED = 20.0
"""Frames per second without clients, at which rolling charts collect values."""
LIVE_REACH = 0.5
"""Half of the width and the height of the initial scene relative to the reach of the arm."""
HANDLE = 0.25
"""Size of the handle relative to the reach of the arm."""
PLOT_PERIOD, QUERY_PERIOD = 0.2, 1.0
"""Wall time (s) between updates of the charts, and between queries of available commands."""


class LivePage:
    """Page that shows running nodes and sends commands to them.

    Attributes:
        server: Server of the page.
        handle: Draggable handle of the tool target, or None until a tracker is available.
    """

    def __init__(
        self,
        server: Any,
        figure: Figure,
        newest: Callable[[], Snapshot | None],
        controls: Controls,
        scopes: Sequence[Scope],
        dark: bool = False,
        robot: Robot | None = None,
    ):
        """Draw the figure and start the thread that updates it.

        Args:
            server: Server of the page.
            figure: The figure to draw.
            newest: Function that returns the newest snapshot, or None before the first one.
            controls: Commands to the nodes.
            scopes: Descriptions of the rolling charts.
            dark: Whether the page starts in dark mode.
            robot: The robot, or None for a mechanism.
        """
        self.server, self._figure, self._newest = server, figure, newest
        self._controls = controls
        self._drawing = Drawing(server, "/live", figure)
        self._lines: dict[str, Matrix] = {}
        self._obstacles: Figure | None = None
        self._layers: CollisionLayers | None = None
        if robot is not None:
            self._layers = CollisionLayers(server, "/live", self._drawing, figure, robot)
        ground(server, figure.reach, dark)
        reach = np.array([[-1.0, -1.0, 0.0], [1.0, 1.0, 1.0]]) * LIVE_REACH * figure.reach
        first = newest()
        seen = reach if first is None else bounds_of(figure, first.coordinates[None])
        look_at(server, np.stack([np.minimum(reach[0], seen[0]), np.maximum(reach[1], seen[1])]))
        gui = server.gui
        gui.add_markdown(f"**{figure.name}**, live")
        self._levels = gui.add_html("")
        self._time = TimeControls(server, controls)
        choice = gui.add_checkbox("dark", dark)
        choice.on_update(lambda _: self._shade(choice.value))
        if self._layers is not None:
            CollisionControls(server, [self._layers], closest=True)
        self._controls_shown: list[Any] = [self._time]
        if figure.joints and first is not None:
            efforts = next((s.high for s in scopes if "effort" in s.title), np.zeros(0))
            self._controls_shown.append(GoalControls(server, controls, figure, first.coordinates))
            self._controls_shown.append(PushControls(server, controls, figure, efforts))
            self._controls_shown.append(MassControls(server, controls))
        self.handle: Any = None
        self._dragged = False
        self._scopes = {scope.title: scope for scope in scopes}
        self._charts: dict[str, RollingChart] = {}
        self._named: tuple[str, ...] = ()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live page", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread that updates the page."""
        self._stop.set()
        self._thread.join()

    def _plot(self, t: float, title: str, values: Vector) -> None:
        """Add values to a chart. The first values create the chart."""
        if title not in self._charts:
            scope = self._scopes[title]
            if scope.names != self._named:
                self._named = scope.names
                self.server.gui.add_html(legend(scope.names))
            self._charts[title] = RollingChart(self.server, scope)
        self._charts[title].add(t, values)

    def _run(self) -> None:
        plotted = queried = 0.0
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
                self._draw_scene(now)
                self._lead_handle(now)
            self.server.flush()  # otherwise the frame is sent only with the next one
            if last - plotted >= PLOT_PERIOD:
                plotted = last
                for chart in self._charts.values():
                    chart.show()
                self._levels.content = _levels_html(now.levels, now.t)
            if last - queried >= QUERY_PERIOD:
                queried, able = last, self._controls.able()
                for control in self._controls_shown:
                    control.show(able)
                self._offer_handle("target" in able)

    def _draw_lines(self, now: Snapshot) -> None:
        for name, points in now.lines.items():
            if points is not self._lines.get(name):
                self._lines[name] = points
                line(self.server, f"/{name}", points, COLOURS[name])

    def _draw_scene(self, now: Snapshot) -> None:
        if self._layers is None or now.obstacles is None:
            return
        if now.obstacles is not self._obstacles:
            self._obstacles = now.obstacles
            self._layers.draw_obstacles(now.obstacles)
        self._layers.update(now.closest)

    def _offer_handle(self, available: bool) -> None:
        """Add the handle of the tool target when a tracker becomes available."""
        if not available or self._figure.tool is None or self.handle is not None:
            return
        scale = HANDLE * self._figure.reach
        self.handle = self.server.scene.add_transform_controls("/target", scale=scale)
        self.handle.on_update(lambda _: self._send(self.handle.position, self.handle.wxyz))

    def _lead_handle(self, now: Snapshot) -> None:
        """Move the handle to the target, or to the tool, until a user drags the handle."""
        if self.handle is not None and self._figure.tool is not None and not self._dragged:
            position, quaternion = now.tool or self._figure.tool(now.coordinates)
            self.handle.position, self.handle.wxyz = position, quaternion

    def _send(self, position: Vector, quaternion: Vector) -> None:
        self._dragged = True
        self._controls.target(np.array(position), np.array(quaternion))

    def _shade(self, dark: bool) -> None:
        theme(self.server, dark)
        ground(self.server, self._figure.reach, dark)


def _levels_html(levels: Sequence[Level], t: float) -> str:
    """Format the time (s) and the diagnostic levels of the nodes as HTML."""
    rows = "".join(
        f'<div><b style="color:{LEVELS[min(entry.level, 2)]}">●</b> {html.escape(entry.name)}: '
        f'<span style="opacity:0.75">{html.escape(entry.sentence)}</span></div>'
        for entry in levels
    )
    return f'<div style="font-size:0.8em;line-height:1.5;padding:0 0.8em">{t:.2f} s{rows}</div>'
