"""Faults of commands to a simulator: invalid, excessive or missing messages."""

from __future__ import annotations

import threading
import time

from faults.case import OK, WARN, Case
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

NAN, INF = float("nan"), float("inf")
JOINTS = ["shoulder", "elbow"]
FULL = [25.0, 9.0]
"""The effort limits of the arm, N m."""
COUNT, FLOOD = 5000, 10_000.0
"""Messages per publisher of the flood, and their rate, 1/s."""


def trajectory(now, names=JOINTS, efforts=((1.0, 0.5),), times=(0.0,), seconds=0):
    """Return an effort trajectory with a stamp `seconds` from now, or zero if `seconds` is 0."""
    message = JointTrajectory(joint_names=list(names))
    if seconds:
        message.header.stamp.sec = now + seconds
    for effort, at in zip(efforts, times, strict=True):
        point = JointTrajectoryPoint(effort=list(effort))
        whole = int(at // 1)
        point.time_from_start.sec, point.time_from_start.nanosec = whole, round(1e9 * (at - whole))
        message.points.append(point)
    return message


def dropped(name, done, do, *words):
    """Return the case of a message that is dropped while valid commands arrive."""
    return Case(name, "simulator", done, lambda s: do(s, *words), "simulator", "running", OK,
                "running", words, "following")  # fmt: skip


def pushed(name, done, effort, *words):
    """Return the case of an effort command that is dropped."""
    return dropped(name, done, lambda s, *all_: s.mislead(effort, *all_), "dropped", *words)


def scheduled(name, done, words, **what):
    """Return the case of an effort trajectory that is dropped."""

    def do(system, *logged):
        publish = lambda: system.trajectories.publish(trajectory(system.now, **what))  # noqa: E731
        system.insist(publish, *logged)

    return dropped(name, done, do, "dropped", *words)


def silence(system):
    """Send full efforts once, then nothing."""
    system.commanding = False
    system.push(FULL)


def against_the_stop(system):
    """Push at full effort until the node reports that a joint is at its stop."""
    system.commanding = False
    timer = system.ros.probe.create_timer(0.02, lambda: system.push(FULL))
    system.until_state("simulator", "at_stop")
    system.ros.probe.destroy_timer(timer)


def paused_command(system):
    """Pause, send a command, and resume when the command is stale."""
    system.commanding = False
    system.pause()
    system.push(FULL)
    system.wait(1.0)
    system.pause(False)


def before_reset(system):
    """Reset during a stream of full efforts with messages in flight."""
    system.commanding = False
    for _ in range(50):
        system.push(FULL)
    system.reset()


def flood(system):
    """Send opposite small efforts at up to 10 kHz from two more publishers."""
    probe = system.ros.probe
    two = [probe.create_publisher(Float64MultiArray, "simulator/commands", 10) for _ in range(2)]

    def send(publisher, effort):
        began = time.monotonic()
        for k in range(COUNT):
            publisher.publish(Float64MultiArray(data=effort))
            time.sleep(max(0.0, began + k / FLOOD - time.monotonic()))

    threads = [
        threading.Thread(target=send, args=(publisher, [sign, 0.0]))
        for publisher, sign in zip(two, (1.0, -1.0), strict=True)
    ]
    for thread in threads:
        thread.start()
    system.until(
        lambda: not any(thread.is_alive() for thread in threads), "the flood does not end"
    )
    system.until_state("simulator", "second_commander")
    for publisher in two:
        probe.destroy_publisher(publisher)


def two_commanders(system):
    """Let a second publisher send opposite efforts until it is reported."""
    second = system.ros.probe.create_publisher(Float64MultiArray, "simulator/commands", 10)
    timer = system.ros.probe.create_timer(
        0.02, lambda: second.publish(Float64MultiArray(data=[-3.0, 1.0]))
    )
    system.until_state("simulator", "second_commander")
    system.ros.probe.destroy_timer(timer)
    system.ros.probe.destroy_publisher(second)


def twenty_silent_publishers(system):
    """Create 20 more publishers of commands that send nothing."""
    probe = system.ros.probe
    more = [probe.create_publisher(Float64MultiArray, "simulator/commands", 10) for _ in range(20)]
    system.until_state("simulator", "second_commander")
    for publisher in more:
        probe.destroy_publisher(publisher)


CASES = (
    pushed("nan_command", "an effort is NaN", [NAN, 0.0], "nan"),
    pushed("infinite_command", "an effort is infinite", [INF, 0.0], "inf"),
    pushed("short_command", "one effort for two joints", [1.0], "got (1,)"),
    pushed("long_command", "three efforts for two joints", [1.0, 2.0, 3.0], "got (3,)"),
    pushed("empty_command", "no efforts at all", [], "got (0,)"),
    scheduled(
        "unnamed_trajectory", "an effort trajectory without joint names", ["got []"], names=[]
    ),
    scheduled(
        "repeated_names_trajectory",
        "an effort trajectory that names a joint twice",
        ["['shoulder', 'shoulder']"],
        names=["shoulder", "shoulder"],
    ),
    scheduled(
        "unknown_joint_trajectory",
        "an effort trajectory of another robot's joint",
        ["unknown joint 'wrist'"],
        names=["shoulder", "wrist"],
    ),
    scheduled(
        "nan_trajectory", "an effort trajectory with NaN", ["nan"], efforts=[[NAN, 0.0]]
    ),
    scheduled(
        "trajectory_without_points", "an effort trajectory without points", [],
        efforts=(), times=(),
    ),
    scheduled(
        "trajectory_backwards",
        "an effort trajectory with decreasing times",
        [],
        efforts=[[1.0, 0.0], [2.0, 0.0]],
        times=[1.0, 0.5],
    ),
    scheduled(
        "stale_trajectory", "an effort trajectory from 100 s ago", ["got -"], seconds=-100
    ),
    scheduled(
        "future_trajectory", "an effort trajectory for 100 s in the future", ["from now"],
        seconds=100
    ),
    Case(
        "silent_commander", "simulator", "full efforts once, then no further commands", silence,
        "simulator", "lost_commander", WARN, "no command for 0.3 s: brake",
        ("the safe command (brake) acts",),
    ),
    Case(
        "against_the_stop", "simulator", "full efforts against a joint stop",
        against_the_stop, "simulator", "at_stop", WARN, "beyond its upper limit",
    ),
    Case(
        "old_command_after_pause", "simulator",
        "full efforts sent while paused, a second before the pause ends", paused_command,
        "simulator", "lost_commander", WARN, "s old when the pause ended: brake",
    ),
    Case(
        "reset_during_commands", "simulator",
        "~/reset during a stream of full efforts, some of them in flight", before_reset,
        "simulator", "waiting", OK, "no command yet: brake",
    ),
    Case(
        "flood", "simulator", "two more publishers send 10 kHz of opposite efforts each", flood,
        "simulator", "second_commander", WARN, "3 publishers of commands", (), "following",
    ),
    Case(
        "two_commanders", "simulator", "a second publisher sends opposite efforts for a second",
        two_commanders, "simulator", "second_commander", WARN, "2 publishers of commands", (),
        "following",
    ),
    Case(
        "twenty_other_publishers", "simulator", "20 more publishers that send no commands",
        twenty_silent_publishers, "simulator", "second_commander", WARN,
        "21 publishers of commands", (), "following",
    ),
)  # fmt: skip
