"""Draw the pictures of the guides: ``python docs/site/example_pictures.py [EXAMPLE ...]``.

Runs the examples and writes their pictures to ``docs/pictures/EXAMPLE.png``.
"""

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


def draw(example: str) -> None:
    """Run an example and write its picture."""
    plt.close("all")
    runpy.run_path(str(DOCS.parent / "examples" / f"{example}.py"), run_name="__main__")
    memory = BytesIO()
    plt.savefig(memory, dpi=100)
    picture = Image.open(memory).convert("RGB").quantize(COLOURS)
    picture.save(DOCS / "pictures" / f"{example}.png", optimize=True)


if __name__ == "__main__":
    for name in sys.argv[1:] or EXAMPLES:
        draw(name)
