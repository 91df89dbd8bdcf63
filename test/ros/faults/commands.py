"""Faults of commands: what a simulator does that is told nonsense, too much, or nothing."""

from __future__ import annotations

import threading
import time

from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from faults.case import OK, WARN, Case

NAN, INF = float("nan"), float("inf")
JOINTS = ["shoulder", "elbow"]
FULL = [25.0, 9.0]
"""The effort limits of the arm, N m."""
EACH, FLOOD = 5000, 10_000.0
"""Messages of each publisher of the flood, and their rate, 1/s."""


def trajectory(now, names=JOINTS, efforts=((1.0, 0.5),), times=(0.0,), seconds=0):
    """Return an effort trajectory, stamped by seconds from now, s, if they are not 0."""
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
    """Return the case of a message that is dropped while good commands come."""
    return Case(name, "simulator", done, lambda s: do(s, *words), "simulator", "running", OK,
                "running", words, "following")  # fmt: skip


def pushed(name, done, effort, *words):
    """Return the case of efforts that are dropped."""
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
    """Push at full effort until a joint is at its limit; go on for as long as that is told."""
    system.commanding = False
    timer = system.ros.probe.create_timer(0.02, lambda: system.push(FULL))
    system.until_told("simulator", "at_stop")
    system.ros.probe.destroy_timer(timer)


def paused_command(system):
    """Pause, send a command, and go on when it is old."""
    system.commanding = False
    system.pause()
    system.push(FULL)
    system.wait(1.0)
    system.pause(False)


def before_reset(system):
    """Reset amid a stream of full efforts, whose last ones are still on their way."""
    system.commanding = False
    for _ in range(50):
        system.push(FULL)
    system.reset()


def flood(system):
    """Send as fast as 10 kHz from each of two more publishers, opposite small efforts."""
    probe = system.ros.probe
    two = [probe.create_publisher(Float64MultiArray, "simulator/commands", 10) for _ in range(2)]

    def send(publisher, effort):
        began = time.monotonic()
        for k in range(EACH):
            publisher.publish(Float64MultiArray(data=effort))
            time.sleep(max(0.0, began + k / FLOOD - time.monotonic()))

    threads = [
        threading.Thread(target=send, args=(publisher, [sign, 0.0]))
        for publisher, sign in zip(two, (1.0, -1.0), strict=True)
    ]
    for each in threads:
        each.start()
    system.until(lambda: not any(each.is_alive() for each in threads), "the flood does not end")
    system.until_told("simulator", "second_commander")
    for each in two:
        probe.destroy_publisher(each)


def two_commanders(system):
    """Let a second publisher want the opposite of the first for a second."""
    other = system.ros.probe.create_publisher(Float64MultiArray, "simulator/commands", 10)
    timer = system.ros.probe.create_timer(
        0.02, lambda: other.publish(Float64MultiArray(data=[-3.0, 1.0]))
    )
    system.until_told("simulator", "second_commander")
    system.ros.probe.destroy_timer(timer)
    system.ros.probe.destroy_publisher(other)


def twenty_others(system):
    """Have 20 more publishers on the topic of commands, which say nothing."""
    probe = system.ros.probe
    more = [probe.create_publisher(Float64MultiArray, "simulator/commands", 10) for _ in range(20)]
    system.until_told("simulator", "second_commander")
    for each in more:
        probe.destroy_publisher(each)


CASES = (
    pushed("nan_command", "an effort is NaN", [NAN, 0.0], "nan"),
    pushed("infinite_command", "an effort is infinite", [INF, 0.0], "inf"),
    pushed("short_command", "one effort for two joints", [1.0], "shape (1,)"),
    pushed("long_command", "three efforts for two joints", [1.0, 2.0, 3.0], "shape (3,)"),
    pushed("empty_command", "no efforts at all", [], "shape (0,)"),
    scheduled(
        "unnamed_trajectory", "an effort trajectory without joint names", ["joints []"], names=[]
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
        "an effort trajectory whose times go back",
        [],
        efforts=[[1.0, 0.0], [2.0, 0.0]],
        times=[1.0, 0.5],
    ),
    scheduled(
        "stale_trajectory", "an effort trajectory from 100 s ago", ["got -"], seconds=-100
    ),
    scheduled(
        "future_trajectory", "an effort trajectory for 100 s ahead", ["from now"], seconds=100
    ),
    Case(
        "silent_commander", "simulator", "full efforts once, then no command any more", silence,
        "simulator", "lost_commander", WARN, "no command for 0.3 s: brake",
        ("the safe command (brake) takes over",),
    ),
    Case(
        "against_the_stop", "simulator", "full efforts until a joint is at its stop, and on",
        against_the_stop, "simulator", "at_stop", WARN, "beyond its upper limit",
    ),
    Case(
        "old_command_after_pause", "simulator",
        "full efforts sent while paused, a second before the pause ends", paused_command,
        "simulator", "lost_commander", WARN, "s old when the pause ended: brake",
    ),
    Case(
        "reset_amid_commands", "simulator",
        "~/reset amid a stream of full efforts, some of them still on their way", before_reset,
        "simulator", "waiting", OK, "no command yet: brake",
    ),
    Case(
        "flood", "simulator", "two more publishers send 10 kHz of opposite efforts each", flood,
        "simulator", "second_commander", WARN, "3 publishers of commands", (), "following",
    ),
    Case(
        "two_commanders", "simulator", "a second publisher pushes the other way for a second",
        two_commanders, "simulator", "second_commander", WARN, "2 publishers of commands", (),
        "following",
    ),
    Case(
        "twenty_other_publishers", "simulator", "20 more publishers of commands, silent",
        twenty_others, "simulator", "second_commander", WARN, "21 publishers of commands", (),
        "following",
    ),
)  # fmt: skip
