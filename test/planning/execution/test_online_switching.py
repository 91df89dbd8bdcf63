"""Online switching: the final error does not depend on the sample times."""

from functools import cache

import numpy as np
import pytest
from arms import write_shipped
from closed_loop import execute

import manip_dyn as md
from manip_dyn.planning import PlanExecutor, mean_effort
from manip_dyn.simulation import Integrator, Simulation

IBM = ("ibm7535", [0.975, 0.0], [0.0, 0.0])


MOTIONS = [
    ("one_link_horizontal", [1.0], [0.0]),
    ("one_link_vertical", [1.0], [0.0]),
    ("one_link_vertical", [-1.5], [1.5]),
    IBM,
    ("ibm7535", [0.2, -0.1], [0.2, 0.15]),
]


@cache
def planned(number):
    """Return robot and plan of a motion, by its index."""
    name, start, goal = MOTIONS[number]
    robot = md.load_robot(name)
    return robot, md.plan_zero_net_work(robot, start, goal)


def closed_loop(motion, period, hold, sampled=False, step=2e-3):
    """Return the simulation after the planned motion and `hold` seconds."""
    robot, plan = planned(MOTIONS.index(motion))
    simulation = Simulation(robot, plan.q0, np.zeros(robot.n), Integrator(step=step))
    executor = PlanExecutor(robot, plan, period)
    execute(simulation, executor, period, plan.t_final + hold, sampled)
    assert executor.arrived
    return simulation


@pytest.mark.parametrize("period", [2e-3, 1.8e-3, 3.1e-3])
@pytest.mark.parametrize("motion", MOTIONS)
def test_exact_switches_end_at_the_goal(motion, period):
    simulation = closed_loop(motion, period, hold=0.05)
    # Switch times are whole nanoseconds: half of one at 50 rad/s^2 is 2.5e-8 rad/s.
    np.testing.assert_allclose(simulation.q, motion[2], atol=1e-7)
    np.testing.assert_allclose(simulation.v, 0.0, atol=1e-6)


@pytest.mark.parametrize("period", [2e-3, 1.8e-3, 3.1e-3])
@pytest.mark.parametrize("motion", MOTIONS)
def test_sampled_switches_end_at_the_goal(motion, period):
    simulation = closed_loop(motion, period, hold=0.8, sampled=True)
    np.testing.assert_allclose(simulation.q, motion[2], atol=1e-6)
    np.testing.assert_allclose(simulation.v, 0.0, atol=1e-5)


def test_mean_effort_has_the_impulse_of_the_segments():
    robot = md.load_robot("one_link_horizontal")
    executor = PlanExecutor(robot, md.plan_zero_net_work(robot, [1.0], [0.0]), 0.3)
    q, v = 0.5 + 0.2**2 / 2 + 0.2 * 0.8, -0.8  # state at t = 0.8, the switch is at 1.0
    segments = executor.segments(0.8, np.array([q]), np.array([v]))
    assert [segment.offset for segment in segments] == pytest.approx([0.0, 0.2], abs=1e-9)
    assert mean_effort(segments, 0.3) == pytest.approx([-10 * 0.2 / 0.3 + 10 / 3])
    assert mean_effort(segments, 0.1) == pytest.approx([-10.0])


@pytest.mark.parametrize("offset", [-0.03, 0.02, 0.1])
def test_a_disturbed_start_arrives(offset):
    """The switch follows from the measured state, so another start requires no other plan."""
    robot = md.load_robot("one_link_vertical")
    plan = md.plan_zero_net_work(robot, [1.0], [0.0])
    simulation = Simulation(robot, [1.0 + offset], [0.0])
    executor = PlanExecutor(robot, plan, 1e-3)
    execute(simulation, executor, 1e-3, plan.t_final + 0.1)
    np.testing.assert_allclose(simulation.q, [0.0], atol=1e-7)


def test_an_error_of_a_held_joint_decays():
    robot = md.load_robot("ibm7535")
    plan = md.plan_zero_net_work(robot, *IBM[1:])
    simulation = Simulation(robot, [0.975, 0.01], [0.0, 0.05])
    executor = PlanExecutor(robot, plan, 4e-3)
    execute(simulation, executor, 4e-3, plan.t_final + 2.0)
    np.testing.assert_allclose(simulation.q, [0.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("ratio", [0.9, 1.1])
def test_a_wrong_load_settles_at_the_goal(tmp_path, ratio):
    """The arm carries 10 % more or less than its model."""
    load = {"payload": {"link": "tool0", "mass": 6.0 * ratio}}
    real = md.load_robot(write_shipped(tmp_path, "ibm7535", **load))
    model = md.load_robot("ibm7535")
    plan = md.plan_zero_net_work(model, *IBM[1:])
    simulation = Simulation(real, IBM[1], [0.0, 0.0])
    execute(simulation, PlanExecutor(model, plan, 4e-3), 4e-3, plan.t_final + 3.0)
    np.testing.assert_allclose(simulation.q, [0.0, 0.0], atol=1e-3)


def test_efforts_stay_within_the_limits():
    robot = md.load_robot("ibm7535")
    executor = PlanExecutor(robot, md.plan_zero_net_work(robot, *IBM[1:]), 1e-3)
    rng = np.random.default_rng(8)
    for _ in range(200):
        state = rng.uniform(-1.5, 1.5, size=(2, 2))
        for segment in executor.segments(0.0, *state):
            assert np.all(np.abs(segment.effort) <= robot.tau_max)


def test_a_resting_arm_is_held():
    robot = md.load_robot("pa10")
    posture = np.array([0.0, 0.5, 0.0, 0.9, 0.0, 0.4, 0.0])
    executor = PlanExecutor(robot, md.plan_zero_net_work(robot, posture, posture), 4e-3)
    simulation = Simulation(robot, posture + 1e-3, np.zeros(7))
    execute(simulation, executor, 4e-3, 2.0)
    np.testing.assert_allclose(simulation.q, posture, atol=1e-5)
