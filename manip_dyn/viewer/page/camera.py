"""Where the page is looked at from when it is opened."""

from __future__ import annotations

from typing import Any

import numpy as np

from manip_dyn.core.checks import Vector

FIELD = 0.7
"""Vertical field of view, rad."""
WIDE = 1.15
"""Width over height from which on a picture is wide enough."""
PHONE, HIDDEN = 576, 0.6
"""Narrower pages than this, in pixels, have their controls below, over such a share of them."""


def look_at(server: Any, reach: float, width: float = 0.0) -> None:
    """Look at figures that reach so far, m, spread over a width to both sides of the origin, m."""
    target, away = _places(reach, width)
    initial = server.initial_camera
    initial.position, initial.look_at, initial.fov = tuple(target + away), tuple(target), FIELD

    def place(client: Any) -> None:
        """Look from further away where the picture is narrow; past the controls on a phone."""
        camera = client.camera
        away_here = max(WIDE * camera.image_height / max(camera.image_width, 1), 1.0) * away
        middle = target
        if camera.image_width < PHONE:
            middle = target - HIDDEN * np.tan(0.5 * FIELD) * _up(away_here)
        camera.position, camera.look_at = middle + away_here, middle

    for client in server.get_clients().values():
        place(client)
    server.on_client_connect(place)


def _places(reach: float, width: float) -> tuple[Vector, Vector]:
    """Return where the middle is, and from where it is looked at, (3,), m, from there."""
    distance = (1.15 * reach + 0.75 * width) / np.tan(0.5 * FIELD) * 0.9
    target = np.array([0.0, 0.0, 0.36 * reach])
    return target, distance * np.array([0.88, 0.24, 0.41])


def _up(away: Vector) -> Vector:
    """Return what points up in the picture (3,), as long as the way to the eye (3,)."""
    length = float(np.linalg.norm(away))
    up = np.array([0.0, 0.0, 1.0]) - away * away[2] / length**2
    return up * length / float(np.linalg.norm(up))
