"""Return motions start at the measured state and satisfy the limits."""

import numpy as np
import pytest
from goals import planned

import manip_dyn as md
from manip_dyn.planning import EffortModel, PlanExecutor, Tuning

PERIOD = 1e-4


def return_motion(robot, plan, q, v):
    """Return the reference of an executor after a state off its plan."""
    tuning = Tuning(replan="new_motion", observer_bandwidth=0.0)
    executor = PlanExecutor(robot, plan, PERIOD, tuning)
    executor.segments(0.0, q, v)
    assert executor.returns == 1
    return executor.reference


def stopping_motion(robot, plan, q, v):
    """Return the reference of an executor after a stop."""
    executor = PlanExecutor(robot, plan, PERIOD)
    executor.stop(0.0, q, v)
    return executor.reference


@pytest.mark.parametrize("motion_from", [return_motion, stopping_motion])
def test_a_motion_starts_at_the_state_and_satisfies_the_limits(motion_from):
    robot, plan = planned("seven joints")
    rng, efforts = np.random.default_rng(4), md.customize(robot).inverse_dynamics
    for _ in range(5):
        q, v = plan.q0 + 0.2 * rng.normal(size=7), 0.2 * rng.normal(size=7)
        motion = motion_from(robot, plan, q, v)
        np.testing.assert_allclose(motion.q[0], q, atol=1e-12)
        np.testing.assert_allclose(motion.v[0], v, atol=1e-12)
        np.testing.assert_allclose(motion.v[-1], 0.0, atol=1e-12)
        assert np.all(np.abs(motion.efforts) <= robot.tau_max)
        # Positions are the integral of velocities; efforts satisfy the inverse dynamics.
        h = np.diff(motion.times)[:, None]
        np.testing.assert_allclose(
            np.diff(motion.q, axis=0), 0.5 * h * (motion.v[1:] + motion.v[:-1]), atol=1e-5
        )
        k = len(h) // 2
        a = (motion.v[k + 1] - motion.v[k]) / h[k]
        middle = [0.5 * (row[k] + row[k + 1]) for row in (motion.q, motion.v)]
        np.testing.assert_allclose(motion.efforts[k], efforts(*middle, a), atol=1e-2)


def test_efforts_of_a_model_are_those_of_the_arm():
    """Regression: return motions did not compensate identified friction and masses."""
    robot, friction = md.load_robot("rr"), np.array([2.0, 1.0])
    real = md.customize(md.load_robot("rr", mass_scale=1.2)).inverse_dynamics
    q, v, a = np.random.default_rng(1).normal(size=(3, 4, 2))
    expected = [real(*row) + friction * np.sign(row[1]) for row in zip(q, v, a, strict=True)]
    np.testing.assert_allclose(EffortModel(1.2, friction).efforts(robot, q, v, a), expected)
