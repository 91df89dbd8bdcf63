"""Closed-loop execution: exact with a correct model, robust with a wrong one."""

from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from closed_loop import execute
from goals import GOALS, planned

import manip_dyn as md
from manip_dyn.ensembles import Conditions
from manip_dyn.ensembles import execute as execute_in_loop
from manip_dyn.planning import PlanExecutor, Tuning, mean_effort
from manip_dyn.simulation import Disturbance, Simulation, held

SLOW = 4e-3
"""Control period for motions of several seconds, s."""


def executed(name, extra, mass_scale=1.0, disturbance=None, tuning=None, **options):
    """Return simulation and executor `extra` seconds after the planned end."""
    robot, plan = planned(name)
    real = md.load_robot(GOALS[name][1], mass_scale=mass_scale) if mass_scale != 1.0 else robot
    simulation = Simulation(real, plan.q0, np.zeros(robot.n))
    if disturbance is not None:
        simulation.disturbance = disturbance
    executor = PlanExecutor(robot, plan, options.get("period", 1e-3), tuning)
    options = {"period": 1e-3} | options
    execute(simulation, executor, duration=plan.t_final + extra, **options)
    return simulation, executor


@pytest.mark.parametrize("period", [2e-3, 2.3e-3])
@pytest.mark.parametrize("name", GOALS)
def test_every_plan_ends_at_its_goal_on_time(name, period):
    simulation, executor = executed(name, 4.0 * period, period=period)
    np.testing.assert_allclose(simulation.q, executor.plan.qf, atol=1e-6)
    np.testing.assert_allclose(simulation.v, 0.0, atol=5e-5)
    assert executor.arrived
    assert executor.returns == 0
    assert executor.extra_time == pytest.approx(0.0, abs=1e-9)


def test_a_single_state_at_the_goal_is_no_arrival():
    """Regression: one forged or noisy state at rest at the goal ended the motion."""
    robot, plan = planned("two joints, one held early")
    executor, zero, period = PlanExecutor(robot, plan, 1e-3), np.zeros(2), 1e-3
    off = plan.qf + 5e-3
    for number, q in enumerate([off, plan.qf, off, plan.qf, plan.qf, off]):
        executor.segments(plan.t_final + number * period, q, zero)
        assert not executor.arrived
    for number in range(6, 9):
        executor.segments(plan.t_final + number * period, plan.qf, zero)
    assert executor.arrived
    assert executor.extra_time == pytest.approx(6 * period)


@pytest.mark.parametrize("name", ["two joints, one held early", "three switches"])
def test_mean_efforts_serve_drives_with_an_unknown_dead_time(name):
    robot, plan = planned(name)
    executor, zero = PlanExecutor(robot, plan, 1e-3), np.zeros(robot.n)
    simulation = Simulation(robot, plan.q0, zero)
    hold = md.customize(robot).inverse_dynamics(plan.q0, zero, zero)
    queue, visited = deque([hold] * 10), []
    while 1e-9 * simulation.time_ns < plan.t_final + 0.5:
        segments = executor.segments(1e-9 * simulation.time_ns, simulation.q, simulation.v)
        queue.append(mean_effort(segments, 1e-3, executor.delay))
        simulation.law = held(robot, queue.popleft())
        simulation.advance(1_000_000)
        visited.append(simulation.q.copy())
    assert executor.arrived
    assert executor.delay == pytest.approx(0.01, abs=1e-3)
    path = plan.at(np.linspace(0.0, plan.t_final, 4000))[0]
    distances = np.abs(np.array(visited)[::5, None] - path).max(axis=2).min(axis=1)
    assert distances.max() < 0.01


@pytest.mark.parametrize("name", ["two joints, one held early", "three switches", "seven joints"])
def test_mean_efforts_arrive_slightly_later(name):
    simulation, _ = executed(name, 1.5, sampled=True, period=2e-3)
    np.testing.assert_allclose(simulation.q, GOALS[name][3], atol=1e-6)


@pytest.mark.parametrize("mass_scale", [0.9, 1.1])
@pytest.mark.parametrize("name", GOALS)
def test_an_arm_with_wrong_masses_arrives_later(name, mass_scale):
    simulation, executor = executed(name, 3.0, mass_scale=mass_scale, period=SLOW)
    assert executor.arrived
    assert -SLOW < executor.extra_time < 3.0  # a lighter arm may lead when it is identified
    np.testing.assert_allclose(simulation.q, GOALS[name][3], atol=1e-3)


@pytest.mark.parametrize("load", [-0.3, 0.3])
@pytest.mark.parametrize("name", GOALS)
def test_a_return_motion_after_a_push_arrives(name, load):
    """The push is 30 % of the effort limits of all joints, for a quarter of the duration.

    It resembles friction, with which the integral feedback stops within the tolerance.
    """
    robot, plan = planned(name)
    begin, end = (round(1e9 * fraction * plan.t_final) for fraction in (0.25, 0.5))
    push = Disturbance(load * robot.tau_max, begin, end)
    simulation, executor = executed(name, 4.0, disturbance=push, period=SLOW)
    assert executor.arrived
    np.testing.assert_allclose(simulation.q, plan.qf, atol=Tuning.tolerance)


def test_the_launch_line_of_the_readme_arrives():
    """A heavier arm, pushed for 0.1 s, arrives without exceeding its speed limits.

    Regression: 30 return motions, and 6 times the speed limit.
    """
    push = Disturbance(
        np.array([100.0, -100.0, 50.0, 50.0, 7.0, 7.0, 7.0]), 200_000_000, 300_000_000
    )
    simulation, executor = executed("seven joints", 2.5, mass_scale=1.1, disturbance=push)
    np.testing.assert_allclose(simulation.q, executor.plan.qf, atol=1e-3)
    np.testing.assert_allclose(simulation.v, 0.0, atol=1e-2)
    assert 0 < executor.returns < 4


def test_an_arm_returns_after_a_push_at_the_goal():
    _, plan = planned("two joints, one held early")
    late = round(1e9 * (plan.t_final + 0.2))
    push = Disturbance(np.array([20.0, -5.0]), late, late + 300_000_000)
    name = "two joints, one held early"
    simulation, executor = executed(name, 3.0, disturbance=push, period=SLOW)
    assert executor.arrived
    assert executor.returns > 0
    np.testing.assert_allclose(simulation.q, plan.qf, atol=Tuning.tolerance)


def test_feedback_without_return_motions_arrives():
    name = "two joints, one held early"
    tuning = Tuning(off_plan=np.inf)
    simulation, executor = executed(name, 4.0, mass_scale=1.1, tuning=tuning, period=SLOW)
    assert executor.returns == 0
    np.testing.assert_allclose(simulation.q, [0.0, 0.0], atol=1e-4)


def weak_arm(mass_scale):
    """Return an arm whose first joint requires 3/4 of its effort to hold it horizontally."""
    arm = md.load_robot("rr", mass_scale=mass_scale)
    stretched = md.customize(md.load_robot("rr")).inverse_dynamics(*np.zeros((3, 2)))
    return replace(arm, tau_max=np.abs(stretched) / 0.75 + [0.0, 5.0])


def test_an_arm_that_is_too_heavy_stops_with_a_reason():
    """Regression: return motions without end, each with a swing of a radian."""
    robot, real = weak_arm(1.0), weak_arm(1.5)
    plan = md.plan_minimum_time(robot, [-1.2, 0.3], [0.0, 0.0])
    reason = reason_at_rest(real, PlanExecutor(robot, plan, 4e-3), 10.0)
    assert "the arm left the path 2 times at 0." in reason


@pytest.mark.parametrize("off_plan", [0.005, 0.05])
def test_the_hold_position_of_a_stopped_arm_is_off_plan_away(off_plan):
    """Regression: 0.02 rad, the default, for any `off_plan`."""
    robot, plan = planned("two joints, one held early")
    executor = PlanExecutor(robot, plan, 1e-3, Tuning(off_plan=off_plan, replan="new_motion"))
    away = plan.qf + np.array([0.3, -0.1])
    for count in range(40):  # each jump requires another return motion
        jump = 0.1 * (count % 2 == 0)
        executor.segments(plan.t_final + 0.1 * count, away + jump, np.zeros(2))
    assert "30 return motions did not reach the goal" in executor.missed
    assert np.abs(executor.goal - away) == pytest.approx([off_plan, off_plan])


@pytest.mark.parametrize("switched", [True, False], ids=["one joint switched", "feedback alone"])
def test_a_heavy_arm_without_return_motions_stops(switched):
    robot, real = weak_arm(1.0), weak_arm(1.5)
    start, goal = [-0.6, 0.0], [0.0, 0.0]
    plan = md.plan_zero_net_work(robot, start if switched else goal, goal)
    plan = replace(plan, q0=np.array(start))
    executor = PlanExecutor(robot, plan, 4e-3, Tuning(off_plan=np.inf))
    reason = reason_at_rest(real, executor, 14.0)
    assert "from the goal and not approaching it, with efforts at their limits; stopping" in reason


def reason_at_rest(real, executor, duration):
    """Return the reason of an arm that rests during the last second."""
    simulation = Simulation(real, executor.plan.q0, np.zeros(2))
    execute(simulation, executor, 4e-3, duration - 1.0)
    resting = simulation.q.copy()
    execute(simulation, executor, 4e-3, duration)
    np.testing.assert_allclose(simulation.q, resting, atol=1e-3)
    np.testing.assert_allclose(simulation.v, 0.0, atol=1e-3)
    return executor.missed


def test_stop_brings_the_arm_to_rest():
    robot, plan = planned("seven joints")
    simulation = Simulation(robot, plan.q0, np.zeros(7))
    executor = PlanExecutor(robot, plan, SLOW)
    execute(simulation, executor, SLOW, 0.4)
    executor.stop(0.4, simulation.q, simulation.v)
    execute(simulation, executor, SLOW, 1.5)
    assert executor.arrived
    np.testing.assert_allclose(simulation.q, executor.goal, atol=1e-4)
    assert np.abs(executor.goal - plan.qf).max() > 0.05


def test_a_horizon_of_zero_raises():
    robot = md.load_robot("one_link_horizontal")
    plan = md.plan_zero_net_work(robot, [1.0], [0.0])
    with pytest.raises(md.ManipDynError, match="horizon must be above 0, got 0 s"):
        PlanExecutor(robot, plan, 0.0)


def test_a_plan_with_steep_efforts_arrives_on_time():
    """Regression: 0.16 s late, because efforts that vary within a period were held constant."""
    robot = md.load_robot("rr")
    plan = md.plan_minimum_time(robot, [-3.0519, 0.8072], [1.8411, 0.0817])
    result = execute_in_loop(plan, Conditions(duration=plan.t_final + 0.2))
    assert np.abs(result.q[round(plan.t_final / 1e-3) + 2 :] - plan.qf).max() < Tuning.tolerance


class Refined:
    """A motion with many additional knots, as on the grid of a refined motion."""

    def __init__(self, motion):
        self._motion = motion
        self.knots = np.union1d(motion.knots, np.linspace(0.0, motion.knots[-1], 20_000))

    def __getattr__(self, name):
        return getattr(self._motion, name)


def test_commands_of_a_refined_plan_have_few_segments():
    """Regression: up to 1,000 segments, whose conversion stalled control loops for 0.1 s."""
    _, plan = planned("seven joints")
    plan = replace(plan, motion=Refined(plan.motion))
    executor = PlanExecutor(plan.robot, plan, 1e-3)
    for t in np.linspace(0.0, 0.9 * plan.t_final, 20):
        segments = executor.segments(float(t), *plan.state(float(t)), 0.05)
        assert len(segments) <= 150  # two in each period, and one at each knot
        assert segments[-1].offset > 0.04


@pytest.mark.parametrize("name", GOALS)
def test_an_arm_follows_its_plan_until_the_end_of_the_last_command(name):
    """Regression: the last efforts acted beyond the next switch, and accelerated the arm."""
    robot, plan = planned(name)
    executor = PlanExecutor(robot, plan, 1e-3)
    simulation = Simulation(robot, plan.q0, np.zeros(robot.n))
    end, switch = 0.02, next(t for times in plan.switch_times for t in times if t > 0.02)
    death = round(1e3 * (switch - 0.01))
    for k in range(death + 1):
        t = 1e-3 * k
        segments = executor.segments(t, simulation.q, simulation.v, end)
        times = [simulation.time_ns + round(1e9 * segment.offset) for segment in segments]
        assert times[-1] < simulation.time_ns + 1e9 * end
        simulation.law = md.Schedule(robot, times, [segment.effort for segment in segments])
        simulation.advance(1_000_000 if k < death else round(1e9 * end))
    q, v = plan.state(1e-9 * simulation.time_ns)
    np.testing.assert_allclose(simulation.q, q, atol=1e-6)
    np.testing.assert_allclose(simulation.v, v, atol=1e-4)
