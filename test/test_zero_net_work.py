"""Zero-net-work plans of several joints: replays, limits, net work, Fan's tables, refusals."""

import numpy as np
import pinocchio
import pytest
from arms import ARM, changed, write, write_shipped
from replays import check
from scipy.optimize import brentq

import manip_dyn as md
from manip_dyn.errors import ManipDynError
from manip_dyn.planning.grid_search import grid_search
from manip_dyn.planning.straight_path import fastest_squares
from manip_dyn.planning.work import link_powers
from manip_dyn.robot.reference import Reference

C1 = 0.416739 + 29.58 * 0.2**2 + 21.0 * 0.4**2
C2 = 0.205625 + 15.0 * 0.125**2 + 6.0 * 0.25**2
C3 = 15.0 * 0.4 * 0.125 + 6.0 * 0.4 * 0.25
"""Fan (2003), eqs. 6.23 and 6.64."""
NEAR = 1e-4
"""`Xerror` of the thesis's programs: a joint so near its goal counts as arrived."""
PA10 = ([0.4, 0.6, -0.3, 1.1, 0.3, 0.5, -0.4], [-0.4, 0.3, 0.3, 1.6, -0.3, -0.2, 0.5])


@pytest.mark.parametrize("name", ["ibm7535", "cylindrical", "rr"])
def test_random_goals_are_planned_and_every_plan_holds(name):
    """All goals within the limits: these arms can hold themselves everywhere."""
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
            driven = np.abs(plan.torque(0.0)) / robot.tau_max
            assert driven == pytest.approx([1.0, 1.0], abs=1e-12)
    assert solved > 0


def test_seven_joints_under_gravity():
    robot = md.load_robot("pa10")
    plan = md.plan_zero_net_work(robot, *PA10)
    assert plan.moving_joints == list(range(7))
    check(robot, plan)
    assert plan.torque(plan.t_final) == pytest.approx(plan.hold)


def test_one_of_seven_joints():
    robot = md.load_robot("pa10")
    goal = [*PA10[0][:6], 0.0]
    plan = md.plan_zero_net_work(robot, PA10[0], goal)
    assert plan.moving_joints == [6]
    check(robot, plan)


# ------------------------------------------------------------------ the thesis's tables
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
        shoulder, elbow = plan.torque(t)
        assert elbow == pytest.approx((C2 + C3) * shoulder / (C1 + C2 + 2.0 * C3), abs=1e-7)
        assert plan.state(t)[0][1] == pytest.approx(0.0, abs=1e-9)
    check(robot, plan)


def test_the_extension_is_held_by_the_effort_of_eq_5_70():
    """The rotation goes on: F2 = -m2 r1 theta'^2."""
    robot = md.load_robot("cylindrical")
    plan = md.plan_zero_net_work(robot, [0.9, 0.05], [0.0, 0.0])
    t = 0.5 * (plan.arrival_times[1] + plan.t_final)
    assert plan.arrival_times[1] < t
    assert plan.torque(t)[1] == pytest.approx(-0.6 * plan.state(t)[1][0] ** 2, abs=1e-8)


def test_the_grid_search_finds_the_same_motion():
    """Table 5.3 by the thesis's program: as near as its rule of arrival and its grid allow."""
    robot = md.load_robot("cylindrical")
    found = grid_search(robot, [np.pi / 4, 0.0], [0.0, 0.0], step=1e-3, enough=3e-4, longest=1.5)
    plan = md.plan_zero_net_work(robot, [np.pi / 4, 0.0], [0.0, 0.0])
    assert found.success
    assert found.q_switch[0] == pytest.approx(plan.q_switch[0], abs=NEAR)
    assert found.t_switch[0] == pytest.approx(plan.switch_times[0][0], abs=3e-4)
    assert 0.0 < plan.t_final - found.t_arrival[0] < np.sqrt(2.0 * NEAR * 1.17 / 2.0)


def test_the_grid_search_gives_up_and_takes_two_joints_only():
    found = grid_search(md.load_robot("cylindrical"), [0.2, 0.3], [0.0, 0.0], most=5)
    assert (found.success, found.trials) == (False, 5)
    with pytest.raises(ManipDynError, match="has 7 joints; the grid expects 2"):
        grid_search(md.load_robot("pa10"), np.zeros(7), np.zeros(7))


# ------------------------------------------------------------------ work on the links
@pytest.mark.parametrize(
    ("name", "start", "goal"),
    [
        ("ibm7535", [0.76, 0.2618], [0.0, 0.0]),
        ("cylindrical", [0.2, 0.3], [0.0, 0.0]),
        ("pa10", *PA10),
    ],
)
def test_work_on_each_link_is_its_kinetic_energy(name, start, goal):
    """The principle of work and energy, with pinocchio's energy of every single body."""
    robot = md.load_robot(name)
    plan = md.plan_zero_net_work(robot, start, goal)
    curves, data = plan.work_curves, robot.model.createData()
    for t, work in list(zip(*curves, strict=True))[1:-1:7]:
        pinocchio.forwardKinematics(robot.model, data, *plan.state(t))
        energies = [0.5 * robot.model.inertias[i].vtiv(data.v[i]) for i in range(1, robot.n + 1)]
        assert work == pytest.approx(energies, abs=1e-8 * plan.peak_work)
    assert plan.peak_work > 0.0


def test_powers_add_up_to_that_of_the_efforts_and_the_weight():
    """Reactions inside the arm cancel; rotors and dampers keep their share."""
    robot, rng = md.load_robot("pa10"), np.random.default_rng(5)
    q, v, a = rng.uniform(-1.0, 1.0, (3, 4, 7))
    reference = Reference(robot)
    for i in range(4):
        efforts = reference.inverse_dynamics(q[i], v[i], a[i])
        gravity = reference.inverse_dynamics(q[i], 0 * v[i], 0 * a[i])
        expected = v[i] @ (efforts - gravity - robot.armature * a[i] - robot.damping * v[i])
        powers = link_powers(robot, q[i : i + 1], v[i : i + 1], a[i : i + 1])
        assert powers.sum() == pytest.approx(expected, rel=1e-10)


# ------------------------------------------------------- kernels and path underneath
@pytest.mark.parametrize(
    "held", [[0, 0, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0, 1], [0, 1, 1, 1, 1, 1, 1]]
)
def test_held_joints_do_not_accelerate_and_the_efforts_say_why(held):
    robot, rng = md.load_robot("pa10"), np.random.default_rng(4)
    kernels, driven = md.customize(robot).unchecked, 1.0 - np.array(held)
    q, v, tau = rng.uniform(-1.0, 1.0, (3, 7))
    v *= driven
    y, drive = np.concatenate([q, v]), np.concatenate([10.0 * tau, driven])
    rates, efforts = kernels.held_motion(y, drive), kernels.held_efforts(y, drive)
    assert np.all(rates[7:][driven == 0.0] == 0.0)
    assert efforts[driven == 1.0] == pytest.approx(10.0 * tau[driven == 1.0], abs=1e-10)
    assert Reference(robot).forward_dynamics(q, v, efforts) == pytest.approx(rates[7:], abs=1e-8)


def test_the_path_of_a_double_integrator_is_bang_bang():
    """x = 2 u s until the middle, then down again; within the grid it is exact."""
    one, none = np.ones((101, 1)), np.zeros((101, 1))
    x = fastest_squares(one, none, none, none, np.array([3.0]), 1e12)
    s = np.linspace(0.0, 1.0, 101)
    assert x == pytest.approx(2.0 * 3.0 * np.minimum(s, 1.0 - s), abs=1e-9)
    capped = fastest_squares(one, none, none, none, np.array([3.0]), 2.0)
    assert capped == pytest.approx(np.minimum(x, 2.0), abs=1e-9)


# --------------------------------------------------------------- ways out and refusals
def test_a_near_minimum_plan_says_why():
    robot = md.load_robot("ibm7535")
    plan = md.plan_zero_net_work(robot, [-1.18, -0.48], [2.06, -0.57])
    assert plan.status == "near_minimum"
    assert "joint 'elbow' needs the effort 13.34 to be held; its limit is 9" in plan.reason
    assert "straight joint path" in plan.reason
    check(robot, plan)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('velocity="3"', 'velocity="1"'), "'shoulder' would reach 7"),
        (('effort="20"', 'effort="4.5"'), "'shoulder' would reach 7"),
        (('velocity="5"', 'velocity="2"'), "'elbow' would reach 15"),
    ],
)
def test_a_weaker_arm_goes_slower(tmp_path, change, words):
    """With damping, under gravity; the speed limits become cruises."""
    robot = md.load_robot(write(tmp_path, changed(ARM, change)))
    plan = md.plan_zero_net_work(robot, [0.9, 0.3], [0.0, 0.9])
    assert plan.status == "near_minimum"
    assert words in plan.reason
    assert (
        plan.t_final > md.plan_zero_net_work(load_fast(tmp_path), [0.9, 0.3], [0.0, 0.9]).t_final
    )
    check(robot, plan)


def load_fast(folder):
    """Return the arm without speed limits to speak of."""
    fast = changed(ARM, ('velocity="3"', 'velocity="90"'), ('velocity="5"', 'velocity="90"'))
    return md.load_robot(write(folder, fast))


@pytest.mark.parametrize(
    ("q0", "qf", "words"),
    [
        ([0.0, 0.0], [4.0, 0.0], "goal of joint 'shoulder' is 4 rad"),
        ([-4.0, 0.0], [1.0, 0.0], "start of joint 'shoulder' is -4 rad"),
        ([0.0, 0.0], [np.nan, 0.0], "goal is [nan, 0.0]"),
        ([np.inf, 0.0], [0.0, 0.0], "start is [inf, 0.0]"),
        ([0.0, 0.0], [1.0], "goal has shape (1,)"),
        ([0.0, 0.0], ["a", 0.0], "goal is ['a', 0.0]"),
        (None, [0.0, 0.0], "start"),
    ],
)
def test_bad_arguments_are_refused(q0, qf, words):
    with pytest.raises(ManipDynError) as error:
        md.plan_zero_net_work(md.load_robot("ibm7535"), q0, qf)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('effort="50"', 'effort="0"'), "'shoulder' has the effort limit 0"),
        (('effort="20"', 'effort="1e-3"'), "'elbow' needs the effort"),
        (('effort="50"', 'effort="5"'), "'shoulder' needs the effort"),
    ],
)
def test_an_arm_that_cannot_is_refused_with_the_reason(tmp_path, change, words):
    robot = md.load_robot(write(tmp_path, changed(ARM, change)))
    with pytest.raises(ManipDynError) as error:
        md.plan_zero_net_work(robot, [0.9, 0.3], [0.0, 0.3])
    assert words in str(error.value)


def test_an_arm_too_weak_on_the_way_is_refused(tmp_path):
    """Over the horizontal the load is 7.35 N m; 5 N m hold start and goal, but not that."""
    robot = md.load_robot(
        write_shipped(tmp_path, "one_link_vertical", ('effort="8"', 'effort="5"'))
    )
    with pytest.raises(ManipDynError, match=r"% of the straight joint path .* its limit is 5"):
        md.plan_zero_net_work(robot, [-1.3], [1.3])


def test_a_goal_at_the_start_is_held():
    plan = md.plan_zero_net_work(md.load_robot("pa10"), PA10[0], PA10[0])
    assert (plan.t_final, plan.switch_times, plan.status) == (0.0, [[]] * 7, "solved")
    assert plan.torque(0.0) == pytest.approx(plan.hold)
    assert plan.net_work == pytest.approx(np.zeros(7))
    assert plan.samples(0.1) == [(0.0, pytest.approx(plan.hold))]
