"""Forward dynamics and its relatives: our kernels beside pinocchio's C++, in one process.

Usage: python benchmarks/dynamics.py [ROBOT ...]

Each row is timed in rounds of both in turn; the median of the rounds' ratios counts. Both are
called from Python once per evaluation, so both pay for one call; the last row runs whole loops
in compiled code on both sides.
"""

from __future__ import annotations

import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numba
import numpy as np
import pinocchio

import manip_dyn as md

ROUNDS, CALLS = 15, 2000


def main(names: list[str]) -> None:
    """Print the table of every robot."""
    print(f"commit {commit()}, {processor()}, Python {platform.python_version()}")
    print(
        f"manip_dyn {md.__version__}, numba {numba.__version__}, pinocchio {pinocchio.__version__}"
    )
    for name in names:
        robot = md.load_robot(name)
        print(f"\n{robot.name} ({robot.n} joints){'ours':>22}{'pinocchio':>14}{'ratio':>9}")
        for label, ours, theirs, calls in rows(robot):
            print(f"{label:<32}" + compare(ours, theirs, calls))


def rows(robot: md.Robot):
    """Yield label, our call, pinocchio's call, and evaluations per call."""
    n, model, data = robot.n, robot.model, robot.model.createData()
    rng = np.random.default_rng(0)
    q, v, tau = (np.clip(rng.normal(size=n), -1.0, 1.0) for _ in range(3))
    out, square, cube = np.empty(n), np.empty((n, n)), np.empty((3, n, n))
    kernels = md.customize(robot).in_place
    derivatives = kernels.forward_dynamics_derivatives
    yield ("forward dynamics", lambda: kernels.forward_dynamics(q, v, tau, out),
           lambda: pinocchio.aba(model, data, q, v, tau), 1)  # fmt: skip
    yield ("inverse dynamics", lambda: kernels.inverse_dynamics(q, v, tau, out),
           lambda: pinocchio.rnea(model, data, q, v, tau), 1)  # fmt: skip
    yield ("mass matrix", lambda: kernels.mass_matrix(q, square),
           lambda: pinocchio.crba(model, data, q), 1)  # fmt: skip
    yield ("forward dynamics derivatives", lambda: derivatives(q, v, tau, cube),
           lambda: pinocchio.computeABADerivatives(model, data, q, v, tau), 1)  # fmt: skip
    yield ("forward dynamics, compiled loop", *loops(robot, kernels.forward_dynamics), CALLS)


def loops(robot: md.Robot, forward):
    """Return one call each that evaluates `CALLS` states in compiled code on one core."""
    states = np.random.default_rng(1).uniform(-1.0, 1.0, size=(3, CALLS, robot.n))
    out = np.empty((CALLS, robot.n))
    columns = [np.asfortranarray(each.T) for each in states]
    result = np.zeros((robot.n, CALLS), order="F")
    pool = pinocchio.ModelPool(robot.model, 1)

    @numba.njit
    def ours(q, v, tau, out):
        for k in range(q.shape[0]):
            forward(q[k], v[k], tau[k], out[k])

    def theirs():
        pinocchio.abaInParallel(1, pool, *columns, result)

    return lambda: ours(*states, out), theirs


def compare(ours, theirs, evaluations: int) -> str:
    """Return both medians in microseconds per evaluation and the median ratio."""
    calls = max(CALLS // evaluations, 1)
    times = []
    for _ in range(ROUNDS + 1):
        pair = []
        for call in (ours, theirs):
            began = time.perf_counter()
            for _ in range(calls):
                call()
            pair.append((time.perf_counter() - began) / (calls * evaluations) * 1e6)
        times.append(pair)
    times = times[1:]
    own, other = (statistics.median(column) for column in zip(*times, strict=True))
    ratio = statistics.median(b / a for a, b in times)
    return f"{own:>11.3f} us{other:>11.3f} us{ratio:>8.1f}x"


def commit() -> str:
    """Return the checkout's commit, or 'unknown'."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def processor() -> str:
    """Return the processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    main(sys.argv[1:] or ["pa10", "ibm7535"])
