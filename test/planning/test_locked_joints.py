"""Locked joints do not accelerate, and the locking efforts agree with pinocchio."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.robot import Oracle


@pytest.mark.parametrize(
    "locked", [[0, 0, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0, 1], [0, 1, 1, 1, 1, 1, 1]]
)
def test_locking_efforts_keep_locked_joints_at_rest(locked):
    robot, rng = md.load_robot("pa10"), np.random.default_rng(4)
    kernels, driven = md.customize(robot).unchecked, 1.0 - np.array(locked)
    q, v, tau = rng.uniform(-1.0, 1.0, (3, 7))
    v *= driven
    y, drive = np.concatenate([q, v]), np.concatenate([10.0 * tau, driven])
    rates, efforts = kernels.locked_joint_motion(y, drive), kernels.locked_joint_efforts(y, drive)
    assert np.all(rates[7:][driven == 0.0] == 0.0)
    assert efforts[driven == 1.0] == pytest.approx(10.0 * tau[driven == 1.0], abs=1e-10)
    assert Oracle(robot).forward_dynamics(q, v, efforts) == pytest.approx(rates[7:], abs=1e-8)
