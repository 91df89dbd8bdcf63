"""Draws race.webp, the README's moving picture: ``python docs/pictures/race.py``.

The motions are those of examples/10_race.py, seen from above, in the time they take.
"""

import io
import runpy
from pathlib import Path

import matplotlib as mpl
import numpy as np
from PIL import Image

mpl.use("agg")

from matplotlib.figure import Figure

HERE = Path(__file__).parent
RATE, LAST = 25, 2.6  # pictures a second; s, with a rest at the end
LENGTHS = 0.4, 0.25  # m
COLORS = {"minimum time": "#0b5cad", "zero net work": "#c2570c", "PD": "#57606a"}


def joints(q: np.ndarray) -> np.ndarray:
    """Return the places of shoulder, elbow and tool (3, 2), m, seen from above."""
    angles = np.cumsum(q)
    links = np.multiply(LENGTHS, [np.cos(angles), np.sin(angles)]).T
    return np.vstack([np.zeros(2), np.cumsum(links, axis=0)])


def draw(motions: dict, times: dict, t: float) -> Image.Image:
    """Return the picture at time t."""
    figure = Figure(figsize=(7.2, 2.5), facecolor="white")
    for axes, (name, (at, q)) in zip(figure.subplots(1, 3), motions.items(), strict=True):
        now = np.array([np.interp(t, at, joint) for joint in q.T])
        trace = np.array([joints(each)[2] for each in q[at <= t]])
        axes.plot(*joints(q[0]).T, color="#d0d7de", lw=7, solid_capstyle="round")
        axes.plot(*joints(np.zeros(2))[2], "x", color="#57606a", ms=9, mew=2)
        axes.plot(*trace.T, color=COLORS[name], lw=1.2, alpha=0.7)
        axes.plot(*joints(now).T, "-", color=COLORS[name], lw=7, solid_capstyle="round")
        axes.plot(*joints(now)[:2].T, "o", color="white", ms=4)
        axes.set(xlim=(-0.08, 0.72), ylim=(-0.16, 0.62), aspect="equal")
        axes.set_title(name, fontsize=11, color=COLORS[name], fontweight="bold")
        there = f"{times[name]:.2f} s, at rest" if t >= times[name] else f"{t:.2f} s"
        axes.text(0.32, -0.14, there, ha="center", fontsize=10)
        axes.axis("off")
    figure.subplots_adjust(0.0, 0.0, 1.0, 0.88, wspace=0.0)
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=100)
    return Image.open(buffer).convert("RGB")


def main() -> None:
    """Draw all pictures and keep them as one that moves."""
    race = runpy.run_path(str(HERE.parents[1] / "examples" / "10_race.py"))
    moments = np.arange(0.0, LAST, 1.0 / RATE)
    first, *others = [draw(race["motions"], race["times"], t) for t in moments]
    options = {"save_all": True, "duration": 1000 // RATE, "loop": 0, "quality": 70, "method": 6}
    first.save(HERE / "race.webp", append_images=others, **options)


if __name__ == "__main__":
    main()
