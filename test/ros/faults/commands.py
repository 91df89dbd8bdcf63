"""Faults of commands to a simulator: invalid, excessive or missing messages."""

from __future__ import annotations

import select
import subprocess
import sys
import threading
import time
from dataclasses import replace

from faults.case import OK, WARN, Case
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout, String
from std_srvs.srv import Trigger
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


def with_end(system, seconds, deadline=None, effort=FULL):
    """Send efforts once with an end, and maybe a deadline, in seconds after the newest state."""
    stamp = system.states[-1].header.stamp
    dim = [MultiArrayDimension(label="state", size=stamp.sec, stride=stamp.nanosec)]
    for label, after in (("valid", seconds), ("deadline", deadline)):
        if after is not None:
            whole, rest = divmod(round(1e9 * after), 1_000_000_000)
            dim.append(MultiArrayDimension(label=label, size=whole, stride=rest))
    system.commands.publish(Float64MultiArray(layout=MultiArrayLayout(dim=dim), data=effort))


def ended(system):
    """Send full efforts once that end after five periods."""
    system.commanding = False
    system.wait(0.05)
    with_end(system, 0.1)


def released(system):
    """Send full efforts once, then release the arm."""
    silence(system)
    dim = [MultiArrayDimension(label="release")]
    system.commands.publish(Float64MultiArray(layout=MultiArrayLayout(dim=dim)))


def joint_trajectory(times, **fields):
    """Return a trajectory of positions: each field has a row for each point."""
    message = JointTrajectory(joint_names=JOINTS)
    for k, at in enumerate(times):
        point = JointTrajectoryPoint(**{name: rows[k] for name, rows in fields.items()})
        whole = int(at // 1)
        point.time_from_start.sec, point.time_from_start.nanosec = whole, round(1e9 * (at - whole))
        message.points.append(point)
    return message


def requested(message):
    """Return a fault that sends a trajectory of positions until it is rejected."""

    def do(system, *words):
        topic = system.ros.publisher(JointTrajectory, "simulator/joint_trajectory")
        system.insist(lambda: topic.publish(message), *words)
        system.ros.probe.destroy_publisher(topic)

    return do


AHEAD = joint_trajectory([1.0], positions=[[0.7, 0.5]])


def storm(system):
    """Send 100 trajectories of positions at once."""
    system.commanding = False
    topic = system.ros.publisher(JointTrajectory, "simulator/joint_trajectory")
    for _ in range(100):
        topic.publish(AHEAD)
    system.until(lambda: abs(system.q[0] - 0.7) < 1e-3, "the trajectory is not followed")
    system.ros.probe.destroy_publisher(topic)


def paused_trajectory(system):
    """Pause for a second during a trajectory of positions."""
    system.commanding = False
    topic = system.ros.publisher(JointTrajectory, "simulator/joint_trajectory")
    topic.publish(AHEAD)
    system.until(lambda: abs(system.q[0] - 0.7) < 0.2, "the arm does not move")
    system.pause()
    system.wait(1.0)
    system.pause(False)
    system.until(lambda: abs(system.q[0] - 0.7) < 1e-3, "the trajectory is not followed")
    system.ros.probe.destroy_publisher(topic)


def other_description(system):
    """Publish the description of another robot while the nodes run."""
    topic = system.ros.probe.create_publisher(String, "robot_description", 10)
    for _ in range(10):
        topic.publish(String(data='<robot name="other"><link name="base"/></robot>'))
        system.wait(0.05)
    system.ros.probe.destroy_publisher(topic)


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


FLOODER = f"""
import os, sys, time, rclpy
from std_msgs.msg import Float64MultiArray
rclpy.init()
node = rclpy.create_node("flooder")
publisher = node.create_publisher(Float64MultiArray, "simulator/commands", 10)
message = Float64MultiArray(data=[float(sys.argv[1]), 0.0])
while not publisher.get_subscription_count():
    time.sleep(0.01)
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
began = time.monotonic()
for k in range({COUNT}):
    publisher.publish(message)
    time.sleep(max(0.0, began + k / {FLOOD} - time.monotonic()))
print({COUNT} / (time.monotonic() - began), flush=True)
time.sleep(60.0)
"""


def flood_at_load(system):
    """Let two processes send opposite small efforts at up to 10 kHz, next to 20 busy processes."""
    python = sys.executable, "-c"
    loops = [subprocess.Popen([*python, "while True: pass"]) for _ in range(20)]
    flooders = [
        subprocess.Popen([*python, FLOODER, sign], stdout=subprocess.PIPE) for sign in ("1", "-1")
    ]
    try:
        for flooder in flooders:
            while not select.select([flooder.stdout], [], [], 0.0)[0]:
                system.wait(0.05)
            assert float(flooder.stdout.readline()) > 0.5 * FLOOD, "too slow"
        system.until_state("simulator", "second_commander")
    finally:
        for process in (*loops, *flooders):
            process.kill()
            process.wait()


def longest_trajectory(system):
    """Send an effort trajectory of the largest length, and no commands while it acts."""
    system.commanding = False
    system.trajectories.publish(LONGEST)
    small = abs(LONGEST.points[0].effort[0])
    acts = lambda: abs(system.states[-1].effort[0]) == small  # noqa: E731
    system.until(acts, "the trajectory does not act")
    system.wait(1.0)
    assert acts(), "the trajectory does not act for a second"
    system.commanding = True


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


def joint_command(name, done, words, names=JOINTS, **fields):
    """Return the case of a joint command that is dropped."""

    def do(system, *logged):
        topic = system.ros.publisher(JointState, "simulator/joint_commands")
        message = JointState(name=list(names), **fields)
        system.insist(lambda: topic.publish(message), *logged)
        system.ros.probe.destroy_publisher(topic)

    return dropped(name, done, do, "dropped", words)


def rejected_parameter(name, done, words, **values):
    """Return the case of a parameter that is rejected while the simulator runs."""

    def do(system):
        result = system.ros.set_together("simulator", **values)
        assert not result.successful
        return result.reason

    return Case(name, "simulator", done, do, "simulator", "running", OK, words, (), "following")


def step_in_real_time(system):
    """Call ~/step while the simulator runs."""
    response = system.ros.call(Trigger, "simulator/step")
    assert not response.success
    return response.message


LONG = trajectory(0, efforts=[FULL] * 20_000, times=[1e-3 * k for k in range(20_000)])
LONGEST = trajectory(
    0,
    efforts=[[0.01 * (-1.0) ** k, 0.0] for k in range(10_000)],
    times=[1e-3 * k for k in range(10_000)],
)
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
        "command_with_end", "simulator", "full efforts once that end after five periods", ended,
        "simulator", "lost_commander", WARN, "no command before the end of the last one: brake",
        ("the safe command (brake) acts",),
    ),
    dropped(
        "late_command", "full efforts that arrive after their end",
        lambda s, *words: s.insist(lambda: with_end(s, 1e-9), *words), "before its end",
    ),
    dropped(
        "command_after_its_deadline", "full efforts for 10 s that arrive after their deadline",
        lambda s, *words: s.insist(lambda: with_end(s, 10.0, 1e-9), *words), "before its deadline",
    ),
    Case(
        "release", "simulator", "full efforts once, then a release", released,
        "simulator", "lost_commander", WARN, "the commander has released the arm: brake",
    ),
    replace(dropped(
        "long_trajectory", "an effort trajectory of 20,000 points",
        lambda s, *words: s.insist(lambda: s.trajectories.publish(LONG), *words),
        "at most 10000 points",
    ), by_hand=True),
    Case(
        "longest_trajectory", "simulator", "an effort trajectory of 10,000 points",
        longest_trajectory, "simulator", "running", OK, "running", (), "following", by_hand=True,
    ),
    dropped(
        "infinite_acceleration", "a trajectory of positions with an acceleration of 1e300",
        requested(joint_trajectory(
            [1.0, 2.0], positions=[[0.9, 0.3], [0.8, 0.3]], velocities=[[0.0] * 2] * 2,
            accelerations=[[1e300, 0.0], [0.0] * 2],
        )), "rejected",
    ),
    dropped(
        "fast_trajectory", "a trajectory of positions at 200 rad/s",
        requested(joint_trajectory([0.01], positions=[[-1.0, 0.3]])), "rejected",
    ),
    joint_command(
        "unnamed_joint_command", "a joint command without names", "got []", [], effort=[1.0, 0.0]
    ),
    joint_command(
        "repeated_names_joint_command", "a joint command that names a joint twice",
        "['elbow', 'elbow']", ["elbow", "elbow"], effort=[1.0, 0.0],
    ),
    joint_command(
        "unknown_joint_command", "a joint command for a joint of another robot", "got 'wrist'",
        ["shoulder", "wrist"], effort=[1.0, 0.0],
    ),
    joint_command(
        "short_joint_command", "a joint command with one effort for two names", "got 1",
        effort=[1.0],
    ),
    joint_command(
        "infinite_joint_command", "a joint command with an infinite position", "inf",
        position=[INF, 0.0],
    ),
    joint_command(
        "effort_and_position_command", "a joint command with effort and position of a joint",
        "got both", effort=[1.0, 0.0], position=[0.5, 0.5],
    ),
    rejected_parameter(
        "zero_real_time_factor", "`real_time_factor` is set to 0", "out of range",
        real_time_factor=0.0,
    ),
    rejected_parameter(
        "negative_masses", "`mass_scale` is set to -1", "out of range", mass_scale=-1.0
    ),
    rejected_parameter(
        "short_disturbance", "`disturbance` is set to one effort for two joints", "(1,)",
        disturbance=[1.0],
    ),
    rejected_parameter(
        "step_while_running", "`step` of the integrator is set without a pause", "pause",
        step=2e-3,
    ),
    Case(
        "single_step_in_real_time", "simulator", "~/step in real time", step_in_real_time,
        "simulator", "running", OK, "", (), "following",
    ),
    Case(
        "storm_of_trajectories", "simulator", "100 trajectories of positions at once", storm,
        "simulator", "running", OK, "running", by_hand=True,
    ),
    Case(
        "pause_during_a_trajectory", "simulator",
        "~/pause for a second during a trajectory of positions", paused_trajectory,
        "simulator", "running", OK, "running", by_hand=True,
    ),
    dropped(
        "other_description", "the description of another robot while the nodes run",
        lambda s: other_description(s),
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
        "flood_at_load_20", "simulator",
        "the same by two processes with a fixed priority, next to 20 busy processes",
        flood_at_load, "simulator", "second_commander", WARN, "3 publishers of commands", (),
        "following", by_hand=True,
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
