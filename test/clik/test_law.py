"""The CLIK law: errors, inverses, null-space motion, limits, escape from singularities."""

import numpy as np
import pinocchio
import pytest
from arms import load, random_state
from scipy.spatial.transform import Rotation

import manip_dyn as md
from manip_dyn.clik import ERRORS, INVERSES, ClikSettings, Pose, task_error


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture(scope="module")
def pa10():
    return md.load_robot("pa10")


def velocity_without_error(robot, q, twist, **settings):
    """Return the velocities for a twist if the tool is at the desired pose."""
    matrix = md.customize(robot).forward_kinematics(q)
    solver = md.VelocitySolver(robot, ClikSettings(**settings))
    return solver(q, (matrix[:3, 3], matrix[:3, :3]), twist)


# -------------------------------------------------------------------------- errors
@pytest.mark.parametrize("kind", ERRORS)
def test_the_error_of_equal_poses_is_zero(rng, kind):
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


def test_columns_match_the_formula_of_the_paper(rng):
    actual = Rotation.random(random_state=5)
    desired = Rotation.from_rotvec([0.2, -0.5, 0.4]) * actual
    n, n_d = actual.as_matrix(), desired.as_matrix()
    expected = 0.5 * sum(np.cross(n[:, i], n_d[:, i]) for i in range(3))
    error = task_error(Pose(np.zeros(3), n_d), Pose(np.zeros(3), n))
    np.testing.assert_allclose(error[3:], expected, atol=1e-15)


def test_the_error_of_half_a_turn_is_not_zero():
    for axis in np.eye(3):
        half = Pose(np.zeros(3), Rotation.from_rotvec(np.pi * axis).as_matrix())
        for kind, size in zip(ERRORS, (1.0, 2.0, np.pi), strict=True):
            error = task_error(half, Pose(np.zeros(3), np.eye(3)), kind)
            np.testing.assert_allclose(np.abs(error[3:]), size * axis, atol=1e-7)


# ------------------------------------------------------------------------ inverses
@pytest.mark.parametrize("name", ["pa10", "ur5", "ibm7535"])
def test_the_smallest_singular_value_matches_lapack(tmp_path, rng, name):
    robot = load(name, tmp_path)
    for elbow in (None, 0.1, 1e-3, 1e-7):
        q = random_state(robot, rng)[0]
        if elbow is not None and name == "pa10":
            q[3] = elbow
        path = md.Target(md.clik.tool_pose(robot, q))
        value = md.PathFollower(robot, path, q).sample().smallest_singular_value
        expected = np.linalg.svd(md.customize(robot).jacobian(q), compute_uv=False)
        assert value == pytest.approx(expected[-1], rel=1e-6, abs=1e-14)


@pytest.mark.parametrize("name", ["pa10", "panda", "ur5", "ibm7535"])
def test_the_inverse_equals_the_pseudo_inverse_away_from_singularities(tmp_path, rng, name):
    robot = load(name, tmp_path)
    for _ in range(5):
        q, twist = 0.3 * random_state(robot, rng)[0] + 0.3, 1e-2 * rng.normal(size=6)
        jacobian = md.customize(robot).jacobian(np.clip(q, robot.q_min, robot.q_max))
        q = np.clip(q, robot.q_min, robot.q_max)
        solution = velocity_without_error(
            robot, q, twist, inverse="pseudo_inverse", limit_gain=1e3
        )
        expected = np.linalg.pinv(jacobian, rcond=1e-10) @ twist
        np.testing.assert_allclose(solution.velocity, solution.scale * expected, atol=1e-9)


def filtered(jacobian, twist, threshold, largest):
    """Return the velocities of the filtered inverse from the singular values of NumPy."""
    left, values, right = np.linalg.svd(jacobian, full_matrices=False)
    squared = np.where(values < threshold, (1.0 - (values / threshold) ** 2) * largest**2, 0.0)
    return right.T @ (values / (values**2 + squared) * (left.T @ twist))


@pytest.mark.parametrize("elbow", [0.0, 1e-6, 1e-3, 0.02, 0.1])
def test_damped_inverses_match_their_formulas_near_a_singularity(pa10, rng, elbow):
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
            solution = velocity_without_error(
                pa10, q, twist, inverse=inverse, damping_threshold=threshold, max_damping=0.03
            )
            expected = jacobian.T @ np.linalg.solve(square, twist)
            np.testing.assert_allclose(solution.velocity, expected, atol=1e-9)
        solution = velocity_without_error(pa10, q, twist, max_damping=0.03, escape=False)
        np.testing.assert_allclose(
            solution.velocity, filtered(jacobian, twist, 0.04, 0.03), atol=1e-9
        )


def test_weights_reduce_the_motion_of_joints(pa10, rng):
    q, twist = np.full(7, 0.6), 0.01 * rng.normal(size=6)
    weights = rng.uniform(0.5, 5.0, size=7)
    jacobian = md.customize(pa10).jacobian(q)
    scaled = jacobian / weights
    expected = scaled.T @ np.linalg.solve(scaled @ jacobian.T, twist)
    solution = velocity_without_error(pa10, q, twist, weights=weights)
    np.testing.assert_allclose(solution.velocity, expected, atol=1e-12)


def test_uncontrolled_rows_of_the_task_are_free(pa10, rng):
    q, twist = np.full(7, 0.6), 0.01 * rng.normal(size=6)
    solution = velocity_without_error(
        pa10, q, twist, controlled=(True, True, True, False, False, False)
    )
    expected = np.linalg.pinv(md.customize(pa10).jacobian(q)[:3]) @ twist[:3]
    np.testing.assert_allclose(solution.velocity, expected, atol=1e-12)


# ---------------------------------------------------------------------- null space
@pytest.mark.parametrize(
    "objective",
    [
        {"posture": np.full(7, 0.3), "posture_gain": 1.0},
        {"limit_avoidance": 1.0},
        {"manipulability": 1.0},
    ],
    ids=lambda objective: next(reversed(objective)),
)
def test_null_space_motions_reduce_their_cost_without_moving_the_tool(pa10, rng, objective):
    def cost(q):
        if "posture" in objective:
            return np.sum((q - objective["posture"]) ** 2)
        if "limit_avoidance" in objective:
            return np.sum((q - 0.5 * (pa10.q_min + pa10.q_max)) ** 2)
        jacobian = md.customize(pa10).jacobian(q)
        return -np.sqrt(np.linalg.det(jacobian @ jacobian.T))

    for _ in range(5):
        q = rng.uniform(0.4, 1.0, size=7)
        v = velocity_without_error(pa10, q, np.zeros(6), **objective).velocity
        assert np.linalg.norm(v) > 1e-6
        np.testing.assert_allclose(md.customize(pa10).jacobian(q) @ v, np.zeros(6), atol=1e-12)
        assert cost(q + 1e-4 * v) < cost(q - 1e-4 * v)


def test_the_manipulability_motion_follows_the_projected_gradient(pa10):
    q = np.array([0.4, 0.5, 0.9, 1.1, 0.7, 0.9, -0.3])

    def measure(q):
        jacobian = md.customize(pa10).jacobian(q)
        return np.sqrt(np.linalg.det(jacobian @ jacobian.T))

    gradient = [(measure(q + d) - measure(q - d)) / 2e-6 for d in 1e-6 * np.eye(7)]
    jacobian = md.customize(pa10).jacobian(q)
    projector = np.eye(7) - np.linalg.pinv(jacobian) @ jacobian
    v = velocity_without_error(pa10, q, np.zeros(6), manipulability=1.0).velocity
    np.testing.assert_allclose(v, projector @ gradient, atol=1e-6)


# -------------------------------------------------------------------------- limits
def test_speed_limits_preserve_the_direction(pa10, rng):
    q = np.full(7, 0.6)
    slow = velocity_without_error(pa10, q, 0.01 * np.ones(6))
    fast = velocity_without_error(pa10, q, 10.0 * np.ones(6))
    assert slow.scale == 1.0
    assert fast.scale < 1.0
    assert np.max(np.abs(fast.velocity) / pa10.v_max) == pytest.approx(1.0)
    np.testing.assert_allclose(fast.velocity, fast.scale * 1000.0 * slow.velocity, rtol=1e-9)


@pytest.mark.parametrize("joint", ["S1", "S3"])
def test_other_joints_compensate_for_a_joint_at_its_limit(pa10, joint):
    q = np.full(7, 0.6)
    q[pa10.index(joint)] = pa10.q_max[pa10.index(joint)]
    jacobian = md.customize(pa10).jacobian(q)
    twist = np.array([0.0, 0.0, -0.01, 0.0, 0.0, 0.0])
    outward = np.linalg.pinv(jacobian) @ twist
    if outward[pa10.index(joint)] < 0.0:
        twist = -twist
    velocity = velocity_without_error(pa10, q, twist).velocity
    assert velocity[pa10.index(joint)] == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(jacobian @ velocity, twist, atol=1e-12)


# -------------------------------------------------------------------- singularities
@pytest.mark.parametrize("name", ["pa10", "panda", "ur5", "kinova"])
def test_the_law_leaves_singular_postures_as_soon_as_the_target_allows(tmp_path, name):
    """From all zeros, or the nearest limits, to the pose of the tool at another posture."""
    robot = load(name, tmp_path)
    zero = np.clip(np.zeros(robot.n), robot.q_min, robot.q_max)
    goal = md.customize(robot).forward_kinematics(
        np.clip(zero + np.tile([0.4, -0.5, 0.6], 4)[: robot.n], robot.q_min, robot.q_max)
    )
    target = md.Target((goal[:3, 3], goal[:3, :3]))
    result = md.track(robot, target, "rk4", 0.02, zero, duration=40.0)
    assert result.position_error[-1] < 1e-6, result.reason
    assert result.orientation_error[-1] < 1e-6


def test_a_stretched_arm_waits_for_a_reachable_target(pa10):
    """The target is above an arm that points straight up, then below its tool."""
    start = md.customize(pa10).forward_kinematics(np.zeros(7))
    position, orientation = start[:3, 3], start[:3, :3]
    target = md.Target((position + np.array([0.0, 0.0, 0.1]), orientation))
    tracker = md.PathFollower(pa10, target, np.zeros(7), 0.02)
    rows = [tracker.step() for _ in range(100)]
    assert max(np.abs(row.q).max() for row in rows) < 1e-6
    target.set((position - np.array([0.0, 0.0, 0.3]), orientation))
    rows = [tracker.step() for _ in range(1000)]
    assert np.linalg.norm(rows[-1].error) < 1e-6
    assert max(np.max(np.abs(row.v) / pa10.v_max) for row in rows) <= 1.0 + 1e-12
    assert any(row.escape_speed > 0.0 for row in rows)
    stuck = md.track(pa10, target, "rk4", 0.02, np.zeros(7), 5.0, ClikSettings(escape=False))
    assert stuck.position_error[-1] == pytest.approx(0.3)


# --------------------------------------------------------------------- other robots
@pytest.mark.parametrize("name", ["pa10", "panda", "ur5", "kinova", "xarm7"])
def test_poses_match_pinocchio(tmp_path, rng, name):
    robot = load(name, tmp_path)
    data, frame = robot.model.createData(), robot.model.getFrameId(robot.tip)
    for _ in range(10):
        q = random_state(robot, rng)[0]
        out = np.empty(12 + 6 * robot.n)
        md.customize(robot).in_place.kinematics(q, out)
        configuration = np.array(q)
        if robot.model.nq != robot.n:  # Pinocchio stores continuous joints as unit circles
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
    ("settings", "message"),
    [
        ({"gain": 0.0}, "gain"),
        ({"inverse": "damped"}, f"inverse must be one of {', '.join(INVERSES)}, got 'damped'"),
        ({"orientation_error": "colums"}, "did you mean 'columns'"),
        ({"damping_threshold": np.nan}, "damping_threshold"),
        ({"max_damping": -1.0}, "max_damping"),
        ({"posture_gain": 1.0}, "posture must be joint positions for posture_gain 1"),
        ({"controlled": [False] * 6}, "controlled must be six truth values"),
        ({"limit_gain": 0.0}, "limit_gain"),
    ],
)
def test_invalid_settings_are_rejected(settings, message):
    with pytest.raises(md.ManipDynError) as error:
        ClikSettings(**settings)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weights": [1.0] * 6}, "weights"),
        ({"weights": [0.0] * 7}, "weights must be above 0"),
        ({"posture": [9.0] * 7, "posture_gain": 1.0}, "posture"),
    ],
)
def test_settings_that_do_not_match_the_robot_are_rejected(pa10, settings, message):
    with pytest.raises(md.ManipDynError) as error:
        md.VelocitySolver(pa10, ClikSettings(**settings))
    assert message in str(error.value)


def test_invalid_velocity_requests_are_rejected(pa10):
    solver = md.VelocitySolver(pa10)
    for arguments, message in (
        (([0.0] * 6, ([0, 0, 1], np.eye(3))), "q "),
        (([0.0] * 7, ([0, np.inf, 1], np.eye(3))), "pose position"),
        (([0.0] * 7, ([0, 0, 1], [0, 0, 0, 0])), "quaternion of length 1"),
        (([0.0] * 7, ([0, 0, 1], np.eye(3)), [np.nan] * 6), "twist"),
    ):
        with pytest.raises(md.ManipDynError) as error:
            solver(*arguments)
        assert message in str(error.value)


def test_the_kinds_of_orientation_errors_differ():
    """At 1 rad: sin(1), 2 sin(1/2) and 1. A name without a formula would repeat another kind."""
    rotation = Rotation.from_rotvec([0.0, 0.0, 1.0]).as_matrix()
    desired, actual = Pose(np.zeros(3), rotation), Pose(np.zeros(3), np.eye(3))
    errors = {kind: task_error(desired, actual, kind)[5] for kind in ERRORS}
    assert len({round(error, 9) for error in errors.values()}) == len(ERRORS)
    assert errors["columns"] == pytest.approx(np.sin(1.0))
    assert errors["quaternion"] == pytest.approx(2.0 * np.sin(0.5))
    assert errors["log"] == pytest.approx(1.0)
