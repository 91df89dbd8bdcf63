"""Zero-net-work plans of several joints: replays, limits, Fan's tables, invalid arguments."""

import numpy as np
import pytest
from arms import ARM, changed, write
from replays import check
from scipy.optimize import brentq

import manip_dyn as md
from manip_dyn import ManipDynError

C1 = 0.416739 + 29.58 * 0.2**2 + 21.0 * 0.4**2
C2 = 0.205625 + 15.0 * 0.125**2 + 6.0 * 0.25**2
C3 = 15.0 * 0.4 * 0.125 + 6.0 * 0.4 * 0.25
"""Fan (2003), eqs. 6.23 and 6.64."""
NEAR = 1e-4
"""`Xerror` of the thesis's programs: a joint so near its goal counts as arrived."""
PA10 = ([0.4, 0.6, -0.3, 1.1, 0.3, 0.5, -0.4], [-0.4, 0.3, 0.3, 1.6, -0.3, -0.2, 0.5])


@pytest.mark.parametrize("name", ["ibm7535", "cylindrical", "rr"])
def test_plans_to_random_goals_are_valid(name):
    """These arms can hold every posture within their limits."""
    robot, rng = md.load_robot(name), np.random.default_rng(11)
    solved = 0
    for _ in range(12):
        plan = md.plan_zero_net_work(robot, *rng.uniform(robot.q_min, robot.q_max, (2, 2)))
        check(robot, plan)
        assert plan.status in ("solved", "near_minimum")
        assert all(0.0 <= a <= plan.t_final for a in plan.arrival_times)
        solved += plan.status == "solved"
        if plan.status == "solved":
            assert all(len(times) == 1 for times in plan.switch_times)
            assert max(plan.arrival_times) == plan.t_final
            driven = np.abs(plan.effort(0.0)) / robot.tau_max
            assert driven == pytest.approx([1.0, 1.0], abs=1e-12)
    assert solved > 0


def test_limits_hold_between_the_nodes_of_a_motion():
    """Regression: a solved plan reached 20.05 rad/s between two nodes (limit 20)."""
    robot = md.load_robot("rr")
    start = [-0.08899906526957402, 2.447224238106835]
    plan = md.plan_zero_net_work(robot, start, [2.7271758421328762, -0.8934991306479332])
    _, v, effort = plan.at(np.linspace(0.0, plan.t_final, 2001))
    assert np.abs(v).max() <= 20.0 * (1.0 + 1e-9)
    assert (np.abs(effort) <= robot.tau_max * (1.0 + 1e-9)).all()
    assert plan.status == "near_minimum"
    assert "would reach 20.05 rad/s; its limit is 20" in plan.reason


def test_plans_of_seven_joints_under_gravity_are_valid():
    robot = md.load_robot("pa10")
    plan = md.plan_zero_net_work(robot, *PA10)
    assert plan.moving_joints == list(range(7))
    check(robot, plan)
    assert plan.effort(plan.t_final) == pytest.approx(plan.hold)


def test_plans_of_one_of_seven_joints_are_valid():
    robot = md.load_robot("pa10")
    goal = [*PA10[0][:6], 0.0]
    plan = md.plan_zero_net_work(robot, PA10[0], goal)
    assert plan.moving_joints == [6]
    check(robot, plan)


@pytest.mark.parametrize(
    ("name", "start", "published_switch", "published_final"),
    [
        ("cylindrical", [np.pi / 4, 0.0], 0.6778, 1.3449),  # table 5.3
        ("ibm7535", [0.975, 0.0], None, None),  # table 6.2
    ],
)
def test_one_moving_joint_has_a_closed_form(name, start, published_switch, published_final):
    inertia = {"cylindrical": 0.81 + 0.6**2, "ibm7535": C1 + C2 + 2.0 * C3}[name]
    robot = md.load_robot(name)
    plan = md.plan_zero_net_work(robot, start, [0.0, 0.0])
    half = np.sqrt(start[0] * inertia / robot.tau_max[0])
    assert plan.switch_times == [[pytest.approx(half, abs=1e-11)], []]
    assert plan.t_final == pytest.approx(2.0 * half, abs=1e-11)
    if published_switch:
        assert half == pytest.approx(published_switch, abs=6e-5)
        # the thesis stops the clock where the joint is within 1e-4 of its goal
        near = brentq(lambda t: plan.state(t)[0][0] - NEAR, half, plan.t_final)
        assert near == pytest.approx(published_final, abs=6e-5)


def test_the_early_joint_is_held_by_the_effort_of_eq_6_55():
    """Table 6.3: the elbow arrives at a quarter of the time and stays."""
    robot = md.load_robot("ibm7535")
    plan = md.plan_zero_net_work(robot, [0.76, 0.2618], [0.0, 0.0])
    assert plan.status == "solved"
    assert plan.switch_times[0] == [pytest.approx(0.5302, abs=2e-3)]
    assert plan.switch_times[1] == [pytest.approx(0.2127, abs=2e-4)]
    assert plan.arrival_times[1] == pytest.approx(0.2485, abs=1e-3)
    for t in np.linspace(plan.arrival_times[1] + 1e-6, plan.t_final - 1e-6, 9):
        shoulder, elbow = plan.effort(t)
        assert elbow == pytest.approx((C2 + C3) * shoulder / (C1 + C2 + 2.0 * C3), abs=1e-7)
        assert plan.state(t)[0][1] == pytest.approx(0.0, abs=1e-9)
    check(robot, plan)


def test_the_extension_is_held_by_the_effort_of_eq_5_70():
    """The rotation continues: F2 = -m2 r1 theta'^2."""
    robot = md.load_robot("cylindrical")
    plan = md.plan_zero_net_work(robot, [0.9, 0.05], [0.0, 0.0])
    t = 0.5 * (plan.arrival_times[1] + plan.t_final)
    assert plan.arrival_times[1] < t
    assert plan.effort(t)[1] == pytest.approx(-0.6 * plan.state(t)[1][0] ** 2, abs=1e-8)


@pytest.mark.parametrize(
    ("q0", "qf", "words"),
    [
        (
            [0.0, 0.0],
            [4.0, 0.0],
            "goal of joint 'shoulder' must be from -3.14159 to 3.14159 rad, got 4 rad",
        ),
        (
            [-4.0, 0.0],
            [1.0, 0.0],
            "start of joint 'shoulder' must be from -3.14159 to 3.14159 rad, got -4 rad",
        ),
        ([0.0, 0.0], [np.nan, 0.0], "goal must be finite numbers, got [nan, 0.0]"),
        ([np.inf, 0.0], [0.0, 0.0], "start must be finite numbers, got [inf, 0.0]"),
        ([0.0, 0.0], [1.0], "goal must have shape (2,), got (1,)"),
        ([0.0, 0.0], ["a", 0.0], "goal must be 2 numbers, got ['a', 0.0]"),
        (None, [0.0, 0.0], "start"),
    ],
)
def test_invalid_arguments_raise(q0, qf, words):
    with pytest.raises(ManipDynError) as error:
        md.plan_zero_net_work(md.load_robot("ibm7535"), q0, qf)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ('effort="50"', 'effort="0"'),
            "effort limit of joint 'shoulder' must be finite and above 0",
        ),
        (('effort="20"', 'effort="1e-3"'), "'elbow' needs the effort"),
        (('effort="50"', 'effort="5"'), "'shoulder' needs the effort"),
    ],
)
def test_infeasible_motions_raise_with_the_reason(tmp_path, change, words):
    robot = md.load_robot(write(tmp_path, changed(ARM, change)))
    with pytest.raises(ManipDynError) as error:
        md.plan_zero_net_work(robot, [0.9, 0.3], [0.0, 0.3])
    assert words in str(error.value)


def test_plans_to_the_start_hold_it():
    plan = md.plan_zero_net_work(md.load_robot("pa10"), PA10[0], PA10[0])
    assert (plan.t_final, plan.switch_times, plan.status) == (0.0, [[]] * 7, "at_goal")
    assert plan.effort(0.0) == pytest.approx(plan.hold)
    assert plan.net_work == pytest.approx(np.zeros(7))
    assert plan.samples(0.1) == [(0.0, pytest.approx(plan.hold))]
