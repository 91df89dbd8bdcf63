"""Motions of the planner without a plan, in closed loop with a simulated arm."""

from collections import deque

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.control import MeasuredState, StateEstimator
from manip_dyn.ros import BangBangPlannerParameters, BrakingMotion
from manip_dyn.simulation import held

PERIOD_NS = 1_000_000


def test_a_brake_at_the_effort_limits_moves_no_other_joint():
    """Regression: near rest the shoulder was still saturated, and the elbow reached 1.4 rad/s."""
    robot = md.load_robot("ibm7535")
    arm = md.load_robot("ibm7535", mass_scale=1.3, coulomb_friction=0.03 * robot.tau_max)
    estimator, period_ns = StateEstimator(robot), 4_000_000
    parameters = BangBangPlannerParameters(robot="ibm7535", control_period=1e-9 * period_ns)
    motion = BrakingMotion(robot, parameters, estimator)
    simulation = md.Simulation(arm, np.array([0.4, 0.1]), np.array([-1.9, -0.5]))
    speeds = []
    while not motion.arrived and simulation.time_ns < 2e9:
        measured = MeasuredState(simulation.time_ns, simulation.q, simulation.v)
        estimator.add(measured.stamp_ns, (0, 1), measured.q, measured.v)
        simulation.law = held(arm, motion.segments(measured)[0].effort)
        simulation.advance(period_ns)
        speeds.append(np.abs(simulation.v))
    assert motion.arrived
    assert np.diff(speeds, axis=0).max() < 0.01


@pytest.mark.parametrize(("mass_scale", "distance"), [(1.0, 0.15), (1.1, 0.16), (1.3, 0.19)])
def test_the_stopping_distance_depends_little_on_the_posture(mass_scale, distance):
    """A UR5 stops from the speed limit of its first joint within the distances in nodes.md."""
    robot = md.load_robot("ur5")
    arm = md.load_robot("ur5", mass_scale=mass_scale, coulomb_friction=0.03 * robot.tau_max)
    parameters = BangBangPlannerParameters(robot="ur5", control_period=0.004)
    for k in range(8):
        q = np.random.default_rng(k).uniform(-1.5, 1.5, 6)
        v = 0.3 * np.random.default_rng(k).uniform(-robot.v_max, robot.v_max)
        v[0] = robot.v_max[0]
        motion = BrakingMotion(robot, parameters, StateEstimator(robot))
        simulation = md.Simulation(arm, q, v)
        while np.abs(simulation.v).max() > 0.01 and simulation.time_ns < 1e9:
            measured = MeasuredState(simulation.time_ns, simulation.q, simulation.v)
            simulation.law = held(arm, motion.segments(measured)[0].effort)
            simulation.advance(4_000_000)
        assert np.abs(simulation.q - q).max() < distance


@pytest.mark.parametrize("delay", [0.0, 0.005, 0.02])
def test_holding_a_distant_position_respects_speed_limits(delay):
    """Regression: the prediction contained no delay: up to 2.8 times the limit."""
    robot = md.load_robot("ur5")
    goal = np.array([0.3, -1.2, 0.9, -0.4, 0.5, 0.1])
    parameters = BangBangPlannerParameters(robot="ur5", transport_delay=delay)
    motion = BrakingMotion(robot, parameters, StateEstimator(robot), held=goal)
    simulation = md.Simulation(robot, goal + np.eye(6)[5], np.zeros(6))
    weight = md.customize(robot).inverse_dynamics(goal, 0.0 * goal, 0.0 * goal)
    waiting = deque([weight] * round(delay * 1e3))
    fastest = 0.0
    for _ in range(1500):
        measured = MeasuredState(simulation.time_ns, simulation.q, simulation.v)
        waiting.append(motion.segments(measured)[0].effort)
        simulation.law = held(robot, waiting.popleft())
        simulation.advance(PERIOD_NS)
        fastest = max(fastest, float((np.abs(simulation.v) / robot.v_max).max()))
    assert 0.99 < fastest < 1.01
    assert np.abs(simulation.q - goal).max() < 0.01
