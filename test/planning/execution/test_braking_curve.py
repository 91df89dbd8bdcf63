"""Braking curves satisfy the dynamics, and their times follow from positions."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import manip_dyn as md
from manip_dyn.planning import PlanExecutor


@pytest.mark.parametrize("start", [1.2, -1.2])
def test_a_braking_curve_agrees_with_an_independent_integration(start):
    """A pendulum braked to rest at 0, integrated backwards in time."""
    robot = md.load_robot("one_link_vertical")
    plan = md.plan_zero_net_work(robot, [start], [0.0])
    curve = PlanExecutor(robot, plan, 1e-3).tracking.switching.curve
    brake = np.sign(start) * robot.tau_max
    acceleration = md.customize(robot).forward_dynamics

    def rates(_t, y):
        return [-y[1], -acceleration(y[:1], y[1:], brake)[0]]

    solution = solve_ivp(
        rates,
        (0.0, curve.duration),
        [0.0, 0.0],
        "DOP853",
        rtol=1e-13,
        atol=1e-14,
        dense_output=True,
    )
    for time in np.linspace(0.0, curve.duration, 60):
        q, v = curve.state(time)
        assert (q, v) == pytest.approx(tuple(solution.sol(time)), abs=1e-11)
        # near rest the position hardly changes with time
        assert curve.time_to_rest(q) == pytest.approx(time, abs=min(1e-15 / max(time, 1e-9), 1e-7))
    end, _ = curve.state(curve.duration)
    assert curve.time_to_rest(-start) == 0.0
    assert curve.time_to_rest(end + np.sign(start)) == curve.duration
