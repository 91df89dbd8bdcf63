"""Scenes of the planner and the tracker: rejected plans, avoided obstacles, and markers."""

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from harness import LATCHED
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

import manip_dyn as md
from manip_dyn.ros import BangBangPlannerNode, ClikTrackerNode, SimulatorNode

POST = """
objects:
  post: {cylinder: {radius: 0.05, length: 2.0}, position: [0.6, 0.35, 0.0]}
"""


def value(message, key):
    return {entry.key: entry.value for entry in message.values}.get(key)


def test_planner_rejects_a_plan_that_collides(ros, tmp_path):
    (tmp_path / "scene.yaml").write_text(POST)
    statuses = ros.listen(DiagnosticStatus, "bang_bang_planner/status", LATCHED)
    markers = ros.listen(MarkerArray, "bang_bang_planner/scene_markers", LATCHED)
    common = {"robot": "ibm7535", "control_period": 0.01}
    ros.start(SimulatorNode, mode="lockstep", initial_position=[0.76, 0.2618], **common)
    ros.start(BangBangPlannerNode, scene=str(tmp_path / "scene.yaml"), state_timeout=0.0, **common)
    goals = ros.publisher(JointState, "bang_bang_planner/goal")
    ros.until(lambda: statuses and value(statuses[-1], "state") == "idle", "no joint states")
    ros.spin(0.3)
    names = ["shoulder", "elbow"]
    goals.publish(JointState(name=names, position=[0.0, 0.0]))
    ros.until(lambda: value(statuses[-1], "code") == "collision", "the plan is not rejected")
    assert "link_2 collides with post at 0.317" in statuses[-1].message
    goals.publish(JointState(name=names, position=[0.9, 0.2618]))
    ros.until(lambda: value(statuses[-1], "state") == "reached", "the clear plan is not executed")
    ros.until(
        lambda: markers and {"post", "closest", "distance"} == {m.ns for m in markers[-1].markers},
        "the scene is not published with the closest pair",
    )
    (post,) = (m for m in markers[-1].markers if m.ns == "post")
    assert (post.type, post.header.frame_id) == (Marker.CYLINDER, md.load_robot("ibm7535").base)
    assert (post.scale.x, post.scale.z, post.pose.position.y) == (0.1, 2.0, 0.35)


def test_tracker_avoids_its_scene(ros, tmp_path):
    ball = "objects: {ball: {sphere: 0.08, position: [0.154, 0.385, 0.695]}}"
    (tmp_path / "scene.yaml").write_text(ball)
    robot = md.load_robot("pa10")
    start = md.clik.dexterous_posture(robot)
    pose = md.clik.tool_pose(robot, start)
    states = ros.listen(JointState, "joint_states")
    markers = ros.listen(MarkerArray, "clik_tracker/scene_markers", LATCHED)
    ros.start(
        ClikTrackerNode,
        path="line",
        scene=str(tmp_path / "scene.yaml"),
        initial_position=start.tolist(),
        step=0.01,
        real_time_factor=5.0,
        **{
            "line.start": pose.position.tolist(),
            "line.start_rpy": Rotation.from_matrix(pose.rotation).as_euler("xyz").tolist(),
            "line.end": (pose.position + np.array([0.0, 0.35, -0.1])).tolist(),
            "line.linear_speed": 0.2,
        },
    )
    ros.until(lambda: states and states[-1].header.stamp.sec >= 3, "the line does not end")
    scene = md.load_scene(tmp_path / "scene.yaml")
    distances = [md.clearance(robot, state.position, scene).distance for state in states[::10]]
    assert min(distances) > 0.0
    ros.until(
        lambda: markers and {"ball", "closest"} <= {marker.ns for marker in markers[-1].markers},
        "the scene is not published",
    )


def test_planner_without_a_plan_rejects_a_scene(ros):
    with pytest.raises(md.ManipDynError, match="'scene' must be empty with the method 'pd'"):
        ros.start(BangBangPlannerNode, robot="ibm7535", method="pd", scene="self")
