"""Scenes: objects from Python and YAML, and the messages about invalid ones."""

import pickle

import numpy as np
import pytest
from collision_cases import moving_ball, random_arm
from scipy.spatial.transform import Rotation

import manip_dyn as md
from manip_dyn.collision import add_robot

YAML = """
objects:
  table: {box: [1.2, 0.8, 0.05], position: [0.6, 0.0, -0.025]}
  ball: {sphere: 0.1, position: [0.5, 0.2, 0.4], padding: 0.01}
  post: {cylinder: {radius: 0.05, length: 1.0}, rpy: [0.0, 0.3, 0.0]}
  hose: {capsule: {radius: 0.02, length: 0.3}, link: tool0, allowed: [wrist]}
  floor: {half_space: {}, position: [0.0, 0.0, -0.5]}
link_padding: {forearm: 0.02}
"""


def test_scene_is_read_from_yaml(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text(YAML)
    scene = md.load_scene(path)
    assert list(scene.objects) == ["table", "ball", "post", "hose", "floor"]
    assert scene.objects["table"].shape.size.tolist() == [1.2, 0.8, 0.05]
    assert scene.objects["ball"].padding == 0.01
    assert scene.objects["hose"].link == "tool0"
    assert scene.objects["hose"].allowed == ("wrist",)
    assert scene.link_padding == {"forearm": 0.02}


def test_scenes_are_immutable():
    scene = md.Scene()
    larger = scene.add("ball", md.Sphere(0.1))
    assert not scene.objects
    assert repr(larger) == "Scene(ball)"
    assert not larger.without("ball").objects
    with pytest.raises(TypeError):
        larger.objects["ball"] = None


def test_equal_scenes_are_equal_also_after_pickling(tmp_path):
    (tmp_path / "scene.yaml").write_text(YAML)
    scene, again = (md.load_scene(tmp_path / "scene.yaml") for _ in range(2))
    assert scene == again == pickle.loads(pickle.dumps(scene))
    assert hash(scene) == hash(again)
    for different in (scene.without("ball"), md.Scene(scene.objects), md.Scene(), None):
        assert scene != different
    moved = scene.without("table").add("table", md.Box([1.2, 0.8, 0.06]), [0.6, 0.0, -0.025])
    assert scene != moved


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("objects: {a: {box: [1, 2]}}", "object 'a': size of a box must"),
        ("objects: {a: {box: [1, 2, -1]}}", "above 0 m"),
        ("objects: {a: {sphere: 1, box: [1, 1, 1]}}", "must have exactly one of"),
        ("objects: {a: {position: [0, 0, 0]}}", "got none"),
        ("objects: {a: }", "object 'a' must have exactly one of"),
        ("objects: {a: {sphere: .1, allowed: }}", "allowed of 'a' must be a list .* got None"),
        ("objects: {a: {sphere: .1, link: 3}}", "link of 'a' must be a name or None, got 3"),
        ("objects: {a: {sphere: .inf}}", "object 'a': radius of a sphere must be finite, got inf"),
        ("objects: {a: {half_space: 3}}", "object 'a': half_space must be {}, got 3"),
        ("objects: {a: 0}", "object 'a' must have keys"),
        ("objects: 0", "objects must be a mapping by name, got 0"),
        ("objects: {a: {mesh: {file: bad.stl}}}", "bad.stl' must be a readable STL, DAE or OBJ"),
        ("objects: {a: {sphere: 1, pose: 3}}", "unknown key 'pose'"),
        (
            "objects: {a: {cylinder: {radius: 1}}}",
            "object 'a': cylinder must have the key 'length'",
        ),
        ("objects: {a: {sphere: 0.1, padding: -1}}", "padding of 'a'"),
        ("objects: {a: {half_space: {}, link: tool0}}", "must be None"),
        ("objects: {a: {sphere: 1, mass: 2}}", "must be 0 kg without link"),
        ("objects: {a: {sphere: 1, mass: -2, link: tool0}}", "mass of 'a'"),
        ("objects: {a: {mesh: missing.stl}}", "no such file"),
        ("objects: {a: {sphere: 0.1, position: [1e6, 0, 0]}}", "within 10000 m"),
        ("objects: [a]", "mapping"),
        ("boxes: {}", "unknown key 'boxes'"),
    ],
)
def test_invalid_scenes_are_rejected(text, message, tmp_path):
    path = tmp_path / "scene.yaml"
    with pytest.raises(md.ManipDynError, match=r"scene.yaml': no such file"):
        md.load_scene(path)
    with pytest.raises(md.ManipDynError, match="scene must be a YAML file, got the folder"):
        md.load_scene(tmp_path)
    with pytest.raises(md.ManipDynError, match="scene must be the path of a YAML file, got None"):
        md.load_scene(None)
    path.write_text(text)
    (tmp_path / "bad.stl").write_text("solid")
    with pytest.raises(md.ManipDynError, match=message):
        md.load_scene(path)


def test_two_arms_are_obstacles_for_each_other():
    """The distance does not depend on which of two arms without a base shape is the obstacle."""
    rng = np.random.default_rng(8)
    arm, between = random_arm(rng, joints=3), 0
    for _ in range(12):
        postures, angles = rng.uniform(-1.5, 1.5, (2, arm.n)), rng.uniform(-3.0, 3.0, 3)
        turn, place = Rotation.from_euler("xyz", angles), rng.uniform(0.3, 0.8, 3)
        back = -turn.inv().apply(place), turn.inv().as_euler("xyz")
        own, distances = [md.clearance(arm, q).distance for q in postures], []
        for k, pose in enumerate([(place, angles), back]):
            scene = add_robot(md.Scene(), "other", arm, postures[1 - k], *pose)
            distances.append(md.clearance(arm, postures[k], scene).distance)
        between += 0.0 < distances[0] < own[0]
        first, second = min(distances[0], own[1]), min(distances[1], own[0])
        assert max(first, 0.0) == pytest.approx(max(second, 0.0), abs=1e-7)
    assert between > 1
    with pytest.raises(md.ManipDynError, match="q of 'other'"):
        add_robot(md.Scene(), "other", arm, [0.0])
    for name in ("", 3):
        with pytest.raises(md.ManipDynError, match="name must be a string that is not empty"):
            add_robot(md.Scene(), name, arm, postures[0])
    with pytest.raises(md.ManipDynError, match="must have collision shapes"):
        add_robot(md.Scene(), "other", md.load_robot("rr"), [0.0, 0.0])


def test_names_are_unique():
    scene = md.Scene().add("ball", md.Sphere(0.1))
    with pytest.raises(md.ManipDynError, match="unique"):
        scene.add("ball", md.Sphere(0.2))
    with pytest.raises(md.ManipDynError, match="got 'bal'"):
        scene.without("bal")


def test_nonconvex_mesh_is_its_surface(tmp_path):
    """A motion through the gap of an L-shaped mesh is clear; through its hull it is not."""
    corners = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
    lines = [f"v {x} {y} {z}" for z in (-1, 1) for x, y in corners]
    for a in range(6):
        b = (a + 1) % 6
        lines += [f"f {a + 1} {b + 1} {b + 7}", f"f {a + 1} {b + 7} {a + 7}"]
    path = tmp_path / "corner.obj"
    path.write_text("\n".join(lines))
    robot = moving_ball("prismatic", radius=0.05)
    motion = [[1.15], [1.7]]
    for convex, clear in ((False, True), (True, False)):
        shape = md.Mesh(str(path), convex=convex)
        scene = md.Scene().add("corner", shape, [-1.2, 0.0, 0.0])
        result = md.check_motion(robot, motion, scene)
        assert result.clear is clear
        assert md.clearance(robot, [1.2], scene).clear is clear
    excess = 2.0 - np.sqrt(2.0)  # at the centre of the circle in the open ends
    assert excess < md.Mesh(str(path), convex=True).excess() < excess + 0.02 * np.sqrt(12.0) + 1e-6


def test_hull_with_a_vertex_of_many_edges_is_accepted(tmp_path):
    """The apex of a cone with 400 sides; its base is a fan of triangles."""
    angles = 2.0 * np.pi * np.arange(400) / 400
    lines = ["v 0 0 1", *(f"v {np.cos(a)} {np.sin(a)} 0" for a in angles)]
    lines += [f"f 1 {k + 2} {(k + 1) % 400 + 2}" for k in range(400)]
    path = tmp_path / "cone.obj"
    path.write_text("\n".join(lines))
    scene = md.Scene().add("cone", md.Mesh(str(path), convex=True), [0.0, 0.0, 0.3])
    robot = moving_ball("prismatic", radius=0.1)
    assert md.clearance(robot, [0.0], scene).distance == pytest.approx(0.2, abs=1e-9)
    assert md.check_motion(robot, [[-1.0], [1.0]], scene).least == pytest.approx(0.2, abs=1.1e-3)


def test_masses_of_attached_parts_are_payloads(tmp_path):
    """A box of 2 kg has the dynamics of an equal payload, as a box, mesh and two halves."""
    arm = md.load_robot("pa10")
    size, mass = np.array([0.1, 0.2, 0.3]), 2.0
    position, rpy = [0.01, -0.02, 0.2], [0.3, -0.4, 0.5]
    corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    lines = [f"v {x * 0.05} {y * 0.1} {z * 0.15}" for x, y, z in corners]
    lines += ["f " + " ".join(str(k + 1) for k in face) for face in faces]
    path = tmp_path / "box.obj"
    path.write_text("\n".join(lines))

    box = md.Scene().add("part", md.Box(size), position, rpy, link=arm.tip, mass=mass)
    mesh = md.Scene().add("part", md.Mesh(str(path)), position, rpy, link=arm.tip, mass=mass)
    turn = box.objects["part"].rotation
    halves = md.Scene()
    for name, side in (("left", -0.025), ("right", 0.025)):
        place = position + turn @ [side, 0.0, 0.0]
        half = md.Box([0.05, 0.2, 0.3])
        halves = halves.add(name, half, place, rpy, link=arm.tip, mass=0.5 * mass)

    tensor = turn @ np.diag(mass / 12.0 * (np.sum(size**2) - size**2)) @ turn.T
    payload = [
        mass,
        *position,
        *tensor[np.triu_indices(3)][[0, 3, 5]],
        *tensor[[0, 0, 1], [1, 2, 2]],
    ]
    rng = np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, arm.n))
    expected = md.customize(arm).forward_dynamics(q, v, tau, payload=payload)
    for scene, tolerance in ((box, 1e-9), (halves, 1e-9), (mesh, 1e-6)):  # 32-bit vertices
        loaded = scene.loaded(arm)
        accelerations = md.customize(loaded).forward_dynamics(q, v, tau)
        assert accelerations == pytest.approx(expected, rel=tolerance)
        assert md.clearance(loaded, q, scene).distance == md.clearance(arm, q, scene).distance
    assert md.Scene().add("part", md.Box(size), link=arm.tip).loaded(arm) is arm
    with pytest.raises(md.ManipDynError, match="link must be a link"):
        md.Scene().add("part", md.Box(size), link="hand", mass=1.0).loaded(arm)
