"""Controls of a page: joint sliders, and controls of time, goals, pushes and masses."""

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
"""Limit of the slider of an unlimited joint, rad or m."""


class JointSliders:
    """Sliders for the coordinates of a figure.

    Attributes:
        value: Current coordinates (N,).
    """

    def __init__(
        self, server: Any, figure: Figure, value: Vector, changed: Callable[[Vector], None]
    ):
        """Add the sliders to the page.

        Args:
            server: Server of the page.
            figure: Figure with independent coordinates.
            value: Initial coordinates (N,).
            changed: Function that is called with the coordinates after a user moves a slider.
        """
        self.value, self._changed = np.array(value), changed
        self._sliders = [
            self._slider(server, index, joint) for index, joint in enumerate(figure.joints)
        ]

    def _slider(self, server: Any, index: int, joint: Coordinate) -> Any:
        low = joint.low if np.isfinite(joint.low) else -TURN
        high = joint.high if np.isfinite(joint.high) else TURN
        slider = server.gui.add_slider(
            f"{joint.name} [{joint.unit}]",
            min=round(low, 3),
            max=round(high, 3),
            step=1e-3,
            initial_value=round(float(np.clip(self.value[index], low, high)), 3),
        )

        def take(event: Any) -> None:
            if event.client_id is not None:
                self.value[index] = min(max(slider.value, joint.low), joint.high)
                self._changed(self.value)

        slider.on_update(take)
        return slider


GHOST: Colour = (16, 185, 129)
PREVIEWED: Colour = (16, 150, 105)


class TimeControls:
    """Buttons that pause, continue, step and reset time."""

    def __init__(self, server: Any, controls: Controls):
        """Add the buttons."""
        self._paused = False
        self._controls = controls
        words = ("pause", "continue", "step", "reset")
        self._buttons = server.gui.add_button_group("time", words)
        self._buttons.on_click(lambda _: self._do(self._buttons.value))

    def show(self, able: frozenset[str]) -> None:
        """Show the buttons if a node accepts their commands; `able` lists available commands."""
        self._buttons.visible = bool(able & {"pause", "reset"})

    def _do(self, word: str) -> None:
        actions: dict[str, Callable[[], None]] = {
            "pause": lambda: self._controls.pause(True),
            "continue": lambda: self._controls.pause(False),
            "step": self._controls.step,
            "reset": self._controls.reset,
        }
        actions[word]()


class GoalControls:
    """Controls of the joint goal: sliders, method, preview, go and stop.

    A transparent copy of the arm shows the goal.
    """

    def __init__(self, server: Any, controls: Controls, figure: Figure, q: Vector):
        """Add the controls, initially hidden, with the goal `q` (n,)."""
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
            self._message = gui.add_markdown("")
        self._buttons.on_click(lambda _: self._do(self._buttons.value))

    def show(self, able: frozenset[str]) -> None:
        """Show the controls if "goal" is in `able`. The initial method is the planner's."""
        self._folder.visible = "goal" in able
        method = self._controls.method()
        if method in self._controls.methods and not self._chosen:
            self._chosen = True
            self._method.value = method

    def _choose(self, event: Any) -> None:
        """Record that a user selected a method."""
        self._chosen |= event.client_id is not None

    def _moved(self, q: Vector) -> None:
        if self._ghost is None:
            self._ghost = Drawing(self._server, "/goal", self._figure, GHOST, opacity=0.3)
        self._ghost.move(q)

    def _do(self, word: str) -> None:
        goal = self._sliders.value.copy()
        if word == "go":
            self._controls.goal(self._method.value, goal)
            self._message.content = ""
        elif word == "stop":
            self._controls.abort()
        else:
            self._message.content = "planning ..."
            threading.Thread(target=self._preview, args=(goal,), daemon=True).start()

    def _preview(self, goal: Vector) -> None:
        try:
            trail, self._message.content = self._controls.preview(self._method.value, goal)
        except ManipDynError as error:
            trail, self._message.content = np.zeros((0, 3)), f"no plan: {error}"
        if line(self._server, "/preview", trail, PREVIEWED, 5.0) is None:
            self._server.scene.remove_by_name("/preview")


class PushControls:
    """Controls that push a joint with an additional effort for a short time."""

    def __init__(self, server: Any, controls: Controls, figure: Figure, efforts: Vector):
        """Add the controls, initially hidden.

        Args:
            server: Server of the page.
            controls: Commands to the nodes.
            figure: Figure of the arm.
            efforts: Effort limits (n,), N m or N. The push of a joint without a limit is at most
                10 N m or N.
        """
        self._names = [joint.name for joint in figure.joints]
        self._efforts, self._controls = efforts, controls
        gui = server.gui
        self._folder = gui.add_folder("push", visible=False, expand_by_default=False)
        with self._folder:
            self._joint = gui.add_dropdown("joint", tuple(self._names))
            self._fraction = gui.add_slider("fraction of limit", -1.0, 1.0, 0.05, 0.5)
            self._time = gui.add_slider("for [s]", 0.02, 1.0, 0.02, 0.1)
            button = gui.add_button("push")
        button.on_click(lambda _: self._push())

    def show(self, able: frozenset[str]) -> None:
        """Show the controls if a simulator is running; `able` lists available commands."""
        self._folder.visible = "push" in able

    def _push(self) -> None:
        efforts = np.zeros(len(self._names))
        index = self._names.index(self._joint.value)
        limit = self._efforts[index]
        efforts[index] = self._fraction.value * (limit if np.isfinite(limit) else 10.0)
        self._controls.push(efforts, self._time.value)


class MassControls:
    """Slider and button that scale all masses."""

    def __init__(self, server: Any, controls: Controls):
        """Add the controls, initially hidden."""
        self._controls = controls
        gui = server.gui
        self._folder = gui.add_folder("mass", visible=False, expand_by_default=False)
        with self._folder:
            self._factor = gui.add_slider("mass factor", 0.5, 2.0, 0.05, 1.0)
            button = gui.add_button("change")
            self._message = gui.add_markdown("")
        button.on_click(lambda _: threading.Thread(target=self._change, daemon=True).start())

    def show(self, able: frozenset[str]) -> None:
        """Show the controls if a simulator is running; `able` lists available commands."""
        self._folder.visible = "mass" in able

    def _change(self) -> None:
        self._message.content = "changing ..."
        try:
            self._message.content = self._controls.mass(self._factor.value)
        except ManipDynError as error:
            self._message.content = f"not changed: {error}"
