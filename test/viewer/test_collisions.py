"""Obstacles, collision shapes and the closest pair on a page."""

import time
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import manip_dyn as md
from manip_dyn.viewer import (
    ClosestPair,
    ResultsPage,
    bounds_of,
    motion_of,
    robot_figure,
    scene_figure,
    start,
    stop,
)

pytest.importorskip("viser", reason="pip install '.[view]'")

TETRAHEDRON = """v 0 0 0
v 0.3 0 0
v 0 0.2 0
v 0 0 0.4
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
"""


@pytest.fixture(scope="module")
def robot():
    return md.load_robot("ibm7535")


def post(robot):
    """Return a scene with a post next to the arm and a part at its second link."""
    scene = md.Scene().add("post", md.Cylinder(0.05, 2.0), position=[0.6, 0.35, 0.0])
    return scene.add("part", md.Box([0.05, 0.05, 0.2]), [0.1, 0.0, 0.2], link=robot.tip)


def test_drawn_objects_have_the_size_of_their_shapes(robot, tmp_path):
    (tmp_path / "part.obj").write_text(TETRAHEDRON)
    sizes = {
        md.Box([0.1, 0.2, 0.3]): [0.1, 0.2, 0.3],
        md.Sphere(0.1): [0.2, 0.2, 0.2],
        md.Cylinder(0.1, 0.3): [0.2, 0.2, 0.3],
        md.Capsule(0.1, 0.3): [0.2, 0.2, 0.5],
        md.Mesh(str(tmp_path / "part.obj")): [0.3, 0.2, 0.4],
    }
    poses = robot_figure(robot).poses
    for shape, size in sizes.items():
        low, high = bounds_of(
            scene_figure(robot, md.Scene().add("object", shape), poses), np.zeros((1, 2))
        )
        np.testing.assert_allclose(high - low, size, atol=1e-12, err_msg=f"{shape}")


def test_an_attached_object_is_drawn_on_its_link(robot):
    figure, q = robot_figure(robot), np.array([0.4, -0.7])
    (part,) = [
        part for part in scene_figure(robot, post(robot), figure.poses).parts if part.body >= 0
    ]
    poses = figure.poses(q)
    turn = Rotation.from_quat(poses.quaternions[part.body], scalar_first=True).as_matrix()
    position, quaternion = figure.tool(q)
    tool = Rotation.from_quat(quaternion, scalar_first=True).as_matrix()
    np.testing.assert_allclose(
        poses.positions[part.body] + turn @ part.position, position + tool @ [0.1, 0.0, 0.2]
    )
    np.testing.assert_allclose(turn @ part.rotation, tool, atol=1e-12)


def test_the_closest_pair_is_that_of_the_exact_distances(robot):
    scene = post(robot)
    pair = ClosestPair(robot, scene)
    for q in np.random.default_rng(0).uniform(-1.0, 1.0, (20, 2)):
        exact = md.clearance(robot, q, scene)
        closest = pair(q)
        assert closest.clear == exact.clear
        if exact.clear:
            assert closest.text == exact.reason
            np.testing.assert_allclose(closest.points, exact.points, atol=1e-6)


class Recorder:
    """Records the handles that functions of viser return, by their first argument."""

    def __init__(self, monkeypatch, owner, *names):
        self.handles = {}
        for name in names:
            monkeypatch.setattr(owner, name, self.recorded(getattr(owner, name)))

    def recorded(self, function):
        def call(key, *arguments, **settings):
            self.handles[key] = function(key, *arguments, **settings)
            return self.handles[key]

        return call

    def __getitem__(self, key):
        return self.handles[key]


def test_checkboxes_show_the_layers_of_a_page(robot, monkeypatch):
    server = start(port=0)
    boxes = Recorder(monkeypatch, server.gui, "add_checkbox")
    nodes = Recorder(
        monkeypatch, server.scene, "add_frame", "add_cylinder", "add_label", "add_line_segments"
    )
    page = ResultsPage(server, [motion_of(robot)], dark=False, scene=post(robot))
    try:
        assert nodes["/m0/obstacles/part0"].radius == 0.05
        assert nodes["/m0/closest"].visible
        assert nodes["/m0/closest/text"].text == md.clearance(robot, [0, 0], post(robot)).reason
        assert "/m0/shapes" not in nodes.handles
        boxes["closest pair"].value = False
        await_value(lambda: nodes["/m0/closest"].visible, False)
        boxes["collision shapes"].value = True
        await_value(lambda: "/m0/shapes" in nodes.handles, True)
        boxes["collision shapes"].value = False
        await_value(lambda: nodes["/m0/shapes"].visible, False)
    finally:
        page.close()
        stop(server)


def await_value(condition, value):
    """Wait until the callbacks of the page, which run in threads, have had an effect."""
    deadline = time.monotonic() + 60.0
    while condition() is not value and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition() is value


def test_a_scene_requires_a_robot_and_its_links(robot):
    shown = {"port": 0, "browser": False, "wait": False}
    with pytest.raises(md.ManipDynError, match="scene must be a Scene or None, got 3"):
        md.view(robot, scene=3, **shown)
    scene = md.Scene().add("part", md.Sphere(0.1), link="no_link")
    with pytest.raises(md.ManipDynError, match="got 'no_link'"):
        md.view(robot, scene=scene, **shown)
    motion = replace(motion_of(robot), robot=None)  # as for mechanisms
    with pytest.raises(md.ManipDynError, match="scene must be None for mechanisms"):
        md.view(motion, scene=md.Scene(), **shown)
