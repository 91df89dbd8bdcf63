"""Steps end at the times at which conditions of a right-hand side change."""

import numpy as np
import pytest

import manip_dyn as md

SPAN = np.array([0.0, 10.0])
REST, WINDOW = np.zeros(2), np.array([5.0, 5.1])


def between(t, y, p, out):
    out[0] = y[1]
    out[1] = 1.0 if p[0] < t < p[1] else 0.0


def branches(t, y, p, out):
    out[0], out[1] = y[1], 0.0
    if t < p[0]:
        out[1] = -y[0]
    elif t <= p[1]:
        out[1] = 1.0


def centred(t, y, p, out):
    out[0] = y[1]
    out[1] = np.sin(t)
    if abs(2.0 * t - (p[0] + p[1])) / 2.0 < 0.5 * (p[1] - p[0]):
        out[1] += 1.0


def selected(t, y, p, out):
    out[0] = y[1]
    out[1] = np.where(np.abs(t - 5.05) < 0.05, y[0], 0.0)


@pytest.mark.parametrize("function", [between, branches, centred, selected])
@pytest.mark.parametrize("span", [SPAN, SPAN[::-1]])
def test_steps_end_at_both_ends_of_a_window(function, span):
    times = md.integrate(function, span, REST, p=WINDOW).t
    assert np.abs(np.subtract.outer(WINDOW, times)).min(axis=1) == pytest.approx(0.0, abs=1e-12)


def pushed(t, y, p, out):
    """A unit mass on a spring of stiffness p[3], with a force p[2] around p[0]."""
    out[0] = y[1]
    out[1] = -p[3] * y[0]
    if abs(t - p[0]) < p[1]:
        out[1] += p[2]


@md.compiled
def distance(t, time):
    return abs(t - time)


@md.compiled
def pulse(t, p):
    return p[2] if distance(t, p[0]) < p[1] else 0.0


def pushed_by_compiled_functions(t, y, p, out):
    """The same force, with its condition in compiled functions."""
    out[0] = y[1]
    out[1] = pulse(t, p) - p[3] * y[0]


@pytest.mark.parametrize("function", [pushed, pushed_by_compiled_functions])
@pytest.mark.parametrize("method", ["rkdp54", "rkdp87", "rodas5p"])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
@pytest.mark.parametrize(("stiffness", "y0"), [(0.0, [0.0, 0.0]), (4.0, [1.0, 0.0])])
def test_random_pulses_have_an_error_below_ten_tolerances(
    function, method, tolerance, stiffness, y0
):
    generator = np.random.default_rng(5)
    limits = {"rtol": tolerance, "atol": tolerance}
    problem = md.problem(function, SPAN, y0, method=method, p=np.zeros(4), **limits)
    exact = md.problem(pushed, SPAN, y0, p=np.zeros(4), rtol=1e-12, atol=1e-12)
    for _ in range(25):
        time, width = generator.uniform(0.6, 9.4), 10.0 ** generator.uniform(-2, 0)
        force = 10.0 ** generator.uniform(-3, 2)
        p = np.array([time, 0.5 * width, force, stiffness])
        solution, reference = problem.solve(p=p), exact.solve(p=p)
        assert solution.success
        assert set(np.round([time - p[1], time + p[1]], 9)) <= set(np.round(solution.t, 9))
        scale = tolerance * (1.0 + np.abs(reference.y_last))
        assert (np.abs(solution.y_last - reference.y_last) < 10.0 * scale).all()


def test_a_declared_switch_is_not_repeated():
    declared = md.integrate(between, SPAN, REST, p=WINDOW, t_switch=WINDOW)
    undeclared = md.integrate(between, SPAN, REST, p=WINDOW)
    assert declared.statistics.steps == undeclared.statistics.steps
    assert undeclared.y_last == pytest.approx([0.1 * 4.95, 0.1], abs=1e-9)


def test_nested_parameters_are_read():
    def rhs(t, y, p, out):
        out[0] = p[1][0] if t < p[0][0][0] else 0.0

    window, rate = np.array([0.25]), np.array([2.0])
    solution = md.integrate(rhs, (0.0, 1.0), [0.0], p=((window, window), rate))
    assert 0.25 in solution.t
    assert solution.y_last == pytest.approx([0.5], abs=1e-12)


def test_fixed_steps_do_not_change():
    solution = md.integrate(between, (0.0, 1.0), REST, p=np.array([0.31, 0.32]), step=0.25)
    assert solution.t == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])
