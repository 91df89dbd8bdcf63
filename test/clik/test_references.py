"""Smooth targets and joint references: bounds, approach to the path, goals out of reach."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn import clik

BENT = np.array([0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0])
ROBOT = md.load_robot("pa10")


def tool(q):
    matrix = md.customize(ROBOT).forward_kinematics(q)
    return clik.Pose(matrix[:3, 3], matrix[:3, :3])


def reference(path, q, step=0.01, **settings):
    return md.JointReference(
        clik.PathFollower(ROBOT, path, q, step, clik.ClikSettings(**settings))
    )


@pytest.mark.parametrize("step", [0.001, 0.01, 0.1])
def test_a_smooth_target_respects_its_bounds_and_reaches_its_goal(step):
    bounds = clik.TargetBounds(0.3, 1.0, 0.8, 3.0)
    start, goal = tool(BENT), tool(BENT + 0.2)
    path = md.SmoothTarget(start, bounds)
    path.aim(goal)
    here, previous, t = start, np.zeros(6), 0.0
    while t < 5.0:
        path.advance(t, step, here)
        twist = path.twist(t)
        assert np.linalg.norm(twist[:3]) <= bounds.linear_speed * (1.0 + 1e-9)
        assert np.linalg.norm(twist[3:]) <= bounds.angular_speed * (1.0 + 1e-9)
        change = np.linalg.norm((twist - previous)[:3])
        assert change <= bounds.linear_acceleration * step * (1.0 + 1e-9)
        t, previous = t + step, twist
        here = path.pose(t)  # a tool that follows exactly
    assert np.abs(clik.task_error(goal, here)).max() < 1e-6


def test_a_goal_out_of_reach_does_not_delay_the_next_goal():
    path = md.SmoothTarget(tool(BENT))
    motion = reference(path, BENT, gain=5.0)
    path.aim((np.array([0.0, 5.0, 0.5]), np.eye(3)))
    for _ in range(1500):
        sample = motion.advance()
    assert np.linalg.norm(sample.error[:3]) < 2.0 * path.bounds.linear_leash
    path.aim(tool(BENT))
    for _ in range(800):
        sample = motion.advance()
    assert np.abs(clik.task_error(tool(BENT), sample.actual)).max() < 1e-6


def test_a_twist_is_followed_without_lag():
    path = md.SmoothTarget(tool(BENT))
    motion = reference(path, BENT)
    twist = np.array([0.0, 0.05, 0.02, 0.0, 0.0, 0.1])
    path.drift(twist)
    for _ in range(300):
        sample = motion.advance()
    twist_now = md.customize(ROBOT).jacobian(sample.q) @ sample.v
    np.testing.assert_allclose(twist_now, twist, atol=1e-6)
    assert np.abs(clik.task_error(path.goal, sample.actual)).max() < 2e-3


def test_an_arm_off_the_path_approaches_it_on_a_straight_line():
    goal, off = tool(BENT), BENT + 0.15
    center = goal.position - [0.1, 0.0, 0.0]
    circle = md.Circle(center, [0, 0, 1], [1, 0, 0], goal.rotation, 0.02, 0.2, ramp=1.0)
    motion = reference(circle, BENT, gain=5.0)
    motion.begin(off, straight=True)
    first = motion.sample.actual.position
    direction = (goal.position - first) / np.linalg.norm(goal.position - first)
    last = motion.sample.v
    assert not motion.on_path
    for _ in range(2000):
        sample = motion.advance()
        assert np.abs(sample.v - last).max() < 0.1
        last = sample.v
        if motion.on_path:
            break
        displacement = sample.actual.position - first
        along = direction * (direction @ displacement)
        assert np.linalg.norm(displacement - along) < 1e-4
    assert motion.on_path
    assert np.abs(sample.error).max() < 2e-3


def test_the_dexterous_posture_is_above_the_base_and_not_singular():
    q = clik.dexterous_posture(ROBOT)
    assert tool(q).position[2] > 0.2
    assert np.linalg.svd(md.customize(ROBOT).jacobian(q), compute_uv=False)[-1] > 0.2
