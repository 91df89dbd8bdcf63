"""The simplex method agrees with SciPy."""

import numpy as np
import pytest
from called import called
from scipy.optimize import linprog

from manip_dyn.core import by_reference
from manip_dyn.planning import linear_program_of, solve_linear_program


def linear_program(columns, right, cost, low, high, at_high):
    """Return a linear program with the arrays."""
    program = linear_program_of(*columns.shape)
    return program._replace(
        columns=columns.ravel(), right=right, cost=cost, low=low, high=high, at_high=at_high
    )


def test_linear_programs_agree_with_scipy():
    rng, rows, count = np.random.default_rng(0), 4, 41
    for _ in range(20):
        columns, cost = rng.normal(size=(count, rows)), rng.normal(size=count)
        low, high = -rng.uniform(0, 1, count), rng.uniform(0, 1, count)
        right = columns.T @ rng.uniform(low, high)
        program = linear_program(columns, right, cost, low, high, rng.random(count) < 0.5)
        pivots = called(solve_linear_program)(by_reference(program), count, rows, 1e3)
        x, multipliers = program.x, program.multipliers
        assert pivots >= 0
        bounds = list(zip(low, high, strict=True))
        best = linprog(cost, A_eq=columns.T, b_eq=right, bounds=bounds)
        assert cost @ x == pytest.approx(best.fun)
        assert columns.T @ x == pytest.approx(right, abs=1e-9)
        assert multipliers == pytest.approx(best.eqlin.marginals, abs=1e-9)


def test_an_infeasible_linear_program_has_the_least_violation():
    ones = np.ones(2)
    program = linear_program(
        ones[:, None], np.array([5.0]), ones, 0 * ones, ones, np.zeros(2, bool)
    )
    called(solve_linear_program)(by_reference(program), 2, 1, 9.0)
    assert program.x == pytest.approx([1.0, 1.0])
