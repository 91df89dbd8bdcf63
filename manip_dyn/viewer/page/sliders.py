"""A slider for each joint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.viewer.scene import Coordinate, Figure

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
