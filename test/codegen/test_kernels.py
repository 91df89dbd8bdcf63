"""The kernels agree with one another, with Lagrange's equations and with the URDF's bodies."""

import inspect
import pickle
import re

import numpy as np
import pytest
import yaml
from arms import ARM, SHIPPED, changed, load, random_state, random_tree, write
from bodies import Bodies

import manip_dyn as md
from manip_dyn.codegen import BY_NAME, argument_size

ROBOTS = (*SHIPPED, "ur5", "tree2")
STEP = 1e-6


@pytest.fixture(params=ROBOTS)
def case(request, tmp_path):
    """A robot's kernels and a random state (q, v, tau)."""
    robot = load(request.param, tmp_path)
    return md.customize(robot), *random_state(robot, np.random.default_rng(len(request.param)))


def slope(function, x):
    """Return the derivatives of `function` by each entry of `x`, by central differences."""
    rises = [function(x + d) - function(x - d) for d in STEP * np.eye(len(x))]
    return np.stack(rises, axis=-1) / (2 * STEP)


def test_forward_dynamics_inverts_inverse_dynamics(case):
    kernels, q, v, a = case
    tau = kernels.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(kernels.forward_dynamics(q, v, tau), a, rtol=1e-8, atol=1e-9)


def test_mass_matrix_is_symmetric_and_positive_definite(case):
    kernels, q, _, _ = case
    mass = kernels.mass_matrix(q)
    np.testing.assert_allclose(mass, mass.T, atol=1e-14 * np.abs(mass).max())
    assert np.linalg.eigvalsh(mass).min() > 0.0


def test_forward_dynamics_solves_the_equations_of_motion(case):
    """M q'' = tau - bias."""
    kernels, q, v, tau = case
    bias = kernels.inverse_dynamics(q, v, np.zeros_like(q))
    expected = np.linalg.solve(kernels.mass_matrix(q), tau - bias)
    actual = kernels.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(actual, expected, rtol=1e-8, atol=1e-9)


def test_inverse_dynamics_is_lagranges_equation(case):
    """Tau = d/dt (M v) - d/dq (T - U) + D v."""
    kernels, q, v, a = case

    def along(moment):
        shifted = q + moment * v + 0.5 * moment**2 * a
        return kernels.mass_matrix(shifted) @ (v + moment * a)

    def lagrangian(position):
        kinetic, potential = kernels.energy(position, v)
        return np.array(kinetic - potential)

    momentum_rate = (along(STEP) - along(-STEP)) / (2 * STEP)
    expected = momentum_rate - slope(lagrangian, q) + kernels.robot.damping * v
    scale = np.abs(expected).max()
    actual = kernels.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(actual, expected, atol=1e-6 * scale)


def test_results_have_the_documented_shapes(case):
    kernels, q, v, tau = case
    n = len(q)
    assert kernels.forward_dynamics(q, v, tau).shape == (n,)
    assert kernels.inverse_dynamics(q, v, tau).shape == (n,)
    assert kernels.mass_matrix(q).shape == (n, n)
    assert kernels.forward_kinematics(q).shape == (4, 4)
    assert kernels.jacobian(q).shape == (6, n)
    assert np.shape(kernels.forward_dynamics_derivatives(q, v, tau)) == (3, n, n)


def test_jacobian_maps_joint_velocities_to_the_tool_velocity(case):
    kernels, q, v, _ = case
    before, after = (kernels.forward_kinematics(q + s * STEP * v) for s in (-1, 1))
    rate = (after - before) / (2 * STEP)
    turning = rate[:3, :3] @ kernels.forward_kinematics(q)[:3, :3].T
    spin = [turning[2, 1], turning[0, 2], turning[1, 0]]
    expected = np.concatenate([rate[:3, 3], spin])
    np.testing.assert_allclose(kernels.jacobian(q) @ v, expected, atol=1e-7)


def test_forward_dynamics_derivatives_equal_central_differences(case):
    kernels, q, v, tau = case
    by_q, by_v, by_tau = kernels.forward_dynamics_derivatives(q, v, tau)
    dynamics = kernels.forward_dynamics
    scale = max(1.0, *(np.abs(matrix).max() for matrix in (by_q, by_v, by_tau)))
    for exact, expected in (
        (by_q, slope(lambda x: dynamics(x, v, tau), q)),
        (by_v, slope(lambda x: dynamics(q, x, tau), v)),
        (by_tau, slope(lambda x: dynamics(q, v, x), tau)),
    ):
        np.testing.assert_allclose(exact, expected, atol=2e-7 * scale)


def test_energy_changes_by_the_power_of_efforts_and_damping(case):
    """dE/dt = (tau - D v) . v along the motion."""
    kernels, q, v, tau = case
    a = kernels.forward_dynamics(q, v, tau)
    before, after = (
        sum(kernels.energy(q + t * v + 0.5 * t**2 * a, v + t * a)) for t in (-STEP, STEP)
    )
    power = (tau - kernels.robot.damping * v) @ v
    scale = 1.0 + abs(before)
    assert (after - before) / (2 * STEP) == pytest.approx(power, abs=1e-7 * scale, rel=1e-6)


@pytest.mark.parametrize("name", ["pa10", "panda", "ur5", "tree2"])
def test_energy_and_tool_pose_agree_with_the_bodies_of_the_urdf(tmp_path, name):
    robot = load(name, tmp_path)
    extras = tmp_path / "arm.yaml"
    payload = yaml.safe_load(extras.read_text())["payload"] if extras.is_file() else None
    bodies = Bodies(robot.urdf, payload=payload)
    q, v, _ = random_state(robot, np.random.default_rng(7))
    positions, speeds = (dict(zip(robot.joint_names, x, strict=True)) for x in (q, v))
    kinetic = bodies.kinetic(positions, speeds) + 0.5 * robot.armature @ v**2
    potential = bodies.potential(positions, robot.gravity)
    potential += 0.5 * robot.stiffness @ (q - robot.rest) ** 2
    kernels = md.customize(robot)
    assert kernels.energy(q, v) == pytest.approx((kinetic, potential), rel=1e-8)
    pose = kernels.forward_kinematics(q)
    np.testing.assert_allclose(pose, bodies.pose(robot.tip, positions), atol=1e-12)


def test_damping_resists_the_velocity(tmp_path):
    damped = md.customize(md.load_robot(write(tmp_path, ARM)))
    free = md.customize(
        md.load_robot(write(tmp_path, changed(ARM, ('damping="0.5"', 'damping="0"'))))
    )
    q, v, tau = np.array([0.3, -0.2]), np.array([2.0, 1.0]), np.zeros(2)
    resistance = damped.inverse_dynamics(q, v, tau) - free.inverse_dynamics(q, v, tau)
    np.testing.assert_allclose(resistance, [0.5 * 2.0, 0.0], atol=1e-13)
    slowed = damped.forward_dynamics(q, v, tau) - free.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(damped.mass_matrix(q) @ slowed, -resistance, atol=1e-12)


def test_a_spring_pulls_towards_its_rest_position(tmp_path):
    spring = {"springs": {"elbow": {"stiffness": 40.0, "rest": 0.5}}}
    plain = md.customize(md.load_robot(write(tmp_path, ARM)))
    sprung = md.customize(md.load_robot(write(tmp_path, ARM, spring)))
    q, zero = np.array([0.3, -0.2]), np.zeros(2)
    pull = plain.inverse_dynamics(q, zero, zero) - sprung.inverse_dynamics(q, zero, zero)
    np.testing.assert_allclose(pull, [0.0, 40.0 * 0.7], atol=1e-13)
    stored = sprung.energy(q, zero)[1] - plain.energy(q, zero)[1]
    assert stored == pytest.approx(0.5 * 40.0 * 0.7**2)


def test_armature_is_on_the_diagonal_of_the_mass_matrix(tmp_path):
    plain = md.customize(md.load_robot(write(tmp_path, ARM)))
    geared = md.customize(md.load_robot(write(tmp_path, ARM, {"armature": {"elbow": 0.3}})))
    q = np.array([0.3, -0.2])
    difference = geared.mass_matrix(q) - plain.mass_matrix(q)
    np.testing.assert_allclose(difference, np.diag([0.0, 0.3]), atol=1e-14)


def test_later_calls_do_not_change_a_result(case):
    kernels, q, v, tau = case
    for call in (
        lambda x: kernels.forward_dynamics(x, v, tau),
        lambda x: kernels.inverse_dynamics(x, v, tau),
        kernels.mass_matrix,
        kernels.forward_kinematics,
        kernels.jacobian,
        lambda x: np.stack(kernels.forward_dynamics_derivatives(x, v, tau)),
    ):
        result = call(q)
        expected = result.copy()
        call(q + 0.1)
        np.testing.assert_array_equal(result, expected)


INVALID = (
    np.zeros(6),
    np.full(7, np.nan),
    np.full(7, np.inf),
    "abc",
    None,
    ["1"] * 7,
    [10**400] * 7,
    np.zeros(7, complex),
    np.zeros(7, bool),
    np.zeros(7, "M8[s]"),
    np.ma.masked_equal(np.ones(7), 1),
)


@pytest.mark.parametrize("invalid", INVALID, ids=range(len(INVALID)))
@pytest.mark.parametrize("index", range(3))
def test_invalid_arguments_raise_an_error_that_names_them(invalid, index):
    kernels = md.customize(md.load_robot("pa10"))
    arguments = [np.zeros(7)] * 3
    arguments[index] = invalid
    with pytest.raises(md.ManipDynError, match=f"^{('q', 'v', 'tau')[index]} "):
        kernels.forward_dynamics(*arguments)


def test_a_payload_on_a_locked_link_is_part_of_the_dynamics(tmp_path):
    path = random_tree(tmp_path, 3)
    robot = md.load_robot(path)
    locked = md.load_robot(path, lock={"joint_6": 0.2})
    q, zero = np.full(6, 0.2), np.zeros(6)
    full = md.customize(robot).inverse_dynamics(q, zero, zero)
    rest = [i for i, name in enumerate(robot.joint_names) if name != "joint_6"]
    efforts = md.customize(locked).inverse_dynamics(q[rest], zero[rest], zero[rest])
    np.testing.assert_allclose(efforts, full[rest], rtol=1e-10)


def test_kernels_are_pickled_as_robot_and_frame():
    kernels = md.customize(md.load_robot("ibm7535"), frame="link_1")
    kernels.mass_matrix([0.0, 0.0])
    copy = pickle.loads(pickle.dumps(kernels))
    assert repr(copy) == repr(kernels) == "Kernels(robot 'ibm7535', 2 joints, frame 'link_1')"
    np.testing.assert_array_equal(copy.jacobian([0.1, 0.2]), kernels.jacobian([0.1, 0.2]))


@pytest.mark.parametrize("frame", [3, ["tool0"], np.zeros(2)])
def test_a_frame_must_be_a_name(frame):
    with pytest.raises(md.ManipDynError, match="frame must be the name of a link"):
        md.customize(md.load_robot("ibm7535"), frame=frame)


def test_results_in_a_lane_do_not_depend_on_other_lanes():
    batch = md.customize(md.load_robot("rr")).batch
    near = np.random.default_rng(0).uniform(-3.0, 3.0, (2, 64))
    far = near.copy()
    far[:, 3::8] = 1e6
    unchanged = np.arange(64) % 8 != 3
    positions = (batch.forward_kinematics(q)[..., unchanged] for q in (near, far))
    np.testing.assert_array_equal(*positions)


@pytest.mark.parametrize("name", BY_NAME)
def test_help_documents_names_shapes_and_units_of_kernels(name):
    kernels = md.customize(md.load_robot("rr"))
    declaration = BY_NAME[name]
    unchecked, batch = (getattr(group, name) for group in (kernels.unchecked, kernels.batch))
    for function, owner in (unchecked, "Unchecked"), (batch, "Batch"):
        assert f"function {owner}.{name} at" in repr(function)
        assert tuple(inspect.signature(function).parameters)[: len(declaration.arguments)] == (
            declaration.arguments
        )
        assert getattr(function, "__doc__", "").startswith("Return ")
    for end in ("", "_batch"):
        function = getattr(kernels.in_place, name + end)
        assert repr(function).startswith(
            f"<compiled {name}{end}({', '.join(declaration.arguments)}, out"
        )
        assert f"out: the result, {declaration.shape(2)}." in function.__doc__
        for argument in declaration.arguments:
            size = argument_size(argument, 2)
            assert re.search(rf"{argument}: .+, \({size},\)\.", function.__doc__)


def test_compiled_functions_show_their_file():
    """`inspect` does not find the file of functions that numba compiles."""
    kernels = md.customize(md.load_robot("rr"))
    function = kernels.right_hand_side
    assert inspect.getsourcefile(inspect.unwrap(function)) in repr(function)
    assert "the rate (2 n,)" in function.__doc__
    for group in kernels.in_place, kernels.unchecked, kernels.batch:
        assert repr(group) == f"{type(group).__name__}(robot 'rr', 2 joints)"
