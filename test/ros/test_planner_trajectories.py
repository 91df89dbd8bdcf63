"""Joint trajectories on the planner, in lockstep with the simulator: by topic and by action."""

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticStatus
from harness import LATCHED, Ros
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_goals import Client, insist_on_rejection, trajectory
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.ros import BangBangPlannerNode, SimulatorNode

BOTH, ZERO = ["shoulder", "elbow"], [0.0, 0.0]
START = [0.975, 0.0]
SLOWLY = trajectory(BOTH, (0.0, START, ZERO), (100.0, [-2.0, 1.0], ZERO))
SUCCEEDED, ABORTED, CANCELED = (
    GoalStatus.STATUS_SUCCEEDED,
    GoalStatus.STATUS_ABORTED,
    GoalStatus.STATUS_CANCELED,
)


def start(ros):
    ros.states = ros.listen(JointState, "joint_states")
    ros.statuses = ros.listen(DiagnosticStatus, "bang_bang_planner/status", LATCHED)
    where = {"mode": "lockstep", "initial_position": START, "control_period": 0.005}
    ros.start(SimulatorNode, robot="ibm7535", **where)
    # On a busy machine late states are no silence. Permanent holding keeps the lockstep running.
    ros.planner = ros.start(
        BangBangPlannerNode,
        robot="ibm7535",
        control_period=0.005,
        hold_duration=0.05,
        state_timeout=0.0,
    )
    ros.trajectories = ros.publisher(JointTrajectory, "bang_bang_planner/joint_trajectory")
    ros.until(lambda: state(ros) == "idle", "the planner receives no joint states")
    return ros


@pytest.fixture(scope="module")
def arm():
    """Simulator and planner; each test begins after a reset."""
    with Ros() as graph:
        yield start(graph)


@pytest.fixture
def client(arm):
    """An action client of the planner, whose arm rests at START."""
    if not hasattr(arm, "client"):
        arm.client = Client(arm, "bang_bang_planner/follow_joint_trajectory")
    reset(arm)
    return arm.client


def reset(ros):
    assert ros.call(Trigger, "simulator/reset").success
    ros.until(lambda: list(ros.states[-1].position) == START, "the arm is not reset")
    measured = lambda: ros.planner.machine.measured  # noqa: E731
    ros.until(lambda: measured() and measured().stamp_ns == 0, "the planner misses the reset")
    ros.spin(0.3)


def state(ros):
    values = {v.key: v.value for v in ros.statuses[-1].values} if ros.statuses else {}
    return values.get("state")


def moves(ros):
    ros.until(lambda: np.abs(ros.states[-1].velocity).max() > 1e-3, "the arm does not move")


def smooth(*goal, seconds=1.0):
    return trajectory(BOTH, (0.0, START, ZERO, ZERO), (seconds, list(goal), ZERO, ZERO))


def test_a_trajectory_by_topic_is_followed(arm):
    arm.trajectories.publish(smooth(0.8, 0.1))
    arm.until(lambda: state(arm) == "executing", "the trajectory does not begin")
    arm.until(lambda: state(arm) == "reached", "the arm does not arrive")
    np.testing.assert_allclose(arm.states[-1].position, [0.8, 0.1], atol=1e-3)
    assert "a trajectory of 2 points" in " ".join(status.message for status in arm.statuses)


def test_an_invalid_trajectory_by_topic_is_rejected(arm):
    arm.trajectories.publish(trajectory(["shoulder"], (1.0, [0.0])))
    arm.expect_warning("INVALID_JOINTS")


HARMFUL = {
    "a step": (
        trajectory(BOTH, (0.0, [2.475, 0.0], ZERO), (1.0, [2.475, 0.0], ZERO)),
        "distance of joint 'shoulder' from the start of the trajectory must be at most 0.05 rad, "
        "got 1.5 rad",
    ),
    "huge efforts": (
        trajectory(BOTH, *((t, START, ZERO, [], [0.0, 1e12]) for t in (1.0, 2.0))),
        "effort of joint 'elbow' at point 0 must be from -9 to 9 N m, got 1e+12 N m",
    ),
}


@pytest.mark.parametrize("case", HARMFUL)
def test_a_trajectory_that_would_harm_the_arm_is_rejected(arm, case):
    """Regression: a UR5 reached 68 rad/s (limit 3.14), and the planner reported its arrival."""
    message, words = HARMFUL[case]
    reset(arm)
    insist_on_rejection(arm, message, words)


def test_an_arm_stopped_elsewhere_has_not_reached_the_goal(arm):
    """A constant effort of the points holds the elbow away from the last one."""
    reset(arm)
    efforts = [0.0, 9.0]
    arm.trajectories.publish(
        trajectory(BOTH, (0.2, START, ZERO, [], efforts), (0.4, START, ZERO, [], efforts))
    )
    arm.until(lambda: state(arm) == "executing", "the trajectory does not begin")
    arm.until(lambda: state(arm) == "reached", "the arm does not arrive")
    np.testing.assert_allclose(arm.states[-1].position, START, atol=0.011)


def test_a_trajectory_is_followed_closely_to_its_end(arm, client):
    client.send(smooth(0.5, 0.3))
    assert client.ended() == (SUCCEEDED, 0, "the arm is at the goal")
    assert client.feedback
    for feedback in client.feedback:
        assert np.abs(feedback.error.positions).max() < 2e-3


def test_a_trajectory_of_one_point_is_planned_for(arm, client):
    """The motion takes the time of its bang-bang plan, for any time of the point."""
    client.send(trajectory(BOTH, (1e-3, [0.5, 0.0])))
    begun = stamp(arm)
    assert client.ended() == (SUCCEEDED, 0, "the arm is at the goal")
    np.testing.assert_allclose(arm.states[-1].position, [0.5, 0.0], atol=1e-4)
    acted = np.abs(
        [s.effort[0] for s in arm.states if s.position[0] < 0.97 and stamp_of(s) > begun]
    )
    assert acted.max() > 24.9
    assert any("zero_net_work" in status.message for status in arm.statuses)


def stamp_of(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def stamp(ros):
    return stamp_of(ros.states[-1])


def test_a_point_without_a_plan_is_rejected_with_the_reason(arm, client):
    assert not client.send(trajectory(BOTH, (1.0, [9.0, 0.0]))).accepted
    arm.expect_warning("INVALID_GOAL", "'shoulder' must be")


def test_a_cancelled_trajectory_stops_and_holds(arm, client):
    handle = client.send(SLOWLY)
    moves(arm)
    arm.until(handle.cancel_goal_async().done, "no answer to the cancel request")
    assert client.ended()[:2] == (CANCELED, 0)
    arm.until(lambda: state(arm) == "aborted", "the status does not change")
    arm.until(lambda: np.abs(arm.states[-1].velocity).max() < 1e-5, "the arm does not rest")


def test_an_accepted_trajectory_is_checked_once_for_collisions(arm, client, monkeypatch):
    checked = []
    name = "manip_dyn.ros.planner.goals.Trajectories._check_collisions"
    monkeypatch.setattr(name, lambda _, motion: checked.append(motion))
    client.send(SLOWLY)
    moves(arm)
    assert len(checked) == 1


def test_a_new_trajectory_replaces_the_present_one(arm, client):
    client.send(SLOWLY)
    first = client.result
    moves(arm)
    client.send(trajectory(BOTH, (0.5, [0.9, 0.1], ZERO), (1.0, [0.8, 0.2], ZERO)))
    assert client.ended(first) == (ABORTED, -1, "replaced by another trajectory")
    assert client.ended()[:2] == (SUCCEEDED, 0)
    np.testing.assert_allclose(arm.states[-1].position, [0.8, 0.2], atol=2e-3)


def test_a_single_point_replaces_a_trajectory_after_braking(arm, client):
    client.send(trajectory(BOTH, (0.0, START, ZERO), (4.0, [-1.0, 0.5], ZERO)))
    first = client.result
    arm.until(lambda: abs(arm.states[-1].velocity[0]) > 0.2, "the arm does not move")
    client.send(trajectory(BOTH, (1.0, [0.9, 0.0])))
    assert client.ended(first)[:2] == (ABORTED, -1)
    assert client.ended()[:2] == (SUCCEEDED, 0)
    assert any("braking" in status.message for status in arm.statuses)
    np.testing.assert_allclose(arm.states[-1].position, [0.9, 0.0], atol=1e-3)


def test_abort_and_reset_end_a_trajectory_with_a_reason(arm, client):
    client.send(SLOWLY)
    moves(arm)
    assert arm.call(Trigger, "bang_bang_planner/abort").success
    assert client.ended() == (ABORTED, -1, "aborted: stopping and holding")
    reset(arm)
    client.send(SLOWLY)
    moves(arm)
    assert arm.call(Trigger, "simulator/reset").success
    status, code, sentence = client.ended()
    assert (status, code) == (ABORTED, -1)
    assert "gave up: the arm was reset" in sentence


def test_violated_tolerances_abort_a_trajectory(arm, client):
    messages = pytest.importorskip("control_msgs.msg")
    jump = trajectory(BOTH, (0.05, [0.5, 0.0]), (0.1, [0.5, 0.0]))  # from rest to 9.5 rad/s
    near = messages.JointTolerance(name="shoulder", position=0.1)
    client.send(jump, path_tolerance=[near])
    assert client.ended()[:2] == (ABORTED, -4)
    reset(arm)
    nearer = messages.JointTolerance(name="shoulder", position=1e-5)
    client.send(jump, goal_tolerance=[nearer], goal_time_tolerance=Duration(nanosec=10_000_000))
    assert client.ended()[:2] == (ABORTED, -5)
