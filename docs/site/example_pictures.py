"""Draw the pictures of the guides: ``python docs/site/example_pictures.py [NAME ...]``.

Runs the examples and the code of pages, and writes their pictures to ``docs/pictures/NAME.png``.
The pictures of the viewer require Chromium, that of a page also its driver.
"""

import os
import re
import runpy
import sys
import tempfile
import time
from io import BytesIO
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
from PIL import Image

matplotlib.use("agg")
import matplotlib.pyplot as plt

import manip_dyn as md
from manip_dyn.inspection import mass_rules
from manip_dyn.inspection.readings import mass_of
from manip_dyn.robot.urdf import child_of, links_of, movable_joints_of
from manip_dyn.viewer.picture import client_of

DOCS = Path(__file__).parents[1]
sys.path.append(str(DOCS.parent / "test"))

import arms  # noqa: E402
import chromium  # noqa: E402

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


POSTURES = {
    "ibm7535": [0.5, 0.9],
    "pa10": [0.5, 0.5, 0.0, 1.3, 0.0, 0.6, 0.0],
    "ur5": [0.5, -1.3, 1.7, -1.9, -1.57, 0.0],
    "panda": [0.5, -0.5, 0.0, -2.2, 0.0, 1.8, 0.8],
}
"""Robots of the picture of shipped robots, with their joint positions, rad."""
TILE = (300, 360)
"""Width and height of the picture of a robot, pixels."""
PAGE = (1280, 800)
"""Width and height of the browser that shows a page, pixels."""
POINT = 1e-4
"""Distance that represents 0 on a logarithmic axis, m."""
LOADING = 8.0
"""Time from the first contents of a page to its picture, s. The page fades in."""


def draw(name: str) -> None:
    """Draw a picture and write it."""
    plt.close("all")
    if name in PICTURES:
        picture = PICTURES[name]()
    else:
        runpy.run_path(str(DOCS.parent / "examples" / f"{name}.py"), run_name="__main__")
        picture = figure()
    picture = picture.convert("RGB").quantize(COLOURS)
    picture.save(DOCS / "pictures" / f"{name}.png", optimize=True)


def figure() -> Image.Image:
    """Return the current figure of matplotlib as a picture."""
    memory = BytesIO()
    plt.savefig(memory, dpi=100)
    return Image.open(memory)


def code_of(page: str) -> dict:
    """Run the first Python code of a page and return its variables."""
    text = (DOCS / page).read_text(encoding="utf-8")
    scope: dict = {}
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], scope)
    return scope


def path_timing() -> Image.Image:
    """Return the path speed and the normalized efforts of the first example of the page."""
    scope = code_of("path_timing.md")
    samples, arm = scope["timing"].samples(0.002), scope["arm"]
    _, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4.6), layout="constrained")
    axes[0].plot(samples.time, samples.v, label=arm.joint_names)
    axes[0].set(title="path through four waypoints", ylabel="velocity [rad/s]")
    axes[0].legend()
    axes[1].plot(samples.time, samples.effort / arm.tau_max)
    axes[1].set(xlabel="time [s]", ylabel="effort / limit")
    return figure()


def inertias() -> Image.Image:
    """Return the principal moments and sizes of the moving links of example-robot-data.

    A ball of radius R has an RMS distance of sqrt(3/5) R from its centre.
    """
    links = []
    for path in arms.examples():
        root = ElementTree.parse(path).getroot()
        findings = [f for f in mass_rules.inertia_findings(root) if f.what == "inertia"]
        kinds = {f.name: 1 if "none" in f.expected else 2 for f in findings}
        joints = movable_joints_of(root).values()
        groups = (mass_rules.rigid_group(root, child_of(joint)) for joint in joints)
        for name in sorted(set(chain.from_iterable(groups))):
            body = mass_of(links_of(root)[name])
            if body is not None and body.mass > 0.0:
                moments = np.linalg.eigvalsh(body.inertia)
                links.append((body.mass, *moments, kinds.get(name, 0)))
    mass, low, middle, high, kind = np.array(links).T
    largest = np.where(high > 0.0, high, np.nan)
    low_ratio, middle_ratio = low / largest, middle / largest
    spread = np.sqrt(np.maximum((low + middle + high) / (2.0 * mass), POINT**2))
    masses = np.geomspace(1e-4, 100.0)
    ball = np.sqrt(0.6) * (masses / (4.0 / 3.0 * np.pi * mass_rules.DENSEST)) ** (1.0 / 3.0)
    _, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.4), layout="constrained")
    for finding, style, label in ((0, "C0.", "no finding"), (1, "C3o", "error or warning")):
        select = kind == finding
        left.plot(low_ratio[select], middle_ratio[select], style, markersize=4, label=label)
        select = kind == 2 * finding
        right.loglog(mass[select], spread[select], style, markersize=4)
    left.fill([0.0, 1.0, 0.5], [1.0, 1.0, 0.5], facecolor="none", edgecolor="black")
    for x, y, name in ((0.0, 1.02, "rod"), (1.0, 1.02, "ball"), (0.5, 0.44, "flat disc")):
        left.text(x, y, name, horizontalalignment="center")
    left.set(title="triangle inequality", xlabel="smallest / largest principal moment")
    left.set(ylabel="middle / largest principal moment", xlim=(-0.1, 1.1), ylim=(-0.05, 1.1))
    left.legend(loc="lower right")
    right.loglog(masses, ball, "black")
    right.text(0.4, 5e-3, "ball of osmium")
    right.text(2e-3, 1.3 * POINT, "point masses")
    right.set(title="density and size", xlabel="mass [kg]", xlim=(5e-5, 200.0))
    right.set(ylabel="RMS distance of the mass from its centre [m]")
    return figure()


def robots() -> Image.Image:
    """Return the robots of `POSTURES`, side by side."""
    width, height = TILE
    row = Image.new("RGB", (width * len(POSTURES), height))
    for k, (name, q) in enumerate(POSTURES.items()):
        motion = md.viewer.view_motion(md.load_robot(name), [0.0], [q], title=name)
        view = md.view(motion, port=0, browser=False, wait=False)
        with client_of(view.server, view.url, width, height) as client:
            time.sleep(LOADING)
            picture = client.get_render(height, width, transport_format="png", timeout=120.0)
        view.close()
        row.paste(Image.fromarray(picture[..., :3]), (k * width, 0))
    return row


def recording() -> Image.Image:
    """Return the page that shows the recording of the first example of the page."""
    chromium.FRAMES = 10
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chdir(folder)  # for the recording
        code_of("recordings.md")
        view = md.view("motion.mcap", port=0, browser=False, wait=False)
        browser = chromium.Chromium(folder, *PAGE)
        try:
            browser.open(view.url)
            browser.until(lambda: browser.find("//*[@role='slider']"), "no slider")
            time.sleep(LOADING)
            for close in browser.find("//button[contains(@class, 'Notification')]"):
                browser.click(close)  # remark on the missing graphics card
            time.sleep(LOADING)
            picture = Image.open(BytesIO(browser.screenshot()))
            browser.open("about:blank")
        finally:
            browser.close()
            view.close()
    return picture


PICTURES = {
    "path_timing": path_timing,
    "inertias": inertias,
    "robots": robots,
    "recording": recording,
}
"""Functions that draw the pictures that are not those of examples."""

if __name__ == "__main__":
    for name in sys.argv[1:] or (*EXAMPLES, *PICTURES):
        draw(name)
