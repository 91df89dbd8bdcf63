"""Newton's method with damped steps."""

import numpy as np
import pytest

from manip_dyn.core import Damping, damped_newton

DAMPING = Damping(most=30, converged=1e-12, shrink=0.5, least=1e-3)


def run(function, slope, x, damping=DAMPING):
    x = np.array([x])
    return damped_newton(
        x,
        function(x),
        function,
        lambda f: abs(float(f[0])),
        lambda x, f: (-f / slope(x), 1.0),
        damping,
    )


def test_damped_steps_converge_if_full_steps_diverge():
    """From |x| > 1.39 on, whole steps to the root of arctan grow without bound."""
    slope = lambda x: 1.0 / (1.0 + x * x)  # noqa: E731
    x, f, arrived = run(np.arctan, slope, 3.0)
    assert arrived
    assert x[0] == pytest.approx(0.0, abs=1e-12)
    assert f == np.arctan(x)
    x, _, arrived = run(np.arctan, slope, 3.0, DAMPING._replace(least=0.9))
    assert not arrived
    assert x[0] == 3.0


def test_without_a_root_it_ends_at_the_least_residual():
    x, f, arrived = run(lambda x: 1.0 + x * x, lambda x: 2.0 * x, 1.5)
    assert not arrived
    assert f[0] == pytest.approx(1.0 + x[0] ** 2)
    assert 1.0 <= f[0] < 1.0 + 1.5**2


def test_steps_are_shortened_if_the_evaluation_fails():
    """The root of log(x) at 1: the whole step from 4 leads below 0."""

    def log(x):
        return np.log(x) if x[0] > 0.0 else None

    x, _, arrived = run(log, lambda x: 1.0 / x, 4.0)
    assert arrived
    assert x[0] == pytest.approx(1.0)


def test_without_a_step_it_ends():
    start = np.array([2.0])
    x, f, arrived = damped_newton(
        start, start, lambda x: x, lambda f: abs(float(f[0])), lambda x, f: None, DAMPING
    )
    assert not arrived
    assert x is start
    assert f is start
