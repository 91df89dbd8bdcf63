"""Motions of the planner without a plan, in closed loop with a simulated arm."""

from collections import deque

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.control import MeasuredState, StateEstimator
from manip_dyn.ros import BangBangPlannerParameters, BrakingMotion
from manip_dyn.simulation import held

PERIOD_NS = 1_000_000


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
