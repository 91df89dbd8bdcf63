"""Mimic joints: the equations of the independent joints, compared with pinocchio."""

import numpy as np
import pinocchio
import pytest

import manip_dyn as md
from manip_dyn.robot import LinkTree, Oracle

LINK = """<link name="{0}"><inertial><origin xyz="0.1 0.02 0.05"/><mass value="{1}"/>
  <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.025"/></inertial></link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/>
  <origin xyz="0.3 0 0.1" rpy="0.2 0.1 0"/><axis xyz="{4}"/>
  <limit lower="-2" upper="2" effort="90" velocity="4"/>{5}</joint>"""
GRIPPER = "".join(
    [
        '<robot name="coupled"><link name="base"/>',
        *(LINK.format(*link) for link in (("a", 3), ("b", 2), ("c", 1), ("d", 1), ("e", 0.5))),
        JOINT.format("first", "revolute", "base", "a", "0 1 0", '<dynamics damping="0.3"/>'),
        JOINT.format("second", "revolute", "a", "b", "0 0 1", '<dynamics friction="0"/>'),
        # Another type and another branch than its leader; a mimic of a mimic; a shared ancestor.
        JOINT.format(
            "slide",
            "prismatic",
            "a",
            "c",
            "1 0 0",
            '<mimic joint="second" multiplier="-0.5" offset="0.2"/><dynamics damping="2"/>',
        ),
        JOINT.format(
            "turn", "revolute", "b", "d", "1 0 0", '<mimic joint="slide" multiplier="3"/>'
        ),
        JOINT.format("third", "revolute", "d", "e", "0 1 0", ""),
        "</robot>",
    ]
)


@pytest.fixture(scope="module")
def robot():
    return md.load_robot(GRIPPER)


@pytest.fixture(scope="module")
def states(robot):
    return np.random.default_rng(3).uniform(-1.0, 1.0, (4, 3, robot.n))


def test_the_robot_has_the_independent_joints(robot):
    assert robot.joint_names == ("first", "second", "third")
    couplings = {c.name: tuple(c[1:]) for c in robot.couplings}
    assert couplings["slide"] == (1, -0.5, 0.2)
    assert couplings["turn"] == pytest.approx((1, -1.5, 0.6))
    # The slider dissipates 2 (0.5 v)^2 at the speed v of the second joint.
    np.testing.assert_allclose(robot.damping, [0.3, 0.5, 0.0])


def test_dynamics_agree_with_the_mimic_joints_of_pinocchio(robot, states):
    """Pinocchio does not resolve mimics of mimics: the last one mimics the independent joint."""
    direct = 'joint="slide" multiplier="3"', 'joint="second" multiplier="-1.5" offset="0.6"'
    try:
        model = pinocchio.buildModelFromXML(GRIPPER.replace(*direct), mimic=True)
    except TypeError:
        pytest.skip("this version of pinocchio has no mimic joints")
    kernels, oracle, tip = md.customize(robot), Oracle(robot), model.getFrameId(robot.tip)
    for q, v, a in states:
        data = model.createData()  # crba of pinocchio 4.1 adds to the entries of an earlier call
        upper = np.triu(pinocchio.crba(model, data, q))
        mass = upper + np.triu(upper, 1).T
        np.testing.assert_allclose(kernels.mass_matrix(q), mass, atol=1e-12)
        efforts = pinocchio.rnea(model, data, q, v, a) + robot.damping * v
        np.testing.assert_allclose(kernels.inverse_dynamics(q, v, a), efforts, atol=1e-12)
        np.testing.assert_allclose(oracle.inverse_dynamics(q, v, a), efforts, atol=1e-12)
        np.testing.assert_allclose(kernels.forward_dynamics(q, v, efforts), a, atol=1e-11)
        pinocchio.framesForwardKinematics(model, data, q)
        pose = data.oMf[tip].homogeneous
        np.testing.assert_allclose(kernels.forward_kinematics(q), pose, atol=1e-12)
        energy = kernels.energy(q, v)
        assert energy[0] == pytest.approx(0.5 * v @ mass @ v)
        np.testing.assert_allclose(energy, oracle.energy(q, v), atol=1e-12)


def test_derivatives_and_the_jacobian_agree_with_the_reference(robot, states):
    kernels, oracle = md.customize(robot), Oracle(robot)
    for q, v, tau in states:
        np.testing.assert_allclose(kernels.jacobian(q), oracle.jacobian(q), atol=1e-12)
        for ours, reference in (
            (kernels.forward_dynamics_derivatives, oracle.forward_dynamics_derivatives),
            (kernels.inverse_dynamics_derivatives, oracle.inverse_dynamics_derivatives),
        ):
            for actual, expected in zip(ours(q, v, tau), reference(q, v, tau), strict=True):
                np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


def test_a_simulation_conserves_the_energy(robot):
    motion = md.simulate(robot, np.zeros(3), np.ones(3), np.zeros(3), duration=0.1)
    assert motion.success
    assert np.abs(motion.energy[:, 3]).max() < 1e-6


def test_transforms_of_links_behind_mimic_joints_move(robot, states):
    oracle, tree = Oracle(robot), LinkTree(robot)
    q = states[0, 0]
    placements = {place.child: place for place in tree.moving(q)}
    assert set(placements) == set("abcde")
    pose = np.linalg.inv(oracle.frame_pose("a", q)) @ oracle.frame_pose("c", q)
    np.testing.assert_allclose(placements["c"].position, pose[:3, 3], atol=1e-12)


def test_properties_that_mimic_joints_cannot_have_raise_an_error(tmp_path):
    (tmp_path / "arm.urdf").write_text(GRIPPER)
    (tmp_path / "arm.yaml").write_text("springs: {slide: {stiffness: 1}}")
    with pytest.raises(md.ManipDynError, match=r"independent joint such as 'second'.*'slide'"):
        md.load_robot(tmp_path / "arm.urdf")
    cycle = GRIPPER.replace('joint="second"', 'joint="turn"')
    with pytest.raises(md.ManipDynError, match=r"slide, turn, .*mimic each other"):
        md.load_robot(cycle)


def test_mimics_of_missing_joints_have_a_lock_that_works(robot):
    lost = GRIPPER.replace('joint="second"', 'joint="left_second"')
    with pytest.raises(md.ManipDynError, match="--lock slide=0") as caught:
        md.load_robot(lost)
    lock = eval(str(caught.value).partition("lock=")[2].rstrip(".)"))  # as a user pastes it
    assert md.load_robot(lost, lock=lock).n == 3


def test_a_plan_accelerates_all_coupled_masses():
    """Two fingers of 0.2 and 0.3 kg, driven by one effort: full effort, then full braking."""
    slide = '<joint name="{0}" type="prismatic"><parent link="base"/><child link="{0}_link"/>'
    slide += '<axis xyz="0 {1} 0"/><limit lower="0" upper="0.5" effort="20" velocity="9"/>{2}'
    fingers = [("left", 1, ""), ("right", -1, '<mimic joint="left"/>')]
    links = LINK.format("left_link", 0.2) + LINK.format("right_link", 0.3)
    joints = "".join(slide.format(*finger) + "</joint>" for finger in fingers)
    gripper = md.load_robot(f'<robot name="gripper"><link name="base"/>{links}{joints}</robot>')
    plan = md.plan_minimum_time(gripper, [0.0], [0.3])
    assert plan.status == "solved"
    assert plan.t_final == pytest.approx(2.0 * (0.3 * 0.5 / 20.0) ** 0.5, abs=1e-9)
    swing = md.simulate(gripper, [0.0], [0.0], plan, plan.t_final)
    np.testing.assert_allclose(swing.q[-1], 0.3, atol=1e-9)
