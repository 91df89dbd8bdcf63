"""Gains and thresholds."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.planning import Tuning
from manip_dyn.planning.execution.feedback import Ahead, Feedback


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stiffness": -1.0}, "stiffness must be 0 or more, got -1 1/s.2"),
        ({"damping": np.nan}, "damping must be 0 or more, got nan 1/s"),
        (
            {"integral": 1e6},
            "integral must be at most stiffness times damping, 16000 1/s.3, got 1e.06 1/s.3",
        ),
        ({"off_plan": "far"}, "off_plan must be a number, got 'far'"),
        ({"off_plan": 0.0}, "off_plan must be above 0, got 0"),
        ({"tolerance": 0.0}, "tolerance must be above 0, got 0"),
    ],
)
def test_invalid_tuning_raises(options, words):
    with pytest.raises(md.ManipDynError, match=words):
        Tuning(**options)


@pytest.mark.parametrize("excess", [-0.05, 0.1])
def test_feedback_brakes_a_joint_at_its_speed_limit(excess):
    """The joint lags behind its reference, which accelerates. Other joints are not affected."""
    robot, tuning, period = md.load_robot("ur5"), Tuning(), 1e-3
    joint = np.arange(robot.n) == 4
    q, v_ref = 0.1 * np.arange(6.0), np.where(joint, 0.9, -0.3) * robot.v_max
    q_ref, v = q + np.where(joint, 0.1, 0.01), np.where(joint, robot.v_max + excess, v_ref)
    acceleration = 300.0 * joint
    ahead = Ahead(v, acceleration, period)
    efforts = Feedback(robot, tuning).correction(q, v, q_ref, v_ref, ahead)
    kernels = md.customize(robot)
    efforts = efforts + kernels.inverse_dynamics(q_ref, v_ref, np.zeros(6))
    a = kernels.forward_dynamics(q, v, efforts) + acceleration
    bound = -excess / period if excess < 0.0 else -tuning.damping * excess
    np.testing.assert_allclose(a, np.where(joint, bound, tuning.stiffness * 0.01), rtol=1e-6)
