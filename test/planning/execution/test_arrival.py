"""Arrival at the goal: several states must show that the arm rests there."""

import numpy as np
import pytest
from closed_loop import execute
from numpy.testing import assert_allclose

import manip_dyn as md
from manip_dyn.bench import random_goals

PERIOD, STATES, NOISY_STATES = 0.004, 3, 32
ROBOT = md.load_robot("ibm7535")
GOAL = np.array([0.7, 0.1])
NOISE = np.array([[1e-3, 1e-3], [0.02, 0.02]])
"""Standard deviations of positions (rad) and velocities (rad/s)."""


def arrival(states, noise=None):
    """Return the time of arrival for positions and velocities in successive periods, or None."""
    plan = md.plan_zero_net_work(ROBOT, GOAL, GOAL)
    executor = md.PlanExecutor(ROBOT, plan, PERIOD, noise=noise)
    for k, (q, v) in enumerate(states):
        executor.segments(k * PERIOD, q, v)
    return executor.arrival_time


def states(motion, count=120, seed=None):
    """Return states of a motion around the goal, with noise if there is a seed."""
    rng = np.random.default_rng(seed)
    noise = np.zeros_like(NOISE) if seed is None else NOISE
    for k in range(count):
        q, v = motion(k * PERIOD)
        yield GOAL + q + noise[0] * rng.normal(size=2), v + noise[1] * rng.normal(size=2)


def rest(_t):
    return 0.0, 0.0


def oscillation(speed, frequency=25.0):
    """Return a motion with this largest speed (rad/s) and frequency (rad/s)."""
    return lambda t: (
        speed / frequency * np.sin(frequency * t),
        speed * np.cos(frequency * t),
    )


def test_an_arm_at_rest_arrives_with_the_third_state():
    assert arrival(states(rest, STATES - 1)) is None
    assert arrival(states(rest, STATES)) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_noise_does_not_prevent_the_arrival(seed):
    time = arrival(states(rest, seed=seed), NOISE)
    assert_allclose(time, 0.0, atol=NOISY_STATES * PERIOD)


@pytest.mark.parametrize("seed", range(5))
def test_an_oscillation_under_noise_is_no_arrival(seed):
    assert arrival(states(oscillation(0.13), seed=seed), NOISE) is None


@pytest.mark.parametrize("seed", range(5))
def test_an_offset_or_a_drift_under_noise_is_no_arrival(seed):
    assert arrival(states(lambda _t: (2e-3, 0.0), seed=seed), NOISE) is None
    assert arrival(states(lambda _t: (0.0, 0.03), seed=seed), NOISE) is None


def test_an_arm_that_passes_the_goal_has_not_arrived():
    assert arrival(states(lambda t: (0.1 * (t - 0.1), 0.1))) is None
    assert arrival(states(oscillation(0.01))) is None


@pytest.mark.parametrize(("name", "mass_scale"), [("ur5", 1.0), ("ur5", 1.1), ("rr", 1.1)])
def test_joints_that_friction_holds_near_the_goal_arrive(name, mass_scale):
    """Regression: at 250 Hz, the integral moved them in up to 8 s, or never."""
    robot = md.load_robot(name)
    friction = 0.03 * robot.tau_max
    arm = md.load_robot(name, mass_scale=mass_scale, coulomb_friction=friction)
    pairs = random_goals.random_pairs(robot, 100, seed=11)
    for start, goal in [next(pairs) for _ in range(6)]:
        plan = md.plan_zero_net_work(robot, start, goal)
        simulation = md.Simulation(arm, plan.q0, np.zeros(robot.n))
        executor = md.PlanExecutor(robot, plan, PERIOD)
        execute(simulation, executor, PERIOD, plan.t_final + 3.0)
        assert executor.arrived
        assert np.abs(simulation.q - plan.qf).max() < 2e-4
