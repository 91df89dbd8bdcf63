"""Playback of results on a page, and the function `view`."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from manip_dyn.collision import HalfSpace, Scene
from manip_dyn.core.checks import Matrix
from manip_dyn.core.errors import ManipDynError
from manip_dyn.multibody import Mechanism
from manip_dyn.robot import Robot
from manip_dyn.viewer.charts import Chart, legend
from manip_dyn.viewer.collisions import CollisionControls, ComputedLayers, scene_figure
from manip_dyn.viewer.controls import JointSliders
from manip_dyn.viewer.drawing import Drawing, bounds_of, ground, line, look_at
from manip_dyn.viewer.motions import KINDS, motion_of
from manip_dyn.viewer.scene import Colour, Motion
from manip_dyn.viewer.server import LOCALHOST, PORT, Frames, address, show, start, stop, theme

UPDATE_PERIOD = 0.1
"""Wall time (s) between updates of the slider and the charts."""
REST = 0.6
"""Wall time (s) for which motions remain at their end before they restart."""
PRINTED_NOTES = 4
"""Maximum number of notes on the console. The page shows all."""
FRAME_HEIGHT = 560
"""Height of a page in a notebook, pixels."""
SPEEDS = {"1/10": 0.1, "1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0, "5": 5.0}


class Player:
    """Playback controls of motions, and the thread that advances their time.

    Attributes:
        now: Current time of all motions, s.
        end: End time of the longest motion, s.
    """

    def __init__(
        self, server: Any, motions: list[Motion], drawings: list[Drawing], playing: bool = True
    ):
        """Add the playback controls to the page, and show the motions at time 0."""
        self._server, self._motions, self._drawings = server, motions, drawings
        self._charts: list[Chart] = []
        self.end = max(motion.end for motion in motions)
        self.now, self._lock, self._stop = 0.0, threading.RLock(), threading.Event()
        gui = server.gui
        self._decimals = min(max(int(np.ceil(np.log10(500.0 / self.end))), 0), 6)
        # Marks have no labels, because the charts show which joint switches.
        marks = {round(mark.begin, 6) for motion in motions for mark in motion.marks}
        self._slider = gui.add_slider(
            "time [s]",
            min=0.0,
            max=self.end,
            step=10.0**-self._decimals,
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
        """Start the thread that plays the motions and updates the charts."""
        self._charts = charts
        self._thread.start()

    def close(self) -> None:
        """Stop the thread that plays the motions."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def seek(self, now: float) -> None:
        """Show all motions at the time `now` (s)."""
        with self._lock, self._server.atomic():
            self.now = now
            for motion, drawing in zip(self._motions, self._drawings, strict=True):
                drawing.move(motion.at(now))

    def _on_slider(self, event: Any) -> None:
        if event.client_id is not None:  # moved by a user
            self._playing = False
            self.seek(self._slider.value)
            self._update(slider=False)

    def _on_button(self, event: Any) -> None:
        word = self._buttons.value
        if word == "begin" or (word == "play" and self.now >= self.end):
            self.seek(0.0)
            self._update()
        self._playing = word == "play" or (word == "begin" and self._playing)

    def _update(self, slider: bool = True) -> None:
        if slider:
            self._slider.value = round(min(self.now, self.end), self._decimals)
        for chart in self._charts:
            chart.move(min(self.now, self.end))

    def _run(self) -> None:
        last = updated = time.monotonic()
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
            self._server.flush()  # otherwise the frame is sent only with the next one
            if wall - updated >= UPDATE_PERIOD:
                updated = wall
                self._update()


TINTS: tuple[Colour, ...] = (
    (59, 130, 246),
    (245, 158, 11),
    (16, 185, 129),
    (236, 72, 153),
    (139, 92, 246),
    (239, 68, 68),
)
DESIRED: Colour = (130, 136, 146)
APART = 1.0
"""Distance between figures side by side, relative to their reach."""
ABOVE = 0.16
"""Height of a title above its figure, relative to the reach."""


class ResultsPage:
    """Page that shows motions.

    Attributes:
        player: Player of the motions, or None if all motions end at time 0.
        notes: Remarks about the figures, such as missing mesh files.
    """

    def __init__(
        self,
        server: Any,
        motions: Sequence[Motion],
        dark: bool,
        playing: bool = True,
        scene: Scene | None = None,
    ):
        """Draw the motions and add the controls.

        Raises:
            ManipDynError: If the scene does not suit a robot, or there is no robot for it.
        """
        self._server, self._motions = server, list(motions)
        several = len(self._motions) > 1
        self._reach = max(motion.figure.reach for motion in self._motions)
        bounds = np.array([_bounds(motion, scene) for motion in self._motions])
        self._bounds = np.stack([bounds[:, 0].min(axis=0), bounds[:, 1].max(axis=0)])
        self._drawings = [
            Drawing(server, f"/m{k}", motion.figure, TINTS[k % len(TINTS)] if several else None)
            for k, motion in enumerate(self._motions)
        ]
        self._has_scene, scene = scene is not None, scene or Scene()
        self._layers = [
            ComputedLayers(server, f"/m{k}", drawing, motion.figure, motion.robot, scene)
            for k, (motion, drawing) in enumerate(zip(self._motions, self._drawings, strict=True))
            if motion.robot is not None
        ]
        self.player: Player | None = None
        self._labels: list[Any] = []
        for k, motion in enumerate(self._motions):
            colour = TINTS[k % len(TINTS)]
            line(server, f"/m{k}/desired", motion.desired, DESIRED, 2.0)
            line(server, f"/m{k}/trail", motion.trail, colour)
            if several:
                self._labels.append(
                    server.scene.add_label(f"/m{k}/label", motion.title, anchor="bottom-center")
                )
        self._grid = ground(server, self._reach, dark)
        figures = {id(motion.figure): motion.figure for motion in self._motions}.values()
        self.notes = [note for figure in figures for note in figure.notes]
        self.notes += dict.fromkeys(note for drawing in self._drawings for note in drawing.notes)
        self._controls(several, dark, playing)
        self._arrange(apart=several)

    def close(self) -> None:
        """Stop the player."""
        if self.player is not None:
            self.player.close()

    def _controls(self, several: bool, dark: bool, playing: bool) -> None:
        gui, motions = self._server.gui, self._motions
        if not several:
            gui.add_markdown(f"**{motions[0].title}**")
        if self.notes:
            with gui.add_folder("notes", expand_by_default=False):
                gui.add_markdown("\n".join(f"- {note}" for note in self.notes))
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
        if self._layers:
            CollisionControls(self._server, self._layers, closest=self._has_scene)
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
            with gui.add_folder("events", expand_by_default=False):
                gui.add_markdown(f"| s | |\n|---|---|\n{rows}")
        return charts

    def _arrange(self, apart: bool) -> None:
        step = APART * self._reach if apart else 0.0
        middle = 0.5 * (len(self._motions) - 1)
        for k, drawing in enumerate(self._drawings):
            drawing.node.position = (0.0, step * (middle - k), 0.0)
        seen = self._bounds.copy()
        for k, label in enumerate(self._labels):
            height = self._bounds[1, 2] + (1.0 if apart else 1.0 + 0.7 * k) * ABOVE * self._reach
            label.position = (0.0, 0.0, height)
            seen[1, 2] = height + 0.5 * ABOVE * self._reach
        look_at(self._server, seen, step * middle)

    def _shade(self, dark: bool) -> None:
        theme(self._server, dark)
        self._grid = ground(self._server, self._reach, dark)


SAMPLES = 20
"""Number of samples of a motion that determine its bounds."""


def _bounds(motion: Motion, scene: Scene | None) -> Matrix:
    """Return the lower and upper corner (2, 3) of the figures and the tool path of a motion, m."""
    rows = motion.coordinates[:: max(len(motion.t) // SAMPLES, 1)]
    figures = [motion.figure]
    if scene is not None and motion.robot is not None:
        solid = [e.name for e in scene.objects.values() if not isinstance(e.shape, HalfSpace)]
        figures.append(scene_figure(motion.robot, scene, motion.figure.poses, solid))
    corners = [bounds_of(figure, rows) for figure in figures]
    points = np.concatenate([*corners, motion.trail, motion.desired])
    return np.stack([points.min(axis=0), points.max(axis=0)])


def _time(mark: Any) -> str:
    return f"{mark.begin:.4f}" if mark.end == mark.begin else f"{mark.begin:.4f} to {mark.end:.4f}"


class View:
    """A page in the browser.

    Attributes:
        url: URL of the page.
        server: The `viser.ViserServer` of the page, to which objects can be added.
    """

    def __init__(self, server: Any, page: ResultsPage):
        """Create a view from a server and its page."""
        self.server, self._page = server, page
        self.url = address(server)

    def __repr__(self) -> str:
        """Return the class name and the URL."""
        return f"View({self.url})"

    def _repr_html_(self) -> str:
        """Return a frame with the page, which notebooks show."""
        return f'<iframe src="{self.url}" width="100%" height="{FRAME_HEIGHT}"></iframe>'

    def wait(self) -> None:
        """Block until Ctrl-C, then close the page."""
        try:
            while True:
                time.sleep(3600.0)
        except KeyboardInterrupt:
            print(flush=True)  # ends the line on which a terminal shows ^C
            self.close()

    def close(self) -> None:
        """Close the page and stop the server."""
        self._page.close()
        stop(self.server)


def view(
    *results: Any,
    robot: Robot | None = None,
    mechanism: Mechanism | None = None,
    titles: Sequence[str] = (),
    scene: Scene | None = None,
    host: str = LOCALHOST,
    port: int = PORT,
    dark: bool = False,
    browser: bool = True,
    wait: bool | None = None,
) -> View:
    """Show results in the browser, side by side if there are several.

    Requires the extra ``view``. The page does not require a network connection.

    Args:
        results: `Plan`, `PathTiming`, `Trajectory`, `TrackResult`, `MechanismMotion`,
            `Recording`, `Robot`, `Motion`, or the path of a URDF or recording. A robot is shown
            at rest; a single robot has a slider for each joint.
        robot: Robot of all results of type `Trajectory` or `TrackResult`.
        mechanism: Mechanism of all results of type `MechanismMotion`.
        titles: Titles of the results, in order. Default: depends on the result.
        scene: Objects around the robots, which are drawn with the closest pair of shapes.
        host: Address to listen on. Default: this machine only. 0.0.0.0: all network interfaces.
        port: Port of the page. If it is in use, the next free one. 0: any free port.
        dark: Whether the page starts in dark mode.
        browser: Whether to open a browser if there is a display. Not used in notebooks.
        wait: Whether to block until Ctrl-C. Default: True in scripts, False in notebooks and
            interactive sessions.

    Returns:
        The view, with the URL of the page. As the last expression of a cell, a notebook shows
        the page below the cell.

    Raises:
        ManipDynError: If there are no results, a result cannot be shown, another argument is
            invalid, or viser is not installed.
    """
    if not results:
        raise ManipDynError(f"view requires at least one result: {KINDS}.")
    if len(titles) > len(results):
        message = f"titles must have at most {len(results)} entries, got {len(titles)}."
        raise ManipDynError(message)
    all_titles = [*titles, *[""] * (len(results) - len(titles))]
    motions = [
        motion_of(result, robot, mechanism, title)
        for result, title in zip(results, all_titles, strict=True)
    ]
    if not isinstance(scene, (Scene, type(None))):
        raise ManipDynError(f"scene must be a Scene or None, got {scene!r}.")
    if scene is not None and not any(motion.robot for motion in motions):
        raise ManipDynError("scene must be None for mechanisms.")
    server = start(host, port, dark)
    try:
        page = ResultsPage(server, motions, dark, scene=scene)
    except BaseException:
        stop(server)
        raise
    handle = View(server, page)
    for note in page.notes[:PRINTED_NOTES]:
        print(f"manip_dyn: {note}", file=sys.stderr, flush=True)
    if len(page.notes) > PRINTED_NOTES:
        print(f"manip_dyn: the page shows all {len(page.notes)} notes", file=sys.stderr)
    notebook = "ipykernel" in sys.modules
    if wait is None:
        wait = not hasattr(sys, "ps1") and not notebook
    print(f"manip_dyn: {handle.url}{', until Ctrl-C' if wait else ''}", flush=True)
    if browser and not notebook:
        show(handle.url)
    if wait:
        handle.wait()
    return handle
