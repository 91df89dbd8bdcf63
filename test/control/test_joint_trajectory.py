"""Joint trajectories without ROS: waypoints, splines, tolerances, and an arm that follows."""

import numpy as np
import pytest
from scipy.interpolate import BPoly, CubicHermiteSpline

import manip_dyn as md
from manip_dyn.control.joint_trajectory import (
    Code,
    JointSplines,
    RefusedTrajectoryError,
    Waypoint,
    checked_waypoints,
)
from manip_dyn.control.trajectory_follower import JointTolerance, Tolerances, TrajectoryFollower

SECOND = 1_000_000_000
TIMES = [0.25, 0.9, 1.0, 2.5]


@pytest.fixture(scope="module")
def robot():
    return md.load_robot("ibm7535")


def given(fields, seed=0):
    """Waypoints at TIMES with random values of some fields, the last one at rest."""
    rng = np.random.default_rng(seed)
    found = []
    for t in TIMES:
        values = {name: rng.uniform(-1.0, 1.0, 2) for name in fields}
        if "velocities" in fields and t == TIMES[-1]:
            values["velocities"] = np.zeros(2)
        found.append(Waypoint(round(t * SECOND), **values))
    return found


def begun(robot, waypoints, t=0.0, q=(0.3, -0.2), v=(0.5, 0.1)):
    return JointSplines(robot, waypoints, t, np.array(q), np.array(v), np.array([2.0, -1.0]))


def rows(waypoints, start, *names):
    return [
        np.array([first, *(getattr(w, n) for w in waypoints)])
        for first, n in zip(start, names, strict=True)
    ]


SAMPLES = np.linspace(0.0, 2.4999, 101)


def test_positions_are_joined_by_straight_lines(robot):
    waypoints = given(["positions"])
    splines = begun(robot, waypoints)
    (q,) = rows(waypoints, [[0.3, -0.2]], "positions")
    knots = [0.0, *TIMES]
    for t in SAMPLES:
        found = splines.motion(t)
        expected = [np.interp(t, knots, q[:, i]) for i in range(2)]
        np.testing.assert_allclose(found.q, expected, atol=1e-12)
        k = np.searchsorted(knots, t, side="right") - 1
        slope = (q[k + 1] - q[k]) / (knots[k + 1] - knots[k])
        np.testing.assert_allclose(found.v, slope, atol=1e-12)
        assert not found.a.any()


def test_velocities_make_cubic_splines(robot):
    waypoints = given(["positions", "velocities"])
    splines = begun(robot, waypoints)
    q, v = rows(waypoints, [[0.3, -0.2], [0.5, 0.1]], "positions", "velocities")
    oracle = CubicHermiteSpline([0.0, *TIMES], q, v)
    for t in SAMPLES:
        for order, found in enumerate(splines.motion(t)):
            np.testing.assert_allclose(found, oracle(t, order), rtol=1e-9, atol=1e-9)


def test_accelerations_make_splines_of_degree_five(robot):
    waypoints = given(["positions", "velocities", "accelerations"])
    splines = begun(robot, waypoints)
    start = [[0.3, -0.2], [0.5, 0.1], [0.0, 0.0]]
    columns = rows(waypoints, start, "positions", "velocities", "accelerations")
    oracle = BPoly.from_derivatives([0.0, *TIMES], np.stack(columns, axis=1))
    for t in SAMPLES:
        for order, found in enumerate(splines.motion(t)):
            np.testing.assert_allclose(found, oracle(t, order), rtol=1e-8, atol=1e-8)


def test_efforts_are_interpolated_from_what_holds_the_arm(robot):
    waypoints = given(["positions", "effort"])
    splines = begun(robot, waypoints)
    (tau,) = rows(waypoints, [[2.0, -1.0]], "effort")
    for t in SAMPLES:
        expected = [np.interp(t, [0.0, *TIMES], tau[:, i]) for i in range(2)]
        np.testing.assert_allclose(splines.effort(t), expected, atol=1e-12)
    assert splines.effort(9.0).tolist() == waypoints[-1].effort.tolist()
    assert begun(robot, given(["positions"])).effort(0.5) is None


def test_a_trajectory_that_has_begun_is_entered_where_it_is_now(robot):
    waypoints = given(["positions", "velocities"])
    late, whole = begun(robot, waypoints, t=0.95), begun(robot, waypoints)
    np.testing.assert_array_equal(late.motion(0.97).q, whole.motion(0.97).q)
    early = begun(robot, waypoints, t=-1.0)
    assert early.motion(-1.0).q.tolist() == [0.3, -0.2]
    assert early.motion(1.0).q.tolist() == whole.motion(1.0).q.tolist()


def test_it_rests_at_the_last_point(robot):
    waypoints = given(["positions"])
    splines = begun(robot, waypoints)
    for t in (2.5, 100.0):
        q, v, a = splines.motion(t)
        assert q.tolist() == waypoints[-1].positions.tolist()
        assert not v.any()
        assert not a.any()


def test_continuous_joints_take_the_nearest_turn():
    from types import SimpleNamespace

    arm = SimpleNamespace(joint_types=("continuous", "revolute"))
    waypoints = [Waypoint(SECOND, np.array([-3.0, -3.0]))]
    splines = JointSplines(arm, waypoints, 0.0, np.array([3.0, 3.0]), np.zeros(2))
    np.testing.assert_allclose(splines.motion(0.0).q, [3.0, 3.0])
    np.testing.assert_allclose(splines.goal, [2.0 * np.pi - 3.0, -3.0])


# ------------------------------------------------------------------------------ what is refused
def test_joints_are_put_in_the_robots_order(robot):
    (found,) = checked_waypoints(
        robot, ["elbow", "shoulder"], [Waypoint(0, [1.0, 2.0], [0.0, 0.0], (), [3.0, 4.0])]
    )
    assert found.positions.tolist() == [2.0, 1.0]
    assert found.effort.tolist() == [4.0, 3.0]
    assert len(found.accelerations) == 0


def test_the_first_of_several_points_is_where_the_arm_is_even_outside_its_limits(robot):
    waypoints = [Waypoint(0, [3.15, 0.0]), Waypoint(1, HERE)]
    assert len(checked_waypoints(robot, BOTH, waypoints)) == 2


BOTH = ["shoulder", "elbow"]
HERE = [0.0, 0.0]
BAD = {
    "a joint is missing": (["elbow"], [Waypoint(0, [0.0])], Code.INVALID_JOINTS, "joints elbow"),
    "no joints": ([], [Waypoint(0, [])], Code.INVALID_JOINTS, "joints none"),
    "a joint twice": (["elbow"] * 2, [Waypoint(0, HERE)], Code.INVALID_JOINTS, "once"),
    "unknown": (["shoulder", "elbo"], [Waypoint(0, HERE)], Code.INVALID_JOINTS, "'elbow'?"),
    "no points": (BOTH, [], Code.INVALID_GOAL, "no points"),
    "no positions": (BOTH, [Waypoint(0, [], HERE)], Code.INVALID_GOAL, "positions of point 0"),
    "too few": (BOTH, [Waypoint(0, HERE, [0.0])], Code.INVALID_GOAL, "velocities of point 0"),
    "not finite": (BOTH, [Waypoint(0, [0.0, np.nan])], Code.INVALID_GOAL, "finite"),
    "accelerations alone": (BOTH, [Waypoint(0, HERE, (), HERE)], Code.INVALID_GOAL, "alone"),
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
        "first point is at -1e-09",
    ),
    "same times": (BOTH, [Waypoint(5, HERE)] * 2, Code.INVALID_GOAL, "rising times"),
    "moves at the end": (
        BOTH,
        [Waypoint(0, HERE, [0.0, 0.1])],
        Code.INVALID_GOAL,
        "'elbow' moves",
    ),
    "outside later": (
        BOTH,
        [Waypoint(0, HERE), Waypoint(1, [0.0, -4.0])],
        Code.INVALID_GOAL,
        "point 1 of joint 'elbow'",
    ),
    "outside": (BOTH, [Waypoint(0, [4.0, 0.0])], Code.INVALID_GOAL, "point 0 of joint 'shoulder'"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_followed_is_refused(robot, case):
    names, waypoints, code, words = BAD[case]
    with pytest.raises(RefusedTrajectoryError, match=code.name) as caught:
        checked_waypoints(robot, names, waypoints)
    assert caught.value.code is code
    assert words in str(caught.value)


# ---------------------------------------------------------------------------------- tolerances
def test_tolerances_have_defaults_which_a_goal_replaces_or_takes_away(robot):
    default = Tolerances.of(robot)
    assert np.isinf(default.path.position).all()
    assert np.isinf(default.goal.position).all()
    assert default.goal.velocity.tolist() == [0.01, 0.01]
    assert default.goal_time == 0.0
    asked = Tolerances.of(
        robot,
        [JointTolerance("elbow", 0.2, 0.0)],
        [JointTolerance("elbow", 0.1, -1.0), JointTolerance("shoulder", 0.0, 0.5)],
        0.7,
    )
    assert asked.path.position.tolist() == [np.inf, 0.2]
    assert asked.goal.position.tolist() == [np.inf, 0.1]
    assert asked.goal.velocity.tolist() == [0.5, np.inf]
    assert asked.goal_time == 0.7
    assert Tolerances.of(robot, goal_time=-1.0).goal_time == 0.0


@pytest.mark.parametrize(
    ("tolerance", "code", "words"),
    [
        (JointTolerance("wrist", 0.1), Code.INVALID_JOINTS, "unknown joint 'wrist'"),
        (JointTolerance("elbow", -0.1), Code.INVALID_GOAL, "position of joint 'elbow'"),
        (JointTolerance("elbow", 0.1, np.nan), Code.INVALID_GOAL, "velocity of joint 'elbow'"),
    ],
)
def test_what_is_no_tolerance_is_refused(robot, tolerance, code, words):
    for where in ({"path": [tolerance]}, {"goal": [tolerance]}):
        with pytest.raises(RefusedTrajectoryError, match=words) as caught:
            Tolerances.of(robot, **where)
        assert caught.value.code is code


def follower(robot, path=(), goal=(), goal_time=0.0):
    """A follower of one second from rest at 0 to rest at (1, 0), by a polynomial."""
    zero = np.zeros(2)
    waypoints = [Waypoint(SECOND, np.array([1.0, 0.0]), zero, zero)]
    splines = JointSplines(robot, waypoints, 0.0, zero, zero)
    tolerances = Tolerances.of(robot, path, goal, goal_time)
    return TrajectoryFollower(robot, splines, tolerances, 1e-3)


def test_the_verdict_on_the_way(robot):
    one = follower(robot, path=[JointTolerance("shoulder", 0.1)])
    middle = one.splines.motion(0.5)
    assert one.outcome(0.5, middle.q - [0.1, 9.0], middle.v) is None
    outcome = one.outcome(0.5, middle.q - [0.11, 0.0], middle.v)
    assert outcome.code is Code.PATH_TOLERANCE_VIOLATED
    assert outcome.sentence == "joint 'shoulder' has the position error 0.11 rad, beyond 0.1"


def test_the_verdict_on_speeds(robot):
    one = follower(robot, path=[JointTolerance("elbow", 0.0, 0.2)])
    outcome = one.outcome(0.0, np.zeros(2), np.array([5.0, 0.3]))
    assert outcome.code is Code.PATH_TOLERANCE_VIOLATED
    assert "'elbow' has the velocity error -0.3 rad/s, beyond 0.2" in outcome.sentence


def test_the_verdict_at_the_end(robot):
    goal = [JointTolerance("shoulder", 0.01)]
    there, off, still = np.array([1.0, 0.0]), np.array([0.98, 0.0]), np.zeros(2)
    one = follower(robot, path=[JointTolerance("shoulder", 0.001)], goal=goal, goal_time=0.5)
    assert one.outcome(0.0, still, still) is None
    assert one.outcome(1.1, off, still) is None  # the way's tolerances are over
    assert one.outcome(1.1, there, still + 0.02) is None  # it has not stopped
    assert one.outcome(1.1, there, still).code is Code.SUCCESSFUL
    assert one.outcome(1.5, off, still) is None
    late = one.outcome(1.51, off, still)
    assert late.code is Code.GOAL_TOLERANCE_VIOLATED
    assert "error 0.02 rad, beyond 0.01, 0.51 s after the end" in late.sentence
    patient = follower(robot, goal=goal)
    assert patient.outcome(1e6, off, still) is None
    entered_late = follower(robot, path=[JointTolerance("shoulder", 0.001)])
    assert entered_late.outcome(2.0, off, still).code is Code.PATH_TOLERANCE_VIOLATED
