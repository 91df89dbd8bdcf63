"""Plays motions: time goes on, the figures and the line in the plots follow."""

from __future__ import annotations

import threading
import time
from typing import Any

from manip_dyn.viewer.page.charts import Chart
from manip_dyn.viewer.page.drawing import Drawing
from manip_dyn.viewer.page.frames import Frames
from manip_dyn.viewer.scene import Motion

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
