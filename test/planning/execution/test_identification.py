"""Delay, masses and friction are identified from the first states of a motion."""

import re
from functools import cache

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.ensembles import Conditions, execute
from manip_dyn.planning import PlanExecutor
from manip_dyn.simulation import Simulation

PERIOD = 1e-3
PA10 = [
    (
        10,
        [1.77, 0.16, -1.56, -0.79, -1.14, -0.63, 1.89],
        [-2.53, -0.4, 1.77, 1.24, 0.65, -2.13, -0.88],
    ),
    (
        6,
        [1.9, 0.62, -0.32, -0.69, -1.05, -2.06, -1.34],
        [-2.81, 0.4, 1.78, -0.01, 0.43, -1.75, -1.49],
    ),
]
ONE_JOINT = [
    ("one_link_horizontal", [1.0], [0.0]),
    ("one_link_vertical", [-1.5], [1.5]),
    ("ibm7535", [0.975, 0.0], [0.0, 0.0]),
]


@cache
def planned():
    robot = md.load_robot("rr")
    return robot, md.plan_minimum_time(robot, [-0.9, 0.8], [0.7, -0.5])


def executed(robot, plan, real, delay=0, extra=0.5, tuning=None, seed=None, stop=None):
    """Return executor and positions (k, n); commands act `delay` periods after the states.

    The executor is stopped in period `stop`.

    With a seed, the states have a noise of 0.001 rad and 0.02 rad/s, which is known.
    """
    simulation = Simulation(real, plan.q0, np.zeros(robot.n))
    random = np.random.default_rng(seed)
    noise = None if seed is None else np.repeat([[1e-3], [0.02]], robot.n, axis=1)
    executor = PlanExecutor(robot, plan, PERIOD, tuning, noise=noise)
    commands, rows = [], []
    hold = md.customize(robot).inverse_dynamics(plan.q0, 0.0 * plan.q0, 0.0 * plan.q0)
    for number in range(round((plan.t_final + extra) / PERIOD)):
        now = simulation.time_ns
        rows.append(simulation.q.copy())
        state = np.array([simulation.q, simulation.v])
        if noise is not None:
            state += noise * random.standard_normal(noise.shape)
        if number == stop:
            executor.stop(now * 1e-9, *state)
        segments = executor.segments(now * 1e-9, *state)
        commands.append([(now + round(1e9 * row.offset), row.effort) for row in segments])
        acting = commands[number - delay] if number >= delay else [(0, hold)]
        times = [max(time, now) for time, _ in acting]
        first = max(k for k, time in enumerate(times) if time == now)
        efforts = [effort for _, effort in acting[first:]]
        simulation.law = md.Schedule(real, times[first:], efforts)
        simulation.advance(1_000_000)
    return executor, np.array(rows)


@pytest.mark.parametrize("delay", [3, 10])
def test_an_unknown_delay_is_identified(delay):
    """Regression: 0.8 rad from the path with a delay of 4 ms."""
    robot, plan = planned()
    executor, rows = executed(robot, plan, robot, delay)
    assert executor.delay == pytest.approx(delay * PERIOD, abs=3e-4)
    assert executor.pace.model.mass_ratio == 1.0
    assert executor.arrived
    assert executor.extra_time < 0.03  # a reserve for the feedback costs 4 %
    path = plan.at(np.linspace(0.0, plan.t_final, 4000))[0]
    assert max(np.abs(path - q).max(axis=1).min() for q in rows[::5]) < 0.01


@pytest.mark.parametrize(("delay", "start", "goal"), PA10)
def test_the_delay_of_weak_first_efforts_is_identified(delay, start, goal):
    """Regression: they were attributed to static friction."""
    robot = md.load_robot("pa10")
    plan = md.plan_zero_net_work(robot, start, goal)
    executor, _ = executed(robot, plan, robot, delay, extra=0.06 - plan.t_final)
    assert executor.delay == pytest.approx(delay * PERIOD, abs=3e-4)


@pytest.mark.parametrize("seed", range(4))
def test_delay_and_masses_are_distinguished_under_known_noise(seed):
    """Regression: a mass ratio of 2.5 and no delay were identified, 0.85 rad from the path."""
    robot, plan = planned()
    real = md.load_robot("rr", mass_scale=1.2, coulomb_friction=0.05 * robot.tau_max)
    executor, _ = executed(robot, plan, real, delay=3, extra=0.1 - plan.t_final, seed=seed)
    assert executor.delay == pytest.approx(3 * PERIOD, abs=1e-3)
    assert executor.pace.model.mass_ratio == pytest.approx(1.2, abs=0.2)


def test_the_first_command_with_an_identified_delay_covers_the_delay():
    """Regression: it covered one period, so the arm moved with wrong efforts for another one."""
    robot, plan = planned()
    simulation = Simulation(robot, plan.q0, np.zeros(2))
    executor = PlanExecutor(robot, plan, PERIOD)
    for number in range(60):
        segments = executor.segments(number * PERIOD, simulation.q, simulation.v)
        if executor.delay > 0.0:
            break
        simulation.law = md.Schedule(robot, [simulation.time_ns], [executor.reference.wait])
        if number >= 10:
            effort = executor.reference.efforts[0]
            simulation.law = md.Schedule(robot, [simulation.time_ns], [effort])
        simulation.advance(1_000_000)
    assert executor.delay > 5 * PERIOD
    assert segments[-1].offset >= executor.delay - 1e-9


@pytest.mark.parametrize("stop", [2, 5, 8])
def test_an_arm_with_an_unknown_delay_stops(stop):
    """Regression: it moved at constant speed and ignored the stop until then."""
    urdf = md.load_robot("rr").urdf
    robot = md.load_robot(re.sub(r'velocity="[^"]*"', 'velocity="5"', urdf))
    plan = md.plan_minimum_time(robot, [-0.9, 0.8], [0.7, -0.5])
    _, rows = executed(robot, plan, robot, delay=10, extra=0.0, stop=stop)
    np.testing.assert_allclose(rows[-1], rows[-100], atol=1e-3)
    assert np.abs(rows[-1] - plan.q0).max() < 0.05


def test_masses_and_friction_are_distinguished():
    robot, plan = planned()
    heavier, _ = executed(robot, plan, md.load_robot("rr", mass_scale=1.15), extra=0.0)
    assert heavier.pace.model.mass_ratio == pytest.approx(1.15, abs=0.03)
    assert np.all(heavier.friction < 0.02 * robot.tau_max)
    friction = 0.04 * robot.tau_max
    real = md.load_robot("rr", coulomb_friction=friction)
    rubbing, _ = executed(robot, plan, real, extra=0.0)
    assert rubbing.pace.model.mass_ratio == pytest.approx(1.0, abs=0.1)
    np.testing.assert_allclose(rubbing.friction, friction, atol=0.02 * robot.tau_max.max())


def test_an_arm_with_more_friction_than_planned_arrives():
    """Regression: the arm stayed 4e-4 rad from its goal and never arrived."""
    limits = md.load_robot("rr").tau_max
    robot, real = (md.load_robot("rr", coulomb_friction=f * limits) for f in (0.03, 0.04))
    plan = md.plan_zero_net_work(robot, [-0.9, 0.8], [0.7, -0.5])
    executor, rows = executed(robot, plan, real)
    assert executor.arrived
    assert executor.extra_time < 0.1
    np.testing.assert_allclose(rows[-1], plan.qf, atol=1e-4)


@pytest.mark.parametrize("period", [1.8e-3, 2e-3])
@pytest.mark.parametrize("motion", ONE_JOINT)
def test_motions_of_one_joint_end_at_the_goal_on_time(motion, period):
    robot = md.load_robot(motion[0])
    plan = md.plan_zero_net_work(robot, *motion[1:])
    simulation = Simulation(robot, plan.q0, np.zeros(robot.n))
    executor = PlanExecutor(robot, plan, period)
    while simulation.time_ns < 1e9 * (plan.t_final + 0.02):
        now = simulation.time_ns
        segments = executor.segments(now * 1e-9, simulation.q, simulation.v)
        times = [now + round(1e9 * segment.offset) for segment in segments]
        simulation.law = md.Schedule(robot, times, [segment.effort for segment in segments])
        simulation.advance(round(1e9 * period))
    np.testing.assert_allclose(simulation.q, plan.qf, atol=2e-7)
    assert executor.extra_time == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("scale", [0.8, 1.1, 1.2, 1.5])
def test_a_joint_with_other_masses_does_not_pass_its_goal(scale):
    """Regression: it passed the goal by 0.09 rad."""
    robot = md.load_robot("ibm7535")
    plan = md.plan_zero_net_work(robot, [0.975, 0.0], [0.0, 0.0])
    real = md.load_robot("ibm7535", mass_scale=scale)
    executor, rows = executed(robot, plan, real, extra=1.0)
    assert executor.arrived
    assert rows[:, 0].min() > -2e-3
    assert np.abs(rows[:, 1]).max() < 0.01


def test_a_joint_held_by_friction_does_not_change_the_masses():
    """Regression: a ratio of 1.05. The second joint hardly moves at first."""
    robot = md.load_robot("ibm7535")
    plan = md.plan_zero_net_work(robot, [-0.9, 0.8], [0.7, 0.79])
    friction = np.array([0.0, 0.06]) * robot.tau_max
    real = md.load_robot("ibm7535", coulomb_friction=friction)
    executor, _ = executed(robot, plan, real, extra=0.0)
    assert executor.pace.model.mass_ratio == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(executor.friction / robot.tau_max, [0.0, 0.06], atol=1e-3)


@pytest.mark.parametrize("period", [1e-3, 4e-3])
@pytest.mark.parametrize("scale", [1.2, 1.5])
def test_a_heavier_joint_brakes_in_time(scale, period):
    """Regression: it passed its goal by 0.16 rad, because friction was expected to brake it."""
    robot = md.load_robot("one_link_horizontal")
    plan = md.plan_zero_net_work(robot, [-2.0], [1.0])
    conditions = Conditions(mass_scale=scale, control_period=period, duration=1.5 * plan.t_final)
    run = execute(plan, conditions)
    assert run.success
    assert run.q.max() - plan.qf[0] < 1e-3
