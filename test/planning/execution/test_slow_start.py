"""Starts of plans that reach high speeds before any measurement shows their motion."""

from functools import cache

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.ensembles import Conditions, execute
from manip_dyn.planning import PlanExecutor

START = [2.4484, -0.5095, 2.4087, -0.3255, -0.4556, 0.2402, -1.8462]
GOAL = [1.4675, -0.8251, -2.5378, -0.3966, -1.1777, 2.6211, 2.4832]
PERIOD = 1e-3
CAUTIOUS = 0.75


@cache
def fast_plan():
    """Return a plan whose third joint reaches 0.99 of its speed limit in 1 ms."""
    return md.plan_minimum_time(md.load_robot("panda"), START, GOAL)


def with_slow_start(plan, horizon):
    """Return the plan that an executor follows."""
    return PlanExecutor(plan.robot, plan, horizon).plan


@pytest.mark.parametrize("unmeasured", [1e-3, 5e-3])
def test_a_slow_start_obeys_the_dynamics_and_all_limits(unmeasured):
    plan = fast_plan()
    robot, slow = plan.robot, with_slow_start(plan, unmeasured)
    times = np.linspace(0.0, slow.t_final, 20_000)[:-1]
    _, v, _ = slow.at(times)
    early = times <= unmeasured
    assert np.all(np.abs(v[early]) <= CAUTIOUS * robot.v_max)
    assert np.all(np.abs(v) <= (1.0 + 1e-6) * robot.v_max)
    assert np.all(np.abs(slow.motion.at(times)[2]) <= (1.0 + 1e-4) * robot.tau_max)
    assert 0.0 < slow.t_final - plan.t_final < 0.5 * unmeasured
    np.testing.assert_array_equal(slow.state(slow.t_final), plan.state(plan.t_final))
    step, inverse_dynamics = 1e-6, md.customize(robot).inverse_dynamics
    for t in (0.3 * unmeasured, 2.0 * unmeasured, 0.05, 0.7):
        (before, _), (after, _) = slow.state(t - step), slow.state(t + step)
        here, speed = slow.state(t)
        np.testing.assert_allclose((after - before) / (2.0 * step), speed, atol=1e-4)
        a = (slow.state(t + step)[1] - slow.state(t - step)[1]) / (2.0 * step)
        error = inverse_dynamics(here, speed, a) - slow.effort(t)
        assert np.all(np.abs(error) < 1e-3 * robot.tau_max)


def test_slow_enough_plans_and_moving_starts_do_not_change():
    plan = fast_plan()
    slow = with_slow_start(plan, PERIOD)
    assert slow is not plan
    assert with_slow_start(plan, PERIOD) is slow  # cached
    assert with_slow_start(slow, PERIOD) is slow
    robot = md.load_robot("ur5")
    start, goal = [0.3, -0.9, 0.6, -0.5, 0.4, 0.2], [1.0, -1.4, 1.2, 0.3, -0.6, 1.0]
    for ordinary in (
        md.plan_minimum_time(robot, start, goal),
        md.plan_zero_net_work(robot, start, start),
    ):
        assert with_slow_start(ordinary, PERIOD) is ordinary


@pytest.mark.parametrize("unmeasured", [0.006, 0.011, 0.031])
def test_speeds_before_the_response_are_bounded_if_they_fall_again(unmeasured):
    """Regression: only the speed at the end of this time was checked."""
    robot, start = md.load_robot("panda"), np.array([0.3, -0.5, 0.2, -1.8, 0.1, 1.5, 0.3])
    goal = start + np.array([0.0, 0.0, 0.018, 0.0, 0.03, 0.0, 0.03])
    slow = with_slow_start(md.plan_minimum_time(robot, start, goal), unmeasured)
    times = np.linspace(0.0, min(unmeasured, slow.t_final), 2001)[:-1]
    assert np.all(np.abs(slow.at(times)[1]) <= (CAUTIOUS + 0.01) * robot.v_max)


def test_plans_with_ramps_do_not_change():
    """A slow start would exceed their slew rates."""
    robot = md.load_robot("ur5")
    start, goal = [0.3, -0.9, 0.6, -0.5, 0.4, 0.2], [1.0, -1.4, 1.2, 0.3, -0.6, 1.0]
    plan = md.plan_zero_net_work(robot, start, goal, slew_rate=2000.0)
    assert with_slow_start(plan, 0.12) is plan


def test_lighter_masses_respect_speed_limits_from_the_start():
    """Regression: 1.21 times the speed limit after 1 ms."""
    plan = fast_plan()
    run = execute(plan, Conditions(mass_scale=0.8, assumed_delay=0.0))
    assert np.abs(run.v / plan.robot.v_max).max() < 1.05


def test_an_exact_model_arrives_on_time():
    plan = fast_plan()
    run = execute(plan, Conditions())
    assert run.arrival_time < plan.t_final + PERIOD
    assert np.abs(run.q[-1] - plan.qf).max() < 1e-7
