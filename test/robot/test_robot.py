"""The shipped robots have the published numbers; `lock` and `tip` modify a robot."""

import numpy as np
import pinocchio
import pytest
from arms import (
    EXAMPLES,
    PANDA,
    SHIPPED,
    example,
    load,
    random_state,
    random_tree,
    write,
    write_shipped,
)
from bodies import Bodies

import manip_dyn as md

RNG = np.random.default_rng(2011)


def dh_product(q):
    """Return the PA-10's tool pose by modified (Craig) Denavit-Hartenberg matrices."""
    lengths = (0.315, 0.0, 0.45, 0.0, 0.5, 0.0, 0.08)
    twists = np.deg2rad([0, -90, 90, -90, 90, -90, 90])
    pose = np.eye(4)
    for angle, d, alpha in zip(q, lengths, twists, strict=True):
        c, s, ca, sa = np.cos(angle), np.sin(angle), np.cos(alpha), np.sin(alpha)
        pose = pose @ [
            [c, -s, 0, 0],
            [s * ca, c * ca, -sa, -sa * d],
            [s * sa, c * sa, ca, ca * d],
            [0, 0, 0, 1],
        ]
    return pose


def static_moments(robot):
    """Return the efforts (7,) that hold the arm stretched out horizontally by S2."""
    q = np.array([0, np.pi / 2, 0, 0, 0, 0, 0])
    return md.customize(robot).inverse_dynamics(q, np.zeros(7), np.zeros(7))


@pytest.mark.parametrize(("name", "n"), list(zip(SHIPPED, (2, 2, 1, 1, 7, 2, 2), strict=True)))
def test_shipped_robots_load(name, n):
    robot = md.load_robot(name)
    assert (robot.name, robot.n, robot.tip, robot.notes) == (name, n, "tool0", ())
    for limit in (robot.q_min, robot.q_max, robot.v_max, robot.tau_max):
        assert np.all(np.isfinite(limit))


def test_a_robot_is_immutable():
    robot = md.load_robot("pa10")
    with pytest.raises(ValueError, match="read-only"):
        robot.tau_max[0] = 1.0
    with pytest.raises(AttributeError):
        robot.tip = "link_3"


def test_pa10_stands_straight_up_at_zero():
    pose = md.customize(md.load_robot("pa10")).forward_kinematics(np.zeros(7))
    upright = np.eye(4)
    upright[2, 3] = 1.345
    np.testing.assert_allclose(pose, upright, atol=1e-15)


def test_pa10_forward_kinematics_equals_the_denavit_hartenberg_product():
    robot = md.load_robot("pa10")
    kernels = md.customize(robot)
    for _ in range(20):
        q, _, _ = random_state(robot, RNG)
        np.testing.assert_allclose(kernels.forward_kinematics(q), dh_product(q), atol=1e-12)


def test_pa10_has_the_published_limits_and_rotors():
    robot = md.load_robot("pa10")
    degrees = [177, 91, 174, 137, 255, 165, 360]
    np.testing.assert_allclose(np.rad2deg(robot.q_max), degrees, rtol=1e-15)
    np.testing.assert_array_equal(robot.q_min, -robot.q_max)
    np.testing.assert_allclose(robot.v_max, [1, 1, 2, 2, *3 * [2 * np.pi]])
    rated_motor_torque = np.array([4.64, 4.64, 2.0, 2.0, 0.29, 0.29, 0.29])
    np.testing.assert_allclose(robot.tau_max, 50 * rated_motor_torque)
    rotor_inertia = np.array([3.0e-4, 3.0e-4, 8.5e-5, 8.5e-5, 2.3e-6, 2.3e-6, 2.3e-6])
    np.testing.assert_allclose(robot.armature, 50**2 * rotor_inertia)


@pytest.mark.parametrize(("load_mass", "shoulder", "elbow"), [(0, 80.7, 21.3), (10, 181.8, 78.2)])
def test_pa10_static_moments_of_the_horizontal_arm(tmp_path, load_mass, shoulder, elbow):
    payload = {"payload": {"link": "tool0", "mass": load_mass}} if load_mass else {}
    moments = np.abs(static_moments(md.load_robot(write_shipped(tmp_path, "pa10", **payload))))
    assert moments[[1, 3]] == pytest.approx([shoulder, elbow], abs=0.05)


@pytest.mark.parametrize("tip_mass", [6.0, 0.5])
def test_ibm7535_has_the_equations_of_the_two_link_arm_of_fan(tmp_path, tip_mass):
    """Eqs. 6.21 to 6.23, with the data of eq. 6.64."""
    payload = {"link": "tool0", "mass": tip_mass}
    robot = md.load_robot(write_shipped(tmp_path, "ibm7535", payload=payload))
    c1 = 0.416739 + 29.58 * 0.2**2 + (15.0 + tip_mass) * 0.4**2
    c2 = 0.205625 + 15.0 * 0.125**2 + tip_mass * 0.25**2
    c3 = 15.0 * 0.4 * 0.125 + tip_mass * 0.4 * 0.25
    for _ in range(20):
        q, v, a = random_state(robot, RNG)
        c, s = np.cos(q[1]), np.sin(q[1])
        expected = [
            (c1 + c2 + 2 * c3 * c) * a[0]
            + (c2 + c3 * c) * a[1]
            - c3 * s * (2 * v[0] * v[1] + v[1] ** 2),
            (c2 + c3 * c) * a[0] + c2 * a[1] + c3 * s * v[0] ** 2,
        ]
        tau = md.customize(robot).inverse_dynamics(q, v, a)
        np.testing.assert_allclose(tau, expected, rtol=1e-12, atol=1e-12)


def test_cylindrical_arm_has_the_equations_of_fan():
    """Fan (2003), eqs. 5.23-5.24 with parameter set 1 of table 5.2."""
    robot = md.load_robot("cylindrical")
    for _ in range(5):
        q, v, a = random_state(robot, RNG)
        radius = 0.6 + q[1]
        expected = [
            (0.81 + radius**2) * a[0] + 2.0 * radius * v[0] * v[1],
            a[1] - radius * v[0] ** 2,
        ]
        tau = md.customize(robot).inverse_dynamics(q, v, a)
        np.testing.assert_allclose(tau, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "inertia", "gravity_moment"),
    [("one_link_horizontal", 10.0, 0.0), ("one_link_vertical", 0.15, 5 * 9.8 * 0.15)],
)
def test_one_link_arms_have_the_equation_of_fan(name, inertia, gravity_moment):
    """I q'' + m g l/2 cos q = tau (eq. 4.17)."""
    robot = md.load_robot(name)
    for _ in range(5):
        q, v, a = random_state(robot, RNG)
        tau = md.customize(robot).inverse_dynamics(q, v, a)
        assert tau == pytest.approx(inertia * a + gravity_moment * np.cos(q), rel=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_locked_joint_equals_a_joint_at_rest(tmp_path, seed):
    path = random_tree(tmp_path, seed)
    full = md.load_robot(path)
    lock = {"joint_2": 0.7, "joint_3": -0.4, "joint_4": 1.9}
    locked = md.load_robot(path, lock=lock)
    free = [i for i, name in enumerate(full.joint_names) if name not in lock]
    assert locked.joint_names == tuple(full.joint_names[i] for i in free)
    q, v, a = random_state(full, RNG)
    for name, value in lock.items():
        i = full.index(name)
        q[i], v[i], a[i] = value, 0.0, 0.0
    tau = md.customize(full).inverse_dynamics(q, v, a)
    np.testing.assert_allclose(
        md.customize(locked).inverse_dynamics(q[free], v[free], a[free]), tau[free], rtol=1e-10
    )


def test_locking_the_fingers_of_the_panda_equals_a_reduced_model_of_pinocchio():
    path = example(PANDA)
    robot = md.load_robot(path, lock={"panda_finger_joint1": 0.03})
    model = pinocchio.buildModelFromUrdf(str(path))
    fingers = [model.getJointId(f"panda_finger_joint{i}") for i in (1, 2)]
    reduced = pinocchio.buildReducedModel(model, fingers, np.array([0.0] * 7 + [0.03] * 2))
    for _ in range(5):
        q, v, tau = random_state(robot, RNG)
        damped = tau - robot.damping * v  # aba omits joint damping
        expected = pinocchio.aba(reduced, reduced.createData(), q, v, damped)
        actual = md.customize(robot).forward_dynamics(q, v, tau)
        np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-10)


def test_a_mimic_joint_is_locked_with_its_leader(tmp_path):
    assert load("panda", tmp_path).joint_names == tuple(f"panda_joint{i}" for i in range(1, 8))
    follower_only = md.load_robot(example(PANDA), lock={"panda_finger_joint2": 0.0})
    assert follower_only.joint_names[7:] == ("panda_finger_joint1",)


@pytest.mark.parametrize("tip", ["panda_link8", "panda_hand"])
def test_links_beyond_the_tip_are_removed_with_their_mass(tip):
    cut = md.load_robot(example(PANDA), tip=tip)
    links = [f"panda_link{i}" for i in range(1, 8)] + [tip]
    chain = Bodies(example(PANDA).read_text(), links)
    assert (cut.n, cut.tip) == (7, tip)
    q, v, _ = random_state(cut, RNG)
    positions, speeds = (dict(zip(cut.joint_names, x, strict=True)) for x in (q, v))
    expected = chain.kinetic(positions, speeds), chain.potential(positions, cut.gravity)
    assert md.customize(cut).energy(q, v) == pytest.approx(expected, rel=1e-8)


def test_a_tip_in_one_branch_removes_the_other_branch(tmp_path):
    tree = """<robot name="fork"><link name="base"/>
      <joint name="trunk" type="revolute"><parent link="base"/><child link="hub"/>
        <limit lower="-1" upper="1" velocity="1" effort="1"/></joint> {hub}
      <joint name="left" type="prismatic"><parent link="hub"/><child link="left_hand"/>
        <limit lower="-1" upper="1" velocity="1" effort="1"/></joint> {left_hand}
      <joint name="right" type="continuous"><parent link="hub"/><child link="right_hand"/></joint>
      {right_hand}</robot>"""
    body = (
        '<link name="{}"><inertial><origin xyz="0 0.3 0"/><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    links = {name: body.format(name) for name in ("hub", "left_hand", "right_hand")}
    path = write(tmp_path, tree.format(**links))
    assert set(md.load_robot(path).joint_names) == {"trunk", "left", "right"}
    assert md.load_robot(path, tip="left_hand").joint_names == ("trunk", "left")
    assert md.load_robot(path, tip="right_hand").joint_names == ("trunk", "right")


def test_a_continuous_joint_has_one_coordinate():
    robot = md.load_robot(example(EXAMPLES["kinova"]))
    model = pinocchio.buildModelFromUrdf(str(example(EXAMPLES["kinova"])))
    turning = [i for i, kind in enumerate(robot.joint_types) if kind == "continuous"]
    assert model.nq == robot.n + len(turning)
    assert np.all(np.isinf(robot.q_max[turning]))
    q, v, tau = random_state(robot, RNG)
    on_circles = pinocchio.integrate(model, pinocchio.neutral(model), q)
    expected = pinocchio.aba(model, model.createData(), on_circles, v, tau)
    q[turning] += 2 * np.pi
    actual = md.customize(robot).forward_dynamics(q, v, tau)
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (PANDA, {"lock": {"panda_joint3": 0.4, "panda_finger_joint1": 0.02}}),
        (PANDA, {"tip": "panda_hand", "lock": {"panda_joint1": -1.0}}),
        (EXAMPLES["kinova"], {"lock": {"j2s6s200_joint_4": 8.0}}),
    ],
)
def test_the_urdf_of_a_robot_is_the_same_robot(tmp_path, name, options):
    robot = md.load_robot(example(name), **options)
    again = md.load_robot(write(tmp_path, robot.urdf))
    assert (again.joint_names, again.joint_types) == (robot.joint_names, robot.joint_types)
    q, v, tau = random_state(robot, RNG)
    for function, arguments in (("forward_dynamics", (q, v, tau)), ("forward_kinematics", (q,))):
        first, second = (getattr(md.customize(arm), function) for arm in (robot, again))
        np.testing.assert_allclose(second(*arguments), first(*arguments), rtol=1e-12, atol=1e-12)
