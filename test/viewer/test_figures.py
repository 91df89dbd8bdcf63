"""Poses of bodies and shapes, compared with pinocchio for the same URDF."""

from types import SimpleNamespace

import numpy as np
import pinocchio
import pytest

import manip_dyn as md
from manip_dyn.robot import find_mesh
from manip_dyn.viewer import (
    GROUND,
    bounds_of,
    look_at,
    mechanism_figure,
    robot_figure,
    standing,
)

BARE = """<robot name="bare"><link name="base"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/>
  <origin xyz="0 0 0.2"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
</joint>
<link name="arm"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{shape}</link>
<joint name="end" type="fixed"><parent link="arm"/><child link="tool0"/>
  <origin xyz="0.5 0 0"/></joint>
<link name="tool0"/></robot>"""


def matrix(quaternion):
    w, x, y, z = quaternion
    return pinocchio.Quaternion(w, x, y, z).matrix()


def random_positions(robot):
    low, high = np.maximum(robot.q_min, -3.0), np.minimum(robot.q_max, 3.0)
    return np.random.default_rng(1).uniform(low, high)


@pytest.mark.parametrize("name", ["pa10", "cylindrical", "panda", "ur5"])
def test_shape_poses_agree_with_pinocchio(name):
    robot = md.load_robot(name)
    figure, q = robot_figure(robot), random_positions(robot)
    shapes = pinocchio.buildGeomFromUrdfString(
        robot.model, robot.urdf, pinocchio.GeometryType.VISUAL, None, None
    )
    data, placed = robot.model.createData(), pinocchio.GeometryData(shapes)
    pinocchio.framesForwardKinematics(robot.model, data, pinocchio.neutral(robot.model) * 0 + q)
    pinocchio.updateGeometryPlacements(robot.model, data, shapes, placed)
    poses = figure.poses(q)
    drawn = []
    for part in figure.parts:
        position, rotation = np.zeros(3), np.eye(3)
        if part.body != GROUND:
            position, rotation = poses.positions[part.body], matrix(poses.quaternions[part.body])
        drawn.append((position + rotation @ part.position, rotation @ part.rotation))
    expected = [(pose.translation, pose.rotation) for pose in placed.oMg]
    assert len(drawn) == len(expected) > 0
    for position, rotation in expected:  # pinocchio orders the shapes differently
        gaps = [np.abs(position - p).max() + np.abs(rotation - r).max() for p, r in drawn]
        assert min(gaps) < 1e-9
    tip = data.oMf[robot.model.getFrameId(robot.tip, pinocchio.BODY)]
    position, quaternion = figure.tool(q)
    np.testing.assert_allclose(position, tip.translation, atol=1e-12)
    np.testing.assert_allclose(matrix(quaternion), tip.rotation, atol=1e-9)
    assert figure.reach >= np.linalg.norm(position)


def test_links_without_shapes_are_drawn_as_sticks():
    robot = md.load_robot(BARE.format(shape=""))
    figure = robot_figure(robot)
    rods = [part for part in figure.parts if part.kind == "cylinder"]
    assert {part.body for part in rods} == {GROUND, 0}
    (link,) = (part for part in rods if part.size[2] == pytest.approx(0.5))
    np.testing.assert_allclose(link.position, [0.25, 0.0, 0.0])
    np.testing.assert_allclose(link.rotation[:, 2], [1.0, 0.0, 0.0])


MESH = '<geometry><mesh filename="package://my_arm/arm.stl" scale="2 2 2"/></geometry>'


def test_a_missing_mesh_is_replaced_by_the_collision_shape(tmp_path):
    box = '<collision><geometry><box size="1 2 3"/></geometry></collision>'
    robot = md.load_robot(BARE.format(shape=f"<visual>{MESH}</visual>{box}"))
    (part,) = robot_figure(robot).parts
    assert (part.kind, part.size.tolist()) == ("box", [1.0, 2.0, 3.0])
    (tmp_path / "my_arm").mkdir()
    (tmp_path / "my_arm" / "arm.stl").touch()
    for folder in (tmp_path, tmp_path / "my_arm"):
        (part,) = robot_figure(robot, [folder]).parts
        assert (part.kind, part.size.tolist()) == ("mesh", [2.0, 2.0, 2.0])
        assert part.file == str(tmp_path / "my_arm" / "arm.stl")


def test_meshes_are_searched_in_the_workspace(tmp_path, monkeypatch):
    (tmp_path / "share" / "arms").mkdir(parents=True)
    file = tmp_path / "share" / "arms" / "a.stl"
    file.touch()
    assert find_mesh("package://arms/a.stl") == ""
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path}")
    assert find_mesh("package://arms/a.stl") == find_mesh(f"file://{file}") == str(file)
    assert find_mesh("https://example.org/a.stl") == ""


def test_a_mechanism_figure_has_all_bodies():
    mechanism = md.load_mechanism("four_bar")
    figure = mechanism_figure(mechanism)
    poses = figure.poses(mechanism.q0)
    coordinates = mechanism.q0.reshape(-1, 7)
    np.testing.assert_array_equal(poses.positions, coordinates[:, :3])
    np.testing.assert_allclose(poses.quaternions, coordinates[:, 3:], atol=1e-12)
    assert {part.body for part in figure.parts} == set(range(len(mechanism.bodies)))


def test_shapes_beyond_the_last_joint_extend_the_reach():
    rod = """<visual><origin xyz="0 0 0.6"/><geometry><cylinder radius="0.02" length="1.2"/>
    </geometry></visual>"""
    robot = md.load_robot(BARE.format(shape=rod))
    assert robot_figure(robot).reach == pytest.approx(0.2 + 1.2)


@pytest.mark.parametrize("name", ["pa10", "panda", "ibm7535", "one_link_horizontal"])
def test_an_arm_fills_the_field_of_view(name):
    """The first camera shows all shapes. They cover 85 % of the height or the width."""
    motion, first = standing(md.load_robot(name)), SimpleNamespace()
    bounds = bounds_of(motion.figure, motion.coordinates)
    server = SimpleNamespace(initial_camera=first, get_clients=dict, on_client_connect=id)
    look_at(server, bounds)
    offset = np.subtract(first.position, first.look_at)
    to_eye = offset / np.linalg.norm(offset)
    up = np.array([0.0, 0.0, 1.0]) - to_eye[2] * to_eye
    up /= np.linalg.norm(up)
    corners = np.array(np.meshgrid(*bounds.T)).reshape(3, 8).T
    rays = corners - first.position
    heights = (rays @ up) / (-rays @ to_eye) / np.tan(0.5 * first.fov)
    widths = (rays @ np.cross(up, to_eye)) / (-rays @ to_eye) / np.tan(0.5 * first.fov) / 1.3
    assert max(np.abs(heights).max(), np.abs(widths).max()) < 1.0
    assert max(np.ptp(heights), np.ptp(widths)) > 2.0 * 0.85


def test_bounds_contain_the_shapes_in_all_positions():
    figure = robot_figure(md.load_robot(BARE.format(shape="")))
    low, high = bounds_of(figure, np.array([[0.0], [1.5]]))
    assert high[0] >= 0.5  # the link along x, then along y
    assert high[1] >= 0.49
    assert low[2] <= 0.0 < 0.2 <= high[2]
