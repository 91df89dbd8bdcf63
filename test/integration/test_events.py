"""Switches and events: order of accuracy, location and actions."""

import numpy as np
import pytest
from impacts import BOUNCE, GRAVITY, REBOUND, RELAY, ball, height, hit, thrown
from numba import njit

import manip_dyn as md

FALL_HEIGHT = 1.0


@njit
def circle(t, y, p, out):
    out[0] = -y[1]
    out[1] = y[0]


@njit
def both_coordinates(t, y, p, out):
    out[0] = y[0]
    out[1] = y[1]


@njit
def stepped(t, y, p, out):
    """y' = y cos t, and three times that between two times.

    p is the two times, and whether the old value still counts at them.
    """
    inside = p[0] < t <= p[1] if p[2] else p[0] <= t < p[1]
    out[0] = y[0] * np.cos(t) * (3.0 if inside else 1.0)


SWITCHES = np.array([0.7137, 1.9211])


def stepped_solution(t):
    first, second = SWITCHES
    extra = np.sin(np.clip(t, first, second)) - np.sin(first)
    return np.exp(np.sin(t) + 2.0 * extra)


@pytest.mark.parametrize(("name", "order"), [("rk4", 4), ("rk8", 8), ("ab4", 4), ("rkdp54", 5)])
@pytest.mark.parametrize("late", [0.0, 1.0])
def test_methods_keep_their_order_at_switches_in_time(name, order, late):
    errors, counts = [], {8: (6, 9, 12)}.get(order, (40, 80, 160))
    p = np.array([*SWITCHES, late])
    for count in counts:
        solution = md.integrate(
            stepped, (0.0, 3.0), [1.0], method=name, step=3.0 / count, p=p, t_switch=SWITCHES
        )
        assert set(SWITCHES) < set(solution.t)
        errors.append(abs(solution.y_last[0] - stepped_solution(3.0)))
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    slack = 1.2 if order == 8 else 0.6  # the steps before a switch vary in length
    assert slope > order - slack
    missed = md.integrate(
        stepped,
        (0.0, 3.0),
        [1.0],
        method=name,
        step=3.0 / counts[-1],
        p=p,
    )
    assert abs(missed.y_last[0] - stepped_solution(3.0)) > 30.0 * errors[-1]


@pytest.mark.parametrize("span", [(0.0, 3.0), (3.0, 0.0)])
@pytest.mark.parametrize("late", [0.0, 1.0])
def test_switches_under_step_control_in_both_directions_of_time(span, late):
    y0 = [stepped_solution(span[0])]
    solution = md.integrate(
        stepped,
        span,
        y0,
        method="rkdp54",
        rtol=1e-12,
        p=np.array([*SWITCHES, late]),
        t_switch=SWITCHES[::-1],
        sampling=md.Sampling(dense=True),
    )
    assert solution.y_last[0] == pytest.approx(stepped_solution(span[1]), rel=1e-11)
    assert solution.statistics.failures < 3
    times = np.linspace(0.0, 3.0, 200)
    assert np.abs(solution(times)[:, 0] / stepped_solution(times) - 1.0).max() < 1e-8


@pytest.mark.parametrize(
    "options",
    [
        {"method": "rk4", "step": 0.3},
        {"method": "ab4", "step": 0.03},
        {"method": "rkdp54", "rtol": 1e-9},
    ],
    ids=["rk4", "ab4", "rkdp54"],
)
def test_a_terminal_event_is_located_within_its_tolerance(options):
    problem = ball, (0.0, 9.0), [FALL_HEIGHT, 0.0]
    solution = md.integrate(*problem, p=thrown(), events=height, **options)
    assert solution.status is md.Status.EVENT
    assert solution.success
    exact = np.sqrt(2.0 * FALL_HEIGHT / GRAVITY)
    assert solution.t_last == pytest.approx(exact, abs=1.1e-12)
    assert solution.events.times == [solution.t_last]
    assert solution.y_last[0] == pytest.approx(0.0, abs=1e-11)
    assert solution.y_last[0] <= 0.0  # on the far side
    assert "event 0" in solution.reason
    assert f"{exact:.6f}"[:6] in solution.reason


BY_STEPS = {
    "rkdp54": {"method": "rkdp54", "rtol": 1e-10, "sampling": md.Sampling(dense=True)},
    "rk4": {"method": "rk4", "step": 0.3},
}


@pytest.mark.parametrize("reply", [BOUNCE, REBOUND], ids=["bounce", "rebound"])
@pytest.mark.parametrize("options", BY_STEPS.values(), ids=BY_STEPS)
def test_impacts_closer_than_a_step_are_all_located(reply, options):
    """Each flight is half as long as the one before; the steps are not bounded."""
    events = md.Events(height, terminal=False, direction=-1, action=hit)
    fall = np.sqrt(2.0 * FALL_HEIGHT / GRAVITY)
    exact = fall * (1.0 + 2.0 * (1.0 - 0.5 ** np.arange(12)))
    end = 0.5 * (exact[-1] + exact[-2])
    p = thrown(reply=reply)
    solution = md.integrate(ball, (0.0, end), [FALL_HEIGHT, 0.0], p=p, events=events, **options)
    np.testing.assert_allclose(solution.events.times, exact[:-1], atol=1e-9)
    assert solution.y_last[0] > 0.0


def test_a_bouncing_ball_has_the_exact_impact_times():
    events = md.Events(height, terminal=False, direction=-1, action=hit)
    solution = md.integrate(
        ball,
        (0.0, 1.2),
        [FALL_HEIGHT, 0.0],
        p=thrown(reply=BOUNCE),
        events=events,
        control=md.StepControl(max_step=0.1),
        **BY_STEPS["rkdp54"],
    )
    fall = np.sqrt(2.0 * FALL_HEIGHT / GRAVITY)
    np.testing.assert_allclose(solution.events.times, fall * np.array([1.0, 2.0, 2.5]), atol=1e-10)
    top = 1.5 * fall
    assert solution(top)[0] == pytest.approx(0.25 * FALL_HEIGHT, rel=1e-8)
    assert solution.t_last == 1.2


@pytest.mark.parametrize(("direction", "expected"), [(0, 4), (1, 2), (-1, 2)])
def test_events_with_directions_and_several_functions(direction, expected):
    events = md.Events(both_coordinates, count=2, terminal=False, direction=direction)
    solution = md.integrate(
        circle,
        (0.1, 0.1 + 2.0 * np.pi),
        [np.cos(0.1), np.sin(0.1)],
        method="rkdp54",
        rtol=1e-11,
        events=events,
    )
    assert len(solution.events.times) == expected
    quarters = {0: [1, 2, 3, 4], 1: [3, 4], -1: [1, 2]}[direction]
    np.testing.assert_allclose(solution.events.times, 0.5 * np.pi * np.array(quarters), atol=1e-9)
    np.testing.assert_array_equal(solution.events.indices, [(q + 1) % 2 for q in quarters])
    crossing = solution.events.states[np.arange(expected), solution.events.indices]
    assert np.abs(crossing).max() < 1e-11


def test_methods_keep_their_order_at_switches_of_the_state():
    """A relay: events locate its switches, an action changes its mode."""
    events = md.Events(height, terminal=False, action=hit)

    def end(step):
        return md.integrate(
            ball,
            (0.0, 6.0),
            [1.0, 0.0],
            method="rk4",
            step=step,
            p=thrown(1.0, 0.25, RELAY),
            events=events,
        )

    exact, counts = end(6.0 / 5120), (40, 80, 160)
    assert len(exact.events.times) >= 2
    errors = [np.abs(end(6.0 / n).y_last - exact.y_last).max() for n in counts]
    assert -np.polyfit(np.log(counts), np.log(errors), 1)[0] > 3.6


def test_events_are_located_backwards_in_time():
    solution = md.integrate(
        ball,
        (2.0, 0.0),
        [-1.0, -GRAVITY * 2.0],
        p=thrown(),
        method="rkdp54",
        rtol=1e-9,
        events=md.Events(height, direction=1),
    )
    y = -1.0 + 0.5 * GRAVITY * (4.0 - solution.t_last**2)
    assert solution.status is md.Status.EVENT
    assert y == pytest.approx(0.0, abs=1e-9)


def test_records_grow_to_any_length():
    """More steps and events than the initial capacity."""
    events = md.Events(both_coordinates, count=2, terminal=False)
    solution = md.integrate(
        circle,
        (0.0, 1000.0),
        [1.0, 0.0],
        method="rkdp54",
        rtol=1e-9,
        control=md.StepControl(max_step=0.01),
        events=events,
    )
    assert solution.statistics.steps > 100_000
    assert solution.statistics.steps + 1 == len(solution.t) == len(np.unique(solution.t))
    assert len(solution.events.times) == int(1000.0 / (0.5 * np.pi))
    np.testing.assert_allclose(solution.events.times, 0.5 * np.pi * np.arange(1, 637), atol=1e-5)
