"""Collision models of robots: shapes, pairs, padding, and laws of distances."""

import itertools
from functools import partial
from xml.etree import ElementTree

import numpy as np
import pytest
from arms import PANDA, UR5, example
from collision_cases import (
    LINK,
    collision,
    moving_ball,
    random_arm,
    random_scene,
    random_spline,
)
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import manip_dyn as md
from manip_dyn.collision import collision_model
from manip_dyn.robot import Oracle

FINGERS = {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}


def random_posture(rng, robot):
    """Return a posture (n,) within 1.5 rad or m."""
    return rng.uniform(-1.5, 1.5, robot.n)


def test_distance_of_primitives_is_exact():
    robot = moving_ball("prismatic", radius=0.1)
    shapes = {
        "box": (md.Box([0.2, 0.4, 0.6]), 0.1),
        "sphere": (md.Sphere(0.25), 0.25),
        "cylinder": (md.Cylinder(0.15, 0.3), 0.15),
        "capsule": (md.Capsule(0.2, 0.3), 0.2),
    }
    for name, (shape, half) in shapes.items():
        scene = md.Scene().add(name, shape, [1.0, 0.0, 0.0])
        result = md.clearance(robot, [0.0], scene)
        assert result.distance == pytest.approx(0.9 - half, abs=1e-9)
        assert set(result.pair) == {name, "l0"}
        expected = sorted([0.1, 1.0 - half])
        assert sorted(result.points[:, 0]) == pytest.approx(expected, abs=1e-6)


def test_depths_of_contacts_are_finite():
    """The depths of these three contacts do not converge to 1e-9 m in coal 3.0.3."""
    arm = md.load_robot("ibm7535")
    links = ["base_link", "link_1", "link_2"]
    contacts = [
        ((0.4, 0.5), (0.4, 0.2), [1.1, 0.0, 0.1], [2.5, -2.4, 0.3]),
        ((0.5, 0.5), (0.4, 0.4), [1.1, 0.0, 0.0], [-1.7, 1.9, 0.6]),
        ((0.4, 0.5), (0.5, 0.4), [1.0, 0.1, 0.0], [1.1, 2.4, -2.8]),
    ]
    for held, post, position, rpy in contacts:
        scene = md.Scene().add("held", md.Cylinder(*held), link="link_2", allowed=links)
        scene = scene.add("post", md.Cylinder(*post), position, rpy, allowed=links)
        distance = md.clearance(arm, [0.0, 0.0], scene).distance
        assert -sum(held) - sum(post) < distance < 0.0


def test_moving_the_base_frame_changes_no_distance():
    rng = np.random.default_rng(0)
    robot, scene = random_arm(rng), random_scene(rng, count=3)
    turn, shift = Rotation.from_rotvec([0.3, -0.5, 0.8]), np.array([0.4, -1.0, 0.2])
    origin = f'<origin xyz="{shift[0]} {shift[1]} {shift[2]}" rpy="%r %r %r"/>'
    roll, pitch, yaw = turn.as_euler("xyz")
    urdf = robot.urdf.replace('<link name="base"', '<link name="world"/><link name="base"', 1)
    fixed = (
        '<joint name="placed" type="fixed"><parent link="world"/><child link="base"/>'
        + origin % (float(roll), float(pitch), float(yaw))
        + "</joint></robot>"
    )
    moved = md.load_robot(urdf.replace("</robot>", fixed))
    moved_scene = md.Scene()
    for entry in scene.objects.values():
        place = turn * Rotation.from_matrix(entry.rotation)
        moved_scene = moved_scene.add(
            entry.name,
            entry.shape,
            turn.apply(entry.position) + shift,
            place.as_euler("xyz"),
            padding=entry.padding,
        )
    for _ in range(5):
        q = random_posture(rng, robot)
        first, second = md.clearance(robot, q, scene), md.clearance(moved, q, moved_scene)
        assert first.pair == second.pair
        assert first.distance == pytest.approx(second.distance, abs=1e-7)
    for size in (0.1, 0.3, 0.5):
        curve = random_spline(rng, robot.n, size)
        first = md.check_motion(robot, curve, scene)
        second = md.check_motion(moved, curve, moved_scene)
        assert first.clear is second.clear
        assert first.least == pytest.approx(second.least, abs=2e-3)


def test_attached_object_moves_with_its_link():
    rng = np.random.default_rng(1)
    robot = random_arm(rng, joints=3)
    kernels_frame = robot.frame("l2")
    assert kernels_frame.body == 2
    part = md.Scene().add("part", md.Sphere(0.05), [0.1, 0.2, 0.3], link="l2")
    target = md.Scene().add("target", md.Sphere(0.05), [0.4, 0.0, 0.2])
    both = part.add("target", md.Sphere(0.05), [0.4, 0.0, 0.2])
    pairs = collision_model(robot, both).pairs
    assert ("part", "target") in pairs
    assert ("l2", "part") not in pairs
    assert ("l0", "part") in pairs
    alone = collision_model(robot, target).pairs
    assert ("l2", "target") in alone

    arm = md.load_robot("rr")  # without collision shapes
    both = md.Scene().add("part", md.Sphere(0.05), [0.1, 0.2, 0.3], link=arm.tip)
    both = both.add("target", md.Sphere(0.1), [0.4, 0.5, 0.2])
    for q in rng.uniform(-3.0, 3.0, (5, 2)):
        centre = (Oracle(arm).forward_kinematics(q) @ [0.1, 0.2, 0.3, 1.0])[:3]
        expected = np.linalg.norm(centre - [0.4, 0.5, 0.2]) - 0.15
        assert md.clearance(arm, q, both).distance == pytest.approx(expected, abs=1e-9)
        assert md.PostureCheck(arm, both).distance(q) == pytest.approx(expected, abs=1e-9)


def test_clearance_is_lipschitz_in_the_padding():
    """Padding of an object reduces its distance by the padding, and the least by at most it."""
    rng = np.random.default_rng(2)
    ball, arm = moving_ball("revolute", reach=0.5), random_arm(rng)
    for shape in (md.Box([0.1, 0.2, 0.3]), md.Cylinder(0.1, 0.3), md.Sphere(0.2)):
        for added in (0.01, 0.03):
            for robot, place, largest in (
                (ball, [3.0, 0.0, 0.0], True),
                (arm, [1.2, 0, 0], False),
            ):
                q = random_posture(rng, robot)
                plain = md.Scene().add("far", shape, place)
                padded = md.Scene().add("far", shape, place, padding=added)
                first, second = (md.clearance(robot, q, s).distance for s in (plain, padded))
                assert -1e-9 <= first - second <= added + 1e-9
                if largest:
                    assert first - second == pytest.approx(added, abs=1e-9)
                    padded = md.Scene(plain.objects, {"l0": added})
                    assert md.clearance(robot, q, padded).distance == pytest.approx(second)


def test_srdf_selects_the_pairs():
    path = example(PANDA)
    srdf = path.parents[1] / "srdf" / "panda.srdf"
    own = collision_model(md.load_robot(path, lock=FINGERS))
    from_srdf = collision_model(md.load_robot(path, lock=FINGERS, srdf=srdf))
    assert ("panda_link0", "panda_link1") in own.unchecked
    reasons = [reason for reason in from_srdf.unchecked.values() if "SRDF" in reason]
    assert len(reasons) > 10
    assert len(from_srdf.pairs) < len(own.pairs)
    for model in (own, from_srdf):
        owners = {geometry.owner for geometry in model.geometries}
        count = len(owners) * (len(owners) - 1) // 2
        assert len(model.pairs) + len(model.unchecked) == count


def test_links_without_shapes_are_named():
    robot = md.load_robot("rr")
    model = collision_model(robot)
    assert not model.geometries
    assert any("has no collision shape" in note for note in model.notes)


def test_checks_of_arms_without_shapes_are_rejected():
    arm = md.load_robot("rr")
    table = md.Scene().add("table", md.Box([2.0, 2.0, 2.0]))
    posture, message = np.zeros(2), f"robot '{arm.name}' must have collision shapes, got none"
    line = [posture, posture + 0.1]
    for check in (
        lambda: md.clearance(arm, posture, table),
        lambda: md.check_motion(arm, line),
        lambda: md.PostureCheck(arm, table),
        lambda: md.VelocitySolver(arm, scene=table),
    ):
        with pytest.raises(md.ManipDynError, match=message):
            check()
    part = md.Scene().add("part", md.Box([0.1, 0.1, 0.1]), link=arm.tip)
    result = md.check_motion(arm, line, part.add("ball", md.Sphere(0.1), [3.0, 0.0, 0.0]))
    assert result.clear
    assert "links without collision shapes are not checked: " in result.reason


def test_frames_without_mass_and_visual_shape_need_no_collision_shape():
    frame = '<inertial><mass value="0"/></inertial>'
    joint = '<joint name="j" type="fixed"><parent link="{}"/><child link="{}"/></joint>'
    plain = md.load_robot("rr")
    root = ElementTree.fromstring(plain.urdf)
    for element in (f'<link name="camera">{frame}</link>', joint.format(plain.tip, "camera")):
        root.append(ElementTree.fromstring(element))
    robot = md.load_robot(ElementTree.tostring(root, encoding="unicode"), tip=plain.tip)
    assert collision_model(robot).without_shape == collision_model(plain).without_shape


@pytest.mark.parametrize(
    ("address", "hint"),
    [("package://gone/part.stl", "ROS_PACKAGE_PATH"), ("part.stl", "relative to '.'")],
)
def test_missing_meshes_are_named_with_a_remedy(address, hint):
    ball = '<sphere radius="0.1" />'
    urdf = moving_ball("revolute").urdf
    assert ball in urdf
    arm = md.load_robot(urdf.replace(ball, f'<mesh filename="{address}"/>'))
    with pytest.raises(md.ManipDynError, match=f"'{address}' is not found.*{hint}"):
        md.clearance(arm, [0.0])


def test_pairs_in_permanent_contact_are_not_checked():
    big = collision('<sphere radius="1"/>')
    links = "".join(
        LINK.format(
            k=k,
            shape=big,
            kind="revolute",
            parent=f"l{k - 1}" if k else "base",
            xyz="0 0 0.1",
            rpy="0 0 0",
            axis="0 0 1",
        )
        for k in range(3)
    )
    robot = md.load_robot(f'<robot name="fat"><link name="base"/>{links}</robot>')
    model = collision_model(robot)
    assert model.pairs == ()
    assert "random postures" in model.unchecked["l0", "l2"]


@pytest.mark.parametrize(
    ("scene", "message"),
    [
        (md.Scene().add("ball", md.Sphere(0.1), link="l7"), "link must be a link"),
        (md.Scene().add("ball", md.Sphere(0.1), allowed=["l7"]), "allowed of 'ball'"),
        (md.Scene(link_padding={"l7": 0.1}), "unknown link 'l7'"),
        (md.Scene().add("l0", md.Sphere(0.1)), "must differ"),
        ("scene", "scene must be a Scene"),
    ],
)
def test_scenes_with_unknown_names_are_rejected(scene, message):
    with pytest.raises(md.ManipDynError, match=message):
        md.clearance(moving_ball("revolute"), [0.0], scene)


def test_srdf_must_be_readable(tmp_path):
    with pytest.raises(md.ManipDynError, match="srdf must be a readable SRDF"):
        md.load_robot("pa10", srdf=tmp_path / "missing.srdf")
    with pytest.raises(md.ManipDynError, match="root <robot>"):
        md.load_robot("pa10", srdf="<group/>")
    with pytest.raises(md.ManipDynError, match="srdf must be an SRDF, got the URDF"):
        md.load_robot("pa10", srdf=md.load_robot("pa10").urdf)
    with pytest.raises(md.ManipDynError, match="must have link1 and link2, got"):
        md.load_robot("pa10", srdf='<robot><disable_collisions link1="hand"/></robot>')
    panda = '<robot><disable_collisions link1="hand" link2="wrist"/></robot>'
    with pytest.raises(md.ManipDynError, match=r"srdf must name links of robot 'pa10'.*'hand'"):
        md.load_robot("pa10", srdf=panda)


def test_ur5_touches_a_table_that_its_urdf_knows_nothing_of():
    robot = md.load_robot(example(UR5))
    table = md.Scene().add("table", md.Box([2.0, 2.0, 0.1]), [0.0, 0.0, -0.05])
    below = np.array([0.0, 0.8, 0.5, 0.0, 0.0, 0.0])
    above = np.array([0.0, -1.2, 0.9, 0.0, 0.3, 0.0])
    assert not md.clearance(robot, below, table).clear
    assert md.clearance(robot, above, table).clear
    result = md.check_motion(robot, [above, below], table)
    assert result.clear is False
    assert "table" in result.pair


def test_mimic_joints_move_their_links():
    """A gripper with two fingers: one joint, and one that mimics it."""
    finger = collision('<box size="0.02 0.02 0.1"/>')
    links = [
        LINK.format(
            k=k, shape=finger, kind="prismatic", parent="base", xyz="0 0 0", rpy="0 0 0", axis=axis
        )
        for k, axis in enumerate(("1 0 0", "-1 0 0"))
    ]
    links[1] = links[1].replace("<axis", '<mimic joint="j0"/><axis')
    robot = md.load_robot(f'<robot name="gripper"><link name="base"/>{"".join(links)}</robot>')
    assert robot.n == 1
    assert md.clearance(robot, [0.1]).distance == pytest.approx(0.18, abs=1e-9)
    assert md.PostureCheck(robot).distance([0.1]) == pytest.approx(0.18, abs=1e-9)
    closing = md.check_motion(robot, [[0.1], [0.015]])
    assert closing.clear
    assert closing.least == pytest.approx(0.01, abs=1.1e-3)
    assert md.check_motion(robot, [[0.1], [0.009]]).clear is False


def test_posture_checks_agree_with_distances():
    rng = np.random.default_rng(4)
    robot, scene = random_arm(rng), random_scene(rng, count=4)
    check = md.PostureCheck(robot, scene)
    postures = rng.uniform(-1.5, 1.5, (40, robot.n))
    expected = np.array([md.clearance(robot, q, scene).distance for q in postures])
    distances = check.distances(postures)
    apart = expected > 0.0
    assert distances[apart] == pytest.approx(expected[apart], abs=1e-6)
    assert (distances[~apart] <= 1e-6).all()
    assert (check.are_clear(postures) == apart).all()
    for invalid in (check.are_clear, partial(md.check_motion, robot)):
        with pytest.raises(md.ManipDynError, match="margin must be 0 or more, got -1 m"):
            invalid(postures, margin=-1)
    near = np.minimum(expected, 0.05)
    assert check.distances(postures, limit=0.05)[apart] == pytest.approx(near[apart], abs=1e-6)
    assert check.distance(postures[0]) == pytest.approx(distances[0], abs=1e-9)
    assert check.closest in collision_model(robot, scene).pairs


@pytest.mark.parametrize("count", [0, 1, 64, 130])
def test_distances_of_many_postures_are_those_of_single_ones(count):
    """Blocks of postures that are empty, partly filled and full; the pair is the last one's."""
    rng = np.random.default_rng(5)
    robot = random_arm(rng, joints=5)
    scene = random_scene(rng, count=4).add("below", md.HalfSpace(), [0.0, 0.0, -1.0])
    check = md.PostureCheck(robot, scene)
    assert {body.prismatic for body in robot.bodies} == {False, True}
    postures = rng.uniform(-1.5, 1.5, (count, robot.n))
    for limit in (0.1, np.inf):
        batch = check.distances(postures, limit)
        last = check.closest
        single = np.array([check.distance(q, limit) for q in postures])
        assert batch == pytest.approx(single, abs=1e-9)
        assert last == (check.closest if count else ("", ""))
    assert (check.are_clear(postures, margin=0.05) == (single > 0.05)).all()


def test_distances_from_a_hull_of_many_vertices_are_exact(tmp_path):
    """Directions in all cells of the table of extreme points, with points of flat faces."""
    rng = np.random.default_rng(6)
    points = rng.normal(size=(400, 3))
    points *= np.array([0.3, 0.1, 0.05]) / np.linalg.norm(points, axis=1)[:, None]
    points = np.concatenate([points, np.clip(points, -0.04, 0.04)])
    hull = ConvexHull(points)
    lines = [f"v {x} {y} {z}" for x, y, z in points]
    lines += ["f " + " ".join(str(k + 1) for k in corners) for corners in hull.simplices]
    path = tmp_path / "pebble.obj"
    path.write_text("\n".join(lines))
    robot = moving_ball("revolute", radius=0.05, reach=0.6)
    pebble = md.Mesh(str(path), convex=True)
    assert len(pebble.vertices) > 300
    for _ in range(20):
        direction = rng.normal(size=3)
        place, turn = 0.6 * direction / np.linalg.norm(direction), rng.uniform(-3, 3, 3)
        scene = md.Scene().add("pebble", pebble, place, turn)
        check = md.PostureCheck(robot, scene)
        for q in rng.uniform(-3.0, 3.0, (5, 1)):
            expected = md.clearance(robot, q, scene).distance
            if expected > 0.0:
                assert check.distance(q) == pytest.approx(expected, abs=1e-7)


def test_distances_of_all_shapes_agree_with_coal():
    """A shape that joints move in all directions, and a fixed one, in random postures."""
    rng = np.random.default_rng(11)
    links = "".join(
        LINK.format(
            k=k,
            shape="",
            kind="prismatic" if k < 3 else "revolute",
            parent=f"l{k - 1}" if k else "base",
            xyz="0 0 0",
            rpy="0 0 0",
            axis=("1 0 0", "0 1 0", "0 0 1")[k % 3],
        )
        for k in range(6)
    )
    robot = md.load_robot(f'<robot name="free"><link name="base"/>{links}</robot>')
    apart = 0
    for first, second in itertools.product(range(4), range(5)):
        (a, b, c), (d, e, f) = rng.uniform(0.03, 0.4, (2, 3))
        moved = md.Box([a, b, c]), md.Sphere(a), md.Cylinder(a, b), md.Capsule(a, b)
        fixed = md.Box([d, e, f]), md.Sphere(d), md.Cylinder(d, e), md.Capsule(d, e)
        scene = md.Scene().add("moved", moved[first], link="l5")
        scene = scene.add("fixed", (*fixed, md.HalfSpace())[second])
        postures = rng.uniform([-0.7] * 3 + [-3.0] * 3, [0.7] * 3 + [3.0] * 3, (20, 6))
        for q, distance in zip(
            postures, md.PostureCheck(robot, scene).distances(postures), strict=True
        ):
            expected = md.clearance(robot, q, scene).distance
            assert (expected > 0.0) == (distance > 0.0)
            if expected > 0.0:
                assert distance == pytest.approx(expected, rel=0.0, abs=2e-9)
                apart += 1
    assert 100 < apart < 350


def test_distances_agree_with_mujoco():
    """MuJoCo reads the same URDF, with the objects as geoms of the world."""
    mujoco = pytest.importorskip("mujoco")
    kinds = {
        md.Box: (mujoco.mjtGeom.mjGEOM_BOX, lambda box: 0.5 * box.size),
        md.Sphere: (mujoco.mjtGeom.mjGEOM_SPHERE, lambda ball: [ball.radius, 0.0, 0.0]),
        md.Cylinder: (mujoco.mjtGeom.mjGEOM_CYLINDER, _radius_and_half),
        md.Capsule: (mujoco.mjtGeom.mjGEOM_CAPSULE, _radius_and_half),
    }
    contacts = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        robot, scene = random_arm(rng), random_scene(rng, reach=0.6)
        spec = mujoco.MjSpec.from_string(robot.urdf)
        for entry in scene.objects.values():
            if isinstance(entry.shape, md.HalfSpace) or entry.padding:
                scene = scene.without(entry.name)
                continue
            kind, size = kinds[type(entry.shape)]
            turn = Rotation.from_matrix(entry.rotation).as_quat()[[3, 0, 1, 2]]
            spec.worldbody.add_geom(
                name=entry.name, type=kind, size=size(entry.shape), pos=entry.position, quat=turn
            )
        model = spec.compile()
        model.opt.ccd_tolerance, model.opt.ccd_iterations = 1e-9, 200
        data = mujoco.MjData(model)
        geoms = dict[str, list[int]]()
        for k in range(model.ngeom):
            body = model.body(model.geom(k).bodyid[0]).name.replace("world", "base")
            geoms.setdefault(model.geom(k).name or body, []).append(k)
        check = md.PostureCheck(robot, scene)
        for q in rng.uniform(-1.5, 1.5, (20, robot.n)):
            for name, position in zip(robot.joint_names, q, strict=True):
                data.joint(name).qpos[0] = position
            mujoco.mj_kinematics(model, data)
            expected = min(
                mujoco.mj_geomDistance(model, data, i, j, 10.0, None)
                for first, second in collision_model(robot, scene).pairs
                for i in geoms[first]
                for j in geoms[second]
            )
            result = md.clearance(robot, q, scene)
            assert result.clear == (expected > 0.0) == check.are_clear([q])[0]
            contacts += not result.clear
            if result.clear:
                assert result.distance == pytest.approx(expected, abs=1e-7)
                assert check.distance(q) == pytest.approx(expected, abs=1e-7)
    assert 10 < contacts < 90


def _radius_and_half(shape):
    return [shape.radius, 0.5 * shape.length, 0.0]
