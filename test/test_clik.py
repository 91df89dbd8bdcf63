"""Closed-loop inverse kinematics: the error, the inverse, the path, the tracker."""

import numpy as np
import pytest
import yaml
from arms import load, random_state, write_shipped
from scipy.spatial.transform import Rotation

import manip_dyn as md
from manip_dyn.clik import ClikSettings, Pose, Tracker, posture_for, task_error
from manip_dyn.clik.inverse import damped_least_squares
from manip_dyn.errors import ManipDynError
from manip_dyn.share import share_directory


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def scenario():
    """Return the circle and the start of the scenario pa10_circle."""
    file = share_directory() / "config" / "pa10_circle.yaml"
    parameters = yaml.safe_load(file.read_text())["/**/clik_tracker"]["ros__parameters"]
    circle = parameters["circle"]
    tool = Rotation.from_euler("xyz", circle.pop("tool_rpy")).as_matrix()
    path = md.Circle(rotation=tool, **circle)
    robot = md.load_robot("pa10")
    return robot, path, posture_for(robot, path.pose(0.0), parameters["initial_position"])


def test_error_of_equal_poses_is_zero(rng):
    pose = Pose(rng.normal(size=3), Rotation.random(random_state=1).as_matrix())
    assert np.abs(task_error(pose, pose)).max() < 1e-16


def test_orientation_error_is_the_sine_along_the_axis(rng):
    for angle in (1e-6, 0.3, 1.2):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        actual = Rotation.random(random_state=2)
        desired = Rotation.from_rotvec(angle * axis) * actual
        error = task_error(
            Pose(np.ones(3), desired.as_matrix()), Pose(np.zeros(3), actual.as_matrix())
        )
        assert error[:3] == pytest.approx(np.ones(3))
        assert error[3:] == pytest.approx(np.sin(angle) * axis, abs=1e-14)


def test_inverse_is_the_pseudo_inverse_away_from_singularities(rng):
    jacobian, twist = rng.normal(size=(6, 7)), rng.normal(size=6)
    solution = damped_least_squares(jacobian, twist, 1e-3, 1.0)
    assert solution.damping == 0.0
    assert solution.velocity == pytest.approx(np.linalg.pinv(jacobian) @ twist, abs=1e-12)


@pytest.mark.parametrize("smallest", [0.0, 1e-12, 1e-4, 0.02])
def test_inverse_minimizes_the_damped_error_near_a_singularity(rng, smallest):
    left, _, right = np.linalg.svd(rng.normal(size=(6, 7)), full_matrices=False)
    jacobian = left @ np.diag([3.0, 2.0, 1.0, 0.8, 0.5, smallest]) @ right
    twist = rng.normal(size=6)
    solution = damped_least_squares(jacobian, twist, 0.04, 0.05)
    assert solution.smallest_singular_value == pytest.approx(smallest, abs=1e-14)
    square = jacobian.T @ jacobian + solution.damping**2 * np.eye(7)
    assert square @ solution.velocity == pytest.approx(jacobian.T @ twist, abs=1e-12)
    assert np.linalg.norm(solution.velocity) <= np.linalg.norm(twist) / solution.damping


def test_twist_is_the_derivative_of_the_pose():
    _, path, _ = scenario()
    for t in (0.0, 1.7, 20.0):
        ahead, behind = path.pose(t + 1e-5).position, path.pose(t - 1e-5).position
        assert path.twist(t)[:3] == pytest.approx((ahead - behind) / 2e-5, abs=1e-9)
    assert path.radius == 0.5
    assert path.pose(path.period).position == pytest.approx(path.pose(0.0).position, abs=1e-14)


def test_circle_is_tracked_within_a_micrometre_at_100_ms():
    robot, path, q0 = scenario()
    tracking = md.track(robot, path, step=0.1, q0=q0)
    assert tracking.success, tracking.reason
    assert tracking.position_error.max() < 1e-6
    pose = md.customize(robot).forward_kinematics(tracking.q[-1])
    missed = np.linalg.norm(pose[:3, 3] - path.pose(tracking.t[-1]).position)
    assert missed == pytest.approx(tracking.position_error[-1], abs=1e-12)


def test_steady_error_has_order_four():
    robot, path, q0 = scenario()
    errors = [
        md.track(robot, path, step=step, q0=q0, duration=12.0).position_error[-1]
        for step in (0.2, 0.1, 0.05)
    ]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert orders == pytest.approx([4.0, 4.0], abs=0.4)


def test_feedback_removes_an_initial_error_at_the_rate_of_the_gain():
    robot, path, q0 = scenario()
    tracking = md.track(robot, path, step=0.02, q0=q0 + 0.01, duration=2.0)
    rate = np.log(tracking.position_error[10] / tracking.position_error[60]) / (50 * 0.02)
    assert rate == pytest.approx(ClikSettings().gain, rel=0.05)


def test_speed_limits_are_respected_and_reported(tmp_path):
    robot = md.load_robot(write_shipped(tmp_path, "pa10", ('velocity="1"', 'velocity="0.05"')))
    _, path, q0 = scenario()
    tracking = md.track(robot, path, q0=q0, duration=10.0)
    assert np.all(np.abs(tracking.v) <= robot.v_max * (1.0 + 1e-12))
    assert not tracking.success
    assert "scaled by" in tracking.reason


def test_position_limits_are_respected_and_reported(tmp_path):
    limit = 'upper="2.8797932657906435"'
    lower = 'lower="-2.8797932657906435"'
    path_of = write_shipped(tmp_path, "pa10", (limit, 'upper="2.42"'), (lower, 'lower="-2.42"'))
    robot = md.load_robot(path_of)
    _, path, q0 = scenario()
    tracking = md.track(robot, path, q0=q0)
    assert np.all(tracking.q >= robot.q_min)
    assert np.all(tracking.q <= robot.q_max)
    assert not tracking.success
    assert "joint W1 met its limit" in tracking.reason


@pytest.mark.parametrize("name", ["pa10", "ur5", "panda"])
def test_reachable_poses_are_reached(tmp_path, rng, name):
    robot = load(name, tmp_path)
    kernels = md.customize(robot)
    for _ in range(10):
        q = random_state(robot, rng)[0]
        goal = kernels.forward_kinematics(q)
        guess = np.clip(q + rng.uniform(-0.3, 0.3, robot.n), robot.q_min, robot.q_max)
        found = posture_for(robot, Pose(goal[:3, 3], goal[:3, :3]), guess)
        assert kernels.forward_kinematics(found) == pytest.approx(goal, abs=1e-9)
        assert np.all((found >= robot.q_min) & (found <= robot.q_max))


def test_unreachable_pose_is_refused_with_the_distance():
    robot, _, q0 = scenario()
    with pytest.raises(ManipDynError, match=r"\(3, 0, 0\) m is not reached by 'pa10'.*away"):
        posture_for(robot, Pose(np.array([3.0, 0.0, 0.0]), np.eye(3)), q0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"normal": [0, 0, 0]}, "normal"),
        ({"normal": [0, 0, 1], "start": [0, 0, 2]}, "parallel or zero"),
        ({"center": [0, np.nan, 0]}, "circle center"),
        ({"linear_speed": -1.0}, "linear speed is -1 m/s"),
        ({"angular_speed": 0.0}, "angular speed is 0 rad/s"),
    ],
)
def test_bad_circle_is_refused(change, words):
    good = {"center": [0, 0, 1], "normal": [0, 0, 1], "start": [1, 0, 0], "rotation": np.eye(3)}
    with pytest.raises(ManipDynError) as error:
        md.Circle(**(good | change))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"step": 0.0}, "step is 0 s"),
        ({"q0": [0.0] * 6}, "q0 has shape (6,)"),
        ({"q0": [9.0] * 7}, "initial position of joint 'S1' is 9 rad"),
        ({"method": "magic"}, "method is 'magic'"),
        ({"duration": -1.0}, "duration is -1 s"),
    ],
)
def test_bad_tracking_options_are_refused(options, words):
    robot, path, q0 = scenario()
    with pytest.raises(ManipDynError) as error:
        md.track(robot, path, **({"q0": q0} | options))
    assert words in str(error.value)


def test_tracker_starts_anew_after_reset():
    robot, path, q0 = scenario()
    tracker = Tracker(robot, path, q0)
    first = [tracker.step().q for _ in range(5)]
    tracker.reset()
    again = [tracker.step().q for _ in range(5)]
    assert np.array_equal(first, again)
