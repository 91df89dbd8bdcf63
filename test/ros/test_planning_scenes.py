"""Scenes from messages of MoveIt."""

import numpy as np
import pytest
from geometry_msgs.msg import Point, Pose, TransformStamped
from moveit_messages import (
    AttachedCollisionObject,
    CollisionObject,
    LinkPadding,
    LinkScale,
    allowed_matrix,
    scene_message,
)
from scipy.spatial.transform import Rotation
from shape_msgs.msg import Mesh, MeshTriangle, Plane, SolidPrimitive
from std_msgs.msg import Header

import manip_dyn as md
from manip_dyn.ros import MoveItScene, quaternion

PA10 = md.load_robot("pa10")
Q = np.array([0.3, 0.5, -0.2, 1.1, 0.4, -0.6, 0.2])
POSITION, RPY = np.array([0.4, -0.3, 0.9]), np.array([0.3, -0.5, 1.2])
INNER, INNER_RPY = np.array([0.1, 0.05, -0.2]), np.array([-0.7, 0.2, 0.4])


def pose_of(position, rpy=(0.0, 0.0, 0.0)):
    x, y, z = map(float, position)
    orientation = quaternion(Rotation.from_euler("xyz", rpy).as_matrix())
    return Pose(position=Point(x=x, y=y, z=z), orientation=orientation)


def product(position, rpy, inner, inner_rpy):
    outer = Rotation.from_euler("xyz", rpy)
    rotation = outer * Rotation.from_euler("xyz", inner_rpy)
    return position + outer.apply(inner), rotation.as_euler("xyz")


def cuboid(name="part", position=POSITION, size=(0.1, 0.2, 0.3), frame=PA10.base, **fields):
    primitive = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=list(size))
    return CollisionObject(
        id=name,
        header=Header(frame_id=frame),
        primitives=[primitive],
        primitive_poses=[pose_of(INNER, INNER_RPY)],
        **{"pose": pose_of(position, RPY), **fields},
    )


def attached(content, link=PA10.tip, **fields):
    return AttachedCollisionObject(link_name=link, object=content, **fields)


def distance(scene, q=Q):
    return md.clearance(PA10, q, scene).distance


def test_shapes_have_the_poses_of_the_message():
    scene = MoveItScene(PA10).update(cuboid())
    expected = md.Scene().add(
        "part", md.Box([0.1, 0.2, 0.3]), *product(POSITION, RPY, INNER, INNER_RPY)
    )
    (entry,), (reference,) = scene.objects.values(), expected.objects.values()
    np.testing.assert_allclose(entry.position, reference.position, atol=1e-12)
    np.testing.assert_allclose(entry.rotation, reference.rotation, atol=1e-12)
    assert entry.shape == reference.shape


@pytest.mark.parametrize("pitch", [0.5 * np.pi, -0.5 * np.pi, 3.0, np.pi])
def test_any_rotation_is_converted(pitch):
    rpy = np.array([0.4, pitch, -1.3])
    (entry,) = MoveItScene(PA10).update(cuboid(pose=pose_of(POSITION, rpy))).objects.values()
    rotation = Rotation.from_euler("xyz", rpy) * Rotation.from_euler("xyz", INNER_RPY)
    np.testing.assert_allclose(entry.rotation, rotation.as_matrix(), atol=1e-12)


def test_meshes_and_planes_equal_the_same_boxes_and_half_spaces():
    corners = np.array(
        [[x, y, z] for x in (-0.1, 0.1) for y in (-0.05, 0.05) for z in (-0.05, 0.05)]
    )
    faces = [[0, 1, 3], [0, 3, 2], [4, 7, 5], [4, 6, 7], [0, 5, 1], [0, 4, 5]]
    faces += [[2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
    mesh = Mesh(
        vertices=[Point(x=x, y=y, z=z) for x, y, z in corners],
        triangles=[MeshTriangle(vertex_indices=face) for face in faces],
    )
    normal = Rotation.from_euler("xyz", RPY).apply([0.0, 0.0, 2.0])
    message = CollisionObject(
        id="cell", meshes=[mesh], mesh_poses=[pose_of(POSITION, RPY)], planes=[Plane()]
    )
    message.planes[0].coef = [*normal, 0.6]
    scene = MoveItScene(PA10).update(message)
    assert set(scene.objects) == {"cell/0", "cell/1"}
    box = md.Scene().add("box", md.Box([0.2, 0.1, 0.1]), POSITION, RPY)
    floor = md.Scene().add("floor", md.HalfSpace(), -0.15 * normal, RPY)
    for name, expected in {"cell/1": box, "cell/0": floor}.items():
        np.testing.assert_allclose(distance(scene.without(name)), distance(expected), atol=1e-7)


def test_operations_add_append_move_and_remove():
    state = MoveItScene(PA10, md.Scene().add("ball", md.Sphere(0.1), [2.0, 0.0, 0.0]))
    state.update(cuboid())
    state.update(cuboid(size=(0.3, 0.2, 0.1), operation=CollisionObject.APPEND))
    assert set(state.scene.objects) == {"ball", "part/0", "part/1"}
    first, second = (state.scene.objects[f"part/{k}"] for k in range(2))
    assert second.shape == md.Box([0.3, 0.2, 0.1])
    np.testing.assert_allclose(second.position, first.position, atol=1e-12)
    move = CollisionObject(id="part", pose=pose_of([1.0, 2.0, 3.0]))
    move.operation = CollisionObject.MOVE
    state.update(move)
    np.testing.assert_allclose(
        state.scene.objects["part/0"].position, INNER + np.array([1.0, 2.0, 3.0])
    )
    state.update(cuboid())  # replaces both shapes
    assert set(state.scene.objects) == {"ball", "part"}
    for name, remaining in (("ball", {"part"}), ("", set())):
        state.update(CollisionObject(id=name, operation=CollisionObject.REMOVE))
        assert set(state.scene.objects) == remaining


def test_a_single_shape_without_object_pose_moves_by_its_own_pose():
    state = MoveItScene(PA10)
    state.update(cuboid(pose=pose_of(np.zeros(3))))
    state.update(
        CollisionObject(id="part", pose=pose_of(POSITION), operation=CollisionObject.MOVE)
    )
    np.testing.assert_allclose(state.scene.objects["part"].position, POSITION)


def test_attached_objects_stay_where_they_are_and_then_move_with_the_link():
    state = MoveItScene(PA10)
    free = distance(state.update(cuboid()))
    state.update(attached(CollisionObject(id="part"), weight=1.5), Q)
    assert state.scene.objects["part"].link == PA10.tip
    assert state.scene.objects["part"].mass == 1.5
    q = Q + 0.2
    moved = distance(state.scene, q)
    assert abs(free - distance(state.scene)) < 1e-9 < abs(free - moved)
    state.update(attached(CollisionObject(operation=CollisionObject.REMOVE), link=""), q)
    assert state.scene.objects["part"].link is None
    np.testing.assert_allclose(distance(state.scene, q), moved, atol=1e-9)


def test_attached_objects_may_be_in_the_frame_of_any_link():
    own, remote = (
        MoveItScene(PA10).update(attached(cuboid(frame=frame)), Q)
        for frame in (PA10.tip, "link_3")
    )
    (entry,), (elsewhere,) = own.objects.values(), remote.objects.values()
    position, _ = product(POSITION, RPY, INNER, INNER_RPY)
    np.testing.assert_allclose(entry.position, position, atol=1e-12)
    world = MoveItScene(PA10).update(cuboid(frame="link_3"), Q)
    np.testing.assert_allclose(distance(world), distance(remote), atol=1e-9)
    assert elsewhere.link == PA10.tip


def test_the_weight_is_divided_by_volume():
    content = cuboid()
    content.primitives.append(SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.1]))
    scene = MoveItScene(PA10).update(attached(content, weight=2.0), Q)
    masses = [entry.mass for entry in scene.objects.values()]
    sphere = 4.0 / 3.0 * np.pi * 0.1**3
    np.testing.assert_allclose(masses, 2.0 * np.array([0.006, sphere]) / (0.006 + sphere))


def test_complete_scenes_replace_everything_and_equal_ones_change_nothing():
    state = MoveItScene(PA10, md.Scene(link_padding={"link_2": 0.1}).add("ball", md.Sphere(0.1)))
    complete = scene_message(
        [cuboid()],
        [attached(cuboid("tool", frame=PA10.tip))],
        is_diff=False,
        link_padding=[LinkPadding(link_name="link_4", padding=0.02)],
        link_scale=[LinkScale(link_name="link_4", scale=1.0)],
    )
    scene = state.update(complete, Q)
    assert set(scene.objects) == {"part", "tool"}
    assert dict(scene.link_padding) == {"link_4": 0.02}
    assert state.update(complete, Q + 0.1) is scene
    assert state.update(scene_message(), Q) is scene
    assert set(state.update(scene_message([cuboid("more")]), Q).objects) == {
        "part",
        "tool",
        "more",
    }


def test_the_planning_frame_of_a_complete_scene_is_the_base():
    transform = TransformStamped(child_frame_id="world")
    message = scene_message([cuboid(frame="world")], fixed_frame_transforms=[transform])
    assert MoveItScene(PA10).update(message) == MoveItScene(PA10).update(cuboid())


def test_allowed_collisions_of_objects():
    state = MoveItScene(PA10)
    names = ["link_5", "part"]
    matrix = allowed_matrix(names, [{"link_5", "part"}], defaults=["ball"])
    objects = [cuboid(), cuboid("other"), cuboid("ball")]
    scene = state.update(scene_message(objects, allowed_collision_matrix=matrix))
    assert scene.objects["part"].allowed == ("ball", "link_5")
    assert scene.objects["other"].allowed == ("ball",)
    assert "link_1" in scene.objects["ball"].allowed
    tool = attached(cuboid("tool"), touch_links=["link_6"])
    scene = state.update(scene_message(attached=[tool]), Q)
    assert scene.objects["tool"].allowed == ("ball", "link_6")


OCTOMAP = scene_message()
OCTOMAP.world.octomap.octomap.id = "cloud"
OCTOMAP.world.octomap.octomap.data = [1]
CONE = SolidPrimitive(type=SolidPrimitive.CONE, dimensions=[0.1, 0.1])
FLAT = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.1, 0.1])
TRIANGLE = Mesh(triangles=[MeshTriangle(vertex_indices=[0, 1, 2])])
TWISTED = pose_of(POSITION)
TWISTED.orientation.w = 2.0


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (CollisionObject(id="x"), "'x' must have shapes, got none"),
        (CollisionObject(id="x", primitives=[CONE]), "must be a box .* got type 4"),
        (CollisionObject(id="x", primitives=[FLAT]), "dimensions of a primitive of 'x'"),
        (CollisionObject(id="x", meshes=[TRIANGLE]), "triangles of its vertices"),
        (CollisionObject(id="x", planes=[Plane()]), "plane of 'x' must have a normal"),
        (CollisionObject(id="x", operation=CollisionObject.MOVE), "moved object must be in"),
        (cuboid("x", frame="nowhere"), "got frame_id 'nowhere'"),
        (cuboid("x", frame="link_3"), "q must be specified .* 'link_3'"),
        (cuboid("x", pose=TWISTED), "unit quaternion"),
        (cuboid("link_3"), "names of scene objects must differ"),
        (attached(cuboid("x", frame="arm"), link="arm"), "arm"),
        (attached(cuboid("x"), link=""), "q must be specified|link"),
        (OCTOMAP, "must have no octomap"),
        (scene_message(link_scale=[LinkScale(link_name="link_3", scale=1.1)]), "scaled links"),
        (scene_message([cuboid("x"), CollisionObject(id="y")]), "'y' must have shapes"),
    ],
)
def test_invalid_messages_change_nothing(message, reason):
    state = MoveItScene(PA10, md.Scene().add("ball", md.Sphere(0.1), [2.0, 0.0, 0.0]))
    before = state.scene
    with pytest.raises(md.ManipDynError, match=reason):
        state.update(message)
    assert state.scene is before
    assert set(state.update(cuboid()).objects) == {"ball", "part"}
