"""FollowJointTrajectory of the simulator, by topic and by action (requires control_msgs)."""

from itertools import pairwise

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from harness import Ros
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from trajectory_goals import Client, insist_on_rejection, trajectory
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.ros import SimulatorNode

BOTH, ZERO = ["joint_1", "joint_2"], [0.0, 0.0]
SLOWLY = trajectory(BOTH, (60.0, [3.0, -3.0], ZERO))
SUCCEEDED, ABORTED, CANCELED = (
    GoalStatus.STATUS_SUCCEEDED,
    GoalStatus.STATUS_ABORTED,
    GoalStatus.STATUS_CANCELED,
)


def start(ros, **parameters):
    ros.states = ros.listen(JointState, "joint_states", 10)
    ros.start(SimulatorNode, robot="rr", control_period=0.005, **parameters)
    ros.until(lambda: ros.states, "no joint states")
    ros.trajectories = ros.publisher(JointTrajectory, "simulator/joint_trajectory")
    return ros


@pytest.fixture(scope="module")
def arm():
    """A simulated arm; each test starts after a reset."""
    with Ros() as graph:
        yield start(graph)


@pytest.fixture
def client(arm):
    """An action client of the arm, which rests at zero."""
    if not hasattr(arm, "client"):
        arm.client = Client(arm, "simulator/follow_joint_trajectory")
    assert arm.call(Trigger, "simulator/reset").success
    return arm.client


def at(ros, *q):
    """Wait until the arm rests at q."""
    ros.until(
        lambda: (
            np.allclose(ros.states[-1].position, q, atol=1e-3)
            and np.abs(ros.states[-1].velocity).max() < 1e-3
        ),
        f"it does not come to {q}",
    )


def moves(ros):
    ros.until(lambda: np.abs(ros.states[-1].velocity).max() > 1e-3, "it does not move")


# -------------------------------------------------------------------------------------- topic
def test_a_trajectory_by_topic_is_followed_and_its_end_is_held(arm):
    """The end is held for longer than the command timeout of 0.5 s."""
    arm.trajectories.publish(trajectory(BOTH, (0.2, [0.2, 0.0], ZERO), (0.5, [0.3, -0.2], ZERO)))
    at(arm, 0.3, -0.2)
    arm.spin(0.8)
    at(arm, 0.3, -0.2)
    assert not arm.warned("no command for")


def test_an_invalid_trajectory_by_topic_is_rejected_with_a_code(arm):
    arm.trajectories.publish(trajectory(["joint_1", "elbow"], (1.0, ZERO)))
    arm.expect_warning("rejected: INVALID_JOINTS", "unknown joint 'elbow'")
    old = trajectory(BOTH, (1.0, ZERO))
    old.header.stamp.sec = 1
    # Repeat: warnings are throttled to one per second.
    warned = lambda: arm.warned("rejected: OLD_HEADER_TIMESTAMP", "s ago")  # noqa: E731
    arm.insist(lambda: arm.trajectories.publish(old), warned, "the trajectory is not rejected")


HARMFUL = {
    "a step": (trajectory(BOTH, (0.0, [1.5, 0.0], ZERO)), "distance of joint 'joint_1'"),
    "a step in the past": (
        trajectory(BOTH, (0.0, [1.5, 0.0], ZERO), (9.0, [1.5, 0.0], ZERO)),
        "at most 0.05 rad, got 1.5 rad",
    ),
    "huge efforts": (
        trajectory(BOTH, (1.0, ZERO, ZERO, [], [0.0, 1e12])),
        "effort of joint 'joint_2' at point 0 must be from -",
    ),
}


@pytest.mark.parametrize("case", HARMFUL)
def test_a_trajectory_that_would_harm_the_arm_is_rejected(arm, case):
    """Regression: such trajectories moved a UR5 at 71 rad/s (limit 3.14)."""
    message, words = HARMFUL[case]
    assert arm.call(Trigger, "simulator/reset").success
    insist_on_rejection(arm, message, words)


def test_a_trajectory_sent_before_a_reset_is_rejected(arm):
    # The middleware decides how many are read before the reset; one per second is reported.
    while not arm.warned("rejected: INVALID_GOAL", "before the reset was done"):
        for _ in range(9):
            arm.trajectories.publish(SLOWLY)
        assert arm.call(Trigger, "simulator/reset").success
        arm.until_still(arm.log)
    arm.spin(0.1)
    assert not np.any(arm.states[-1].velocity)


# ------------------------------------------------------------------------------------- action
def test_a_goal_is_reached_with_feedback(arm, client):
    names = BOTH[::-1]
    handle = client.send(
        trajectory(names, (0.5, [0.1, -0.05], ZERO, ZERO), (1.0, [0.2, 0.1], ZERO, ZERO))
    )
    assert handle.accepted
    status, code, sentence = client.ended()
    assert (status, code, sentence) == (SUCCEEDED, 0, "the arm is at the goal")
    at(arm, 0.1, 0.2)
    assert client.feedback
    for feedback in client.feedback:
        assert feedback.joint_names == BOTH
        desired, actual, error = feedback.desired, feedback.actual, feedback.error
        for field in ("positions", "velocities"):
            difference = np.subtract(getattr(desired, field), getattr(actual, field))
            np.testing.assert_allclose(getattr(error, field), difference, atol=1e-12)
        assert np.abs(error.positions).max() < 1e-3
    times = [feedback.desired.time_from_start for feedback in client.feedback]
    assert all((a.sec, a.nanosec) <= (b.sec, b.nanosec) for a, b in pairwise(times))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (trajectory(["joint_1"], (1.0, [0.0])), ["INVALID_JOINTS"]),
        (trajectory(BOTH, (1.0, ZERO), (0.5, ZERO)), ["INVALID_GOAL", "must increase"]),
        (trajectory(BOTH, (1.0, [9.0, 0.0])), ["INVALID_GOAL", "'joint_1' must be", "got 9"]),
        (
            trajectory(BOTH, (0.005, [1.0, 0.0], ZERO)),
            ["INVALID_GOAL", "speed of joint 'joint_1'", "point 0 must be at most"],
        ),
        (
            trajectory(BOTH, (1.0, ZERO, ZERO, [1e300, 0.0]), (2.0, ZERO, ZERO, ZERO)),
            ["INVALID_GOAL", "speed of joint 'joint_1'"],
        ),
        (
            trajectory(BOTH, *((k + 1.0, ZERO) for k in range(10_001))),
            ["INVALID_GOAL", "at most 10000 points, got 10001"],
        ),
    ],
)
def test_an_invalid_goal_is_rejected_without_affecting_the_current_one(
    arm, client, message, words
):
    client.send(SLOWLY)
    first = client.result
    assert not client.send(message).accepted
    arm.expect_warning("rejected", *words)
    assert not first.done()


def test_every_goal_of_a_burst_is_answered(arm, client):
    """Regression: 89 of 100 clients received no answer."""
    goal = client.kind.Goal(trajectory=SLOWLY)
    answers = [client.client.send_goal_async(goal) for _ in range(100)]
    arm.until(lambda: all(answer.done() for answer in answers), "a goal has no answer")
    results = [answer.result().get_result_async() for answer in answers]
    arm.until(lambda: sum(result.done() for result in results) == 99, "a goal has no result")


def test_an_unknown_tolerance_is_rejected(arm, client):
    messages = pytest.importorskip("control_msgs.msg")
    bad = messages.JointTolerance(name="wrist", position=0.1)
    assert not client.send(SLOWLY, path_tolerance=[bad]).accepted
    arm.expect_warning("INVALID_JOINTS", "path_tolerance has the unknown joint 'wrist'")


def test_cancel_brakes_and_holds(arm, client):
    handle = client.send(SLOWLY)
    moves(arm)
    canceling = handle.cancel_goal_async()
    arm.until(canceling.done, "no answer to a cancel")
    assert len(canceling.result().goals_canceling) == 1
    status, code, sentence = client.ended()
    assert (status, code) == (CANCELED, 0)
    assert "brakes" in sentence
    arm.until(lambda: np.abs(arm.states[-1].velocity).max() < 1e-6, "it does not rest")
    held = list(arm.states[-1].position)
    arm.spin(0.8)
    np.testing.assert_allclose(arm.states[-1].position, held, atol=1e-6)


def test_a_new_goal_aborts_the_current_one(arm, client):
    client.send(SLOWLY)
    first = client.result
    moves(arm)
    client.send(trajectory(BOTH, (0.3, [0.1, 0.1], ZERO)))
    assert client.ended(first) == (ABORTED, -1, "replaced by another trajectory")
    assert client.ended()[:2] == (SUCCEEDED, 0)
    at(arm, 0.1, 0.1)


def test_another_command_aborts_the_goal(arm, client):
    client.send(SLOWLY)
    moves(arm)
    arm.publisher(Float64MultiArray, "simulator/commands").publish(Float64MultiArray(data=ZERO))
    assert client.ended() == (ABORTED, -1, "replaced by another command")


def test_a_reset_aborts_the_goal(arm, client):
    client.send(SLOWLY)
    moves(arm)
    assert arm.call(Trigger, "simulator/reset").success
    assert client.ended() == (ABORTED, -1, "the arm was reset")


def test_a_pause_does_not_abort_the_goal(arm, client):
    client.send(trajectory(BOTH, (0.6, [0.2, 0.2], ZERO)))
    moves(arm)
    assert arm.call(SetBool, "simulator/pause", SetBool.Request(data=True)).success
    arm.spin(0.8)  # longer than the command timeout
    assert not client.result.done()
    assert arm.call(SetBool, "simulator/pause", SetBool.Request(data=False)).success
    assert client.ended()[:2] == (SUCCEEDED, 0)
    at(arm, 0.2, 0.2)


def test_goals_abort_beyond_tolerances(arm, client):
    messages = pytest.importorskip("control_msgs.msg")
    jump = trajectory(BOTH, (0.05, [0.5, 0.0]), (0.1, [0.5, 0.0]))  # from rest to 10 rad/s
    near = messages.JointTolerance(name="joint_1", position=0.1)
    client.send(jump, path_tolerance=[near])
    status, code, sentence = client.ended()
    assert (status, code) == (ABORTED, -4)
    assert "'joint_1' has the position error 0.1" in sentence
    assert arm.call(Trigger, "simulator/reset").success
    nearer = messages.JointTolerance(name="joint_1", position=1e-4)
    client.send(jump, goal_tolerance=[nearer], goal_time_tolerance=Duration(nanosec=1_000_000))
    status, code, sentence = client.ended()
    assert (status, code) == (ABORTED, -5)
    assert "after the end of the trajectory" in sentence
    assert arm.call(Trigger, "simulator/reset").success
    client.send(jump, goal_tolerance=[nearer])  # without a time limit
    assert client.ended()[:2] == (SUCCEEDED, 0)
