"""Joint trajectories without ROS: waypoints, splines, tolerances and outcomes."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.interpolate import BPoly, CubicHermiteSpline

import manip_dyn as md
from manip_dyn.control import (
    Code,
    JointSplines,
    JointTolerance,
    RejectedTrajectoryError,
    Tolerances,
    TrajectoryFollower,
    Waypoint,
    checked_waypoints,
)

SECOND = 1_000_000_000
TIMES = [0.25, 0.9, 1.0, 2.5]


@pytest.fixture(scope="module")
def robot():
    return md.load_robot("ibm7535")


def random_waypoints(fields, seed=0):
    """Return waypoints at TIMES with random values of some fields, the last one at rest."""
    rng = np.random.default_rng(seed)
    waypoints = []
    for t in TIMES:
        values = {name: rng.uniform(-1.0, 1.0, 2) for name in fields}
        if "velocities" in fields and t == TIMES[-1]:
            values["velocities"] = np.zeros(2)
        waypoints.append(Waypoint(round(t * SECOND), **values))
    return waypoints


def splines_from(robot, waypoints, t=0.0, q=(0.3, -0.2), v=(0.5, 0.1)):
    return JointSplines(robot, waypoints, t, np.array(q), np.array(v), np.array([2.0, -1.0]))


def rows(waypoints, start, *names):
    return [
        np.array([first, *(getattr(w, n) for w in waypoints)])
        for first, n in zip(start, names, strict=True)
    ]


SAMPLES = np.linspace(0.0, 2.4999, 101)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_polynomials_are_the_motion(robot, count):
    fields = ["positions", "velocities", "accelerations"][:count]
    splines = splines_from(robot, random_waypoints(fields))
    curve = splines.polynomials()
    for t in SAMPLES:
        np.testing.assert_allclose(curve(t), splines.motion(t).q, atol=1e-12)
    resting = JointSplines.standing(robot, np.array([0.3, -0.2])).polynomials()
    np.testing.assert_array_equal(resting(0.5), [0.3, -0.2])


def test_positions_alone_are_interpolated_linearly(robot):
    waypoints = random_waypoints(["positions"])
    splines = splines_from(robot, waypoints)
    (q,) = rows(waypoints, [[0.3, -0.2]], "positions")
    knots = [0.0, *TIMES]
    for t in SAMPLES:
        motion = splines.motion(t)
        expected = [np.interp(t, knots, q[:, i]) for i in range(2)]
        np.testing.assert_allclose(motion.q, expected, atol=1e-12)
        k = np.searchsorted(knots, t, side="right") - 1
        slope = (q[k + 1] - q[k]) / (knots[k + 1] - knots[k])
        np.testing.assert_allclose(motion.v, slope, atol=1e-12)
        assert not motion.a.any()


def test_positions_and_velocities_are_interpolated_by_cubic_splines(robot):
    waypoints = random_waypoints(["positions", "velocities"])
    splines = splines_from(robot, waypoints)
    q, v = rows(waypoints, [[0.3, -0.2], [0.5, 0.1]], "positions", "velocities")
    oracle = CubicHermiteSpline([0.0, *TIMES], q, v)
    for t in SAMPLES:
        for order, values in enumerate(splines.motion(t)):
            np.testing.assert_allclose(values, oracle(t, order), rtol=1e-9, atol=1e-9)


def test_accelerations_are_interpolated_by_splines_of_degree_five(robot):
    waypoints = random_waypoints(["positions", "velocities", "accelerations"])
    splines = splines_from(robot, waypoints)
    start = [[0.3, -0.2], [0.5, 0.1], [0.0, 0.0]]
    columns = rows(waypoints, start, "positions", "velocities", "accelerations")
    oracle = BPoly.from_derivatives([0.0, *TIMES], np.stack(columns, axis=1))
    for t in SAMPLES:
        for order, values in enumerate(splines.motion(t)):
            np.testing.assert_allclose(values, oracle(t, order), rtol=1e-8, atol=1e-8)


def test_efforts_are_interpolated_from_the_initial_effort(robot):
    waypoints = random_waypoints(["positions", "effort"])
    splines = splines_from(robot, waypoints)
    (tau,) = rows(waypoints, [[2.0, -1.0]], "effort")
    for t in SAMPLES:
        expected = [np.interp(t, [0.0, *TIMES], tau[:, i]) for i in range(2)]
        np.testing.assert_allclose(splines.effort(t), expected, atol=1e-12)
    assert splines.effort(9.0).tolist() == waypoints[-1].effort.tolist()
    assert splines_from(robot, random_waypoints(["positions"])).effort(0.5) is None


def test_a_trajectory_in_the_past_is_entered_at_the_present_time(robot):
    waypoints = random_waypoints(["positions", "velocities"])
    late, whole = splines_from(robot, waypoints, t=0.95), splines_from(robot, waypoints)
    np.testing.assert_array_equal(late.motion(0.97).q, whole.motion(0.97).q)
    early = splines_from(robot, waypoints, t=-1.0)
    assert early.motion(-1.0).q.tolist() == [0.3, -0.2]
    assert early.motion(1.0).q.tolist() == whole.motion(1.0).q.tolist()


def test_the_motion_ends_at_rest_at_the_last_point(robot):
    waypoints = random_waypoints(["positions"])
    splines = splines_from(robot, waypoints)
    for t in (2.5, 100.0):
        q, v, a = splines.motion(t)
        assert q.tolist() == waypoints[-1].positions.tolist()
        assert not v.any()
        assert not a.any()


def test_continuous_joints_use_the_nearest_revolution():
    arm = SimpleNamespace(joint_types=("continuous", "revolute"))
    waypoints = [Waypoint(SECOND, np.array([-3.0, -3.0]))]
    splines = JointSplines(arm, waypoints, 0.0, np.array([3.0, 3.0]), np.zeros(2))
    np.testing.assert_allclose(splines.motion(0.0).q, [3.0, 3.0])
    np.testing.assert_allclose(splines.goal, [2.0 * np.pi - 3.0, -3.0])


# ------------------------------------------------------------------------- checks of waypoints
def test_waypoints_are_returned_in_the_joint_order_of_the_robot(robot):
    (point,) = checked_waypoints(
        robot, ["elbow", "shoulder"], [Waypoint(0, [1.0, 2.0], [0.0, 0.0], (), [3.0, 4.0])]
    )
    assert point.positions.tolist() == [2.0, 1.0]
    assert point.effort.tolist() == [4.0, 3.0]
    assert len(point.accelerations) == 0


def test_only_the_first_of_several_points_may_be_outside_the_limits(robot):
    waypoints = [Waypoint(0, [3.15, 0.0]), Waypoint(1, HERE)]
    assert len(checked_waypoints(robot, BOTH, waypoints)) == 2


BOTH = ["shoulder", "elbow"]
HERE = [0.0, 0.0]
BAD = {
    "a joint is missing": (["elbow"], [Waypoint(0, [0.0])], Code.INVALID_JOINTS, "got elbow"),
    "no joints": ([], [Waypoint(0, [])], Code.INVALID_JOINTS, "got none"),
    "a joint twice": (["elbow"] * 2, [Waypoint(0, HERE)], Code.INVALID_JOINTS, "once"),
    "unknown": (["shoulder", "elbo"], [Waypoint(0, HERE)], Code.INVALID_JOINTS, "'elbow'?"),
    "no points": (BOTH, [], Code.INVALID_GOAL, "at least one point"),
    "no positions": (BOTH, [Waypoint(0, [], HERE)], Code.INVALID_GOAL, "positions of point 0"),
    "too few": (BOTH, [Waypoint(0, HERE, [0.0])], Code.INVALID_GOAL, "velocities of point 0"),
    "not finite": (BOTH, [Waypoint(0, [0.0, np.nan])], Code.INVALID_GOAL, "finite"),
    "accelerations alone": (
        BOTH,
        [Waypoint(0, HERE, (), HERE)],
        Code.INVALID_GOAL,
        "must have velocities",
    ),
    "some efforts": (
        BOTH,
        [Waypoint(0, HERE), Waypoint(1, HERE, (), (), HERE)],
        Code.INVALID_GOAL,
        "at all points or at none",
    ),
    "before the start": (
        BOTH,
        [Waypoint(-1, HERE)],
        Code.INVALID_GOAL,
        "must be 0 or more, got -1e-09",
    ),
    "same times": (BOTH, [Waypoint(5, HERE)] * 2, Code.INVALID_GOAL, "must increase"),
    "moves at the end": (
        BOTH,
        [Waypoint(0, HERE, [0.0, 0.1])],
        Code.INVALID_GOAL,
        "'elbow' must have the velocity 0",
    ),
    "outside later": (
        BOTH,
        [Waypoint(0, HERE), Waypoint(1, [0.0, -4.0])],
        Code.INVALID_GOAL,
        "point 1 of joint 'elbow'",
    ),
    "efforts beyond their limits": (
        BOTH,
        [Waypoint(1, HERE, (), (), HERE), Waypoint(2, HERE, (), (), [0.0, -1e12])],
        Code.INVALID_GOAL,
        "effort of joint 'elbow' at point 1 must be from -9 to 9 N m, got -1e+12 N m",
    ),
    "outside": (BOTH, [Waypoint(0, [4.0, 0.0])], Code.INVALID_GOAL, "point 0 of joint 'shoulder'"),
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_trajectories_are_rejected(robot, case):
    names, waypoints, code, words = BAD[case]
    with pytest.raises(RejectedTrajectoryError, match=code.name) as caught:
        checked_waypoints(robot, names, waypoints)
    assert caught.value.code is code
    assert words in str(caught.value)


# ------------------------------------------------------------------------ limits along the path
def standing_splines(robot, *waypoints):
    """Return splines of an arm that rests at zero at time 0."""
    points = checked_waypoints(robot, robot.joint_names, waypoints)
    return JointSplines(robot, points, 0.0, np.zeros(robot.n), np.zeros(robot.n))


@pytest.mark.parametrize("fields", [1, 2, 3], ids=["linear", "cubic", "quintic"])
def test_a_motion_is_rejected_if_and_only_if_it_exceeds_a_speed_limit(robot, fields):
    """The peak speed is found by dense sampling, independently of the extremes of polynomials."""
    rng = np.random.default_rng(fields)
    seen = set()
    for _ in range(40):
        values = rng.uniform(-1.0, 1.0, (2, fields, robot.n)) * [[[2.0]], [[1.0]]]
        values[:, 1:] *= rng.uniform(0.0, 20.0)
        values[1, 1:2] = 0.0
        times = np.cumsum(rng.uniform(0.05, 1.0, 2))
        points = [Waypoint(round(t * SECOND), *row) for t, row in zip(times, values, strict=True)]
        splines = standing_splines(robot, *points)
        samples = np.linspace(0.0, splines.t_final, 1001)[:-1]
        motion = [splines.motion(t) for t in samples]
        speeds = np.max([np.abs(m.v) for m in motion], axis=0) / robot.v_max
        inside = np.all([(robot.q_min <= m.q) & (m.q <= robot.q_max) for m in motion])
        if abs(speeds.max() - 1.05) < 1e-2:
            continue  # undecided by samples
        expected = bool(speeds.max() <= 1.05 and inside)
        seen.add(expected)
        if expected:
            splines.check_limits(robot)
        else:
            with pytest.raises(RejectedTrajectoryError, match="INVALID_GOAL"):
                splines.check_limits(robot)
    assert seen == {True, False}


def test_the_message_contains_speed_limit_joint_and_point(robot):
    splines = standing_splines(
        robot, Waypoint(SECOND, [0.0, 0.1]), Waypoint(2 * SECOND, [0.0, 1.0])
    )
    splines.check_limits(robot)
    speed = 10.0 * robot.v_max[0]
    fast = Waypoint(SECOND, [1e-3 * speed, 0.0], [speed, 0.0])
    splines = standing_splines(robot, fast, Waypoint(2 * SECOND, HERE, HERE))
    with pytest.raises(RejectedTrajectoryError) as caught:
        splines.check_limits(robot)
    assert "joint 'shoulder' on the path to point 0" in str(caught.value)
    assert f"at most {robot.v_max[0]:.6g} rad/s, got " in str(caught.value)


def test_a_huge_acceleration_is_rejected(robot):
    """Regression: the simulation diverged and rejected all later goals."""
    for size in (1e300, 1e308):
        point = Waypoint(SECOND, HERE, HERE, [size, 0.0])
        with pytest.raises(RejectedTrajectoryError, match="shoulder"):
            standing_splines(robot, point, Waypoint(2 * SECOND, HERE, HERE)).check_limits(robot)


def test_positions_between_waypoints_must_be_within_the_limits(robot):
    near, v = robot.q_max - 0.01, np.minimum(robot.v_max, 1.0)
    first = Waypoint(10 * SECOND, near, v)
    splines = standing_splines(robot, first, Waypoint(12 * SECOND, near, 0.0 * v))
    with pytest.raises(RejectedTrajectoryError, match="on the path to point 1 must be from"):
        splines.check_limits(robot)


def test_an_arm_beyond_a_limit_may_return(robot):
    q = robot.q_max + 0.1
    splines = JointSplines(robot, [Waypoint(SECOND, HERE)], 0.0, q, 0.0 * q)
    splines.check_limits(robot)
    away = JointSplines(robot, [Waypoint(SECOND, HERE, HERE)], 0.0, q, np.ones(robot.n))
    with pytest.raises(RejectedTrajectoryError, match="on the path to point 0 must be from"):
        away.check_limits(robot)


def joined(robot, q, t=0.0, start=0.0):
    """Return the splines of an arm at rest at q that joins at t a motion from 0 to 0.1 rad."""
    points = [Waypoint(round(start * SECOND), HERE, HERE), Waypoint(SECOND, [0.1, 0.1], HERE)]
    return JointSplines(robot, points, t, np.array(q), np.zeros(2))


@pytest.mark.parametrize("t", [0.0, 0.6])
def test_a_trajectory_that_begins_away_from_the_arm_is_rejected(robot, t):
    """Regression: a point 1.5 rad away at time 0 moved a UR5 at 21 rad/s (limit 3.14)."""
    on_path = joined(robot, HERE, t).motion(t).q
    joined(robot, on_path, t).check_limits(robot)
    joined(robot, on_path - [0.0, 0.049], t).check_limits(robot)
    away = joined(robot, on_path - [0.0, 0.051], t)
    with pytest.raises(RejectedTrajectoryError, match="INVALID_GOAL") as caught:
        away.check_limits(robot)
    words = "distance of joint 'elbow' from the start of the trajectory must be at most 0.05 rad"
    assert f"{words}, got 0.051 rad." in str(caught.value)
    joined(robot, [0.0, 1.5], start=0.8).check_limits(robot)  # there is time to go there


def test_slow_joints_must_be_nearer_to_the_start(robot):
    slow = md.load_robot(re.sub(r'velocity="[^"]*"', 'velocity="0.2"', robot.urdf))
    joined(slow, [0.0, 0.009]).check_limits(slow)
    with pytest.raises(RejectedTrajectoryError, match=r"at most 0.01 rad, got 0.011 rad"):
        joined(slow, [0.0, 0.011]).check_limits(slow)


# ---------------------------------------------------------------------------------- tolerances
def test_tolerances_of_a_goal_replace_or_remove_the_defaults(robot):
    default = Tolerances.of(robot)
    assert np.isinf(default.path.position).all()
    assert default.goal.position.tolist() == [0.01, 0.01]
    assert default.goal.velocity.tolist() == [0.01, 0.01]
    assert default.goal_time == 0.0
    tolerances = Tolerances.of(
        robot,
        [JointTolerance("elbow", 0.2, 0.0)],
        [JointTolerance("elbow", 0.1, -1.0), JointTolerance("shoulder", 0.0, 0.5)],
        0.7,
    )
    assert tolerances.path.position.tolist() == [np.inf, 0.2]
    assert tolerances.goal.position.tolist() == [0.01, 0.1]
    assert tolerances.goal.velocity.tolist() == [0.5, np.inf]
    assert tolerances.goal_time == 0.7
    assert Tolerances.of(robot, goal_time=-1.0).goal_time == np.inf


@pytest.mark.parametrize(
    ("tolerance", "code", "words"),
    [
        (JointTolerance("wrist", 0.1), Code.INVALID_JOINTS, "unknown joint 'wrist'"),
        (JointTolerance("elbow", -0.1), Code.INVALID_GOAL, "position of joint 'elbow'"),
        (JointTolerance("elbow", 0.1, np.nan), Code.INVALID_GOAL, "velocity of joint 'elbow'"),
    ],
)
def test_invalid_tolerances_are_rejected(robot, tolerance, code, words):
    for arguments in ({"path": [tolerance]}, {"goal": [tolerance]}):
        with pytest.raises(RejectedTrajectoryError, match=words) as caught:
            Tolerances.of(robot, **arguments)
        assert caught.value.code is code


def follower(robot, path=(), goal=(), goal_time=0.0):
    """Return a follower of a polynomial from rest at 0 to rest at (1, 0) in one second."""
    zero = np.zeros(2)
    waypoints = [Waypoint(SECOND, np.array([1.0, 0.0]), zero, zero)]
    splines = JointSplines(robot, waypoints, 0.0, zero, zero)
    tolerances = Tolerances.of(robot, path, goal, goal_time)
    return TrajectoryFollower(robot, splines, tolerances, 1e-3)


def test_path_tolerances_bound_position_errors(robot):
    following = follower(robot, path=[JointTolerance("shoulder", 0.1)])
    middle = following.splines.motion(0.5)
    assert following.outcome(0.5, middle.q - [0.1, 9.0], middle.v) is None
    outcome = following.outcome(0.5, middle.q - [0.11, 0.0], middle.v)
    assert outcome.code is Code.PATH_TOLERANCE_VIOLATED
    assert outcome.sentence == "joint 'shoulder' has the position error 0.11 rad, beyond 0.1"


def test_path_tolerances_bound_velocity_errors(robot):
    following = follower(robot, path=[JointTolerance("elbow", 0.0, 0.2)])
    outcome = following.outcome(0.0, np.zeros(2), np.array([5.0, 0.3]))
    assert outcome.code is Code.PATH_TOLERANCE_VIOLATED
    assert "'elbow' has the velocity error -0.3 rad/s, beyond 0.2" in outcome.sentence


def test_goal_tolerances_decide_after_the_end(robot):
    goal = [JointTolerance("shoulder", 0.01)]
    goal_position, near, zero = np.array([1.0, 0.0]), np.array([0.98, 0.0]), np.zeros(2)
    following = follower(robot, path=[JointTolerance("shoulder", 0.001)], goal=goal, goal_time=0.5)
    assert following.outcome(0.0, zero, zero) is None
    assert following.outcome(1.1, near, zero) is None  # path tolerances no longer apply
    assert following.outcome(1.1, goal_position, zero + 0.02) is None  # still moving
    assert following.outcome(1.1, goal_position, zero).code is Code.SUCCESSFUL
    assert following.outcome(1.5, near, zero) is None
    late = following.outcome(1.51, near, zero)
    assert late.code is Code.GOAL_TOLERANCE_VIOLATED
    assert "error 0.02 rad, beyond 0.01, 0.51 s after the end" in late.sentence
    unlimited = follower(robot, goal=goal, goal_time=-1.0)
    assert unlimited.outcome(1e6, near, zero) is None
    by_default = follower(robot)
    assert by_default.outcome(1.1, near, zero) is None
    assert by_default.outcome(10.9, near, zero) is None
    assert by_default.outcome(11.1, near, zero).code is Code.GOAL_TOLERANCE_VIOLATED
    anywhere = follower(robot, goal=[JointTolerance("shoulder", -1.0)])
    assert anywhere.outcome(1.1, near, zero).code is Code.SUCCESSFUL
    entered_late = follower(robot, path=[JointTolerance("shoulder", 0.001)])
    assert entered_late.outcome(2.0, near, zero).code is Code.PATH_TOLERANCE_VIOLATED
