"""The floor: a grid whose cells are told in the figure's own size."""

from __future__ import annotations

import math
from typing import Any

LIGHT = {"cell_color": (232, 234, 238), "section_color": (210, 214, 220)}
DARK = {"cell_color": (52, 56, 62), "section_color": (78, 84, 92)}


def ground(server: Any, reach: float, dark: bool) -> Any:
    """Draw the floor anew; return its node."""
    cell = 10.0 ** math.floor(math.log10(reach))
    cell = cell / 2.0 if reach / cell >= 3.0 else cell / 10.0 if reach / cell < 2.0 else cell / 5.0
    colours = DARK if dark else LIGHT
    return server.scene.add_grid(
        "/ground",
        infinite_grid=True,
        cell_size=cell,
        section_size=5.0 * cell,
        cell_thickness=0.6,
        section_thickness=0.8,
        fade_distance=9.0 * reach,
        shadow_opacity=0.18,
        **colours,
    )
