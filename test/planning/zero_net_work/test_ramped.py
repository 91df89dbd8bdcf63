"""Plans with a slew rate: closed forms, replays, limits, invalid arguments, execution."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import manip_dyn as md
from manip_dyn import ManipDynError
from manip_dyn.planning import PlanExecutor
from manip_dyn.robot import Oracle

PA10 = ([0.4, 0.6, 1.1, 0.5], [-0.4, 0.3, 1.6, -0.2])
IBM = ([0.76, 0.2618], [0.0, 0.0])


def fastest(distance, inertia, effort, slew_rate):
    """Return the least time of a double integrator whose effort begins and ends at 0.

    Acceleration a, its rate j: the ramp takes a / j; with x the time from the start to the end of
    the full effort, (x) (x + a / j) = distance / a. Where the full effort is not reached, the
    rate alone is bang-bang: j, -j, j.
    """
    ramp, square = effort / slew_rate, distance * inertia / effort
    x = -0.5 * ramp + np.sqrt(0.25 * ramp**2 + square)
    if x > ramp:
        return 2.0 * (x + ramp)
    return float(np.cbrt(32.0 * distance * inertia / slew_rate))


def replay(plan):
    """Return position and velocity errors (n,) at the end, by SciPy and pinocchio's dynamics."""
    reference, n = Oracle(plan.robot), plan.robot.n
    y = np.concatenate([plan.q0, np.zeros(n)])

    def rates(t, y):
        # at the end, the plan returns the holding effort
        tau = plan.effort(min(t, np.nextafter(plan.t_final, 0.0)))
        return np.concatenate([y[n:], reference.forward_dynamics(y[:n], y[n:], tau)])

    for begin, end in itertools.pairwise(plan.ramps.corners):
        run = solve_ivp(rates, (begin, end), y, method="DOP853", rtol=1e-10, atol=1e-12)
        y = run.y[:, -1]
    return y[:n] - plan.qf, y[n:]


def check(plan):
    """Check the contract of plans with ramps."""
    robot, reference = plan.robot, Oracle(plan.robot)
    assert np.abs(replay(plan)).max() < 1e-6
    zero = np.zeros(robot.n)
    assert plan.effort(0.0) == pytest.approx(
        reference.inverse_dynamics(plan.q0, zero, zero), abs=1e-9
    )
    assert plan.effort(plan.t_final) == pytest.approx(plan.hold)
    times = np.unique([*np.linspace(0.0, plan.t_final, 600), *plan.ramps.corners])
    efforts = np.array([plan.effort(t) for t in times])
    assert np.all(np.abs(efforts) <= robot.tau_max * (1.0 + 1e-9))
    rounding = 1e-12 * robot.tau_max
    change = np.abs(np.diff(efforts, axis=0)) - rounding
    assert np.all(change <= plan.ramps.slew_rate * np.diff(times)[:, None] * (1.0 + 1e-9))
    q, v, tau = plan.at(times[::5])
    assert np.all(np.abs(v) <= robot.v_max * (1.0 + 1e-9))
    assert np.all((q >= robot.q_min - 1e-9) & (q <= robot.q_max + 1e-9))
    np.testing.assert_array_equal(tau, efforts[::5])
    np.testing.assert_array_equal([q[30], v[30]], plan.state(times[150]))
    assert np.abs(plan.net_work).max() <= 1e-6 * plan.peak_work
    assert {len(times) for times in plan.switch_times} <= {1, 2}
    assert plan.arrival_times == [plan.t_final] * robot.n
    assert f"{plan.ramps.t_final_without:.6g} s without ramps" in plan.reason


# ------------------------------------------------------------------------ one joint
@settings(max_examples=4, deadline=None)
@given(st.floats(-3.0, 3.0).filter(lambda q: abs(q) > 0.05), st.floats(0.0, 4.0))
def test_double_integrators_agree_with_the_closed_form(distance, exponent):
    robot, slew_rate = md.load_robot("one_link_horizontal"), 10.0**exponent
    plan = md.plan_zero_net_work(robot, [distance], [0.0], slew_rate=slew_rate)
    expected = fastest(abs(distance), 10.0, 10.0, slew_rate)
    assert plan.status == "solved"
    assert plan.t_final == pytest.approx(expected, rel=1e-6)
    assert plan.switch_times == [[pytest.approx(0.5 * expected, rel=1e-5)]]
    assert np.abs(replay(plan)).max() < 1e-8


def test_infinite_slew_rates_approach_the_plan_without_ramps():
    """For one joint, both families of motions have the same limit."""
    robot = md.load_robot("one_link_horizontal")
    plan = md.plan_zero_net_work(robot, [1.0], [0.0])
    for slew_rate in (1e4, 1e6, 1e8):
        ramped = md.plan_zero_net_work(robot, [1.0], [0.0], slew_rate=slew_rate)
        assert ramped.ramps.t_final_without == plan.t_final
        assert ramped.t_final - plan.t_final == pytest.approx(10.0 / slew_rate, rel=0.1)


# ------------------------------------------------------------------------- any arm
def test_plans_are_faster_with_higher_slew_rates():
    """The gain vanishes with the duration of the ramps."""
    robot = md.load_robot("ibm7535")
    plans = [md.plan_zero_net_work(robot, *IBM, slew_rate=s) for s in (30, 100, 1e4, 1e6)]
    for plan in plans:
        check(plan)
        assert plan.status == "solved"
    times = np.array([plan.t_final for plan in plans])
    assert np.all(np.diff(times) < 0.0)
    assert 0.0 < times[2] - times[3] < 2.0 * 25.0 / 1e4


@pytest.mark.parametrize("name", ["rr", "ibm7535"])
def test_plans_to_random_goals_are_valid(name):
    robot, rng = md.load_robot(name), np.random.default_rng(7)
    low, high = np.maximum(robot.q_min, -np.pi), np.minimum(robot.q_max, np.pi)
    start, goal = rng.uniform(low, high), rng.uniform(low, high)
    check(md.plan_zero_net_work(robot, start, goal, slew_rate=20.0 * robot.tau_max))


def test_plans_of_four_joints_under_gravity_are_valid():
    arm = md.load_robot("pa10", lock={"S3": -0.3, "E2": 0.3, "W2": -0.4})
    plan = md.plan_zero_net_work(arm, *PA10, slew_rate=300.0)
    check(plan)
    assert plan.moving_joints == list(range(4))


def test_slew_rates_may_differ_between_joints():
    plan = md.plan_zero_net_work(md.load_robot("ibm7535"), *IBM, slew_rate=[200.0, 40.0])
    check(plan)
    inside = 0.5 * (plan.ramps.corners[1:] + plan.ramps.corners[:-1])
    slopes = np.array([(plan.effort(t + 1e-7) - plan.effort(t - 1e-7)) / 2e-7 for t in inside])
    assert np.abs(slopes).max(axis=0) == pytest.approx([200.0, 40.0], rel=1e-6)


# ----------------------------------------------------------------- execution and output
def test_samples_have_the_impulse_of_the_plan():
    plan = md.plan_zero_net_work(md.load_robot("ibm7535"), *IBM, slew_rate=100.0)
    times, efforts = zip(*plan.samples(1e-2), strict=True)
    impulse = np.diff(times) @ np.array(efforts[:-1])
    intervals = itertools.pairwise(plan.ramps.corners)
    exact = sum((b - a) * plan.effort(0.5 * (a + b)) for a, b in intervals)
    assert times[0] == 0.0
    assert times[-1] == plan.t_final
    assert efforts[-1] == pytest.approx(plan.hold)
    assert impulse == pytest.approx(exact, abs=1e-9)
    assert np.abs(np.diff(efforts, axis=0)).max() <= 100.0 * 1e-2 * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("name", "motion"), [("ibm7535", IBM), ("one_link_horizontal", ([1], [0]))]
)
def test_executor_tracks_the_ramps(name, motion):
    """In closed loop with 1 ms; one joint is tracked too, not switched by its position."""
    robot, period = md.load_robot(name), 1e-3
    plan = md.plan_zero_net_work(robot, *motion, slew_rate=10.0 * robot.tau_max.max())
    simulation = md.simulation.Simulation(
        robot, plan.q0, np.zeros(robot.n), md.simulation.Integrator(step=period)
    )
    executor = PlanExecutor(robot, plan, period)
    while simulation.time_ns < (plan.t_final + 4 * period) * 1e9:
        segments = executor.segments(simulation.time_ns * 1e-9, simulation.q, simulation.v)
        times = [simulation.time_ns + round(s.offset * 1e9) for s in segments]
        simulation.law = md.Schedule(robot, times, [s.effort for s in segments])
        simulation.advance(round(period * 1e9))
    assert executor.arrived
    assert np.abs(simulation.q - plan.qf).max() < 1e-8
    assert executor.returns == 0


# -------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("slew_rate", "words"),
    [
        (0.0, "slew_rate of joint 'shoulder' must be above 0, got 0"),
        ([5.0, -1.0], "slew_rate of joint 'elbow' must be above 0, got -1"),
        (np.nan, "slew_rate must be finite numbers, got [nan, nan]"),
        (np.inf, "slew_rate must be finite numbers, got [inf, inf]"),
        ([1.0, 2.0, 3.0], "slew_rate must have shape (2,), got (3,)"),
        ("fast", "slew_rate must be 2 numbers, got"),
    ],
)
def test_invalid_slew_rates_raise(slew_rate, words):
    with pytest.raises(ManipDynError) as error:
        md.plan_zero_net_work(md.load_robot("ibm7535"), *IBM, slew_rate=slew_rate)
    assert words in str(error.value)


def test_slew_rates_too_low_for_the_weight_raise():
    """The efforts would need a minute to follow the weight of the moving arm."""
    robot = md.load_robot("rr")
    with pytest.raises(
        ManipDynError, match=r"change by at most 1 per second was found: no search"
    ):
        md.plan_zero_net_work(robot, [0.5, 0.5], [0.0, 1.0], slew_rate=1.0)


def test_plans_to_the_start_have_no_ramps():
    plan = md.plan_zero_net_work(md.load_robot("ibm7535"), IBM[0], IBM[0], slew_rate=1.0)
    assert (plan.t_final, plan.status) == (0.0, "at_goal")
    assert plan.ramps is None
