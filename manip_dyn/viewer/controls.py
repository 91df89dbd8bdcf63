"""Controls of a page: joint sliders, time, goals, pushes and masses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.viewer.drawing import Drawing, line
from manip_dyn.viewer.scene import Colour, Controls, Coordinate, Figure

TURN = np.pi
"""Range of a joint that turns without limits, to both sides, rad."""


class JointSliders:
    """Sliders for the coordinates of a figure.

    Attributes:
        value: Where they stand (N,).
    """

    def __init__(
        self, server: Any, figure: Figure, value: Vector, changed: Callable[[Vector], None]
    ):
        """Add the sliders at a value (N,); `changed` takes the new one whenever one was moved."""
        self.value, self._changed = np.array(value), changed
        self._sliders = [
            self._slider(server, place, joint) for place, joint in enumerate(figure.joints)
        ]

    def _slider(self, server: Any, place: int, joint: Coordinate) -> Any:
        low = joint.low if np.isfinite(joint.low) else -TURN
        high = joint.high if np.isfinite(joint.high) else TURN
        slider = server.gui.add_slider(
            f"{joint.name} [{joint.unit}]",
            min=round(low, 3),
            max=round(high, 3),
            step=1e-3,
            initial_value=round(float(np.clip(self.value[place], low, high)), 3),
        )

        def take(event: Any) -> None:
            if event.client_id is not None:
                self.value[place] = min(max(slider.value, joint.low), joint.high)
                self._changed(self.value)

        slider.on_update(take)
        return slider


GHOST: Colour = (16, 185, 129)
PREVIEWED: Colour = (16, 150, 105)


class TimeControls:
    """Pause, step and reset."""

    def __init__(self, server: Any, controls: Controls):
        """Add the buttons."""
        self._paused = False
        self._controls = controls
        words = ("pause", "go on", "step", "reset")
        self._buttons = server.gui.add_button_group("time", words)
        self._buttons.on_click(lambda _: self._do(self._buttons.value))

    def show(self, able: frozenset[str]) -> None:
        """Show what somebody listens to."""
        self._buttons.visible = bool(able & {"pause", "reset"})

    def _do(self, word: str) -> None:
        actions: dict[str, Callable[[], None]] = {
            "pause": lambda: self._controls.pause(True),
            "go on": lambda: self._controls.pause(False),
            "step": self._controls.step,
            "reset": self._controls.reset,
        }
        actions[word]()


class GoalControls:
    """A slider for each joint, a ghost where they stand, a plan drawn before it runs, and go."""

    def __init__(self, server: Any, controls: Controls, figure: Figure, q: Vector):
        """Add the controls, hidden; q (n,) is where the joints are."""
        self._server, self._controls = server, controls
        self._ghost: Drawing | None = None
        self._figure = figure
        self._chosen = False
        gui = server.gui
        self._folder = gui.add_folder("goal", visible=False)
        with self._folder:
            self._sliders = JointSliders(server, figure, q, self._moved)
            self._method = gui.add_dropdown("method", controls.methods)
            self._method.on_update(self._choose)
            self._buttons = gui.add_button_group("plan", ("preview", "go", "stop"))
            self._said = gui.add_markdown("")
        self._buttons.on_click(lambda _: self._do(self._buttons.value))

    def show(self, able: frozenset[str]) -> None:
        """Show the controls while somebody listens; begin with the planner's own method."""
        self._folder.visible = "goal" in able
        own = self._controls.method()
        if own in self._controls.methods and not self._chosen:
            self._chosen = True
            self._method.value = own

    def _choose(self, event: Any) -> None:
        """Keep what somebody chose on the page."""
        self._chosen |= event.client_id is not None

    def _moved(self, q: Vector) -> None:
        if self._ghost is None:
            self._ghost = Drawing(self._server, "/goal", self._figure, GHOST, opacity=0.3)
        self._ghost.move(q)

    def _do(self, word: str) -> None:
        goal = self._sliders.value.copy()
        if word == "go":
            self._controls.goal(self._method.value, goal)
            self._said.content = ""
        elif word == "stop":
            self._controls.abort()
        else:
            self._said.content = "planning ..."
            threading.Thread(target=self._preview, args=(goal,), daemon=True).start()

    def _preview(self, goal: Vector) -> None:
        try:
            trail, self._said.content = self._controls.preview(self._method.value, goal)
        except ManipDynError as error:
            trail, self._said.content = np.zeros((0, 3)), f"no plan: {error}"
        if line(self._server, "/preview", trail, PREVIEWED, 5.0) is None:
            self._server.scene.remove_by_name("/preview")


class PushControls:
    """Efforts that push a joint for a moment."""

    def __init__(self, server: Any, controls: Controls, figure: Figure, efforts: Vector):
        """Add the controls, hidden; the greatest efforts are (n,), N m or N."""
        self._names = [joint.name for joint in figure.joints]
        self._efforts, self._controls = efforts, controls
        gui = server.gui
        self._folder = gui.add_folder("push", visible=False, expand_by_default=False)
        with self._folder:
            self._joint = gui.add_dropdown("joint", tuple(self._names))
            self._share = gui.add_slider("share of limit", -1.0, 1.0, 0.05, 0.5)
            self._time = gui.add_slider("for [s]", 0.02, 1.0, 0.02, 0.1)
            button = gui.add_button("push")
        button.on_click(lambda _: self._push())

    def show(self, able: frozenset[str]) -> None:
        """Show the controls while somebody listens."""
        self._folder.visible = "push" in able

    def _push(self) -> None:
        efforts = np.zeros(len(self._names))
        place = self._names.index(self._joint.value)
        most = self._efforts[place]
        efforts[place] = self._share.value * (most if np.isfinite(most) else 10.0)
        self._controls.push(efforts, self._time.value)


class MassControls:
    """A factor of all masses."""

    def __init__(self, server: Any, controls: Controls):
        """Add the controls, hidden."""
        self._controls = controls
        gui = server.gui
        self._folder = gui.add_folder("mass", visible=False, expand_by_default=False)
        with self._folder:
            self._factor = gui.add_slider("times the masses", 0.5, 2.0, 0.05, 1.0)
            button = gui.add_button("change")
            self._said = gui.add_markdown("")
        button.on_click(lambda _: threading.Thread(target=self._change, daemon=True).start())

    def show(self, able: frozenset[str]) -> None:
        """Show the controls while somebody listens."""
        self._folder.visible = "mass" in able

    def _change(self) -> None:
        self._said.content = "changing ..."
        try:
            self._said.content = self._controls.mass(self._factor.value)
        except ManipDynError as error:
            self._said.content = f"not changed: {error}"
