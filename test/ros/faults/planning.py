"""Faults of a planner's input: invalid joint states and goals, jumps of the clock."""

from __future__ import annotations

from faults.case import ERROR, OK, WARN, Case
from geometry_msgs.msg import PoseStamped
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from targets import pose

NAN = float("nan")
JOINTS = ["shoulder", "elbow"]
UPRIGHT = (0.0, 0.0, 0.0, 1.0)


def state(now, names=JOINTS, position=(0.7, 0.1), velocity=(0.0, 0.0), seconds=0):
    """Return a joint state of another publisher, stamped by seconds from now, s."""
    message = JointState(name=list(names), position=list(position), velocity=list(velocity))
    message.header.stamp.sec = now + seconds
    return message


def dropped_state(name, done, words, **what):
    """Return the case of a joint state that is dropped while the goal is held."""
    words = "dropped", *words
    return Case(name, "planner", done,
                lambda s: s.insist(lambda: s.foreign.publish(state(s.now, **what)), *words),
                "bang_bang_planner", "reached", OK, "reached the goal", words,
                "following")  # fmt: skip


def rejected(name, done, words, position=(0.0, 0.0), names=JOINTS):
    """Return the case of a goal that is rejected while another one is held."""
    goal = JointState(name=list(names), position=list(position))
    return Case(name, "planner", done, lambda s: s.goals.publish(goal), "bang_bang_planner",
                "refused", WARN, f"rejected: {words}", (), "following")  # fmt: skip


def rejected_pose(name, done, words, place=(0.5, 0.5, 0.0), quaternion=UPRIGHT, frame=""):
    """Return the case of a goal pose that is rejected while a goal is held."""
    goal: PoseStamped = pose(place, quaternion, frame)
    return Case(name, "planner", done, lambda s: s.goal_poses.publish(goal),
                "bang_bang_planner", "refused", WARN, words, (), "following")  # fmt: skip


def during_motion(**what):
    """Return a fault that publishes a joint state during a motion until the planner gives up.

    On a busy machine the motion may end before a state is received; it is then repeated.
    """

    def do(system):
        since = len(system.ros.log)

        def ended():
            return system.logged(since, "gave up") or system.planner in ("idle", "reached")

        while not system.logged(since, "gave up"):
            system.phase("executing")
            publish = lambda: system.foreign.publish(state(system.now, **what))  # noqa: E731
            system.ros.insist(publish, ended, "the fault is not detected")

    return do


def lost(name, done, words, **what):
    """Return the case of an impossible joint state that ends a motion."""
    return Case(name, "planner", done, during_motion(**what),
                "bang_bang_planner", "lost", ERROR, words)  # fmt: skip


def clock_jump(seconds, *words):
    """Return a fault that shifts the wall clock of the simulator permanently.

    The shift is repeated every second until the log has a line with all words: the node throttles
    equal warnings to one in 10 s.
    """

    def do(system):
        since = len(system.ros.log)
        jump = lambda: system.clock_ahead(seconds)  # noqa: E731
        jump()
        logged = lambda: not words or system.logged(since, *words)  # noqa: E731
        system.ros.insist(jump, logged, "the fault is not detected", period=1.0)

    return do


def storm_of_aborts(system):
    """Call ~/abort 100 times at once during a motion; each call must be answered."""
    system.phase("executing")
    name = "bang_bang_planner/abort"
    client = system.ros.probe.create_client(Trigger, name, qos_profile=QoSProfile(depth=100))
    system.until(client.service_is_ready, "no service")
    calls = [client.call_async(Trigger.Request()) for _ in range(100)]
    system.until(lambda: all(call.done() for call in calls), "a call has no answer")
    assert calls[0].result().success
    system.ros.probe.destroy_client(client)


def storm_of_goals(system):
    """Send 100 goals at once, the last one for the usual goal."""
    system.phase("executing")
    for _ in range(99):
        system.go([0.2, 0.9])
    system.go()


CONTINUES = "continue from the present"


CASES = (
    dropped_state("nan_state", "a joint state with NaN", ["position", "nan"], position=[NAN, 0.0]),
    dropped_state(
        "short_state", "a joint state with one position for two names", ["2 names, got 1"],
        position=[0.7],
    ),
    dropped_state("unnamed_state", "a joint state without names", ["0 names, got 2"], names=[]),
    dropped_state(
        "repeated_names_state", "a joint state that names a joint twice", ["twice"],
        names=["shoulder", "elbow", "elbow"], position=[0.7, 0.1, 2.0], velocity=[0.0] * 3,
    ),
    dropped_state(
        "other_robots_state", "a joint state of another robot", ["must have joint 'shoulder'"],
        names=["S1", "S2"],
    ),
    lost("stale_state", "a joint state stamped 10 s ago during a motion", "reset", seconds=-10),
    lost("future_state", "a joint state stamped 10 s in the future during a motion", "reset",
         position=[0.4, 0.0], seconds=10),
    lost(
        "impossible_state", "a joint state 2 rad away during a motion", "reset",
        position=[-2.0, 2.0],
    ),
    rejected("nan_goal", "a goal with NaN", "goal must be finite numbers, got [nan", [NAN, 0.0]),
    rejected("short_goal", "a goal with one position for two names", "goal must have one", [0.0]),
    rejected("unnamed_goal", "a goal without names", "goal must have one", names=[]),
    rejected(
        "repeated_names_goal", "a goal that names a joint twice", "goal must name each joint once",
        names=["elbow", "elbow"],
    ),
    rejected(
        "unknown_joint_goal", "a goal of another robot's joint", "goal must name joints",
        names=["shoulder", "wrist"],
    ),
    rejected("goal_beyond_limits", "a goal beyond a joint limit", "goal", [9.0, 0.0]),
    rejected_pose("nan_goal_pose", "a goal pose with NaN", "goal pose must", (NAN, 0.0, 0.0)),
    rejected_pose(
        "no_rotation_goal_pose", "a goal pose whose quaternion is zero", "quaternion of length 0",
        quaternion=(0.0,) * 4,
    ),
    rejected_pose(
        "unknown_frame_goal_pose", "a goal pose in an unknown frame", "nowhere",
        frame="nowhere",
    ),
    rejected_pose(
        "unreachable_goal_pose", "a goal pose 9 m away", "must be within reach", (9.0, 0.0, 0.0)
    ),
    Case(
        "storm_of_aborts", "planner", "100 calls of ~/abort at once during a motion",
        storm_of_aborts, "bang_bang_planner", "aborted", WARN, "aborted", by_hand=True,
    ),
    Case(
        "storm_of_goals", "planner", "100 goals at once during a motion", storm_of_goals,
        "bang_bang_planner", "reached", OK, "reached the goal", (), "following", by_hand=True,
    ),
    Case(
        "clock_set_ahead", "planner", "the simulator's wall clock is set an hour ahead",
        clock_jump(3600, CONTINUES), "simulator", "running", OK, "running", (CONTINUES,),
    ),
    Case(
        "clock_set_back", "planner", "the simulator's wall clock is set an hour back",
        clock_jump(-3600), "bang_bang_planner", "idle", WARN, "the arm was reset",
    ),
)  # fmt: skip
