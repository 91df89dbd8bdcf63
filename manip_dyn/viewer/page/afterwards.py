"""The page of motions that are over: side by side or one on another, played, plotted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from manip_dyn.viewer.page.camera import look_at
from manip_dyn.viewer.page.charts import Chart, legend
from manip_dyn.viewer.page.drawing import Drawing, line
from manip_dyn.viewer.page.ground import ground
from manip_dyn.viewer.page.player import Player
from manip_dyn.viewer.page.server import theme
from manip_dyn.viewer.page.sliders import JointSliders
from manip_dyn.viewer.scene import Colour, Motion

TINTS: tuple[Colour, ...] = (
    (59, 130, 246),
    (245, 158, 11),
    (16, 185, 129),
    (236, 72, 153),
    (139, 92, 246),
    (239, 68, 68),
)
WANTED: Colour = (130, 136, 146)
APART = 1.0
"""Distance between figures side by side, as a share of how far they reach."""
ABOVE = 0.16
"""How far above a figure its title is, as a share of how far it reaches."""


class AfterwardsPage:
    """Motions on a page.

    Attributes:
        player: Lets time go on; None where nothing moves.
    """

    def __init__(self, server: Any, motions: Sequence[Motion], dark: bool, playing: bool = True):
        """Draw the motions and add the controls."""
        self._server, self._motions = server, list(motions)
        several = len(self._motions) > 1
        self._reach = max(motion.figure.reach for motion in self._motions)
        self._top = max(_top(motion) for motion in self._motions)
        self._drawings = [
            Drawing(server, f"/m{k}", each.figure, TINTS[k % len(TINTS)] if several else None)
            for k, each in enumerate(self._motions)
        ]
        self.player: Player | None = None
        self._labels: list[Any] = []
        for k, motion in enumerate(self._motions):
            colour = TINTS[k % len(TINTS)]
            line(server, f"/m{k}/wanted", motion.wanted, WANTED, 2.0)
            line(server, f"/m{k}/trail", motion.trail, colour)
            if several:
                self._labels.append(
                    server.scene.add_label(f"/m{k}/label", motion.title, anchor="bottom-center")
                )
        self._grid = ground(server, self._reach, dark)
        self._controls(several, dark, playing)
        self._arrange(apart=several)

    def close(self) -> None:
        """End what runs beside the page."""
        if self.player is not None:
            self.player.close()

    def _controls(self, several: bool, dark: bool, playing: bool) -> None:
        gui, motions = self._server.gui, self._motions
        if not several:
            gui.add_markdown(f"**{motions[0].title}**")
        charts: list[Chart] = []
        if max(motion.end for motion in motions) > 0.0:
            self.player = Player(self._server, motions, self._drawings, playing)
        elif motions[0].figure.joints:
            figure, q = motions[0].figure, motions[0].at(0.0)
            JointSliders(self._server, figure, q, self._drawings[0].move)
        for drawing, motion in zip(self._drawings, motions, strict=True):
            drawing.move(motion.at(0.0))
        if several:
            apart = gui.add_checkbox("side by side", True)
            apart.on_update(lambda _: self._arrange(apart.value))
        choice = gui.add_checkbox("dark", dark)
        choice.on_update(lambda _: self._shade(choice.value))
        if self.player is None:
            return
        if several:
            tabs = gui.add_tab_group()
            for motion in motions:
                with tabs.add_tab(motion.title.partition(":")[0]):
                    charts += self._plots(motion)
        else:
            charts += self._plots(motions[0])
        self.player.start(charts)

    def _plots(self, motion: Motion) -> list[Chart]:
        gui, charts = self._server.gui, []
        names: tuple[str, ...] = ()
        for curves in motion.curves:
            if curves.names != names:
                names = curves.names
                gui.add_html(legend(names))
            chart = Chart(self._server, curves, motion.marks if curves.marked else ())
            chart.show(motion.t)
            charts.append(chart)
        if motion.marks:
            rows = "\n".join(f"| {_time(mark)} | {mark.text} |" for mark in motion.marks[:40])
            with gui.add_folder("what happens", expand_by_default=False):
                gui.add_markdown(f"| s | |\n|---|---|\n{rows}")
        return charts

    def _arrange(self, apart: bool) -> None:
        step = APART * self._reach if apart else 0.0
        middle = 0.5 * (len(self._motions) - 1)
        for k, drawing in enumerate(self._drawings):
            drawing.node.position = (0.0, step * (middle - k), 0.0)
        look_at(self._server, self._reach, step * middle)
        for k, label in enumerate(self._labels):
            height = self._top + (1.0 if apart else 1.0 + 0.7 * k) * ABOVE * self._reach
            label.position = (0.0, 0.0, height)

    def _shade(self, dark: bool) -> None:
        theme(self._server, dark)
        self._grid = ground(self._server, self._reach, dark)


def _top(motion: Motion) -> float:
    """Return how high the bodies and the tool get, m."""
    every = max(len(motion.t) // 20, 1)
    rows = motion.coordinates[::every]
    highest = max(float(motion.figure.poses(row).positions[:, 2].max()) for row in rows)
    return max(highest, float(motion.trail[:, 2].max(initial=highest)))


def _time(mark: Any) -> str:
    return f"{mark.begin:.4f}" if mark.end == mark.begin else f"{mark.begin:.4f} to {mark.end:.4f}"
