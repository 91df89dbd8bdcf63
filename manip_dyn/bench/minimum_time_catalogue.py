"""Catalogue of minimum-time motions: ``python -m manip_dyn.bench.minimum_time_catalogue``.

The catalogue is data for comparisons with other planners. It contains the motions in the tables of
Fan (2003), and the fastest motion of the IBM 7535 to each goal on a grid. The program writes
``minimum_time-<commit>.json`` (all data), ``.csv`` (the grid) and ``.png`` (a map of the grid).
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.bench.record import clean_commit
from manip_dyn.bench.robots import changed_robot
from manip_dyn.bench.timing import setting
from manip_dyn.core.atomic_files import write_atomically
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import read_yaml, share_directory
from manip_dyn.core.imports import required_module
from manip_dyn.planning import Plan, plan_minimum_time
from manip_dyn.planning.certificate import Certificate
from manip_dyn.planning.minimum_time.structures import Control, Kind
from manip_dyn.plots import figure_type
from manip_dyn.robot import Robot, load_robot

ARM, REACH = "ibm7535", 2.0
"""Arm of the map, and the largest coordinate of its goals, rad."""
WORDS = {
    Kind.SINGULAR: "singular",
    Kind.SPEED: "at speed limit",
    Kind.POSITION: "at position limit",
    Kind.CONTACT_POSITION: "touches position limit",
    Kind.CONTACT_SPEED: "touches speed limit",
    Kind.OTHER_JOINT_SPEED: "holds another joint at its speed limit",
    Kind.OTHER_JOINT_POSITION: "holds another joint at its position limit",
}


class Entry(NamedTuple):
    """A motion from rest to rest in the catalogue.

    Attributes:
        name: Number of the table, or row and column in the grid.
        arm: Name of the arm.
        start: Initial positions (n,), rad or m.
        goal: Final positions (n,), rad or m.
        status: `Plan.status`, such as ``solved`` for a certified plan, or ``none`` without a plan.
        t_final: Duration, s; NaN without a plan.
        structure: Signs of the first efforts, then the switches in order (see `structure_of`).
        switch_times: Switching times of each joint, s.
        singular: Joint, start and end (s) of each singular arc.
        evidence: Values of the certificate (see `Certificate`).
        reason: `Plan.reason`, or the error message if there is no plan.
    """

    name: str
    arm: str
    start: list[float]
    goal: list[float]
    status: str
    t_final: float
    structure: str
    switch_times: list[list[float]]
    singular: list[list[Any]]
    evidence: dict[str, Any]
    reason: str


def structure_of(plan: Plan) -> str:
    """Return the structure of a plan as text, such as ``+- 2+ 1- 2-``.

    The first word contains the initial signs of all efforts. Each later word is a switch: the
    joint, counted from 1, and the new sign. Arcs without a full effort are described in brackets.
    A plan without switches has a short description.
    """
    switching = plan.switching
    if switching is None:
        return "refined on grids" if plan.status == "converged" else "at rest"
    first = "".join(_control_text(control, "") for control in switching.controls)
    later = (f"{joint + 1}{_control_text(value, ' ')}" for _, joint, value in switching.rows())
    return " ".join([first, *later])


def _control_text(control: Control, before: str) -> str:
    if control.is_full:
        return "+" if control.direction > 0.0 else "-"
    return f"{before}({WORDS[control.kind]})"


def entry(name: str, arm: str, robot: Robot, start: Vector, goal: Vector) -> Entry:
    """Plan a motion and return its entry; the status is ``none`` if there is no plan."""
    ends = start.tolist(), goal.tolist()
    try:
        plan = plan_minimum_time(robot, start, goal, budget=None)
    except ManipDynError as error:
        return Entry(name, arm, *ends, "none", float("nan"), "", [], [], {}, str(error))
    proof = plan.certificate if isinstance(plan.certificate, Certificate) else None
    evidence = (
        {}
        if proof is None
        else {
            "costates": proof.costates.tolist(),
            "boundary": proof.boundary,
            "hamiltonian": proof.hamiltonian,
            "margin": proof.margin,
            "curvature": proof.curvature if np.isfinite(proof.curvature) else None,
        }
    )
    return Entry(
        name,
        arm,
        *ends,
        plan.status,
        plan.t_final,
        structure_of(plan),
        [list(times) for times in plan.switch_times],
        [] if proof is None else [list(arc) for arc in proof.singular_arcs],
        evidence,
        plan.reason,
    )


def tables() -> Iterator[Entry]:
    """Yield the motions of the thesis in ``config/fan2003.yaml``. All goals are zero."""
    content = read_yaml(share_directory() / "config" / "fan2003.yaml", lambda read: read)
    for name, case in content["cases"].items():
        robot = changed_robot(case["arm"], **content["arms"][case["arm"]])
        start, goal = np.array(case["start"]), np.zeros(robot.n)
        yield entry(name, case["arm"], robot, start, goal)


def grid(size: int) -> Iterator[Entry]:
    """Yield motions from zero to a grid of `size` by `size` goals."""
    robot, values = load_robot(ARM), np.linspace(-REACH, REACH, size)
    start = np.zeros(robot.n)
    for row, first in enumerate(values):
        for column, second in enumerate(values):
            goal = np.array([first, second])
            yield entry(f"{row},{column}", ARM, robot, start, goal)


def write(folder: Path, motions: list[Entry], cells: list[Entry], name: str) -> list[Path]:
    """Write the JSON, CSV and PNG files of the catalogue; return their paths."""
    about = dict(setting(("manip_dyn", "numba", "numpy", "scipy")))
    content = {"setting": about, "tables": [motion._asdict() for motion in motions]}
    content["grid"] = [_short(cell) for cell in cells]
    text = _text(content).encode("utf-8")
    files = [folder / f"{name}.{kind}" for kind in ("json", "csv", "png")]
    for file, data in zip(files, (text, _csv(cells), draw_map(cells)), strict=True):
        write_atomically(file, data)
    return files


def _text(content: dict[str, Any]) -> str:
    """Return JSON with one line per motion."""
    parts = []
    for key, value in content.items():
        dumped = json.dumps(value, allow_nan=False)
        if isinstance(value, list):
            dumped = ",\n".join(json.dumps(item, allow_nan=False) for item in value)
            dumped = f"[\n{dumped}\n]"
        parts.append(f"{json.dumps(key)}: {dumped}")
    return "{" + ",\n".join(parts) + "}\n"


def _short(cell: Entry) -> dict[str, Any]:
    names = ("goal", "status", "t_final", "structure", "switch_times", "singular")
    values = {name: getattr(cell, name) for name in names}
    return values | {"t_final": None if np.isnan(cell.t_final) else cell.t_final}


def _csv(cells: list[Entry]) -> bytes:
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["q1_rad", "q2_rad", "status", "t_final_s", "switches", "structure"])
    for cell in cells:
        switches = sum(len(times) for times in cell.switch_times)
        rows.writerow([*cell.goal, cell.status, f"{cell.t_final:.9g}", switches, cell.structure])
    return out.getvalue().encode("utf-8")


# ------------------------------------------------------------------------------ picture

SHOWN = 18
"""Number of structures with separate colours in the map; these are the most frequent ones."""


def draw_map(cells: Sequence[Entry]) -> bytes:
    """Draw maps of the structures and durations of a square grid of motions; return a PNG.

    The goal of joint 2 varies fastest in `cells`.
    """
    listed = required_module("matplotlib.colors", "plots need", "plot").ListedColormap
    size, names = round(len(cells) ** 0.5), [cell.structure for cell in cells]
    frequent = [name for name, _ in Counter(names).most_common(SHOWN)]
    kinds = np.array([frequent.index(name) if name in frequent else SHOWN for name in names])
    times = np.array([cell.t_final for cell in cells]).reshape(size, size)
    goals = np.array([cell.goal for cell in cells])
    half = 0.5 * (np.ptp(goals[:, 0])) / max(size - 1, 1)
    box = [goals.min() - half, goals.max() + half] * 2
    figure = figure_type()(figsize=(15.0, 6.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    colors = _colors()
    shown: dict[str, Any] = {"origin": "lower", "extent": box, "interpolation": "nearest"}
    kinds_map = kinds.reshape(size, size).T
    left.imshow(kinds_map, cmap=listed(colors), vmin=-0.5, vmax=SHOWN + 0.5, **shown)
    open_cells = np.array([cell.status not in ("solved", "at_goal") for cell in cells])
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
    """Return a colour for each frequent structure, and one for all others."""
    from matplotlib import colormaps

    return [*(colormaps["tab20"](i) for i in range(SHOWN)), (0.2, 0.2, 0.2, 1.0)]


def main(arguments: list[str] | None = None) -> int:
    """Write the catalogue and return the exit code."""
    parser = argparse.ArgumentParser(description="Certified minimum-time motions as data.")
    parser.add_argument("folder", nargs="?", default="benchmarks/catalogue", type=Path)
    parser.add_argument("--size", type=int, default=21, help="goals along a side of the grid")
    options = parser.parse_args(arguments)
    try:
        name = f"minimum_time-{clean_commit(dict(setting(())))}"
        options.folder.mkdir(parents=True, exist_ok=True)
        print(*write(options.folder, list(tables()), list(grid(options.size)), name), sep="\n")
    except (ManipDynError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
