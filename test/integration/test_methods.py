"""Order of convergence and error estimates of every registered method."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from problems import (
    CLASSICAL,
    EMBEDDED,
    NO_SCRIPT,
    advance_evenly,
    curve,
    curve_error,
    scripted,
    scripted_engine,
)
from scipy.integrate import solve_ivp

import manip_dyn as md
from manip_dyn.integration import METHODS, Options, compile_engine

STARTS = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)


def rms_error(engine, count, length):
    return np.sqrt(np.mean([curve_error(engine, t, length, count) ** 2 for t in STARTS]))


def fitted_order(engine, order):
    """Return the slope of log error over log h, over the smallest steps free of rounding.

    Beyond order 8 double precision leaves no room for small steps: rounding is met at steps
    where the next terms of the error's expansion in h still count, so the fit includes two.
    """
    counts = sorted({round(3 * 1.15**k) for k in range(60)})
    counts = [n for n in counts if n <= (600 if order < 3 else 100)]
    length, errors = 0.5 if order < 7 else 1.0, []
    for n in counts:
        errors.append(rms_error(engine, n, length))
        if errors[-1] < 2e-14:
            errors.pop()
            break
    points, terms = (12, 2) if order > 8 else (4, 0)
    step, error = 1.0 / np.array(counts[: len(errors)])[-points:], np.array(errors)[-points:]
    columns = [np.log(step), *(step**k for k in range(terms + 1))]
    return np.linalg.lstsq(np.stack(columns, axis=1), np.log(error), rcond=None)[0][0]


@pytest.mark.parametrize("name", CLASSICAL)
def test_the_fitted_order_is_the_nominal_order(name):
    """Also for multistep methods, whose starter does not reduce the order."""
    order = METHODS[name].order
    assert fitted_order(scripted_engine(name), order) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize("name", ["rk7", "rk8", "rkdp87", "rk10"])
def test_high_orders_are_exact_with_50_digits(name):
    """y' = t y^2 with the tableau; double precision leaves too few steps above rounding."""
    table, order = METHODS[name].tableau, METHODS[name].order

    def number(x):
        return Decimal(x.numerator) / x.denominator if isinstance(x, Fraction) else Decimal(x)

    def weighted(weights, slopes):
        return sum(number(x) * slope for x, slope in zip(weights, slopes, strict=False) if x)

    def error(count):
        h, y = Decimal(1) / count, Decimal(1)
        for k in range(count):
            slopes = []
            for row, c in zip(table.a, table.c, strict=True):
                slopes.append((k + number(c)) * h * (y + h * weighted(row, slopes)) ** 2)
            y += h * weighted(table.b, slopes)
        return abs(y - 2)  # y = 1 / (1 - t^2 / 2)

    with localcontext() as context:
        context.prec = 50
        slope = float((error(80) / error(160)).ln() / Decimal(2).ln())
    assert slope == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize("name", EMBEDDED)
def test_error_estimates_are_asymptotically_exact(name):
    """The estimate of one step has the lower order and equals the difference of solutions."""
    engine, method, start = scripted_engine(name), METHODS[name], 2.0
    lower = min(method.order, method.embedded_order)
    longest = {1: 0.001, 2: 0.02, 3: 0.05, 4: 0.08, 5: 0.15, 6: 0.2, 7: 0.3}[lower]
    if name == "rodas5p":  # its first term nearly vanishes on this curve
        longest = 0.02
    steps = longest * 0.8 ** np.arange(4)
    estimates, errors, tolerance = [], [], 1e-2
    for step in steps:
        y = curve(start)
        space = advance_evenly(engine, y, start, start + step, 1, NO_SCRIPT, tolerance)
        estimates.append(np.exp(space.state.memory) * tolerance)  # the control keeps its logarithm
        errors.append(np.abs(y - curve(start + step)).max())
    slope = np.polyfit(np.log(steps), np.log(estimates), 1)[0]
    assert slope == pytest.approx(lower + 1, abs=0.25)
    if method.order < method.embedded_order:  # the estimate is the error of what is carried on
        assert estimates[-1] / errors[-1] == pytest.approx(1.0, abs=0.2)
    else:
        assert errors[-1] < 0.3 * estimates[-1]


@pytest.mark.parametrize(
    ("name", "control", "digits"),
    [
        ("rkdp54", ("pi", "max"), 5),
        ("rkdp54", ("paper", "max"), 7),  # its steps are too long on this curve before
        ("rkdp87", ("pi", "max"), 5),
        ("rkdp87", ("paper", "max"), 5),
        ("rkf45", ("paper", "rms"), 5),
    ],
)
def test_errors_are_proportional_to_the_tolerance(name, control, digits):
    """For tolerances below 10^-digits."""
    errors, digits = [], np.arange(digits, 11)
    for tolerance in 10.0**-digits:
        solution = on_curve(10.0, method=name, rtol=tolerance, control=md.StepControl(*control))
        assert solution.success
        errors.append(np.abs(solution.y - curve(solution.t).T).max())
    slope = np.polyfit(-digits, np.log10(errors), 1)[0]
    assert slope == pytest.approx(1.0, abs=0.25)
    assert max(np.array(errors) * 10.0**digits) < 200.0


def on_curve(end, begin=0.0, **options):
    """Return the integration of `scripted` from its curve."""
    return md.integrate(scripted, (begin, end), curve(begin), p=NO_SCRIPT, **options)


@pytest.mark.parametrize("norm", ["max", "rms"])
def test_a_closed_curve_closes_like_dop853(norm):
    """One period with tolerance 1e-12."""
    control = md.StepControl(norm=norm)
    ours = on_curve(2.0 * np.pi, rtol=1e-12, atol=1e-12, control=control)
    assert ours.success
    assert np.abs(ours.y_last - curve(0.0)).max() < 3e-11

    def plain(t, y):
        return np.array([y[0], 1.0 + y[1]]) * y[0] * np.cos(t)

    theirs = solve_ivp(plain, (0.0, 2.0 * np.pi), curve(0.0), "DOP853", rtol=1e-12, atol=1e-12)
    assert np.abs(ours.y_last - theirs.y[:, -1]).max() < 3e-11


@pytest.mark.parametrize("name", ["rkdp54", "rkdp87", "rk4"])
def test_integration_backwards_in_time(name):
    options = {"step": 0.01} if name == "rk4" else {"rtol": 1e-9}
    there = on_curve(3.0, method=name, **options)
    back = md.integrate(scripted, (3.0, 0.0), there.y_last, p=NO_SCRIPT, method=name, **options)
    assert back.t_last == 0.0
    assert np.all(np.diff(back.t) < 0.0)
    np.testing.assert_allclose(back.y_last, curve(0.0), atol=1e-7)


@pytest.mark.parametrize(
    ("name", "order"), [("rk2", 2), ("rk4", 4), ("rkdp54", 5), ("rkdp87", 4), ("abm4", 4)]
)
def test_dense_output_has_its_nominal_order(name, order):
    assert METHODS[name].dense_order == order
    errors, counts = [], (20, 40, 80, 160)
    times = np.linspace(0.5, 2.5, 501)
    for count in counts:
        sampling = md.Sampling(dense=True)
        solution = on_curve(2.5, 0.5, method=name, step=2.0 / count, sampling=sampling)
        errors.append(np.abs(solution(times) - curve(times).T).max())
        np.testing.assert_allclose(solution(solution.t), solution.y, rtol=1e-13)
    slopes = -np.diff(np.log2(errors))
    assert slopes[-1] == pytest.approx(order, abs=0.25)


def test_samples_at_steps_are_more_accurate_than_dense_output():
    times = np.linspace(0.0, 10.0, 23)
    landed, between = (
        on_curve(10.0, rtol=1e-10, sampling=md.Sampling(times, land=land))
        for land in (True, False)
    )
    exact = curve(times[1:]).T
    np.testing.assert_array_equal(landed.t, times)
    np.testing.assert_array_equal(between.t, times)
    assert np.abs(landed.y[1:] - exact).max() < 1e-8
    assert 1e-8 < np.abs(between.y[1:] - exact).max() < 1e-2
    assert between.statistics.steps < landed.statistics.steps


@pytest.mark.parametrize("name", ["rk4", "ab4"])
def test_the_last_step_ends_exactly_at_the_end(name):
    for step in (0.1, 0.03, 1.0 / 3.0, 0.7, 5.0):
        solution = on_curve(2.0, method=name, step=step)
        assert solution.t_last == solution.t[-1] == 2.0
        assert solution.statistics.steps == np.ceil(2.0 / step - 1e-6)


def test_fixed_steps_skip_the_stages_of_the_estimate():
    engine = compile_engine(scripted, METHODS["rkf45"], Options(size=2))
    y = curve(0.3)
    space = advance_evenly(engine, y, 0.3, 1.3, 10, NO_SCRIPT)
    assert space.state.evaluations == 5 * 10  # stage 6 has no weight in the formula of order 4
    assert np.abs(y - curve(1.3)).max() < 1e-5
