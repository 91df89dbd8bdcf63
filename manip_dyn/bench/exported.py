"""The exported C of `bench dynamics`: the same kernel as a C compiler makes it."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from manip_dyn.bench.timing import Candidate
from manip_dyn.core.checks import Vector
from manip_dyn.export.c99 import export_c
from manip_dyn.robot import Robot

NAME, COMPILER = "arm", "gcc"
WAYS = (["-O3", "-march=native"], ["-O3"])
LOOP = """
#include "arm.h"
void loop(const double *q, const double *v, const double *tau, double *out, int count) {
  for (int k = 0; k < count; ++k) {
    const int first = k * ARM_JOINTS;
    arm_forward_dynamics(q + first, v + first, tau + first, out + first);
  }
}
"""


def exported_loops(robot: Robot, states: Vector) -> list[Candidate]:
    """Return the exported forward dynamics for states (3, m, n), compiled by gcc in two ways."""
    if shutil.which(COMPILER) is None:
        return []
    return [_loop(robot, states, flags) for flags in WAYS]


def _loop(robot: Robot, states: Vector, flags: list[str]) -> Candidate:
    with tempfile.TemporaryDirectory(prefix="manip_dyn_bench_") as name:
        folder = Path(name)
        source = export_c(robot, folder, ["forward_dynamics"], name=NAME)[1]
        (folder / "loop.c").write_text(LOOP, encoding="utf-8")
        made = folder / "kernel.so"
        files = [str(each) for each in (source, folder / "loop.c", "-o", made)]
        command = [COMPILER, *flags, "-shared", "-fPIC", *files]
        subprocess.run([*command, "-lm"], check=True)
        loop = ctypes.CDLL(str(made)).loop
    count, out = states.shape[1], np.empty_like(states[0])
    places = [ctypes.c_void_p(each.ctypes.data) for each in (*states, out)]
    kept = (states, out)  # as long as the loop may be called

    def call() -> None:
        loop(*places, len(kept[0][0]))

    return Candidate(f"C export, {COMPILER} {' '.join(flags)}", call, count)
