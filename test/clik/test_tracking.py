"""Tracking: the circle of the paper with its six integrators, limits, singularities, drift."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from arms import load, random_state, write_shipped
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation

import manip_dyn as md
from manip_dyn.clik import ClikSettings, PathFollower, Pose, posture_for
from manip_dyn.robot import Oracle

SIX = ("rk1", "rk2", "rk4", "euler_trapezoidal", "ab4", "abm4")
DOWN = np.diag([1.0, -1.0, -1.0])
START = [-2.71, 0.38, -0.49, 2.03, 3.39, -0.79, -3.34]


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture(scope="module")
def pa10():
    return md.load_robot("pa10")


def scenario():
    """Return the circle and the start of the scenario pa10_circle."""
    file = Path(__file__).parents[2] / "config" / "pa10_circle.yaml"
    parameters = yaml.safe_load(file.read_text())["/**/clik_tracker"]["ros__parameters"]
    circle = parameters["circle"]
    tool = Rotation.from_euler("xyz", circle.pop("tool_rpy")).as_matrix()
    path = md.Circle(rotation=tool, **circle)
    robot = md.load_robot("pa10")
    return robot, path, posture_for(robot, path.pose(0.0), parameters["initial_position"])


def around_the_base(robot):
    """Return a circle about the base axis with the size and speeds of the paper, and a start.

    The paper plots its circle over x and y. It prints neither centre nor height nor posture.
    """
    path = md.Circle([0.0, 0.0, 0.3], [0, 0, 1], [-1, 0, 0], DOWN)
    return path, posture_for(robot, path.pose(0.0), START)


# ------------------------------------------------------------------- the paper's circle
@pytest.mark.parametrize(("method", "printed"), [("rk2", 1e-6), ("rk4", 1e-8)])
def test_errors_at_100_ms_are_at_most_those_of_the_paper(pa10, method, printed):
    path, q0 = around_the_base(pa10)
    tracking = md.track(pa10, path, method, 0.1, q0)
    assert tracking.success, tracking.reason
    assert tracking.position_error[50:].max() <= printed
    pose = md.customize(pa10).forward_kinematics(tracking.q[-1])
    distance = np.linalg.norm(pose[:3, 3] - path.pose(tracking.t[-1]).position)
    assert distance == pytest.approx(tracking.position_error[-1], abs=1e-12)
    np.testing.assert_allclose(tracking.actual[-1], pose, atol=1e-12)


@pytest.mark.parametrize("method", SIX)
def test_the_steady_error_has_the_order_of_the_method(method):
    """The order is that of the error when the step is halved; the motion is smooth."""
    robot, path, q0 = scenario()
    steps = (0.04, 0.02, 0.01) if method in ("ab4", "abm4", "rk1") else (0.2, 0.1, 0.05)
    errors = [
        md.track(robot, path, method, step, q0, duration=12.0).position_error[-1] for step in steps
    ]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert orders[-1] == pytest.approx(md.METHODS[method].order, abs=0.35), errors


def test_other_methods_follow_the_path_as_well():
    robot, path, q0 = scenario()
    tracking = md.track(robot, path, "rkdp54", 0.1, q0, duration=10.0)
    assert tracking.success
    assert tracking.position_error.max() < 1e-7


def test_euler_diverges_at_1_s_and_euler_trapezoidal_does_not():
    """Each Euler step leaves the circle outwards by about v w h^2 / 2.

    The feedback reduces the error by K h per step. It grows to about v w h / (2 K), which is far
    out of reach for K = 0.05 / s. The linear stability intervals of both methods are
    0 <= K h <= 2: strong feedback does not distinguish them.
    """
    robot, path, q0 = scenario()
    weak = ClikSettings(gain=0.05, inverse="pseudo_inverse")
    euler, trapezoidal = (
        md.track(robot, path, method, 1.0, q0, 150.0, weak)
        for method in ("rk1", "euler_trapezoidal")
    )
    assert not euler.success
    assert euler.position_error.max() > 0.2
    assert trapezoidal.position_error.max() < 0.01
    intervals = [md.METHODS[name].stability_interval for name in ("rk1", "euler_trapezoidal")]
    assert intervals == pytest.approx([2.0, 2.0], abs=1e-6)
    strong = md.track(robot, path, "rk1", 1.0, q0, 150.0, ClikSettings(gain=2.2))
    assert not strong.success
    assert "gain * step must be at most 2 with rk1, got 2.2" in strong.reason


def test_feedback_reduces_an_initial_error_at_the_rate_of_the_gain():
    robot, path, q0 = scenario()
    tracking = md.track(robot, path, step=0.02, q0=q0 + 0.01, duration=2.0)
    rate = np.log(tracking.position_error[10] / tracking.position_error[60]) / (50 * 0.02)
    assert rate == pytest.approx(ClikSettings().gain, rel=0.05)


@pytest.mark.parametrize("kind", ["columns", "quaternion", "log"])
def test_every_orientation_error_converges_from_a_third_of_a_turn(pa10, kind):
    path, q0 = around_the_base(pa10)
    q0[6] += 2.1
    settings = ClikSettings(orientation_error=kind)
    tracking = md.track(pa10, path, "rk4", 0.05, q0, 25.0, settings)
    assert tracking.orientation_error[0] > 0.8
    assert tracking.orientation_error[-1] < 1e-6, tracking.reason


# ---------------------------------------------------------------------------- drift
def test_drift_per_cycle_is_reported_and_removed_by_a_posture_task():
    robot, path, q0 = scenario()
    free = md.track(robot, path, "rk4", 0.1, q0, 3 * path.period)
    assert free.drift.shape == (3, 7)
    assert np.abs(free.drift[-1]).max() > 1e-3
    between = CubicHermiteSpline(free.path_time, free.q, free.v / free.scale[:, None])
    laps = np.minimum(path.settled + path.period * np.arange(4), free.path_time[-1])
    np.testing.assert_allclose(free.drift, np.diff(between(laps), axis=0), atol=1e-13)
    posture = ClikSettings(posture=q0, posture_gain=1.0)
    steady = md.track(robot, path, "rk4", 0.1, q0, 3 * path.period, posture)
    assert np.abs(steady.drift[-1]).max() < 1e-8
    assert steady.position_error.max() < 1e-6


# ------------------------------------------------------------------- singularities
def near_the_singularity(pa10):
    """Return a line that stretches the arm completely and returns."""
    q0 = np.array([0.0, 0.5, 0.0, 1.2, 0.0, 0.4, 0.0])
    start = md.customize(pa10).forward_kinematics(q0)
    out = start[:3, 3] + 0.22 * np.array([0.8, 0.0, 0.6])
    poses = [(position, start[:3, :3]) for position in (start[:3, 3], out, start[:3, 3])]
    return md.Waypoints(poses, linear_speed=0.1, ramp=1.0), q0


@pytest.mark.parametrize("method", ["rk1", "rk4"])
def test_damping_bounds_errors_and_speeds_near_a_singularity(pa10, method):
    path, q0 = near_the_singularity(pa10)
    end = path.duration + 15.0
    damped = md.track(pa10, path, method, 0.1, q0, end)
    assert damped.smallest_singular_value.min() < 0.04
    assert damped.position_error.max() < 0.1
    assert np.all(np.abs(damped.v) <= pa10.v_max * (1.0 + 1e-12))
    assert damped.position_error[-1] < 1e-6


def test_an_unreachable_path_is_reported_with_time_and_error(pa10):
    q0 = np.array([0.0, 0.5, 0.0, 1.2, 0.0, 0.4, 0.0])
    start = md.customize(pa10).forward_kinematics(q0)
    goal = start[:3, 3] + np.array([0.8, 0.0, 0.0])
    path = md.Line((start[:3, 3], start[:3, :3]), (goal, start[:3, :3]))
    tracking = md.track(pa10, path, "rk4", 0.1, q0)
    assert not tracking.success
    assert tracking.status is md.Status.OFF_PATH
    worst = tracking.position_error.max()
    assert "the path was lost at" in tracking.reason
    assert f"the tool was {worst:.3g} m" in tracking.reason
    assert worst > 0.1
    assert np.all(np.isfinite(tracking.q))


# --------------------------------------------------------------------------- limits
def test_speed_limits_are_respected_and_reported(tmp_path):
    robot = md.load_robot(write_shipped(tmp_path, "pa10", ('velocity="1"', 'velocity="0.05"')))
    _, path, q0 = scenario()
    tracking = md.track(robot, path, q0=q0, duration=10.0)
    assert np.all(np.abs(tracking.v) <= robot.v_max * (1.0 + 1e-12))
    assert tracking.success  # the motion takes longer, and the tool stays on the path
    assert tracking.position_error.max() < 1e-6
    assert tracking.scale.min() < 1.0
    assert tracking.t[-1] > 10.05
    assert tracking.path_time[-1] == pytest.approx(10.0, abs=0.1)
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
    assert tracking.held.any()
    assert "joint W1 met its limit" in tracking.reason


@pytest.mark.parametrize("name", ["pa10", "ur5", "panda"])
def test_postures_are_found_for_reachable_poses(tmp_path, rng, name):
    robot = load(name, tmp_path)
    kernels = md.customize(robot)
    for _ in range(10):
        q = random_state(robot, rng)[0]
        goal = kernels.forward_kinematics(q)
        guess = np.clip(q + rng.uniform(-0.3, 0.3, robot.n), robot.q_min, robot.q_max)
        posture = posture_for(robot, Pose(goal[:3, 3], goal[:3, :3]), guess)
        assert kernels.forward_kinematics(posture) == pytest.approx(goal, abs=1e-9)
        assert np.all((posture >= robot.q_min) & (posture <= robot.q_max))


def test_postures_are_found_without_a_guess(pa10, rng):
    kernels = md.customize(pa10)
    for _ in range(5):
        goal = kernels.forward_kinematics(random_state(pa10, rng)[0])
        posture = posture_for(pa10, Pose(goal[:3, 3], goal[:3, :3]))
        np.testing.assert_allclose(kernels.forward_kinematics(posture), goal, atol=1e-9)


@pytest.fixture(scope="module")
def turning():
    """A path that the PA-10 can follow, but not from the posture nearest to mid-range."""
    poses = [
        ([0.482, -0.548, 0.545], [0.663, 1.661, -1.117]),
        ([0.638, -0.45, 0.624], [0.793, 1.762, -1.353]),
        ([0.597, -0.573, 0.776], [1.077, 1.65, -1.435]),
        ([0.46, -0.568, 0.63], [-1.8, -1.663, 1.699]),
    ]
    return md.Waypoints([(p, Rotation.from_rotvec(turn).as_matrix()) for p, turn in poses])


def test_the_best_start_follows_a_path_that_the_default_start_loses(pa10, turning):
    default = md.track(pa10, turning, step=0.02)
    assert not default.success
    assert "out of reach from this posture, not from (" in default.reason
    assert 'q0="best"' in default.reason
    run = md.track(pa10, turning, step=0.02, q0="best")
    assert run.success
    tools = [Oracle(pa10).forward_kinematics(q) for q in run.q[::20]]
    desired = [turning.pose(t).position for t in run.path_time[::20]]
    np.testing.assert_allclose([tool[:3, 3] for tool in tools], desired, atol=1e-3)
    assert np.all(run.q >= pa10.q_min)
    assert np.all(run.q <= pa10.q_max)
    again = md.track(pa10, turning, step=0.02, q0=run.q[0], settings=run.settings)
    np.testing.assert_array_equal(again.q, run.q)
    assert md.track(pa10, turning, step=0.1, q0=posture_for(pa10, turning)).t[-1] > 0.0


def test_the_posture_in_the_reason_reaches_the_pose(pa10, turning):
    run = md.track(pa10, turning, step=0.02)
    worst = int(np.argmax(run.position_error))
    posture = run.reason.split("not from (")[1].split(")")[0]
    q = np.array([float(value) for value in posture.split(",")])
    desired = turning.pose(run.path_time[worst]).position
    np.testing.assert_allclose(Oracle(pa10).forward_kinematics(q)[:3, 3], desired, atol=2e-3)


def test_a_path_out_of_reach_has_no_start(pa10):
    path = md.Line(([0.4, 0, 0.5], np.eye(3)), ([2.5, 0, 0.5], np.eye(3)), linear_speed=2.0)
    with pytest.raises(
        md.ManipDynError, match=r"no posture of 'pa10' follows the path: .* was lost"
    ):
        posture_for(pa10, path)
    with pytest.raises(
        md.ManipDynError, match="q0 must be joint positions or \"best\", got 'beast'"
    ):
        md.track(pa10, path, q0="beast")


def test_an_unreachable_pose_is_reported_with_its_distance():
    robot, _, q0 = scenario()
    with pytest.raises(
        md.ManipDynError, match=r"reach and limits of 'pa10', got \(3, 0, 0\) m.*away"
    ):
        posture_for(robot, Pose(np.array([3.0, 0.0, 0.0]), np.eye(3)), q0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": 0.0}, "step"),
        ({"q0": [0.0] * 6}, "q0"),
        ({"q0": [9.0] * 7}, "initial position"),
        ({"method": "magic"}, "method must be a name in md.METHODS, got 'magic'"),
        ({"method": "taylor"}, "method must not be a Taylor series method, got 'taylor'"),
        ({"path": None}, "path must be a path such as md.Circle, got None"),
        ({"q0": [np.nan] * 7}, "q0"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"duration": -1.0}, "duration"),
    ],
)
def test_invalid_tracking_options_are_rejected(options, message):
    robot, path, q0 = scenario()
    with pytest.raises(md.ManipDynError) as error:
        md.track(robot, **({"q0": q0, "path": path} | options))
    assert message in str(error.value)


def test_a_follower_repeats_its_motion_after_a_reset():
    robot, path, q0 = scenario()
    tracker = PathFollower(robot, path, q0)
    first = [tracker.step().q for _ in range(5)]
    tracker.reset()
    again = [tracker.step().q for _ in range(5)]
    assert np.array_equal(first, again)


def test_an_endless_target_requires_a_duration(pa10):
    with pytest.raises(md.ManipDynError, match="duration must be a number in s"):
        md.track(pa10, md.Target(([0.5, 0.0, 0.5], DOWN)))


def test_values_that_are_not_finite_stop_the_follower_at_its_last_state(pa10):
    path, q0 = around_the_base(pa10)
    tracker = PathFollower(pa10, path, q0)
    before = tracker.step().q
    path.parameters[5] = np.nan
    after = tracker.step()
    assert tracker.status
    np.testing.assert_array_equal(after.q, before)


def test_errors_of_uncontrolled_rows_do_not_count():
    """A planar arm follows a circle in its plane."""
    robot = md.load_robot("rr")
    circle = md.Circle([0.9, 0, 0], [0, 1, 0], [1, 0, 0], np.eye(3), linear_speed=0.04)
    settings = md.ClikSettings(controlled=[True, False, True, False, False, False])
    result = md.track(robot, circle, settings=settings)
    assert result.success, result.reason
    assert result.position_error.max() < 1e-6
    with pytest.raises(md.ManipDynError, match="pose must be within reach and limits of 'rr'"):
        md.track(robot, circle)
    with pytest.raises(md.ManipDynError, match=r"settings must be md\.ClikSettings, got 3"):
        md.track(robot, circle, settings=3)
