"""Page of results: motions, their player and the function `view`."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.multibody import Mechanism
from manip_dyn.robot import Robot
from manip_dyn.viewer.charts import Chart, legend
from manip_dyn.viewer.controls import JointSliders
from manip_dyn.viewer.drawing import Drawing, ground, line, look_at
from manip_dyn.viewer.motions import KINDS, motion_of
from manip_dyn.viewer.scene import Colour, Motion
from manip_dyn.viewer.server import LOCALHOST, PORT, Frames, address, show, start, stop, theme

TOLD = 0.1
"""Wall time between moves of slider and plots while it plays, s."""
REST = 0.6
"""Wall time at the end before it begins anew, s."""
SPEEDS = {"1/10": 0.1, "1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0, "5": 5.0}


class Player:
    """Controls for time, and the thread that lets it go on.

    Attributes:
        now: Time in all motions, s.
    """

    def __init__(
        self, server: Any, motions: list[Motion], drawings: list[Drawing], playing: bool = True
    ):
        """Add the controls."""
        self._server, self._motions, self._drawings = server, motions, drawings
        self._charts: list[Chart] = []
        self.end = max(motion.end for motion in motions)
        self.now, self._lock, self._stop = 0.0, threading.RLock(), threading.Event()
        gui = server.gui
        # Marks without words: who switches stands in the plots.
        marks = {round(mark.begin, 6) for motion in motions for mark in motion.marks}
        self._slider = gui.add_slider(
            "time [s]",
            min=0.0,
            max=self.end,
            step=max(self.end / 1000.0, 1e-6),
            initial_value=0.0,
            marks=tuple(sorted(marks)) if len(marks) < 60 else None,
        )
        self._buttons = gui.add_button_group("motion", ("play", "pause", "begin"))
        self._speed = gui.add_dropdown("speed", tuple(SPEEDS), initial_value="1")
        self._playing = playing
        self._slider.on_update(self._on_slider)
        self._buttons.on_click(self._on_button)
        self.seek(0.0)
        self._thread = threading.Thread(target=self._run, name="player", daemon=True)

    def start(self, charts: list[Chart]) -> None:
        """Begin to play; the plots follow."""
        self._charts = charts
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def seek(self, now: float) -> None:
        """Show all motions at a time, s."""
        with self._lock, self._server.atomic():
            self.now = now
            for motion, drawing in zip(self._motions, self._drawings, strict=True):
                drawing.move(motion.at(now))

    def _on_slider(self, event: Any) -> None:
        if event.client_id is not None:  # and not this program
            self._playing = False
            self.seek(self._slider.value)
            self._tell(slider=False)

    def _on_button(self, event: Any) -> None:
        word = self._buttons.value
        if word == "begin" or (word == "play" and self.now >= self.end):
            self.seek(0.0)
            self._tell()
        self._playing = word == "play" or (word == "begin" and self._playing)

    def _tell(self, slider: bool = True) -> None:
        if slider:
            self._slider.value = min(self.now, self.end)
        for chart in self._charts:
            chart.move(min(self.now, self.end))

    def _run(self) -> None:
        last = told = time.monotonic()
        frames = Frames(self._stop)
        while frames.wait():
            wall = time.monotonic()
            passed, last = wall - last, wall
            if not self._playing or not self._server.get_clients():
                continue
            speed = SPEEDS[self._speed.value]
            now = self.now + min(passed, 0.2) * speed
            if now > self.end + REST * speed:
                now = 0.0
            self.seek(now)
            self._server.flush()  # else it is sent a frame later
            if wall - told >= TOLD:
                told = wall
                self._tell()


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


class View:
    """A page that is shown.

    Attributes:
        url: Where it is.
        server: The `viser.ViserServer` behind it, for what else is to be drawn.
    """

    def __init__(self, server: Any, page: AfterwardsPage):
        """Keep the page."""
        self.server, self._page = server, page
        self.url = address(server)

    def __repr__(self) -> str:
        """Return where the page is."""
        return f"View({self.url})"

    def wait(self) -> None:
        """Keep the page until Ctrl-C."""
        try:
            while True:
                time.sleep(3600.0)
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """End the page."""
        self._page.close()
        stop(self.server)


def view(
    *results: Any,
    robot: Robot | None = None,
    mechanism: Mechanism | None = None,
    titles: Sequence[str] = (),
    host: str = LOCALHOST,
    port: int = PORT,
    dark: bool = False,
    browser: bool = True,
    wait: bool | None = None,
) -> View:
    """Show results in the browser; several move side by side.

    Needs the package's extra ``view``. The page needs no network.

    Args:
        results: Each a `Plan`, `PathTiming`, `Trajectory`, `TrackResult`, `MechanismMotion` or
            `Recording`; a `Robot` stands still, with a slider for each joint.
        robot: The arm of each `Trajectory` and `TrackResult`.
        mechanism: That of each `MechanismMotion`.
        titles: What is told beside each, in order; left out: what it is.
        host: Who may open the page: this machine, or with 0.0.0.0 everybody who reaches it.
        port: Where; the next one that is free, 0: any.
        dark: Whether it begins dark.
        browser: Whether to open a browser where there is a screen.
        wait: Whether to keep the page until Ctrl-C; None: in a script, not in a notebook or at
            a prompt.

    Raises:
        ManipDynError: If something cannot be viewed, or viser is not installed.
    """
    if not results:
        raise ManipDynError(f"there is nothing to view; expected {KINDS}")
    if len(titles) > len(results):
        raise ManipDynError(f"there are {len(titles)} titles; expected {len(results)} at most")
    told = [*titles, *[""] * (len(results) - len(titles))]
    motions = [
        motion_of(result, robot, mechanism, title)
        for result, title in zip(results, told, strict=True)
    ]
    server = start(host, port, dark)
    shown = View(server, AfterwardsPage(server, motions, dark))
    if wait is None:
        wait = not hasattr(sys, "ps1") and "ipykernel" not in sys.modules
    print(f"manip_dyn: {shown.url}{', until Ctrl-C' if wait else ''}", flush=True)
    if browser:
        show(shown.url)
    if wait:
        shown.wait()
    return shown
