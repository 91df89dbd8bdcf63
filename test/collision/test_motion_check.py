"""Collision checks of motions: planted cases, random cases against dense samples, and laws."""

from types import SimpleNamespace

import numpy as np
import pytest
from collision_cases import (
    check_planted_cases,
    collision,
    moving_ball,
    random_arm,
    random_scene,
    random_spline,
    two_balls,
)
from numpy.polynomial import Polynomial
from scipy.interpolate import BPoly, BSpline, CubicSpline, PPoly, make_interp_spline

import manip_dyn as md
from manip_dyn.collision import JointCurve, interpolated_curve, joint_curve, sampled_curve
from manip_dyn.robot import load_kinematics

BAND = 1e-6
"""Clearance below which a result may be undecided, m."""


def dense_minimum(robot, curve, scene, times):
    """Return the smallest distance at many times, by coal."""
    return min(md.clearance(robot, curve(t), scene).distance for t in times)


@pytest.mark.parametrize("seed", range(12))
def test_random_motions_agree_with_dense_samples(seed):
    rng = np.random.default_rng(seed)
    robot, scene = random_arm(rng, joints=3), random_scene(rng)
    for size in (0.1, 0.7):
        curve = random_spline(rng, robot.n, size)
        result = md.check_motion(robot, curve, scene)
        if result.clear:
            least = dense_minimum(robot, curve, scene, np.linspace(0.0, 1.0, 40))
            assert result.least - 1e-7 <= least
            assert result.least <= result.distance <= result.least + 1.1e-3
        else:
            assert result.clear is False
            assert result.distance < BAND
            before = np.linspace(0.0, max(result.time - 1e-6, 0.0), 20)
            assert not result.time or dense_minimum(robot, curve, scene, before) > -BAND


@pytest.mark.parametrize("fraction", [0.1234, 0.5, 1.0 / 3.0, 0.9999])
def test_thin_plate_between_samples_is_detected(fraction):
    robot = moving_ball("prismatic", radius=0.01)
    plate = md.Scene().add("plate", md.Box([1.0, 1e-5, 1.0]), [0.0, 2.0 * fraction - 1.0, 0.0])
    result = md.check_motion(robot, [[-1.0], [1.0]], plate)
    assert result.clear is False
    assert result.pair == ("l0", "plate")
    contact = fraction - (0.01 + 5e-6) / 2.0
    assert result.time == pytest.approx(contact, abs=1e-6)


@pytest.mark.parametrize("offset", [1e-2, 1e-4, 2e-6, 0.0, -2e-6, -1e-4, -1e-2])
@pytest.mark.parametrize("kind", ["prismatic", "revolute"])
def test_grazing_contacts_are_decided_outside_the_band(kind, offset):
    """A ball passes another at a distance that is known exactly."""
    if kind == "prismatic":
        robot, obstacle = moving_ball(kind), [0.2 + offset, 0.1, 0.0]
    else:
        robot, obstacle = moving_ball(kind, reach=0.5), [0.7 + offset, 0.0, 0.0]
    scene = md.Scene().add("ball", md.Sphere(0.1), obstacle)
    curve = CubicSpline([0.0, 0.4, 1.0], [[-1.0], [0.3], [1.2]])
    result = md.check_motion(robot, curve, scene)
    if abs(offset) > BAND:
        assert result.clear is (offset > 0.0)
    if result.clear:
        assert offset - 1e-3 - BAND <= result.least <= offset
    assert result.intervals < 400


@pytest.mark.parametrize("degree", [1, 3, 5])
def test_b_splines_are_accepted(degree):
    """With repeated knots at the ends, also along another axis, and with simple knots."""
    rng = np.random.default_rng(degree)
    robot, positions = random_arm(rng, joints=8), rng.uniform(-1.0, 1.0, (9, 8))
    times = np.linspace(0.5, 2.0, 9)
    clamped = make_interp_spline(times, positions, degree)
    turned = make_interp_spline(times, positions.T, degree, axis=1)
    simple = BSpline(np.arange(10.0 + degree), positions, degree)
    for spline, begin, end in ((clamped, 0.5, 2.0), (turned, 0.5, 2.0), (simple, degree, 9.0)):
        curve = joint_curve(robot, spline)
        assert curve.breaks[[0, -1]] == pytest.approx([begin, end])
        for t in np.linspace(begin, end, 31):
            assert curve(t) == pytest.approx(spline(t), abs=1e-12)
        assert curve.deviation.max() < 1e-10


def test_other_splines_are_rejected():
    """The coefficients of a `BPoly` have the shape of those of a `PPoly`."""
    bernstein = BPoly.from_power_basis(CubicSpline([0.0, 1.0, 2.0], [[0.0], [1.0], [0.5]]))
    with pytest.raises(md.ManipDynError, match=r"a spline must be a PPoly of SciPy.*got <.*BPoly"):
        md.check_motion(moving_ball("revolute"), bernstein)


def test_sliding_along_a_plane_at_a_small_distance_ends():
    robot = moving_ball("prismatic")
    scene = md.Scene().add("floor", md.HalfSpace(), [0.0, 0.0, -0.1 - 1e-5])
    result = md.check_motion(robot, [[-1.0], [1.0]], scene)
    assert result.clear
    assert result.least == pytest.approx(1e-5, abs=1e-8)
    assert result.intervals < 10


def test_reversed_motion_has_the_same_result():
    rng = np.random.default_rng(3)
    robot, scene = random_arm(rng), random_scene(rng, reach=0.5)
    for _ in range(5):
        curve = random_spline(rng, robot.n, 0.3)
        reverse = CubicSpline(curve.x, curve(1.0 - curve.x))
        forward, backward = (md.check_motion(robot, motion, scene) for motion in (curve, reverse))
        assert forward.clear is backward.clear
        if forward.clear:
            assert forward.least == pytest.approx(backward.least, abs=2e-3)


def test_margin_is_a_required_distance():
    robot = moving_ball("prismatic")
    scene = md.Scene().add("ball", md.Sphere(0.1), [0.25, 0.0, 0.0])
    motion = [[-1.0], [1.0]]
    assert md.check_motion(robot, motion, scene, margin=0.0499).clear
    assert md.check_motion(robot, motion, scene, margin=0.0501).clear is False
    result = md.check_motion(robot, [[0.0], [-1.0]], scene, margin=0.06)
    assert (result.clear, result.time) == (False, 0.0)
    assert result.distance == pytest.approx(0.05, abs=1e-9)
    assert result.reason.endswith("m from ball at 0 s, and the margin is 0.06 m")


def test_result_is_undecided_without_enough_intervals():
    scene = md.Scene().add("ball", md.Sphere(0.1), [0.71, 0.0, 0.0])
    robot, motion = moving_ball("revolute", reach=0.5), [[-1.0], [1.1]]
    assert md.check_motion(robot, motion, scene).clear
    result = md.check_motion(robot, motion, scene, max_intervals=1)
    assert result.clear is None
    assert not result.success
    assert "max_intervals" in result.reason


def test_deviation_of_a_curve_is_subtracted():
    robot = moving_ball("prismatic")
    wall = md.Scene().add("wall", md.HalfSpace(), [0.0, 1.2, 0.0], [np.pi / 2, 0.0, 0.0])
    for deviation in (0.0, 0.05):
        curve = JointCurve(np.array([0.0, 1.0]), np.array([[[0.0], [1.0]]]), np.array([deviation]))
        least = md.check_motion(robot, curve, wall).least
        assert 0.1 - deviation - 1.1e-3 <= least <= 0.1 - deviation


def test_kinks_of_waypoints_are_part_of_the_bound():
    """The corner of a polygon touches an obstacle that its smooth bounds would miss."""
    robot = moving_ball("prismatic")
    wall = md.Scene().add("wall", md.Box([1.0, 0.1, 1.0]), [0.0, 1.15 + 5e-4, 0.0])
    points = np.array([[0.0], [0.2], [1.0], [0.1], [0.0]])
    result = md.check_motion(robot, points, wall)
    assert result.clear
    assert result.least == pytest.approx(5e-4, abs=1e-5)
    assert md.check_motion(robot, points * 1.0006, wall).clear is False


def test_interpolated_curve_has_the_stated_deviation():
    def at(t):
        return np.sin(5.0 * t)[:, None], 5.0 * np.cos(5.0 * t)[:, None]

    curve = interpolated_curve(at, np.array([0.0, 0.0, 0.7, 1.0]))
    times = np.linspace(0.0, 1.0, 997)
    errors = [abs(curve(t)[0] - np.sin(5.0 * t)) for t in times]
    assert max(errors) < curve.deviation[0]
    assert curve.deviation[0] == pytest.approx(1e-7, rel=1e-3)


def test_curve_through_samples_contains_the_motion():
    t = np.linspace(0.0, 1.0, 21)
    curve = sampled_curve(t, np.sin(5.0 * t)[:, None], 5.0 * np.cos(5.0 * t)[:, None])
    times = np.linspace(0.0, 1.0, 997)
    assert max(abs(curve(s)[0] - np.sin(5.0 * s)) for s in times) < curve.deviation[0] < 1e-3


def test_all_motions_of_the_package_are_checked():
    arm = md.load_robot("pa10")
    q0 = np.array([0.0, 0.5, 0.0, 1.0, 0.0, 0.8, 0.0])
    wall = md.Scene().add("wall", md.HalfSpace(), [0.0, 0.0, -0.1])
    timing = md.time_path(arm, [q0, q0 + 0.2, q0 + 0.1])
    trajectory = md.simulate(arm, q0, 0.0 * q0, 0.0 * q0, 0.05, sample_period=0.01)
    down = np.diag([1.0, -1.0, -1.0])
    circle = md.Circle([0.5, 0.0, 0.5], [0, 0, 1], [1, 0, 0], down, 0.1)
    track = md.track(arm, circle, step=0.05, duration=0.5, q0=q0)
    for motion in (timing, timing.plan, trajectory, track):
        result = md.check_motion(arm, motion, wall)
        assert result.clear, result
    for state in (timing.joints, timing.plan.state):
        result = md.check_motion(arm, timing, wall)
        assert state(result.time)[0] == pytest.approx(result.q, abs=1e-6)
    assert timing.clearance(wall).least == timing.plan.clearance(wall).least


@pytest.mark.parametrize(
    ("motion", "message"),
    [
        ([[0.0, 1.0], [1.0, 0.0]], "must have shape"),
        ([[0.0]], "at least two waypoints"),
        ("motion", "motion must be"),
        (PPoly(np.zeros((2, 1)), [0.0, 1.0]), "values"),
        (PPoly(np.array([[[0.0], [0.0]], [[0.0], [1.0]]]), [0.0, 1.0, 2.0]), "continuous"),
    ],
)
def test_invalid_motions_are_rejected(motion, message):
    with pytest.raises(md.ManipDynError, match=message):
        md.check_motion(moving_ball("prismatic"), motion)


def test_planted_cases_have_no_false_result():
    results = check_planted_cases(200, seed=3)
    assert results["false"] == results["undecided outside the band"] == 0
    assert results["outside the band"] > 100


def trajectory_message(names, times, **fields):
    """Return an object with the fields of a trajectory_msgs/JointTrajectory."""
    points = [
        SimpleNamespace(
            time_from_start=SimpleNamespace(sec=int(t), nanosec=round(t % 1.0 * 1e9)),
            **{
                field: fields[field][k] if field in fields else ()
                for field in ("positions", "velocities", "accelerations")
            },
        )
        for k, t in enumerate(times)
    ]
    return SimpleNamespace(joint_names=names, points=points)


@pytest.mark.parametrize("order", [1, 3, 5])
def test_trajectory_messages_are_checked_between_their_points(order):
    """Points of a polynomial of the same order, with the joints in another order."""
    robot = two_balls(0.1, 0.1, 0.5)
    rng = np.random.default_rng(order)
    polynomial = Polynomial(rng.normal(size=order + 1)), Polynomial(rng.normal(size=order + 1))
    times = [0.5, 1.25, 2.0]
    fields = {
        name: [[p.deriv(k)(t) if k else p(t) for p in polynomial[::-1]] for t in times]
        for k, name in enumerate(("positions", "velocities", "accelerations")[: (order + 1) // 2])
    }
    curve = joint_curve(robot, trajectory_message(["j1", "j0"], times, **fields))
    assert curve.breaks == pytest.approx(times)
    for t in np.linspace(0.5, 2.0, 13):
        assert curve(t) == pytest.approx([p(t) for p in polynomial], abs=1e-12)


def test_trajectory_message_that_collides_between_its_points():
    robot = moving_ball("prismatic")
    wall = md.Scene().add("wall", md.HalfSpace(), [0.0, 0.3, 0.0], [np.pi / 2, 0.0, 0.0])
    fields = {"positions": [[0.0], [0.0]], "velocities": [[1.0], [-1.0]]}
    message = trajectory_message(["j0"], [0.0, 0.5], **fields)
    assert md.check_motion(robot, message, wall).clear
    message = trajectory_message(["j0"], [0.0, 1.0], **fields)
    result = md.check_motion(robot, message, wall)
    assert result.clear is False
    assert 0.0 < result.time < 0.5


@pytest.mark.parametrize(
    ("names", "times", "fields", "message"),
    [
        (["j1"], [0.0, 1.0], {"positions": [[0], [1]]}, "joint_names"),
        (["j0"], [0.0], {"positions": [[0]]}, "two points"),
        (["j0"], [1.0, 1.0], {"positions": [[0], [1]]}, "increasing"),
        (["j0"], [0.0, 1.0], {"positions": [[0], []]}, "positions"),
        (["j0"], [0.0, 1.0], {"positions": [[0], [1]], "velocities": [[], [1]]}, "velocities"),
    ],
)
def test_invalid_trajectory_messages_are_rejected(names, times, fields, message):
    with pytest.raises(md.ManipDynError, match=message):
        md.check_motion(moving_ball("prismatic"), trajectory_message(names, times, **fields))


def test_robots_without_joints_are_checked():
    solid = collision('<sphere radius="0.1"/>')
    robot = load_kinematics(f'<robot name="post"><link name="base">{solid}</link></robot>')
    assert md.check_motion(robot, np.zeros((2, 0)), md.Scene()).clear
    check = md.PostureCheck(robot, md.Scene())
    assert check.distance([]) == np.inf
    assert check.are_clear(np.zeros((2, 0))).all()
