"""The CLIK law: errors, inverses, null-space motion, limits, leaving singularities."""

import numpy as np
import pinocchio
import pytest
from arms import load, random_state
from scipy.spatial.transform import Rotation

import manip_dyn as md
from manip_dyn.clik import ERRORS, INVERSES, ClikSettings, Pose, task_error
from manip_dyn.clik.law.inverses import singular_values
from manip_dyn.clik.law.settings import Task
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture(scope="module")
def pa10():
    return md.load_robot("pa10")


def solved(robot, q, twist, **settings):
    """Return the velocities for a twist when the tool is where it should be."""
    matrix = md.customize(robot).forward_kinematics(q)
    solver = md.VelocitySolver(robot, ClikSettings(**settings))
    return solver(q, (matrix[:3, 3], matrix[:3, :3]), twist)


# -------------------------------------------------------------------------- errors
@pytest.mark.parametrize("kind", ERRORS)
def test_error_of_equal_poses_is_zero(rng, kind):
    pose = Pose(rng.normal(size=3), Rotation.random(random_state=1).as_matrix())
    assert np.abs(task_error(pose, pose, kind)).max() < 1e-15


@pytest.mark.parametrize("angle", [1e-9, 1e-4, 0.3, 1.5, 1.7, 2.2, 3.0, np.pi - 1e-9])
def test_orientation_errors_lie_along_the_axis(rng, angle):
    sizes = {
        "columns": np.sin(angle) if angle < np.pi / 2 else 1.0,
        "quaternion": 2.0 * np.sin(angle / 2.0),
        "log": angle,
    }
    for _ in range(20):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        actual = Rotation.random(random_state=rng)
        desired = Rotation.from_rotvec(angle * axis) * actual
        poses = Pose(np.ones(3), desired.as_matrix()), Pose(np.zeros(3), actual.as_matrix())
        for kind, size in sizes.items():
            error = task_error(*poses, kind)
            assert error[:3] == pytest.approx(np.ones(3))
            np.testing.assert_allclose(error[3:], size * axis, atol=1e-7)


def test_columns_are_the_papers_formula(rng):
    actual = Rotation.random(random_state=5)
    desired = Rotation.from_rotvec([0.2, -0.5, 0.4]) * actual
    n, n_d = actual.as_matrix(), desired.as_matrix()
    expected = 0.5 * sum(np.cross(n[:, i], n_d[:, i]) for i in range(3))
    found = task_error(Pose(np.zeros(3), n_d), Pose(np.zeros(3), n))
    np.testing.assert_allclose(found[3:], expected, atol=1e-15)


def test_half_a_turn_is_no_standstill():
    for axis in np.eye(3):
        half = Pose(np.zeros(3), Rotation.from_rotvec(np.pi * axis).as_matrix())
        for kind, size in zip(ERRORS, (1.0, 2.0, np.pi), strict=True):
            error = task_error(half, Pose(np.zeros(3), np.eye(3)), kind)
            np.testing.assert_allclose(np.abs(error[3:]), size * axis, atol=1e-7)


# ------------------------------------------------------------------------ inverses
def test_singular_values_are_those_of_lapack(rng):
    for width in (2, 6, 7, 12):
        matrix = rng.normal(size=(6, width))
        expected = np.zeros(6)
        expected[: min(6, width)] = np.linalg.svd(matrix, compute_uv=False)
        np.testing.assert_allclose(singular_values(matrix), expected, atol=1e-14)
    left, _, right = np.linalg.svd(rng.normal(size=(6, 7)), full_matrices=False)
    wanted = np.array([3.0, 2.0, 1.0, 0.5, 1e-3, 1e-9])
    found = singular_values(left @ np.diag(wanted) @ right)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("name", ["pa10", "panda", "ur5", "ibm7535"])
def test_the_inverse_is_the_pseudo_inverse_away_from_singularities(tmp_path, rng, name):
    robot = load(name, tmp_path)
    for _ in range(5):
        q, twist = 0.3 * random_state(robot, rng)[0] + 0.3, 1e-2 * rng.normal(size=6)
        jacobian = md.customize(robot).jacobian(np.clip(q, robot.q_min, robot.q_max))
        q = np.clip(q, robot.q_min, robot.q_max)
        found = solved(robot, q, twist, inverse="pseudo_inverse", limit_gain=1e3)
        expected = np.linalg.pinv(jacobian, rcond=1e-10) @ twist
        np.testing.assert_allclose(found.velocity, found.scale * expected, atol=1e-9)


def filtered(jacobian: Vector, twist: Vector, threshold: float, largest: float) -> Vector:
    """Return the filtered inverse by numpy."""
    left, values, right = np.linalg.svd(jacobian, full_matrices=False)
    squared = np.where(values < threshold, (1.0 - (values / threshold) ** 2) * largest**2, 0.0)
    return right.T @ (values / (values**2 + squared) * (left.T @ twist))


@pytest.mark.parametrize("elbow", [0.0, 1e-6, 1e-3, 0.02, 0.1])
def test_damped_inverses_are_their_formulas_near_a_singularity(pa10, rng, elbow):
    q = np.array([0.4, 0.5, 0.2, elbow, 0.7, 0.9, -0.3])  # the stretched elbow
    jacobian = md.customize(pa10).jacobian(q)
    measure = np.sqrt(max(np.linalg.det(jacobian @ jacobian.T), 0.0))
    for _ in range(5):
        twist = 1e-3 * rng.normal(size=6)
        for inverse, threshold in (("constant", 0.04), ("manipulability", 0.05)):
            damping = 0.03
            if inverse == "manipulability":
                damping *= max(1.0 - measure / threshold, 0.0)
            square = jacobian @ jacobian.T + damping**2 * np.eye(6)
            if damping == 0.0 and elbow < 1e-2:
                continue
            found = solved(
                pa10, q, twist, inverse=inverse, damping_threshold=threshold, max_damping=0.03
            )
            expected = jacobian.T @ np.linalg.solve(square, twist)
            np.testing.assert_allclose(found.velocity, expected, atol=1e-9)
        found = solved(pa10, q, twist, max_damping=0.03, escape=False)
        np.testing.assert_allclose(
            found.velocity, filtered(jacobian, twist, 0.04, 0.03), atol=1e-9
        )


def test_weights_make_joints_move_less(pa10, rng):
    q, twist = np.full(7, 0.6), 0.01 * rng.normal(size=6)
    weights = rng.uniform(0.5, 5.0, size=7)
    jacobian = md.customize(pa10).jacobian(q)
    scaled = jacobian / weights
    expected = scaled.T @ np.linalg.solve(scaled @ jacobian.T, twist)
    found = solved(pa10, q, twist, weights=weights)
    np.testing.assert_allclose(found.velocity, expected, atol=1e-12)


def test_rows_that_are_not_controlled_are_free(pa10, rng):
    q, twist = np.full(7, 0.6), 0.01 * rng.normal(size=6)
    found = solved(pa10, q, twist, controlled=(True, True, True, False, False, False))
    expected = np.linalg.pinv(md.customize(pa10).jacobian(q)[:3]) @ twist[:3]
    np.testing.assert_allclose(found.velocity, expected, atol=1e-12)


# ---------------------------------------------------------------------- null space
@pytest.mark.parametrize(
    "objective",
    [
        {"posture": np.full(7, 0.3), "posture_gain": 1.0},
        {"limit_avoidance": 1.0},
        {"manipulability": 1.0},
    ],
    ids=lambda each: next(reversed(each)),
)
def test_objectives_do_not_move_the_tool_and_improve(pa10, rng, objective):
    def cost(q):
        if "posture" in objective:
            return np.sum((q - objective["posture"]) ** 2)
        if "limit_avoidance" in objective:
            return np.sum((q - 0.5 * (pa10.q_min + pa10.q_max)) ** 2)
        jacobian = md.customize(pa10).jacobian(q)
        return -np.sqrt(np.linalg.det(jacobian @ jacobian.T))

    for _ in range(5):
        q = rng.uniform(0.4, 1.0, size=7)
        v = solved(pa10, q, np.zeros(6), **objective).velocity
        assert np.linalg.norm(v) > 1e-6
        np.testing.assert_allclose(md.customize(pa10).jacobian(q) @ v, np.zeros(6), atol=1e-12)
        assert cost(q + 1e-4 * v) < cost(q - 1e-4 * v)


def test_the_manipulability_objective_is_its_gradient(pa10):
    q = np.array([0.4, 0.5, 0.9, 1.1, 0.7, 0.9, -0.3])

    def measure(q):
        jacobian = md.customize(pa10).jacobian(q)
        return np.sqrt(np.linalg.det(jacobian @ jacobian.T))

    gradient = [(measure(q + d) - measure(q - d)) / 2e-6 for d in 1e-6 * np.eye(7)]
    jacobian = md.customize(pa10).jacobian(q)
    projector = np.eye(7) - np.linalg.pinv(jacobian) @ jacobian
    v = solved(pa10, q, np.zeros(6), manipulability=1.0).velocity
    np.testing.assert_allclose(v, projector @ gradient, atol=1e-6)


# -------------------------------------------------------------------------- limits
def test_speed_limits_keep_the_direction(pa10, rng):
    q = np.full(7, 0.6)
    slow = solved(pa10, q, 0.01 * np.ones(6))
    fast = solved(pa10, q, 10.0 * np.ones(6))
    assert slow.scale == 1.0
    assert fast.scale < 1.0
    assert np.max(np.abs(fast.velocity) / pa10.v_max) == pytest.approx(1.0)
    np.testing.assert_allclose(fast.velocity, fast.scale * 1000.0 * slow.velocity, rtol=1e-9)


def test_a_joint_at_its_limit_is_made_up_for_by_the_others(pa10):
    q = np.full(7, 0.6)
    twist = np.array([0.0, 0.0, -0.01, 0.0, 0.0, 0.0])
    free = solved(pa10, q, twist).velocity
    free[pa10.index("E1")] = 0.0  # nothing else moves the wrist away from the shoulder
    joint = int(np.argmax(np.abs(free)))
    low, high = pa10.q_min.copy(), pa10.q_max.copy()
    (high if free[joint] > 0 else low)[joint] = q[joint]
    solver = md.VelocitySolver(pa10)
    joints = Task(solver.memory).joints
    joints[0], joints[1] = low, high
    matrix = md.customize(pa10).forward_kinematics(q)
    held = solver(q, (matrix[:3, 3], matrix[:3, :3]), twist).velocity
    assert held[joint] == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(md.customize(pa10).jacobian(q) @ held, twist, atol=1e-12)


# -------------------------------------------------------------------- singularities
@pytest.mark.parametrize("name", ["pa10", "panda", "ur5", "kinova"])
def test_the_law_leaves_singular_postures_as_soon_as_the_target_allows(tmp_path, name):
    """From all zeros or the limit next to it, to where the tool was at another posture."""
    robot = load(name, tmp_path)
    zero = np.clip(np.zeros(robot.n), robot.q_min, robot.q_max)
    goal = md.customize(robot).forward_kinematics(
        np.clip(zero + np.tile([0.4, -0.5, 0.6], 4)[: robot.n], robot.q_min, robot.q_max)
    )
    target = md.Target((goal[:3, 3], goal[:3, :3]))
    result = md.track(robot, target, "rk4", 0.02, zero, duration=40.0)
    assert result.position_error[-1] < 1e-6, result.reason
    assert result.orientation_error[-1] < 1e-6


def test_a_stretched_arm_waits_for_a_target_that_it_can_reach(pa10):
    """Straight up, the tool is asked to go further up, and then straight down."""
    start = md.customize(pa10).forward_kinematics(np.zeros(7))
    place, orientation = start[:3, 3], start[:3, :3]
    target = md.Target((place + np.array([0.0, 0.0, 0.1]), orientation))
    tracker = md.PathFollower(pa10, target, np.zeros(7), 0.02)
    rows = [tracker.step() for _ in range(100)]
    assert max(np.abs(row.q).max() for row in rows) < 1e-6
    target.set((place - np.array([0.0, 0.0, 0.3]), orientation))
    rows = [tracker.step() for _ in range(1000)]
    assert np.linalg.norm(rows[-1].error) < 1e-6
    assert max(np.max(np.abs(row.v) / pa10.v_max) for row in rows) <= 1.0 + 1e-12
    assert any(row.escape_speed > 0.0 for row in rows)
    stuck = md.track(pa10, target, "rk4", 0.02, np.zeros(7), 5.0, ClikSettings(escape=False))
    assert stuck.position_error[-1] == pytest.approx(0.3)


# --------------------------------------------------------------------- other robots
@pytest.mark.parametrize("name", ["pa10", "panda", "ur5", "kinova", "xarm7"])
def test_poses_are_those_of_pinocchio(tmp_path, rng, name):
    robot = load(name, tmp_path)
    data, frame = robot.model.createData(), robot.model.getFrameId(robot.tip)
    for _ in range(10):
        q = random_state(robot, rng)[0]
        out = np.empty(12 + 6 * robot.n)
        md.customize(robot).in_place.kinematics(q, out)
        configuration = np.array(q)
        if robot.model.nq != robot.n:  # continuous joints are unit circles there
            configuration = pinocchio.integrate(
                robot.model, pinocchio.neutral(robot.model), configuration
            )
        pinocchio.framesForwardKinematics(robot.model, data, configuration)
        pose = data.oMf[frame]
        np.testing.assert_allclose(out[:3], pose.translation, atol=1e-12)
        np.testing.assert_allclose(out[3:12].reshape(3, 3), pose.rotation, atol=1e-12)
        jacobian = md.customize(robot).jacobian(q)
        np.testing.assert_allclose(out[12:].reshape(6, -1), jacobian, atol=1e-14)


# ----------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"gain": 0.0}, "gain is 0 1/s"),
        ({"inverse": "damped"}, f"inverse is 'damped'; expected one of {', '.join(INVERSES)}"),
        ({"orientation_error": "colums"}, "did you mean 'columns'"),
        ({"damping_threshold": np.nan}, "damping_threshold is nan"),
        ({"max_damping": -1.0}, "max_damping is -1"),
        ({"posture_gain": 1.0}, "posture_gain is 1 without a posture"),
        ({"controlled": [False] * 6}, "controlled is"),
        ({"limit_gain": 0.0}, "limit_gain is 0 1/s"),
    ],
)
def test_bad_settings_are_refused(settings, words):
    with pytest.raises(ManipDynError) as error:
        ClikSettings(**settings)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"weights": [1.0] * 6}, "weights has shape (6,)"),
        ({"weights": [0.0] * 7}, "weights are"),
        ({"posture": [9.0] * 7, "posture_gain": 1.0}, "posture of joint 'S1' is 9 rad"),
    ],
)
def test_settings_that_do_not_fit_the_robot_are_refused(pa10, settings, words):
    with pytest.raises(ManipDynError) as error:
        md.VelocitySolver(pa10, ClikSettings(**settings))
    assert words in str(error.value)


def test_bad_velocity_requests_are_refused(pa10):
    solver = md.VelocitySolver(pa10)
    for arguments, words in (
        (([0.0] * 6, ([0, 0, 1], np.eye(3))), "q has shape"),
        (([0.0] * 7, ([0, np.inf, 1], np.eye(3))), "pose position is"),
        (([0.0] * 7, ([0, 0, 1], [0, 0, 0, 0])), "quaternion"),
        (([0.0] * 7, ([0, 0, 1], np.eye(3)), [np.nan] * 6), "twist is"),
    ):
        with pytest.raises(ManipDynError) as error:
            solver(*arguments)
        assert words in str(error.value)


def test_each_kind_of_orientation_error_is_its_own():
    """At 1 rad: sin(1), 2 sin(1/2) and 1; a name without a formula would repeat another."""
    turned = Rotation.from_rotvec([0.0, 0.0, 1.0]).as_matrix()
    desired, actual = Pose(np.zeros(3), turned), Pose(np.zeros(3), np.eye(3))
    found = {kind: task_error(desired, actual, kind)[5] for kind in ERRORS}
    assert len({round(each, 9) for each in found.values()}) == len(ERRORS)
    assert found["columns"] == pytest.approx(np.sin(1.0))
    assert found["quaternion"] == pytest.approx(2.0 * np.sin(0.5))
    assert found["log"] == pytest.approx(1.0)
