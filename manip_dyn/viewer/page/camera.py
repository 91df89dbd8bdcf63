"""Where the page is looked at from when it is opened."""

from __future__ import annotations

from typing import Any

import numpy as np

FIELD = 0.7
"""Vertical field of view, rad."""


def look_at(server: Any, reach: float, width: float = 0.0) -> None:
    """Look at figures that reach so far, m, spread over a width to both sides of the origin, m."""
    distance = (1.15 * reach + 0.75 * width) / np.tan(0.5 * FIELD) * 0.85
    target = np.array([0.0, 0.0, 0.36 * reach])
    place = target + distance * np.array([0.88, 0.24, 0.41])
    initial = server.initial_camera
    initial.position, initial.look_at, initial.fov = tuple(place), tuple(target), FIELD
    for client in server.get_clients().values():
        client.camera.position, client.camera.look_at = place, target
