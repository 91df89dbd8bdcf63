"""`manip_dyn bench dynamics`: kernels compared with pinocchio, CasADi, MuJoCo and Drake.

The suite times the forward and inverse dynamics, the mass matrix and the derivatives of both
dynamics for each robot. Rows of one state time a call from Python. Rows of 512 states time
`kernels.batch` and compiled loops over states, including exported C. "inside" is the compiled code
that a call runs, with existing arrays. Rows contain microseconds per state and the ratio to the
call in the title. If example-robot-data is installed, there are rows for the Panda and the
humanoid G1 with a fixed pelvis, whose C peers are omitted. With an empty cache, compiling takes
two minutes. Otherwise, the suite takes about 60 s.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pinocchio

from manip_dyn.bench import peers
from manip_dyn.bench.robots import trees, usual_robots
from manip_dyn.bench.timing import Candidate, Timing, compare, documented, headline, timing_lines
from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.export.c99 import export_c
from manip_dyn.robot import Robot

STATES = 512
ONE, MANY = "from Python", f"{STATES} states"
MOST_JOINTS_IN_C = 20
"""Largest number of joints for C peers; a C compiler takes minutes for longer equations."""
LEADING, LOOP_IN_NUMBA = "the call", "kernels.in_place in a numba loop"
PACKAGES = ("manip_dyn", "numba", "pin", "casadi", "mujoco", "drake")


class Row(NamedTuple):
    """Timings of one kernel of one robot, from Python or for many states, per state.

    `call` is the documented call of the first candidate.
    """

    robot: str
    kernel: str
    way: str
    timings: list[Timing]
    call: str = ""


def table(rows: Sequence[Row]) -> str:
    """Return one table per kernel."""
    lines = [
        "Medians over interleaved rounds: of the times, and of the ratios to the first candidate "
        "in the same round.",
    ]
    for row in rows:
        head = headline(f"\n{row.robot}, {row.kernel}, {row.way}", row.call)
        lines += [head, *timing_lines(row.timings)]
    return "\n".join(lines)


def measure(robots: Sequence[Robot] | None = None) -> list[Row]:
    """Time the forward and inverse dynamics, mass matrix and derivatives of each robot.

    Pinocchio has a compiled loop over states only for the forward dynamics (`abaInParallel`). Its
    other functions are called from Python, and in rows of many states the binding overhead is
    subtracted: the time of `aba` from Python minus that of `abaInParallel`. (This overestimates
    the overhead of `crba`, which has one array argument instead of three.)
    """
    if robots is None:
        humanoid = trees().get("G1")
        robots = [*usual_robots(), *([] if humanoid is None else [humanoid])]
    return [row for robot in robots for row in _rows(robot)]


def _rows(robot: Robot) -> Iterator[Row]:
    states = np.random.default_rng(0).uniform(-1.0, 1.0, size=(3, STATES, robot.n))
    pin = peers.Pinocchio(robot, states)
    ours = _Ours(robot, states)
    loops = [pin.loop()]
    if robot.n <= MOST_JOINTS_IN_C:
        loops += [*peers.casadi_loops(robot, states), *exported_loops(robot, states)]
    both_ways = [Candidate("aba", pin.call(pinocchio.aba, 3)), pin.loop()]
    for kernel, name, function, count in (_FORWARD, *_OTHERS):
        theirs = Candidate(name, pin.call(function, count))
        more = peers.whole_step_calls(robot, states) if kernel == _FORWARD[0] else []
        call, candidates = ours.one_state(kernel)
        timings = compare([*candidates, theirs, *more])
        yield Row(robot.name, kernel.replace("_", " "), ONE, timings, call)
        call, candidates = ours.many_states(kernel)
        if kernel == _FORWARD[0]:
            timings = compare([*candidates, *loops])
        else:
            timings = _less_binding(compare([*candidates, theirs, *both_ways]))
        yield Row(robot.name, kernel.replace("_", " "), MANY, timings, call)


_FORWARD = ("forward_dynamics", "pinocchio aba", pinocchio.aba, 3)
_OTHERS = (
    ("inverse_dynamics", "pinocchio rnea", pinocchio.rnea, 3),
    ("mass_matrix", "pinocchio crba", pinocchio.crba, 1),
    (
        "forward_dynamics_derivatives",
        "pinocchio computeABADerivatives",
        pinocchio.computeABADerivatives,
        3,
    ),
    (
        "inverse_dynamics_derivatives",
        "pinocchio computeRNEADerivatives",
        pinocchio.computeRNEADerivatives,
        3,
    ),
)


def _less_binding(timings: list[Timing]) -> list[Timing]:
    """Subtract the overhead of pinocchio's Python binding from its timing.

    The last two timings are `aba` called from Python and in a compiled loop. Their difference is
    the overhead. They are removed from the result.
    """
    *ours, theirs, called, in_loop = timings
    binding = max(called.microseconds - in_loop.microseconds, 0.0)
    microseconds = max(theirs.microseconds - binding, 0.0)
    ratio = theirs.ratio * microseconds / theirs.microseconds
    return [*ours, Timing(f"{theirs.name} less {binding:.2f} us of binding", microseconds, ratio)]


class _Ours:
    """Candidates that call the kernels of this package for one robot."""

    def __init__(self, robot: Robot, states: Vector):
        self._kernels = customize(robot)
        self._states = states
        self._n = robot.n

    def one_state(self, kernel: str) -> tuple[str, list[Candidate]]:
        """Return the documented call for a single state, and its candidates."""
        arrays, out = self._arrays(kernel)
        state, result = [array[0].copy() for array in arrays], out[0].copy()
        names = dict(zip(("q", "v", "tau"), state, strict=False))
        call = f"kernels.{kernel}({', '.join(names)})"
        function = getattr(self._kernels.in_place, kernel)
        return call, [
            Candidate(LEADING, documented(call, {"kernels": self._kernels, **names})),
            Candidate("inside: in place", lambda: function(*state, result)),
        ]

    def many_states(self, kernel: str) -> tuple[str, list[Candidate]]:
        """Return the documented call for many states, and its candidates.

        The last candidate is a loop over single states in code that numba compiles.
        """
        in_place = self._kernels.in_place
        function, (arrays, out) = getattr(in_place, f"{kernel}_batch"), self._arrays(kernel)
        columns = [np.ascontiguousarray(array.T) for array in arrays]
        across = np.empty((*out.shape[1:], STATES))
        names = dict(zip(("qs", "vs", "taus"), columns, strict=False))
        call = f"kernels.batch.{kernel}({', '.join(names)}, out=out)"
        values = {"kernels": self._kernels, "out": across, **names}
        single, states, result = getattr(in_place, kernel), np.stack(arrays), out[0].copy()
        run = _single(single) if len(arrays) == 1 else _triple(single)
        candidates = [
            Candidate(LEADING, documented(call, values)),
            Candidate("inside: in place", lambda: function(*columns, across, 0, STATES)),
            Candidate(LOOP_IN_NUMBA, lambda: run(states, result)),
        ]
        return call, [candidate._replace(evaluations=STATES) for candidate in candidates]

    def _arrays(self, kernel: str) -> tuple[list[Vector], Vector]:
        n = self._n
        shape = {"mass_matrix": (n, n)}.get(kernel, (3, n, n) if "derivatives" in kernel else (n,))
        count = 1 if kernel == "mass_matrix" else 3
        return list(self._states[:count]), np.empty((STATES, *shape))


# The states are copied to scratch arrays because numba counts references to slices with atomic
# operations, which take as long as a kernel of a small arm. The kernels are not arguments of the
# loops, because numba takes 40 us to determine the type of such an argument in each call.
def _single(function: Any) -> Any:
    """Return a compiled loop of a kernel of q over states (1, m, n)."""

    @numba.njit
    def run(states, result):
        q = states[0, 0].copy()
        for k in range(states.shape[1]):
            for i in range(q.size):
                q[i] = states[0, k, i]
            function(q, result)

    return run


def _triple(function: Any) -> Any:
    """Return a compiled loop of a kernel of q, v and tau over states (3, m, n)."""

    @numba.njit
    def run(states, result):
        q, v, tau = states[0, 0].copy(), states[1, 0].copy(), states[2, 0].copy()
        for k in range(states.shape[1]):
            for i in range(q.size):
                q[i], v[i], tau[i] = states[0, k, i], states[1, k, i], states[2, k, i]
            function(q, v, tau, result)

    return run


# -------------------------------------------------------------------------------- exported C
NAME, COMPILER = "arm", "gcc"
OPTIONS = (["-O3", "-march=native"], ["-O3"])
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
    """Return loops of the exported forward dynamics over states (3, m, n), compiled with gcc.

    There is a loop for each of `OPTIONS`. Without gcc the list is empty.
    """
    if shutil.which(COMPILER) is None:
        return []
    return [_loop(robot, states, flags) for flags in OPTIONS]


def _loop(robot: Robot, states: Vector, flags: list[str]) -> Candidate:
    with tempfile.TemporaryDirectory(prefix="manip_dyn_bench_") as name:
        folder = Path(name)
        source = export_c(robot, folder, ["forward_dynamics"], name=NAME)[1]
        (folder / "loop.c").write_text(LOOP, encoding="utf-8")
        library = folder / "kernel.so"
        files = [str(path) for path in (source, folder / "loop.c", "-o", library)]
        command = [COMPILER, *flags, "-shared", "-fPIC", *files]
        subprocess.run([*command, "-lm"], check=True)
        loop = ctypes.CDLL(str(library)).loop
    count, out = states.shape[1], np.empty_like(states[0])
    addresses = [ctypes.c_void_p(array.ctypes.data) for array in (*states, out)]
    arrays = (states, out)  # references; the loop stores only the addresses of the arrays

    def call() -> None:
        loop(*addresses, len(arrays[0][0]))

    return Candidate(f"C export, {COMPILER} {' '.join(flags)}", call, count)
