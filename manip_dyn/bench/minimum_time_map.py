"""The picture of a grid of minimum-time motions: which structure where, and their times."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from manip_dyn.core.extras import needed
from manip_dyn.plots import figure_type

SHOWN = 18
"""So many structures, the most frequent, have a colour of their own."""


class Cell(Protocol):
    """What is drawn of a motion, see `minimum_time_catalogue.Entry`."""

    @property
    def goal(self) -> list[float]:
        """Where it ends (2,), rad."""

    @property
    def t_final(self) -> float:
        """Its time, s."""

    @property
    def structure(self) -> str:
        """What its efforts do."""

    @property
    def status(self) -> str:
        """``solved`` where it is certified."""


def draw(cells: Sequence[Cell]) -> bytes:
    """Return the picture (PNG) of a square grid of motions, the second joint's goal fastest."""
    listed = needed("matplotlib.colors", "plots need", "plot").ListedColormap
    size, names = round(len(cells) ** 0.5), [each.structure for each in cells]
    frequent = [name for name, _ in Counter(names).most_common(SHOWN)]
    kinds = np.array([frequent.index(name) if name in frequent else SHOWN for name in names])
    times = np.array([each.t_final for each in cells]).reshape(size, size)
    goals = np.array([each.goal for each in cells])
    half = 0.5 * (np.ptp(goals[:, 0])) / max(size - 1, 1)
    box = [goals.min() - half, goals.max() + half] * 2
    figure = figure_type()(figsize=(15.0, 6.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    colors = _colors()
    shown: dict[str, Any] = {"origin": "lower", "extent": box, "interpolation": "nearest"}
    kinds_map = kinds.reshape(size, size).T
    left.imshow(kinds_map, cmap=listed(colors), vmin=-0.5, vmax=SHOWN + 0.5, **shown)
    open_cells = np.array([each.status not in ("solved", "at_goal") for each in cells])
    left.plot(*goals[open_cells].T, "kx", markersize=4, label="not certified")
    labels = [*frequent, *[""] * (SHOWN - len(frequent)), "others" if kinds.max() == SHOWN else ""]
    for color, name in zip(colors, labels, strict=True):
        if name:
            left.plot([], [], "s", color=color, label=name)
    left.set_title("first signs of both efforts, then switches in order (joint, new sign)")
    left.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7)
    drawn = right.imshow(times.T, cmap="viridis", **shown)
    right.set_title("time [s]")
    figure.colorbar(drawn, ax=right)
    for axes in (left, right):
        axes.set_xlabel("goal of joint 1 [rad]")
        axes.set_ylabel("goal of joint 2 [rad]")
    out = io.BytesIO()
    figure.savefig(out, dpi=80, format="png")
    return out.getvalue()


def _colors() -> list[Any]:
    """Return colours for the frequent structures, and one for the others."""
    from matplotlib import colormaps

    return [*(colormaps["tab20"](i) for i in range(SHOWN)), (0.2, 0.2, 0.2, 1.0)]
