"""Draw the pictures of the guides: ``python docs/site/example_pictures.py [NAME ...]``.

Runs the examples, and the code of the page on path timing, and writes their pictures to
``docs/pictures/NAME.png``.
"""

import re
import runpy
import sys
from io import BytesIO
from pathlib import Path

import matplotlib
from PIL import Image

matplotlib.use("agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).parents[1]
EXAMPLES = (
    "03_which_integrator",
    "05_singular_posture",
    "08_zero_net_work",
    "09_minimum_time",
    "12_closed_loop",
    "16_many_motions",
    "18_identification",
    "19_collisions",
)
"""Examples whose pictures are in guides."""
COLOURS = 64
"""Number of colours of a picture, which reduces the size of its file."""


def draw(name: str) -> None:
    """Draw the picture of an example or of the page on path timing, and write it."""
    plt.close("all")
    if name == "path_timing":
        draw_path_timing()
    else:
        runpy.run_path(str(DOCS.parent / "examples" / f"{name}.py"), run_name="__main__")
    memory = BytesIO()
    plt.savefig(memory, dpi=100)
    picture = Image.open(memory).convert("RGB").quantize(COLOURS)
    picture.save(DOCS / "pictures" / f"{name}.png", optimize=True)


def draw_path_timing() -> None:
    """Draw the path speed and the normalized efforts of the first example of the page."""
    page = (DOCS / "path_timing.md").read_text(encoding="utf-8")
    scope: dict = {}
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], scope)
    samples, arm = scope["timing"].samples(0.002), scope["arm"]
    _, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4.6), layout="constrained")
    axes[0].plot(samples.time, samples.v, label=arm.joint_names)
    axes[0].set(title="path through four waypoints", ylabel="velocity [rad/s]")
    axes[0].legend()
    axes[1].plot(samples.time, samples.effort / arm.tau_max)
    axes[1].set(xlabel="time [s]", ylabel="effort / limit")


if __name__ == "__main__":
    for name in sys.argv[1:] or (*EXAMPLES, "path_timing"):
        draw(name)
