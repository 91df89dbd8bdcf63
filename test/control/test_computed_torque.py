"""Computed torque: stability limits of the feedback, accelerations and effort limits."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.control import JointMotion

RNG = np.random.default_rng(5)
BENT = np.array([0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0])
ROBOT = md.load_robot("pa10")


@pytest.mark.parametrize("period", [1e-3, 1e-2])
def test_feedback_is_rejected_exactly_if_the_sampled_integrator_is_unstable(period):
    for _ in range(200):
        d, k = RNG.uniform(0.0, 3.0), RNG.uniform(1e-6, 6.0)
        stiffness, damping = k / period**2, d / period
        column = np.array([0.5 * period**2, period])
        matrix = np.array([[1.0, period], [0.0, 1.0]]) - np.outer(column, [stiffness, damping])
        stable = np.abs(np.linalg.eigvals(matrix)).max() < 1.0
        try:
            md.ComputedTorque(ROBOT, stiffness, damping, period)
            accepted = True
        except md.ManipDynError:
            accepted = False
        assert accepted == stable


def test_the_efforts_cause_the_desired_acceleration_and_respect_limits():
    control = md.ComputedTorque(ROBOT, 400.0, 40.0, 1e-6)
    q, v, a = BENT, RNG.normal(0.0, 0.3, 7), RNG.normal(0.0, 1.0, 7)
    efforts = control.efforts(q, v, JointMotion(q, v, a))
    actual = md.customize(ROBOT).forward_dynamics(q, v, efforts.effort)
    np.testing.assert_allclose(actual, a, atol=1e-3)
    assert not efforts.saturated.any()
    far = control.efforts(q, v, JointMotion(q + 1.0, v, a))
    assert far.saturated.any()
    assert np.all(np.abs(far.effort) <= ROBOT.tau_max)
