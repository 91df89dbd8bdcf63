"""Compiled functions of the planners return the same results as plain Python."""

import json
from pathlib import Path

import numpy as np
from called import called
from fresh import output_of

from manip_dyn.core import factorize, solve
from manip_dyn.planning import Problem, cholesky, cholesky_solve, shoot, work_of


def shot():
    """Shoot for a double integrator that is driven by 1 for 1 s and braked until 2.1 s."""

    def locked_joint_motion(y, modes, out):
        out[0], out[1] = y[1], modes[0] * modes[1]

    def run(t, t_end, p, y, space):
        _, modes = p
        a, h = modes[0] * modes[1], t_end - t
        y[0], y[1] = y[0] + h * y[1] + 0.5 * h * h * a, y[1] + h * a
        return 0

    class Kernels:
        pass

    kernels = Kernels()
    kernels.locked_joint_motion, kernels.run = locked_joint_motion, run
    one = np.ones(1)
    problem = Problem(np.zeros(2), one, np.zeros(1, dtype=np.int64), one, np.arange(2))
    work = work_of(1, 1, None)
    return shoot(kernels, np.array([1.0, 2.1]), problem, 0, 0.0, work, work.residual), work


def factor():
    """Factorize a banded matrix, and solve with it."""
    band = np.zeros((8, 3))
    band[:, 0], band[1:, 1], band[2:, 2] = 6.0, -4.0, 1.0
    x, y = np.arange(8.0), np.ones(8)
    called(cholesky)(band)
    called(cholesky_solve)(band, x, y)
    return [*band.ravel(), *x, *y]


def test_compiled_results_equal_those_of_plain_python():
    plain = json.loads(output_of(Path(__file__).read_text(), NUMBA_DISABLE_JIT="1"))
    np.testing.assert_allclose(plain["factor"], factor(), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(plain["residual"], [-0.005, -0.1], atol=1e-15)
    np.testing.assert_allclose(plain["solution"], [1.0, 2.0], rtol=1e-14)


if __name__ == "__main__":
    a, pivots, b = np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros(2), np.array([5.0, 4.0])
    factorize(a, pivots)
    solve(a, pivots, b)
    went, work = shot()
    print(json.dumps({"factor": factor(), "residual": [*work.residual], "solution": [*b]}))
