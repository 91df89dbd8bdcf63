"""The Taylor series method, with recurrences written by hand."""

import numpy as np
import pytest
from numba import njit
from problems import pendulum, pendulum_series

import manip_dyn as md
from manip_dyn.integration import order_for


@njit
def orbit_series(t, y, p, order, work, out):
    """Coefficients of Kepler's problem, by those of r^2 and of r^-3."""
    square, power = work[:, 0], work[:, 1]
    for i in range(4):
        out[0, i] = y[i]
    for k in range(order):
        square[k] = 0.0
        for j in range(k + 1):
            square[k] += out[j, 0] * out[k - j, 0] + out[j, 1] * out[k - j, 1]
        if k == 0:
            power[0] = square[0] ** -1.5
        else:
            power[k] = 0.0
            for j in range(k):
                power[k] += (-1.5 * (k - j) - j) * square[k - j] * power[j]
            power[k] /= k * square[0]
        for i in range(2):
            force = 0.0
            for j in range(k + 1):
                force += out[j, i] * power[k - j]
            out[k + 1, i] = out[k, i + 2] / (k + 1)
            out[k + 1, i + 2] = -force / (k + 1)


@njit
def ending_series(t, y, p, order, work, out):
    """With p y0' = sqrt(p - t), NaN after p[0]; else a throw, y0'' = -9.81, whose series ends."""
    for k in range(order + 1):
        out[k, 0] = out[k, 1] = 0.0
    out[0, 0], out[0, 1] = y[0], y[1]
    if p.size:
        term = np.sqrt(p[0] - t)
        for k in range(order):
            out[k + 1, 0] = term / (k + 1)
            term *= -(0.5 - k) / ((k + 1) * (p[0] - t))
        return
    if order > 0:
        out[1, 0], out[1, 1] = y[1], -9.81
    if order > 1:
        out[2, 0] = -0.5 * 9.81


@njit
def angle(t, y, p, out):
    out[0] = y[0]


PENDULUM, ORBIT = md.Series(pendulum_series, 2), md.Series(orbit_series, 2)
ENDING = md.Series(ending_series)
START = [0.5, 0.0, 0.0, np.sqrt(3.0)]


@pytest.mark.parametrize("order", [3, 6, 8])
def test_fixed_steps_have_the_order_of_the_series(order):
    exact = md.integrate(PENDULUM, (0.0, 2.0), [2.0, 0.0], method="taylor", rtol=1e-15)
    counts = {3: (100, 140, 200), 6: (20, 28, 40), 8: (10, 14, 20)}[order]
    errors = []
    for n in counts:
        solution = md.integrate(
            PENDULUM, (0.0, 2.0), [2.0, 0.0], method="taylor", order=order, step=2.0 / n
        )
        assert solution.statistics.evaluations == solution.statistics.steps == n
        errors.append(np.abs(solution.y_last - exact.y_last).max())
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.15 if order < 8 else 0.4)


def test_an_orbit_closes_at_any_tolerance():
    for tolerance in (1e-6, 1e-9, 1e-12, 1e-15):
        solution = md.integrate(ORBIT, (0.0, 2.0 * np.pi), START, method="taylor", rtol=tolerance)
        assert solution.success
        assert np.abs(solution.y_last - START).max() < max(30.0 * tolerance, 3e-14)
        assert solution.statistics.failures == 0


def test_series_agree_with_runge_kutta_and_need_fewer_steps():
    series = md.integrate(PENDULUM, (0.0, 10.0), [2.0, 0.0], method="taylor", rtol=1e-13)
    stages = md.integrate(pendulum, (0.0, 10.0), [2.0, 0.0], rtol=1e-13)
    np.testing.assert_allclose(series.y_last, stages.y_last, atol=1e-11)
    assert series.statistics.steps < stages.statistics.steps / 2


def test_a_polynomial_takes_one_step():
    solution = md.integrate(ENDING, (0.0, 2.0), [0.0, 0.0], method="taylor", rtol=1e-12)
    np.testing.assert_allclose(solution.y_last, [-2.0 * 9.81, -2.0 * 9.81], rtol=1e-15)
    assert solution.statistics.steps == 1


def test_the_order_follows_from_the_larger_tolerance():
    """p = ceil(1 - 0.65 ln(eps))."""
    assert order_for(1e-16) == 25
    assert order_for(1e-8) == 13
    coarse, fine = (
        md.integrate(PENDULUM, (0.0, 10.0), [1e-3, 0.0], method="taylor", rtol=rtol, atol=1e-6)
        for rtol in (1e-16, 1e-4)
    )
    # y is so small that atol determines both
    assert coarse.statistics.steps == fine.statistics.steps


def test_dense_output_is_the_series_itself():
    solution = md.integrate(
        ORBIT, (0.0, 6.0), START, method="taylor", rtol=1e-13, sampling=md.Sampling(dense=True)
    )
    times = np.linspace(0.0, 6.0, 57)
    landed = md.integrate(ORBIT, (0.0, 6.0), START, method="taylor", rtol=1e-13, sampling=times)
    np.testing.assert_allclose(solution(times), landed.y, atol=1e-11)
    assert solution.statistics.steps < 40


def test_events_and_backward_integration():
    there = md.integrate(
        PENDULUM, (0.0, 9.0), [2.0, 0.0], method="taylor", rtol=1e-14, events=angle
    )
    by_stages = md.integrate(pendulum, (0.0, there.t_last), [2.0, 0.0], rtol=1e-13)
    assert there.status is md.Status.EVENT
    np.testing.assert_allclose(by_stages.y_last, there.y_last, atol=1e-9)
    assert by_stages.y_last[0] == pytest.approx(0.0, abs=1e-9)
    assert by_stages.y[1:-1, 0].min() > 0.0  # the first time
    work = there.statistics
    assert work.evaluations == work.steps  # the search for the event sums the same series
    back = md.integrate(PENDULUM, (there.t_last, 0.0), there.y_last, method="taylor", rtol=1e-14)
    np.testing.assert_allclose(back.y_last, [2.0, 0.0], atol=1e-11)


def test_failures_are_reported_as_statuses():
    rest = [0.0, 0.0]
    nan = md.integrate(ENDING, (0.0, 1.0), rest, method="taylor", rtol=1e-9, p=np.array([-1.0]))
    assert nan.status is md.Status.NON_FINITE
    assert nan.t_last == 0.0
    ending = md.integrate(ENDING, (0.0, 1.0), rest, method="taylor", rtol=1e-9, p=np.array([0.5]))
    assert ending.status in (md.Status.STEP_UNDERFLOW, md.Status.NON_FINITE)
    assert ending.t_last == pytest.approx(0.5, abs=1e-4)  # within the tolerance of y
    few = md.integrate(
        ORBIT, (0.0, 60.0), START, method="taylor", rtol=1e-9, control=md.StepControl(max_steps=5)
    )
    assert few.status is md.Status.TOO_MANY_STEPS


def test_invalid_orders_and_series_are_rejected():
    for change, message in (
        ({"step": 0.1}, "order must be given with a fixed step"),
        ({"order": 1, "step": 0.1}, "whole number from 2 to 60, got 1"),
    ):
        with pytest.raises(md.ManipDynError, match=message):
            md.integrate(PENDULUM, (0.0, 1.0), [1.0, 0.0], method="taylor", **change)
    with pytest.raises(md.ManipDynError, match=r"quantities must be .* got -1"):
        md.Series(orbit_series, -1)


def test_vanishing_last_terms_do_not_make_the_step_too_long():
    """The RR arm falls from rest at q = 0: terms 19 and 20 of the first series are zero."""
    kernels = md.customize(md.load_robot("rr"))
    series = kernels.series
    start, free = np.zeros(4), np.zeros(2)
    solution = [
        md.integrate(series, (0.0, 2.0), start, method="taylor", rtol=rtol, p=free)
        for rtol in (1e-16, 1e-10)
    ]
    by_stages = md.integrate(kernels.right_hand_side, (0.0, 2.0), start, rtol=1e-13, p=free)
    assert solution[0].statistics.steps > 10
    np.testing.assert_allclose(solution[0].y_last, by_stages.y_last, atol=1e-10)
    np.testing.assert_allclose(solution[1].y_last, by_stages.y_last, atol=1e-7)


def test_a_robots_series_without_room_ends_with_a_status():
    kernels = md.customize(md.load_robot("rr"))
    solution = md.integrate(
        md.Series(kernels.series.of_state, 3),
        (0.0, 1.0),
        np.zeros(4),
        method="taylor",
        rtol=1e-9,
        p=np.zeros(2),
    )
    assert solution.status is md.Status.NON_FINITE
