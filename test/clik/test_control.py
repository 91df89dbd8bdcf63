"""Computed torque, and the follower and reference that it is given: laws without ROS."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn import clik
from manip_dyn.clik.joint_reference import JointReference
from manip_dyn.clik.paths.targets import Bounds, SmoothTarget
from manip_dyn.control.computed_torque import ComputedTorque, JointMotion, unstable_feedback

RNG = np.random.default_rng(5)
BENT = np.array([0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0])
ROBOT = md.load_robot("pa10")


def tool(q):
    matrix = md.customize(ROBOT).forward_kinematics(q)
    return clik.Pose(matrix[:3, 3], matrix[:3, :3])


def reference(path, q, step=0.01, **settings):
    return JointReference(clik.PathFollower(ROBOT, path, q, step, clik.ClikSettings(**settings)))


@pytest.mark.parametrize("period", [1e-3, 1e-2])
def test_feedback_is_refused_exactly_where_the_sampled_integrator_is_unstable(period):
    for _ in range(200):
        d, k = RNG.uniform(0.0, 3.0), RNG.uniform(1e-6, 6.0)
        stiffness, damping = k / period**2, d / period
        column = np.array([0.5 * period**2, period])
        matrix = np.array([[1.0, period], [0.0, 1.0]]) - np.outer(column, [stiffness, damping])
        stable = np.abs(np.linalg.eigvals(matrix)).max() < 1.0
        assert (unstable_feedback(stiffness, damping, period) == "") == stable


def test_the_efforts_give_the_wanted_acceleration_and_respect_limits():
    control = ComputedTorque(ROBOT, 400.0, 40.0, 1e-6)
    q, v, a = BENT, RNG.normal(0.0, 0.3, 7), RNG.normal(0.0, 1.0, 7)
    efforts = control.efforts(q, v, JointMotion(q, v, a))
    actual = md.customize(ROBOT).forward_dynamics(q, v, efforts.effort)
    np.testing.assert_allclose(actual, a, atol=1e-3)
    assert not efforts.saturated.any()
    far = control.efforts(q, v, JointMotion(q + 1.0, v, a))
    assert far.saturated.any()
    assert np.all(np.abs(far.effort) <= ROBOT.tau_max)


@pytest.mark.parametrize("step", [0.001, 0.01, 0.1])
def test_the_follower_keeps_its_bounds_and_arrives(step):
    bounds = Bounds(0.3, 1.0, 0.8, 3.0)
    start, goal = tool(BENT), tool(BENT + 0.2)
    path = SmoothTarget(start, bounds)
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


def test_a_goal_out_of_reach_does_not_run_away_and_the_next_is_met_at_once():
    path = SmoothTarget(tool(BENT))
    wanted = reference(path, BENT, gain=5.0)
    path.aim((np.array([0.0, 5.0, 0.5]), np.eye(3)))
    for _ in range(1500):
        sample = wanted.advance()
    assert np.linalg.norm(sample.error[:3]) < 2.0 * path.bounds.linear_leash
    path.aim(tool(BENT))
    for _ in range(800):
        sample = wanted.advance()
    assert np.abs(clik.task_error(tool(BENT), sample.actual)).max() < 1e-6


def test_a_twist_is_followed_without_lag():
    path = SmoothTarget(tool(BENT))
    wanted = reference(path, BENT)
    twist = np.array([0.0, 0.05, 0.02, 0.0, 0.0, 0.1])
    path.drift(twist)
    for _ in range(300):
        sample = wanted.advance()
    twist_now = md.customize(ROBOT).jacobian(sample.q) @ sample.v
    np.testing.assert_allclose(twist_now, twist, atol=1e-6)
    assert np.abs(clik.task_error(path.goal, sample.actual)).max() < 2e-3


def test_an_arm_elsewhere_comes_to_the_path_on_a_straight_line():
    goal, off = tool(BENT), BENT + 0.15
    center = goal.position - [0.1, 0.0, 0.0]
    circle = md.Circle(center, [0, 0, 1], [1, 0, 0], goal.rotation, 0.02, 0.2, ramp=1.0)
    wanted = reference(circle, BENT, gain=5.0)
    wanted.begin(off, straight=True)
    first = wanted.sample.actual.position
    way = (goal.position - first) / np.linalg.norm(goal.position - first)
    last = wanted.sample.v
    assert not wanted.on_path
    for _ in range(2000):
        sample = wanted.advance()
        assert np.abs(sample.v - last).max() < 0.1
        last = sample.v
        if wanted.on_path:
            break
        aside = sample.actual.position - first
        assert np.linalg.norm(aside - way * (way @ aside)) < 1e-4
    assert wanted.on_path
    assert np.abs(sample.error).max() < 2e-3


def test_the_dexterous_posture_is_above_the_base_and_not_singular():
    q = clik.dexterous_posture(ROBOT)
    assert tool(q).position[2] > 0.2
    assert np.linalg.svd(md.customize(ROBOT).jacobian(q), compute_uv=False)[-1] > 0.2
