"""`manip_dyn bench growth`: compile and call times of kernels for chains of increasing length.

The rows are forward dynamics, mass matrix, derivatives of both dynamics and a Taylor series for
random serial chains of 1 to 60 joints, and for trees: a dual arm and, if example-robot-data is
installed, the humanoids G1 and Talos with a fixed pelvis. Rows contain CPU seconds of the first
call, including compilation, and microseconds of a later call from Python, compared with pinocchio.
Takes a few minutes.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pinocchio

from manip_dyn.bench.peers import Pinocchio
from manip_dyn.bench.robots import trees
from manip_dyn.bench.timing import Candidate, Timing, compare, documented
from manip_dyn.codegen import customize
from manip_dyn.robot import Robot, load_robot

JOINTS = (1, 2, 4, 7, 12, 13, 20, 30, 45, 60)
PACKAGES = ("manip_dyn", "numba", "pin")
ORDER = 8
"""Order of the Taylor series."""
_KERNELS: tuple[tuple[str, Callable, int], ...] = (
    ("forward_dynamics", pinocchio.aba, 3),
    ("mass_matrix", pinocchio.crba, 1),
    ("inverse_dynamics_derivatives", pinocchio.computeRNEADerivatives, 3),
    ("forward_dynamics_derivatives", pinocchio.computeABADerivatives, 3),
)


class Row(NamedTuple):
    """A kernel of a robot: CPU seconds of the first call, and timings of later calls.

    `robot` is "" for a serial chain. `call` is the documented call of the first timing.
    """

    joints: int
    kernel: str
    first: float
    timings: list[Timing]
    robot: str = ""
    call: str = ""


def table(rows: Sequence[Row]) -> str:
    """Return a table with one line per kernel and chain."""
    lines = [
        "Serial chains, then trees. First: CPU seconds of the first call, including compilation. "
        "Ours and\npinocchio: median time of a call from Python, us. Ratio: pinocchio to ours.",
        f"{'joints':>6} {'kernel':<30}{'first':>9}{'ours':>10}{'pinocchio':>11}{'ratio':>8}",
    ]
    robot = ""
    for joints, kernel, first, timings, name, _call in rows:
        if name != robot:
            lines.append(name)
            robot = name
        ours, *theirs = timings
        peer = "".join(f"{t.microseconds:>11.2f}{t.ratio:>8.2f}" for t in theirs)
        label = kernel.replace("_", " ")
        lines.append(f"{joints:>6} {label:<30}{first:>9.2f}{ours.microseconds:>10.2f}{peer}")
    return "\n".join(lines)


def measure(sizes: Sequence[int] = JOINTS, with_trees: bool = True) -> list[Row]:
    """Compile and time the kernels of random serial chains with these numbers of joints.

    `with_trees` adds the humanoids and the dual arm.

    The measurement starts with an empty cache. The time to compile code that all robots share is
    included in the first row that requires it.
    """
    before = os.environ.get("MANIP_DYN_CACHE")
    with tempfile.TemporaryDirectory(prefix="manip_dyn_bench_") as folder:
        os.environ["MANIP_DYN_CACHE"] = folder
        try:
            robots = [("", chain(n, Path(folder))) for n in sizes]
            if with_trees:
                robots += trees().items()
            return [row for name, robot in robots for row in _rows(robot, name)]
        finally:
            if before is None:
                del os.environ["MANIP_DYN_CACHE"]
            else:
                os.environ["MANIP_DYN_CACHE"] = before


def _rows(robot: Robot, label: str) -> Iterator[Row]:
    n, kernels = robot.n, customize(robot)
    states = np.random.default_rng(n).uniform(-1.0, 1.0, size=(3, 1, n))
    peer = Pinocchio(robot, states)
    names = {"kernels": kernels, **dict(zip(("q", "v", "tau"), states[:, 0], strict=True))}
    for name, function, count in _KERNELS:
        call = f"kernels.{name}({', '.join(('q', 'v', 'tau')[:count])})"
        ours = Candidate("manip_dyn", documented(call, names))
        first = _cpu_seconds(ours.call)
        theirs = Candidate(f"pinocchio {function.__name__}", peer.call(function, count))
        yield Row(n, name, first, compare([ours, theirs]), label, call)
    call = f"kernels.taylor(q, v, tau, {ORDER})"
    series = Candidate("manip_dyn", documented(call, names))
    first = _cpu_seconds(series.call)
    yield Row(n, f"taylor to order {ORDER}", first, compare([series]), label, call)


def _cpu_seconds(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def chain(n: int, folder: Path) -> Robot:
    """Create a serial chain of n revolute joints with random axes, links and inertias."""
    rng = np.random.default_rng(n)
    parts = ['<link name="link_0"/>']
    for i in range(1, n + 1):
        origin, rpy, axis, center = (
            " ".join(map(str, rng.normal(scale=0.3, size=3))) for _ in range(4)
        )
        ixx, iyy, izz = rng.uniform(0.1, 0.15, size=3)
        parts.append(
            f'<joint name="joint_{i}" type="revolute"><parent link="link_{i - 1}"/>'
            f'<child link="link_{i}"/><origin xyz="{origin}" rpy="{rpy}"/><axis xyz="{axis}"/>'
            '<limit lower="-3" upper="3" velocity="9" effort="9"/></joint>'
            f'<link name="link_{i}"><inertial><origin xyz="{center}"/>'
            f'<mass value="{rng.uniform(0.5, 2.0)}"/><inertia ixx="{ixx}" ixy="0" ixz="0" '
            f'iyy="{iyy}" iyz="0" izz="{izz}"/></inertial></link>'
        )
    path = folder / f"chain{n}.urdf"
    path.write_text(f'<robot name="chain{n}">{"".join(parts)}</robot>', encoding="utf-8")
    return load_robot(path)
