"""Planner and arm: external motion, resets, silence, and goals as poses."""

import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from harness import LATCHED
from rviz import FakeRviz
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from targets import pose

import manip_dyn as md
from manip_dyn.ros import BangBangPlannerNode, SimulatorNode, controllable

PERIOD = 0.005
REJECTED = "refused"
"""Value of the key `state` after a rejection."""


def value(ros, key):
    newest = ros.statuses[-1] if ros.statuses else DiagnosticStatus()
    return {row.key: row.value for row in newest.values}.get(key, "")


def start(ros, simulator=None, period=PERIOD, **planner):
    """Start simulator and planner of the IBM 7535 in lockstep."""
    ros.states = ros.listen(JointState, "joint_states")
    ros.statuses = ros.listen(DiagnosticStatus, "bang_bang_planner/status", LATCHED)
    ros.diagnostics = ros.listen(DiagnosticArray, "/diagnostics")
    common = {"robot": "ibm7535", "control_period": period}
    options = {"mode": "lockstep", "initial_position": [0.975, 0.3]}
    ros.simulator = ros.start(SimulatorNode, **common, **(options | (simulator or {})))
    ros.planner = ros.start(BangBangPlannerNode, **common, **({"state_timeout": 0.0} | planner))
    return ros


def level(ros):
    mine = [m.status[0] for m in ros.diagnostics if m.status[0].name == "bang_bang_planner"]
    return (mine[-1].level, mine[-1].message) if mine else (None, "")


def test_a_moving_arm_is_braked_before_its_motion_to_the_goal(ros):
    """A planner that restarts during a motion is in this situation. Regression: rejection."""
    start(ros, {"initial_velocity": [1.5, -2.0]}, goal=[0.0, 0.0], hold_duration=0.02)
    ros.until(lambda: any("reached" in s.message for s in ros.statuses), "the arm does not arrive")
    names = [{v.key: v.value for v in s.values}["state"] for s in ros.statuses]
    assert [n for n in names if n in ("braking", "planning", "executing", "reached")] == [
        "braking",
        "planning",
        "executing",
        "reached",
    ]
    np.testing.assert_allclose(ros.states[-1].position, [0.0, 0.0], atol=1e-4)


def test_two_planners_do_not_both_brake(ros):
    others = ros.probe.create_publisher(Float64MultiArray, "simulator/commands", 10)
    start(ros, {"initial_velocity": [0.5, 0.0]}, goal=[0.0, 0.0])
    ros.until(lambda: value(ros, "state") == REJECTED, "the goal is not rejected")
    assert value(ros, "code") == "arm_moves"
    ros.until(
        lambda: (
            level(ros) == (DiagnosticStatus.WARN, ros.statuses[-1].message)
            or "other nodes publish" in level(ros)[1]
        ),
        "no level",
    )
    assert others.topic_name == "/simulator/commands"


def test_a_goal_is_rejected_while_another_node_commands_the_arm(ros):
    """Regression: the planner accepted the goal, and both nodes drove the arm."""
    ros.probe.create_publisher(Float64MultiArray, "simulator/commands", 10)
    start(ros)
    ros.until(lambda: value(ros, "state") == "idle", "the planner receives no joint states")
    goals = ros.publisher(JointState, "bang_bang_planner/goal")
    goals.publish(JointState(name=["shoulder"], position=[0.1]))
    ros.until(lambda: value(ros, "code") == "not_alone", "the goal is not rejected")
    assert "other nodes publish on /simulator/commands: /probe" in ros.statuses[-1].message
    assert {tuple(message.position) for message in ros.states} == {(0.975, 0.3)}


def test_a_reset_without_a_clock_ends_the_holding_of_a_goal(ros):
    """In real time stamps are wall-clock time: only the joint positions reveal a reset."""
    start(ros, {"mode": "real_time"}, 0.01, goal=[0.9, 0.2], transport_delay=0.02)
    ros.until(lambda: value(ros, "state") == "reached", "the arm does not arrive")
    assert value(ros, "arrival time [s]")
    client = ros.service(Trigger, "simulator/reset")
    reset = lambda: client.call_async(Trigger.Request())  # noqa: E731
    reset()
    # After half a second without states a jump may be a motion, so the reset is repeated.
    noticed = lambda: value(ros, "code") == "reset"  # noqa: E731
    ros.insist(reset, noticed, "the reset goes unnoticed", period=3.0)
    assert not value(ros, "arrival time [s]")  # no value of the motion before the reset
    assert value(ros, "state") == "idle"
    assert "the arm was reset" in ros.statuses[-1].message


@pytest.mark.parametrize("factor", [0.1, 0.5])
def test_a_motion_follows_a_slow_clock(ros, factor):
    """Arrival, loop delay and diagnostics are in simulated time, the state timeout is not."""
    simulator = {"mode": "real_time", "real_time_factor": factor, "publish_clock": True}
    chosen = {"state_timeout": 1.0, "method": "minimum_time", "use_sim_time": True}
    begun = time.monotonic()
    start(ros, simulator, goal=[0.9, 0.2], **chosen)
    ros.until(
        lambda: value(ros, "state") in ("reached", "lost", "aborted"), "the motion does not end"
    )
    assert value(ros, "state") == "reached", ros.statuses[-1].message
    final = float(value(ros, "final time [s]"))
    assert time.monotonic() - begun > final / factor
    assert float(value(ros, "extra time [s]")) < 0.5 * final
    stamp = ros.states[-1].header.stamp
    now = 1e-9 * ros.planner.node.get_clock().now().nanoseconds
    assert now == pytest.approx(stamp.sec + 1e-9 * stamp.nanosec, abs=0.5)
    ros.until(lambda: level(ros)[0] == DiagnosticStatus.OK, "the diagnostics are not OK")


def test_a_motion_is_held_while_time_stands_still_or_jumps(ros):
    """Regression: the planner reported [OK] executing, or gave up for a gap of the stamps."""
    ahead = [0]
    relayed = ros.publisher_of(JointState, "joint_states")

    def relay(state):
        state.header.stamp.sec += ahead[0]
        relayed.publish(state)

    ros.probe.create_subscription(JointState, "raw_states", relay, 100)
    remap = ["-r", "joint_states:=raw_states"]
    planner = {"goal": [-1.5, 1.5], "state_timeout": 1.0, "switching": "sampled"}
    start(ros, {"remap": remap}, **planner)
    at = lambda: ros.states[-1].position[0] if ros.states else 0.975  # noqa: E731
    ros.until(lambda: at() < 0.8, "the arm does not move")
    assert ros.call(SetBool, "simulator/pause", SetBool.Request(data=True)).success
    ros.until(lambda: "time stands still" in level(ros)[1], "stopped time is not reported")
    assert level(ros)[0] == DiagnosticStatus.WARN
    assert ros.call(SetBool, "simulator/pause", SetBool.Request(data=False)).success
    ros.until(lambda: at() < 0.5, "the arm does not move on")
    ahead[0] = 3
    ros.until(lambda: value(ros, "state") not in ("planning", "executing"), "no end")
    assert value(ros, "state") == "reached"
    stamps = [s.header.stamp.sec + 1e-9 * s.header.stamp.nanosec for s in ros.states]
    assert np.diff(stamps).max() > 2.5
    np.testing.assert_allclose(ros.states[-1].position, [-1.5, 1.5], atol=1e-3)


def test_silence_while_idle_is_reported_and_goals_are_rejected(ros):
    start(ros, state_timeout=0.3)
    ros.until(lambda: value(ros, "state") == "idle", "the planner receives no joint states")
    ros.executor.remove_node(ros.simulator.node)
    ros.simulator.close()
    ros.until(lambda: value(ros, "code") == "silence", "the silence goes unnoticed")
    assert value(ros, "state") == "waiting"
    goals = ros.publisher(JointState, "bang_bang_planner/goal")
    goals.publish(JointState(name=["shoulder"], position=[0.1]))
    ros.expect_warning("rejected: a goal arrived before the first joint state")


@pytest.mark.parametrize(
    ("robot", "rows"),
    [("ibm7535", "110000"), ("rr", "101000"), ("cylindrical", "110000"), ("pa10", "111111")],
)
def test_a_goal_pose_prescribes_the_directions_of_tool_motion(robot, rows):
    directions = controllable(md.load_robot(robot))
    assert "".join(str(int(direction)) for direction in directions) == rows


def test_goals_from_a_marker_in_rviz_and_as_poses_are_reached(ros):
    start(ros, hold_duration=0.02)
    ros.until(lambda: value(ros, "state") == "idle", "the planner receives no joint states")
    kernels = md.customize(md.load_robot("ibm7535"))
    rviz = FakeRviz(ros, "bang_bang_planner/goal_marker")
    here = rviz.look()["goal_marker"].pose.position
    tool = kernels.forward_kinematics([0.975, 0.3])[:3, 3]
    assert [here.x, here.y, here.z] == pytest.approx(tool)
    there = kernels.forward_kinematics([0.7, 0.5])[:3, 3]
    rviz.drag("goal_marker", pose(there).pose)
    ros.spin(0.2)
    assert value(ros, "state") == "idle"  # dragging alone moves nothing
    rviz.select("goal_marker", "Go here", pose(there).pose)
    ros.until(lambda: value(ros, "state") == "reached", "the arm does not arrive")
    last = np.array(ros.states[-1].position)
    np.testing.assert_allclose(kernels.forward_kinematics(last)[:2, 3], there[:2], atol=1e-4)
    # In the frame of a link; and from RViz's 2D tool, whose z is 0.
    poses = ros.publisher(PoseStamped, "bang_bang_planner/goal_pose")
    poses.publish(pose([0.5, 0.0, 0.0], frame="nowhere"))
    ros.until(lambda: value(ros, "code") == "bad_goal", "the goal is not rejected")
    assert "frame_id 'nowhere'" in ros.statuses[-1].message
    poses.publish(pose([5.0, 0.0, 0.0], (0.0, 0.0, 0.0, 1.0)))
    ros.until(lambda: value(ros, "code") == "out_of_reach", "the goal is not rejected")
    seen = len(ros.statuses)
    second = kernels.forward_kinematics([0.8, 0.3])[:3, 3]
    poses.publish(pose([second[0], second[1], 0.0], (0.0, 0.0, 0.0, 1.0)))
    ros.until(
        lambda: any("reached" in s.message for s in ros.statuses[seen:]), "the arm does not arrive"
    )
    last = np.array(ros.states[-1].position)
    np.testing.assert_allclose(kernels.forward_kinematics(last)[:2, 3], second[:2], atol=1e-4)
