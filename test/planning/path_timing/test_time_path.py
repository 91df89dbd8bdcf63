"""`md.time_path`: closed forms, properties of the fastest motion, and limits of all samples."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from closed_loop import execute
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import manip_dyn as md
from manip_dyn.planning import (
    SAMPLE_FRACTIONS,
    Limits,
    PathProblem,
    check_derivatives,
    stiff_intervals,
)
from manip_dyn.robot import Oracle

CURVE = np.array([[0.2, -0.8], [0.9, 0.3], [0.1, 1.2], [-0.9, 0.4]])
"""Waypoints for two joints; the path acceleration changes the sign of the efforts."""
PAYLOAD = [3.0, 0.02, 0.0, 0.05, 0.02, 0.02, 0.01, 0.0, 0.0, 0.0]


@pytest.fixture(scope="module")
def rr():
    return md.load_robot("rr")


@pytest.fixture(scope="module")
def timing(rr):
    return md.time_path(rr, CURVE)


def largest_load(timing, count=800):
    """Return the largest normalized effort or speed of many samples, by pinocchio."""
    robot, oracle = timing.robot, Oracle(timing.robot)
    largest = 0.0
    for t in np.linspace(0.0, timing.t_final, count)[1:-1]:
        q, v, a = timing.joints(t)
        effort = oracle.inverse_dynamics(q, v, a)
        extra = robot.static_friction - robot.coulomb_friction
        fall = np.exp(-((v / np.maximum(robot.stribeck_velocity, 1e-100)) ** 2))
        effort = effort + np.sign(v) * (robot.coulomb_friction + extra * fall)
        assert effort == pytest.approx(timing.effort(t), abs=1e-8 * robot.tau_max.max())
        loads = np.abs(effort) / robot.tau_max, np.abs(v) / robot.v_max
        largest = max(largest, np.max(loads))
    return largest


# -------------------------------------------------------------------------- closed forms
def test_double_integrators_accelerate_and_brake_with_full_effort():
    arm = md.load_robot("one_link_horizontal")
    inertia = md.customize(arm).mass_matrix([0.0])[0, 0]
    timing = md.time_path(arm, [[-0.2], [0.9]])
    assert timing.t_final == pytest.approx(2.0 * np.sqrt(1.1 * inertia / arm.tau_max[0]), rel=2e-7)
    assert timing.motion.switches == pytest.approx([0.5 * timing.t_final], rel=1e-6)


def test_speed_and_acceleration_limits_yield_a_trapezoidal_profile():
    arm = md.load_robot("pa10")
    fastest, most = arm.v_max[0], 1.5
    timing = md.time_path(arm, [np.zeros(7), np.eye(7)[0]], acceleration_limits=most)
    assert fastest < np.sqrt(most)
    assert timing.t_final == pytest.approx(1.0 / fastest + fastest / most, rel=2e-4)


def fastest_time(arm, begin, end):
    """Return the time of one joint that accelerates and brakes, by quadrature."""
    inertia = md.customize(arm).mass_matrix([0.0])[0, 0]
    weight = md.customize(arm).inverse_dynamics

    def arc(drive, direction, start):
        def rates(s, y):  # as functions of position: y is speed and time
            v = y[0]
            rest = weight([s], [v], [0.0])[0]
            return [(drive - rest) / inertia / v, 1.0 / v]

        # Start in closed form with constant acceleration, as the rates are singular at rest.
        length = 1e-7
        first = abs(drive - weight([start], [1e-12], [0.0])[0]) / inertia
        v, t = np.sqrt(2.0 * first * length), np.sqrt(2.0 * length / first)
        span = (start + direction * length, end if direction > 0 else begin)
        return solve_ivp(
            rates, span, [v, direction * t], rtol=1e-11, atol=1e-13, dense_output=True
        )

    driven, braked = arc(arm.tau_max[0], 1, begin), arc(-arm.tau_max[0], -1, end)
    low, high = begin + 1e-6, end - 1e-6
    for _ in range(60):
        middle = 0.5 * (low + high)
        faster = driven.sol(middle)[0] > braked.sol(middle)[0]
        low, high = (low, middle) if faster else (middle, high)
    return driven.sol(low)[1] - braked.sol(low)[1]


@pytest.mark.parametrize(
    "friction", [{}, {"viscous_friction": [0.4]}, {"coulomb_friction": [1.0]}]
)
def test_weight_damping_and_friction_agree_with_quadrature(friction):
    arm = md.load_robot("one_link_vertical", **friction)
    timing = md.time_path(arm, [[1.2], [2.4]], intervals=400)
    exact = fastest_time(arm, 1.2, 2.4)
    assert exact * (1.0 - 1e-6) < timing.t_final < exact * (1.0 + 1e-4)


# -------------------------------------------------------------------------- laws
def test_time_converges_with_the_grid(rr, timing):
    finer = md.time_path(rr, CURVE, intervals=1000)
    assert timing.t_final == pytest.approx(finer.t_final, rel=5e-4)
    assert finer.t_relaxed <= finer.t_final <= timing.t_final
    assert timing.t_final == pytest.approx(timing.t_relaxed, rel=2e-3)


def test_reversed_path_takes_the_same_time_without_friction(rr, timing):
    assert md.time_path(rr, CURVE[::-1]).t_final == pytest.approx(timing.t_final, rel=5e-4)


def test_sections_of_a_fastest_motion_are_fastest(rr, timing):
    knots = timing.motion.knots
    s, speed, _ = timing.motion.on_path(knots[len(knots) // 3])
    spline = CubicSpline(timing.path.breaks, CURVE, bc_type="natural")

    def part(begin, end):
        inside = timing.path.breaks[(timing.path.breaks > begin) & (timing.path.breaks < end)]
        breaks = np.array([begin, *inside, end])
        return type("Part", (), {"breaks": breaks, "__call__": lambda _, s, nu: spline(s, nu)})()

    first = md.time_path(rr, part(0.0, s), end_speeds=(0.0, 0.998 * speed))
    second = md.time_path(rr, part(s, spline.x[-1]), end_speeds=(0.998 * speed, 0.0))
    assert first.t_final + second.t_final == pytest.approx(timing.t_final, rel=2e-3)
    assert np.linalg.norm(second.joints(0.0).v) == pytest.approx(
        np.linalg.norm(first.joints(first.t_final).v), rel=1e-6
    )
    with pytest.raises(md.ManipDynError, match="end_speeds must be 0 for a plan"):
        _ = first.plan


def test_time_is_between_minimum_time_and_a_coarse_motion_on_the_same_path(rr):
    start, goal = [0.2, -0.8], [-0.9, 1.2]
    coarse = md.plan_zero_net_work(rr, start, goal)
    assert coarse.status == "near_minimum"  # the straight joint path, on 100 intervals
    timing = md.time_path(rr, [start, goal])
    assert 0.99 * coarse.t_final < timing.t_final < coarse.t_final
    assert md.plan_minimum_time(rr, start, goal, budget=None).t_final < timing.t_final


# -------------------------------------------------------------------------- limits
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"viscous_friction": [40.0, 15.0]},
        {"coulomb_friction": [60.0, 20.0]},
        {"coulomb_friction": [30.0, 10.0], "static": 2.0},
    ],
    ids=["bare", "damping", "friction", "static_friction"],
)
@pytest.mark.parametrize("blend", [None, 0.2], ids=["spline", "blends"])
def test_no_sample_exceeds_a_limit(change, blend):
    static = change.get("static", 1.0)
    arm = md.load_robot(
        "rr", **{name: value for name, value in change.items() if name != "static"}
    )
    if static > 1.0:
        level, speed = static * arm.coulomb_friction, np.full(2, 0.3)
        arm = replace(arm, static_friction=level, stribeck_velocity=speed)
    timing = md.time_path(arm, CURVE, blend=blend)
    assert 0.999 < largest_load(timing) <= 1.0
    assert 0.999 < timing.load <= 1.0


def test_friction_changes_sign_where_joints_reverse():
    """The efforts of the plan move a simulation with the same friction to the goal."""
    arm = md.load_robot("rr", coulomb_friction=[60.0, 20.0])
    timing = md.time_path(arm, CURVE)
    rates = [timing.path(np.array([s]), 1)[0] for s in timing.motion.grid]
    assert np.sum(np.abs(rates).min(axis=1) < 1e-8) >= 2
    simulation = md.Simulation(arm, CURVE[0], np.zeros(2))
    times = np.arange(0.0, timing.t_final, 1e-4)
    held = [timing.effort(min(t + 5e-5, timing.t_final)) for t in times]
    simulation.law = md.Schedule(arm, [round(1e9 * t) for t in times], held)
    simulation.advance(round(1e9 * timing.t_final))
    assert simulation.q == pytest.approx(CURVE[-1], abs=2e-3)
    assert simulation.v == pytest.approx([0.0, 0.0], abs=5e-2)


def test_static_friction_without_stribeck_velocity_raises(rr):
    arm = replace(rr, static_friction=np.array([1.0, 0.0]))
    with pytest.raises(
        md.ManipDynError,
        match=r"stribeck_velocity of joint 'joint_1' must be above 0 .* static friction",
    ):
        md.time_path(arm, CURVE)


def test_motions_of_seven_joints_reach_and_satisfy_their_limits():
    arm = md.load_robot("pa10")
    points = [
        [0.0] * 7,
        [0.5, 0.4, -0.3, 0.9, 0.4, -0.5, 0.3],
        [0.9, 0.1, 0.4, 1.3, -0.4, 0.5, 1.0],
    ]
    timing = md.time_path(arm, points)
    assert 0.99 < largest_load(timing, 500) <= 1.0


def test_path_has_points_of_zero_inertia(rr, timing):
    none = np.full(2, np.inf)
    problem = PathProblem(rr, timing.path, Limits(rr.v_max, rr.tau_max, none, None), (0.0, 0.0))
    grid = timing.motion.grid
    rows = problem.rows(grid[:-1], np.diff(grid), SAMPLE_FRACTIONS)
    assert np.any(rows.a[:, 0, :2] * rows.a[:, -1, :2] < 0.0)
    assert np.any(stiff_intervals(rows, np.diff(grid)))


def test_payloads_are_included_in_the_efforts(rr, timing):
    carried = md.time_path(rr, CURVE, payload=PAYLOAD)
    assert carried.t_final > 1.01 * timing.t_final
    kernels = md.customize(rr)
    for t in np.linspace(0.0, carried.t_final, 300):
        effort = kernels.inverse_dynamics(*carried.joints(t), payload=PAYLOAD)
        assert effort == pytest.approx(carried.effort(t), abs=1e-9)
        assert np.all(np.abs(effort) <= rr.tau_max)


def test_acceleration_limits_are_satisfied(rr):
    most = np.array([5.0, np.inf])
    timing = md.time_path(rr, CURVE, acceleration_limits=most)
    states = [timing.joints(t).a[0] for t in np.linspace(0.0, timing.t_final, 1000)]
    assert 4.99 < np.max(np.abs(states)) <= 5.0


# -------------------------------------------------------------------------- by time
def test_velocities_and_accelerations_are_derivatives_of_positions(timing):
    knots = timing.motion.knots
    for begin, end in zip(knots[1:-1:7], knots[2::7], strict=False):
        middle, h = 0.5 * (begin + end), 1e-3 * (end - begin)
        before, here, after = (timing.joints(middle + k * h) for k in (-1, 0, 1))
        scale = np.abs(here.v).max() + 1.0
        assert (after.q - before.q) / (2.0 * h) == pytest.approx(here.v, abs=1e-5 * scale)
        scale = np.abs(here.a).max() + 1.0
        assert (after.v - before.v) / (2.0 * h) == pytest.approx(here.a, abs=1e-5 * scale)


def test_efforts_of_the_plan_move_the_arm_along_the_path(rr, timing):
    plan, oracle = timing.plan, Oracle(rr)
    assert plan.success
    y = np.concatenate([plan.q0, np.zeros(2)])
    for begin, end in zip(plan.knots[:-1], plan.knots[1:], strict=True):
        last = np.nextafter(end, 0.0)

        def rates(t, y, last=last):
            effort = plan.effort(min(t, last))
            return np.concatenate([y[2:], oracle.forward_dynamics(y[:2], y[2:], effort)])

        y = solve_ivp(rates, (begin, end), y, method="DOP853", rtol=1e-10, atol=1e-10).y[:, -1]
    assert y[:2] == pytest.approx(CURVE[-1], abs=1e-6)
    assert y[2:] == pytest.approx([0.0, 0.0], abs=1e-5)
    assert plan.state(plan.t_final)[0] == pytest.approx(CURVE[-1])
    assert plan.effort(plan.t_final + 1.0) == pytest.approx(
        md.customize(rr).inverse_dynamics(CURVE[-1], [0.0, 0.0], [0.0, 0.0])
    )


def test_times_outside_the_motion_raise(timing):
    """A timing does not define the motion before and after it, unlike a plan."""
    for outside in (-1e-3, timing.t_final + 1e-3, np.nan):
        for evaluate in (timing.joints, timing.effort):
            with pytest.raises(
                md.ManipDynError,
                match=r"time must be (0 to .* s|a finite number), got",
            ):
                evaluate(outside)
    assert (timing.joints(timing.t_final + 1e-12).q == timing.joints(timing.t_final).q).all()


def test_executor_follows_the_plan(rr, timing):
    simulation = md.Simulation(rr, CURVE[0], np.zeros(2))
    execute(simulation, md.PlanExecutor(rr, timing.plan, 2e-3), 2e-3, timing.t_final + 0.5)
    assert simulation.q == pytest.approx(CURVE[-1], abs=1e-5)
    assert simulation.v == pytest.approx([0.0, 0.0], abs=1e-4)


def test_samples_end_at_the_goal(timing):
    samples = timing.samples(0.05)
    assert samples.time[-1] == timing.t_final
    assert np.diff(samples.time)[:-1] == pytest.approx(0.05)
    assert samples.q[[0, -1]] == pytest.approx(CURVE[[0, -1]], abs=1e-6)
    assert samples.effort.shape == samples.q.shape == (len(samples.time), 2)


def test_sample_periods_with_too_many_rows_raise(timing):
    """Regression: `MemoryError`."""
    message = r"for at most 10000000 rows in 1\.\d+ s, got 1e-12 s \(1\.\d+e\+12 rows\)"
    for motion in (timing, timing.plan):
        with pytest.raises(md.ManipDynError, match=message):
            motion.samples(1e-12)


def test_scipy_splines_are_paths(rr, timing):
    spline = CubicSpline(timing.path.breaks, CURVE, bc_type="natural")
    assert md.time_path(rr, spline).t_final == pytest.approx(timing.t_final, rel=1e-9)


def test_tracked_tool_paths_can_be_timed():
    arm, radius = md.load_robot("pa10"), 0.05
    q = np.array([0.0, 0.3, 0.0, 1.7, 0.0, 0.9, 0.0])
    tool = md.customize(arm).forward_kinematics
    center = tool(q)[:3, 3] - [radius, 0.0, 0.0]
    rotation = tool(q)[:3, :3]
    circle = md.Circle(center, [0, 0, 1], [1, 0, 0], rotation, 0.2 * radius, 0.2)
    tracked = md.track(arm, circle, q0=q, duration=10.0)
    timing = md.time_path(arm, tracked.q)
    assert timing.t_final < 1.0
    for t in np.linspace(0.0, timing.t_final, 50):
        offset = tool(timing.joints(t).q)[:3, 3] - center
        assert np.hypot(offset[0], offset[1]) == pytest.approx(radius, abs=1e-4)
        assert offset[2] == pytest.approx(0.0, abs=1e-4)


# -------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ([[0.0, 0.0]], {}, r"at least two waypoints of 2 joints, .* got shape \(1, 2\)"),
        ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], {}, r"shape \(2, 2\), got \(2, 3\)"),
        ([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]], {}, "got equal waypoints 0 and 1"),
        (CURVE, {"blend": 0.0}, r"corner at waypoint 1 .*blend above 0"),
        ([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]], {"blend": 0.1}, "got a reversal at waypoint 1"),
        ([[0.0, 0.0], [9.0, 0.0]], {}, "exceeds the position limits at s = .* joint 'joint_1'"),
        (
            CURVE,
            {"acceleration_limits": 0.0},
            "acceleration limit of joint 'joint_1' must be above 0, got 0",
        ),
        (CURVE, {"end_speeds": (-1.0, 0.0)}, "speed at the start must be 0 or more, got -1"),
        (CURVE, {"end_speeds": (1e3, 0.0)}, "start of the path must be 0 to .* got 1000"),
        (CURVE, {"end_speeds": (0.0, 1e3)}, "end of the path must be at most [1-9].* got 1000"),
        (CURVE, {"end_speeds": (1e3, 1e3)}, "speed 1000 at the end of the path is not reachable"),
        (CURVE, {"intervals": 3}, "intervals must be a whole number of at least 10, got 3"),
        (CURVE, {"payload": [500.0] + [0.0] * 9}, "at s = .* to hold the arm; its limit"),
        (lambda s, order: s, {}, "path must be waypoints .* got function without breaks"),
        (5.0, {}, r"path must be waypoints \(m, 2\), a SciPy spline .* got 5\.0"),
        ("a", {}, r"path\(s, order\) with the attribute breaks, .* got 'a'"),
        (None, {}, "path must be waypoints .* got None"),
        ({"q": CURVE}, {}, "path must be waypoints .* got dict"),
        ([[0.0, 0.0], [1.0]], {}, r"path must be waypoints .* got \[\[0\.0, 0\.0\], \[1\.0\]\]"),
        (
            SimpleNamespace(joint_names=[], points=[]),
            {},
            r"path must be waypoints, got the message .*waypoints_from",
        ),
    ],
)
def test_invalid_arguments_raise(rr, path, options, message):
    with pytest.raises(md.ManipDynError, match=message):
        md.time_path(rr, path, **options)


@pytest.mark.parametrize(
    ("breaks", "message"),
    [
        ([0, 1], r"breaks of the path must be an array .* got \[0, 1\]"),
        (None, "breaks of the path must be an array .* got None"),
        (np.array([0.0, np.inf]), "must be an array .* of finite numbers"),
        (
            np.array([0.0, 1.0]),
            r"path\(s, 0\) must return one row per s, \(1, 2\) .* got shape \(3,\)",
        ),
    ],
)
def test_custom_paths_require_breaks_and_rows(rr, breaks, message):
    def call(_, s, order):
        return np.zeros(3)

    path = type("Custom", (), {"breaks": breaks, "__call__": call})()
    with pytest.raises(md.ManipDynError, match=message):
        md.time_path(rr, path)


def custom_path(q, first, second, *third):
    """Return a path for s from 0 to 2; the second joint moves half the distance."""

    def call(_, s, order):
        values = (q, first, second, *third)[order](s)
        return np.stack([values, 0.5 * values], axis=1)

    return type("Custom", (), {"breaks": np.array([0.0, 2.0]), "__call__": call})()


def minus_sine(s):
    return -np.sin(s)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            custom_path(np.sin, lambda s: 2.0 * np.cos(s), minus_sine),
            r"path\(s, 1\) must be dq/ds, got",
        ),
        (
            custom_path(np.sin, np.cos, np.sin),
            r"path\(s, 2\) must be d2q/ds2, got .* differences of path\(s, 1\)",
        ),
        (
            custom_path(np.sin, np.cos, np.zeros_like),
            r"path\(s, 2\) must be d2q/ds2, got 0 for joint 0",
        ),
        (
            custom_path(
                lambda s: abs(s - 0.77) + 2.0 * s, lambda s: np.sign(s - 0.77) + 2.0, np.zeros_like
            ),
            r"a corner between its breaks, at s = 0\.77 of 2",
        ),
        (
            custom_path(lambda s: s + (s > 0.77), np.ones_like, np.zeros_like),
            r"jumps between its breaks, at s = 0\.77 of 2",
        ),
        (
            custom_path(np.sin, np.cos, None),
            r"path\(s, 2\) must return positions .* got TypeError",
        ),
    ],
)
def test_derivatives_of_custom_paths_are_checked(rr, path, message):
    """Regression: wrong derivatives yielded a timing of another motion."""
    with pytest.raises(md.ManipDynError, match=message):
        md.time_path(rr, path)


def test_valid_derivatives_of_irregular_paths_are_accepted():
    """Include many waves between two breaks, a jump of d2q/ds2, and finite differences."""
    waves = custom_path(
        lambda s: np.sin(3e3 * s),
        lambda s: 3e3 * np.cos(3e3 * s),
        lambda s: -9e6 * np.sin(3e3 * s),
        lambda s: -2.7e10 * np.cos(3e3 * s),
    )
    check_derivatives(waves, 1, 2, 3)
    kink = custom_path(
        lambda s: s + abs(s - 0.77) * (s - 0.77) / 2.0,
        lambda s: 1.0 + abs(s - 0.77),
        lambda s: np.sign(s - 0.77),
    )
    check_derivatives(kink, 1, 2)
    h = 1e-4
    check_derivatives(
        custom_path(
            np.sin,
            lambda s: (np.sin(s + h) - np.sin(s - h)) / (2.0 * h),
            lambda s: (np.sin(s + h) - 2.0 * np.sin(s) + np.sin(s - h)) / h**2,
        ),
        *(1, 2),
    )


@pytest.mark.parametrize("begin", [0.0, 3.0])
def test_errors_of_end_speeds_state_the_highest_possible_speed(rr, begin):
    """Regression: the message required a start speed of at least 1.25."""
    short = [[0.0, 0.0], [0.1, 0.1]]
    with pytest.raises(md.ManipDynError, match=f"must be at most .* from {begin:g} at") as error:
        md.time_path(rr, short, end_speeds=(begin, 5.0))
    most = float(str(error.value).split("at most ")[1].split()[0])
    assert md.time_path(rr, short, end_speeds=(begin, most)).success
    with pytest.raises(md.ManipDynError, match="speed at the end"):
        md.time_path(rr, short, end_speeds=(begin, 1.01 * most))


def test_shortened_blends_are_reported(rr):
    points = np.array([[0.0, 0.0], [0.4, 0.0], [0.4, 0.1], [1.0, 0.1]])
    cut = md.time_path(rr, points, blend=0.1)
    assert cut.path.blends == pytest.approx([0.05, 0.05])
    assert "blend 0.1 is reduced at 2 of 2 corners, to 0.05 at waypoint 1" in cut.reason
    assert "blend" not in md.time_path(rr, points, blend=0.05).reason


def test_zero_and_missing_limits_raise(rr):
    none = np.full(2, np.inf)
    free = replace(rr, v_max=none, tau_max=none)
    with pytest.raises(md.ManipDynError, match="the speed has no limit at s"):
        md.time_path(free, CURVE)
    assert md.time_path(free, CURVE, acceleration_limits=5.0).success
    for name, limit in (("speed", {"v_max": np.zeros(2)}), ("effort", {"tau_max": np.zeros(2)})):
        with pytest.raises(md.ManipDynError, match=f"{name} limit of joint 'joint_1' must be"):
            md.time_path(replace(rr, **limit), CURVE)


def test_corners_and_stationary_points_of_custom_paths_raise(rr):
    corner = type("Corner", (), {"breaks": np.array([0.0, 0.5, 1.0])})
    corner.__call__ = lambda _, s, order: np.stack(
        [(s, 1.0 + 0.0 * s, 0.0 * s)[order], (abs(s - 0.5), np.sign(s - 0.5), 0.0 * s)[order]], 1
    )
    with pytest.raises(md.ManipDynError, match=r"corner at s = 0.5 of 1"):
        md.time_path(rr, corner())
    slow = CubicSpline([0.0, 0.5, 1.0], [[0.0, 0.0], [0.1, 0.1], [0.2, 0.2]], bc_type="clamped")
    with pytest.raises(md.ManipDynError, match="must not be 0; it is 0 at s = 0"):
        md.time_path(rr, slow)


def test_tool_paths_raise_with_the_conversion(rr):
    circle = md.Circle([0.5, 0.0, 0.5], [0, 0, 1], [1, 0, 0], np.eye(3), 0.1)
    with pytest.raises(md.ManipDynError, match=r"md\.track\(robot, path\)\.q"):
        md.time_path(rr, circle)
