"""Faults of what a planner hears: joint states that cannot be, and goals that make no sense."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from targets import pose

from faults.case import ERROR, OK, WARN, Case

NAN = float("nan")
JOINTS = ["shoulder", "elbow"]
UPRIGHT = (0.0, 0.0, 0.0, 1.0)


def state(now, names=JOINTS, position=(0.7, 0.1), velocity=(0.0, 0.0), seconds=0):
    """Return a joint state of another publisher, stamped by seconds from now, s."""
    message = JointState(name=list(names), position=list(position), velocity=list(velocity))
    message.header.stamp.sec = now + seconds
    return message


def unheard(name, done, words, **what):
    """Return the case of a joint state that is dropped while the goal is held."""
    words = "dropped", *words
    return Case(name, "planner", done,
                lambda s: s.insist(lambda: s.foreign.publish(state(s.now, **what)), *words),
                "bang_bang_planner", "reached", OK, "reached the goal", words,
                "following")  # fmt: skip


def refused(name, done, words, position=(0.0, 0.0), names=JOINTS):
    """Return the case of a goal that is refused while another one is held."""
    goal = JointState(name=list(names), position=list(position))
    return Case(name, "planner", done, lambda s: s.goals.publish(goal), "bang_bang_planner",
                "refused", WARN, f"refused: {words}", (), "following")  # fmt: skip


def refused_pose(name, done, words, place=(0.5, 0.5, 0.0), quaternion=UPRIGHT, frame=""):
    """Return the case of a pose that is refused while a goal is held."""
    goal: PoseStamped = pose(place, quaternion, frame)
    return Case(name, "planner", done, lambda s: s.goal_poses.publish(goal),
                "bang_bang_planner", "refused", WARN, words, (), "following")  # fmt: skip


def amid_motion(**what):
    """Return what publishes a joint state while a motion is executed, until it is given up.

    On a busy machine the motion may be over before one is heard: then it is done once more.
    """

    def do(system):
        since = len(system.ros.log)

        def over():
            return system.logged(since, "gave up") or system.planner in ("idle", "reached")

        while not system.logged(since, "gave up"):
            system.phase("executing")
            publish = lambda: system.foreign.publish(state(system.now, **what))  # noqa: E731
            system.ros.insist(publish, over, "it goes unnoticed")

    return do


def lost(name, done, words, **what):
    """Return the case of a joint state that cannot be, for which a motion is given up."""
    return Case(name, "planner", done, amid_motion(**what),
                "bang_bang_planner", "lost", ERROR, words)  # fmt: skip


def clock_jump(seconds, *words):
    """Return what sets the wall clock of the simulator to another time, for good.

    And again, a second later, until the log has a sentence with all words: one that a busy machine
    gave reason for just before is not said again for 10 s.
    """

    def do(system):
        since = len(system.ros.log)
        jump = lambda: system.clock_ahead(seconds)  # noqa: E731
        jump()
        told = lambda: not words or system.logged(since, *words)  # noqa: E731
        system.ros.insist(jump, told, "it goes unnoticed", period=1.0)

    return do


GOES_ON = "go on from the present"


CASES = (
    unheard("nan_state", "a joint state with NaN", ["position", "nan"], position=[NAN, 0.0]),
    unheard(
        "short_state", "a joint state with one position for two names", ["2 names and 1"],
        position=[0.7],
    ),
    unheard("unnamed_state", "a joint state without names", ["0 names and 2"], names=[]),
    unheard(
        "repeated_names_state", "a joint state that names a joint twice", ["twice"],
        names=["shoulder", "elbow", "elbow"], position=[0.7, 0.1, 2.0], velocity=[0.0] * 3,
    ),
    unheard(
        "other_robots_state", "a joint state of another robot", ["lacks joint 'shoulder'"],
        names=["S1", "S2"],
    ),
    lost("stale_state", "a joint state from 10 s ago, amid a motion", "reset", seconds=-10),
    lost("future_state", "a joint state from 10 s ahead, amid a motion", "gave up", seconds=10),
    lost(
        "impossible_state", "a joint state 2 rad away, amid a motion", "reset",
        position=[-2.0, 2.0],
    ),
    refused("nan_goal", "a goal with NaN", "goal is [nan", [NAN, 0.0]),
    refused("short_goal", "a goal of one position for two names", "goal has 2 names", [0.0]),
    refused("unnamed_goal", "a goal without names", "goal has 0 names", names=[]),
    refused(
        "repeated_names_goal", "a goal that names a joint twice", "goal names are",
        names=["elbow", "elbow"],
    ),
    refused(
        "unknown_joint_goal", "a goal of another robot's joint", "goal has the unknown joint",
        names=["shoulder", "wrist"],
    ),
    refused("goal_beyond_limits", "a goal beyond a joint limit", "goal", [9.0, 0.0]),
    refused_pose("nan_goal_pose", "a goal pose with NaN", "goal pose is", (NAN, 0.0, 0.0)),
    refused_pose(
        "no_rotation_goal_pose", "a goal pose whose quaternion is zero", "quaternion of length 0",
        quaternion=(0.0,) * 4,
    ),
    refused_pose(
        "unknown_frame_goal_pose", "a goal pose in a frame that is none", "nowhere",
        frame="nowhere",
    ),
    refused_pose(
        "unreachable_goal_pose", "a goal pose 9 m away", "is not reached by", (9.0, 0.0, 0.0)
    ),
    Case(
        "clock_set_ahead", "planner", "the simulator's wall clock is set an hour ahead",
        clock_jump(3600, GOES_ON), "bang_bang_planner", "idle", WARN,
        "the goal is not held any more", (GOES_ON,),
    ),
    Case(
        "clock_set_back", "planner", "the simulator's wall clock is set an hour back",
        clock_jump(-3600), "bang_bang_planner", "idle", WARN, "the arm was reset",
    ),
)  # fmt: skip
