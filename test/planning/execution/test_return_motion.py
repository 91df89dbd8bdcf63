"""New motions begin where the arm is and keep its limits."""

import numpy as np
import pytest
from goals import PA10

import manip_dyn as md
from manip_dyn.planning.execution.return_motion import return_motion, stopping_motion


@pytest.mark.parametrize("make", [return_motion, stopping_motion])
def test_a_new_motion_begins_where_the_arm_is_and_keeps_the_limits(make):
    robot, rng = md.load_robot("pa10"), np.random.default_rng(4)
    efforts = md.customize(robot).inverse_dynamics
    for _ in range(5):
        q, v = PA10[0] + 0.2 * rng.normal(size=7), 0.2 * rng.normal(size=7)
        goal = (np.array(PA10[1]),) if make is return_motion else ()
        motion = make(robot, q, v, *goal, 1e-4)
        np.testing.assert_allclose(motion.q[0], q, atol=1e-12)
        np.testing.assert_allclose(motion.v[0], v, atol=1e-12)
        np.testing.assert_allclose(motion.v[-1], 0.0, atol=1e-12)
        assert np.all(np.abs(motion.efforts) <= robot.tau_max)
        # positions are the integral of velocities, efforts those of the motion
        h = np.diff(motion.times)[:, None]
        np.testing.assert_allclose(
            np.diff(motion.q, axis=0), 0.5 * h * (motion.v[1:] + motion.v[:-1]), atol=1e-5
        )
        k = len(h) // 2
        a = (motion.v[k + 1] - motion.v[k]) / h[k]
        middle = [0.5 * (row[k] + row[k + 1]) for row in (motion.q, motion.v)]
        np.testing.assert_allclose(motion.efforts[k], efforts(*middle, a), atol=1e-2)
