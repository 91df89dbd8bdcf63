"""Scenes of the planner and the tracker: rejected plans, avoided obstacles, and markers."""

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point, Pose
from harness import LATCHED
from moveit_messages import CollisionObject, scene_message
from rviz import marker_errors
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import String
from trajectory_goals import trajectory
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import Marker, MarkerArray

import manip_dyn as md
from manip_dyn.ros import (
    BangBangPlannerNode,
    ClikTrackerNode,
    JointGoal,
    MoveItScene,
    SimulatorNode,
    ViewerNode,
    closest_markers,
    closest_of,
    object_markers,
    obstacles_of,
)
from manip_dyn.viewer import ClosestPair, scene_figure

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
        lambda: markers and {"post", "closest", "distance"} <= {m.ns for m in markers[-1].markers},
        "the scene is not published with the closest pair",
    )
    for message in markers:  # RViz may miss any of them
        assert message.markers[0].action == Marker.DELETEALL
        assert marker_errors(message) == []
    (post,) = (m for m in markers[-1].markers if m.ns == "post")
    assert (post.type, post.header.frame_id) == (Marker.CYLINDER, md.load_robot("ibm7535").base)
    assert (post.scale.x, post.scale.z, post.pose.position.y) == (0.1, 2.0, 0.35)


@pytest.mark.parametrize("source", ["parameter", "later"])
def test_tracker_avoids_its_scene(ros, tmp_path, source):
    ball = "objects: {ball: {sphere: 0.08, position: [0.154, 0.385, 0.695]}}"
    (tmp_path / "scene.yaml").write_text(ball)
    scene = md.load_scene(tmp_path / "scene.yaml")
    robot = md.load_robot("pa10")
    start = md.clik.dexterous_posture(robot)
    pose = md.clik.tool_pose(robot, start)
    states = ros.listen(JointState, "joint_states")
    markers = ros.listen(MarkerArray, "clik_tracker/scene_markers", LATCHED)
    tracker = ros.start(
        ClikTrackerNode,
        path="line",
        scene=str(tmp_path / "scene.yaml") if source == "parameter" else "self",
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
    if source == "later":
        tracker.use_scene(scene)
    ros.until(lambda: len(states) > 300, "the line does not end")
    distances = [md.clearance(robot, state.position, scene).distance for state in states[::10]]
    assert min(distances) > 0.0
    ros.until(
        lambda: markers and {"ball", "closest"} <= {marker.ns for marker in markers[-1].markers},
        "the scene is not published",
    )


def test_nodes_check_the_pairs_of_their_srdf(ros, tmp_path):
    nothing_disabled = '<robot name="arm"/>'
    file = tmp_path / "arm.srdf"
    file.write_text(nothing_disabled)
    with pytest.raises(md.ManipDynError, match="link_1 collides with link_2"):
        ros.start(ClikTrackerNode, path="target", scene="self", srdf=str(file))
    statuses = ros.listen(DiagnosticStatus, "bang_bang_planner/status", LATCHED)
    common = {"robot": "ibm7535", "control_period": 0.01}
    ros.start(SimulatorNode, mode="lockstep", initial_position=[0.76, 0.2618], **common)
    text = ros.probe.create_publisher(String, "robot_description_semantic", LATCHED)
    text.publish(String(data=nothing_disabled))
    lower = md.load_robot("ibm7535").urdf.replace('xyz="0 0 -0.07"', 'xyz="0 0 -0.08"')
    common |= {"robot_description": "'" + " ".join(lower.split()).replace("'", "''") + "'"}
    ros.start(BangBangPlannerNode, scene="self", srdf="topic", state_timeout=0.0, **common)
    goals = ros.publisher(JointState, "bang_bang_planner/goal")
    ros.until(lambda: statuses and value(statuses[-1], "state") == "idle", "no joint states")
    ros.spin(0.3)
    goals.publish(JointState(name=["shoulder", "elbow"], position=[0.0, 0.0]))
    ros.until(lambda: value(statuses[-1], "code") == "collision", "the plan is not rejected")
    assert "base_link collides with link_1" in statuses[-1].message


def test_nodes_wait_for_the_srdf_only_to_use_it(ros):
    node = ros.start(BangBangPlannerNode, robot="ibm7535", srdf="topic")
    assert node._robot.srdf == ""


def test_an_empty_srdf_on_the_topic_is_rejected(ros):
    text = ros.probe.create_publisher(String, "robot_description_semantic", LATCHED)
    text.publish(String(data=""))
    message = "SRDF on /robot_description_semantic must be a description, got an empty text."
    with pytest.raises(md.ManipDynError, match=message):
        ros.start(ClikTrackerNode, path="target", scene="self", srdf="topic")


@pytest.mark.parametrize("source", ["message", "call"])
def test_planner_uses_new_scenes(ros, source):
    if source == "message":
        pytest.importorskip("moveit_msgs.msg", reason="moveit_msgs is not installed")
    statuses = ros.listen(DiagnosticStatus, "bang_bang_planner/status", LATCHED)
    markers = ros.listen(MarkerArray, "bang_bang_planner/scene_markers", LATCHED)
    common = {"robot": "ibm7535", "control_period": 0.01}
    ros.start(SimulatorNode, mode="lockstep", initial_position=[0.76, 0.2618], **common)
    planner = ros.start(BangBangPlannerNode, scene="self", state_timeout=0.0, **common)
    goals = ros.publisher(JointState, "bang_bang_planner/goal")
    ros.until(lambda: statuses and value(statuses[-1], "state") == "idle", "no joint states")
    ros.spin(0.3)
    goal = JointState(name=["shoulder", "elbow"], position=[0.0, 0.0])
    post = CollisionObject(id="post", pose=Pose(position=Point(x=0.6, y=0.35)))
    kind = SolidPrimitive.CYLINDER
    post.primitives = [SolidPrimitive(type=kind, dimensions=[2.0, 0.05])]
    with_post = MoveItScene(md.load_robot("ibm7535")).update(post)
    removed = CollisionObject(id="post", operation=CollisionObject.REMOVE)

    def use(scene, change):
        if source == "message":
            ros.publisher(type(scene_message()), "bang_bang_planner/scene").publish(
                scene_message([change])
            )
        else:
            planner.use_scene(scene)
        ros.until(
            lambda: (
                markers and ("post" in {m.ns for m in markers[-1].markers}) == bool(scene.objects)
            ),
            "the scene is not published",
        )

    use(with_post, post)
    goals.publish(goal)
    ros.until(lambda: value(statuses[-1], "code") == "collision", "the plan is not rejected")
    use(md.Scene(), removed)
    goals.publish(goal)
    ros.until(lambda: value(statuses[-1], "state") == "reached", "the clear plan is not executed")


def test_a_new_scene_restarts_planning(ros):
    """The plan to the first goal is not executed, because it is not clear of the new post."""
    statuses = ros.listen(DiagnosticStatus, "bang_bang_planner/status", LATCHED)
    common = {"robot": "ibm7535", "control_period": 0.01}
    ros.start(SimulatorNode, mode="lockstep", initial_position=[0.76, 0.2618], **common)
    planner = ros.start(BangBangPlannerNode, scene="self", state_timeout=0.0, **common)
    ros.until(lambda: statuses and value(statuses[-1], "state") == "idle", "no joint states")
    ros.spin(0.3)
    assert planner.machine.begin(JointGoal(np.zeros(2)))
    planner.use_scene(md.Scene().add("post", md.Cylinder(0.05, 2.0), [0.6, 0.35, 0.0]))
    ros.until(lambda: value(statuses[-1], "code") == "collision", "the plan is not rejected")
    assert "executing" not in {value(status, "state") for status in statuses}


def test_planner_without_a_plan_rejects_a_scene(ros):
    with pytest.raises(md.ManipDynError, match="'scene' must be empty with the method 'pd'"):
        ros.start(BangBangPlannerNode, robot="ibm7535", method="pd", scene="self")


def test_the_viewer_draws_published_scenes_and_closest_pairs():
    robot = md.load_robot("pa10")
    scene = md.Scene().add("table", md.Box([1.0, 0.8, 0.1]), [0.5, 0.0, -0.3], [0.1, 0.2, 0.3])
    scene = scene.add("hose", md.Capsule(0.02, 0.3), [0.0, 0.1, 0.0], [0.5, 0.0, 0.0], robot.tip)
    scene = scene.add("floor", md.HalfSpace(), [0.0, 0.0, -0.5])
    markers = [m for o in scene.objects.values() for m in object_markers(o, o.link or robot.base)]
    drawn = obstacles_of(markers, robot).parts
    poses = md.viewer.robot_figure(robot).poses
    for part, expected in zip(drawn, scene_figure(robot, scene, poses).parts, strict=True):
        assert (part.body, part.kind) == (expected.body, expected.kind)
        np.testing.assert_allclose(part.position, expected.position, atol=1e-12)
        np.testing.assert_allclose(part.rotation, expected.rotation, atol=1e-12)
        np.testing.assert_allclose(part.size, expected.size)
        np.testing.assert_allclose(part.opacity, expected.opacity, atol=1e-6)
        assert part.colour == expected.colour
    closest = ClosestPair(robot, scene)(np.full(7, 0.3))
    received = closest_of(closest_markers(closest, robot.base))
    assert (received.text, received.clear) == (closest.text, closest.clear)
    np.testing.assert_array_equal(received.points, closest.points)


def test_a_viewer_shows_the_scene_of_a_planner(ros, tmp_path):
    pytest.importorskip("viser", reason="pip install 'manip_dyn[view]'")
    (tmp_path / "scene.yaml").write_text(POST)
    common = {"robot": "ibm7535", "control_period": 0.01}
    start = [0.9, 0.2618]
    ros.start(SimulatorNode, mode="lockstep", initial_position=start, **common)
    scene = tmp_path / "scene.yaml"
    ros.start(BangBangPlannerNode, scene=str(scene), state_timeout=0.0, **common)
    viewer = ros.start(ViewerNode, port=0)
    ros.until(lambda: viewer.page is not None, "no joint states are received")
    ros.until(lambda: viewer.snapshot().closest is not None, "no closest pair")
    assert len(viewer.snapshot().obstacles.parts) == 1
    exact = md.clearance(md.load_robot("ibm7535"), start, md.load_scene(scene))
    assert viewer.snapshot().closest.text == exact.reason


def test_markers_of_all_shapes_are_valid_in_rviz(tmp_path):
    robot = md.load_robot("pa10")
    (tmp_path / "part.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n")
    shapes = [
        md.Box([1.0, 0.8, 0.1]),
        md.Sphere(0.1),
        md.Cylinder(0.1, 0.3),
        md.Capsule(0.02, 0.3),
        md.HalfSpace(),
        md.Mesh(str(tmp_path / "part.obj")),
    ]
    scene = md.Scene()
    for k, shape in enumerate(shapes):
        scene = scene.add(f"object {k}", shape, [2.0, 0.0, -1.0], [0.1, 0.2, 0.3])
    markers = [m for o in scene.objects.values() for m in object_markers(o, robot.base)]
    for k, marker in enumerate(markers):
        marker.id = k
    markers += closest_markers(ClosestPair(robot, scene)(np.full(7, 0.3)), robot.base)
    assert marker_errors(MarkerArray(markers=markers)) == []
    assert len(marker_errors(MarkerArray(markers=[Marker(), Marker(ns="a", type=2)]))) > 5


def test_planner_rejects_a_trajectory_that_collides(ros, tmp_path):
    (tmp_path / "scene.yaml").write_text(POST)
    statuses = ros.listen(DiagnosticStatus, "bang_bang_planner/status", LATCHED)
    common = {"robot": "ibm7535", "control_period": 0.01}
    begin = [0.76, 0.2618]
    ros.start(SimulatorNode, mode="lockstep", initial_position=begin, **common)
    scene = str(tmp_path / "scene.yaml")
    planner = ros.start(BangBangPlannerNode, scene=scene, state_timeout=0.0, **common)
    trajectories = ros.publisher(JointTrajectory, "bang_bang_planner/joint_trajectory")
    ros.until(lambda: statuses and value(statuses[-1], "state") == "idle", "no joint states")
    ros.spin(0.3)
    names, rest = ["shoulder", "elbow"], [0.0, 0.0]
    through, away = (
        trajectory(names, (0.0, begin, rest), (2.0, goal, rest), (4.0, begin, rest))
        for goal in ([-0.5, 0.5], [1.2, 0.5])
    )
    exact = md.check_motion(md.load_robot("ibm7535"), through, md.load_scene(scene))
    assert not exact.clear
    trajectories.publish(through)
    ros.until(lambda: value(statuses[-1], "code") == "collision", "it is not rejected")
    assert f"the trajectory is not clear: {exact.reason}" in statuses[-1].message
    assert not planner.machine.moving
    trajectories.publish(away)
    ros.until(lambda: value(statuses[-1], "state") == "executing", "the clear one is rejected")
