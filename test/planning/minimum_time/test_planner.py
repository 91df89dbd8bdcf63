"""Minimum-time plans: closed forms, tables, random goals, peers, invalid arguments."""

from dataclasses import replace

import numpy as np
import pytest
from arms import ARM, changed, write, write_shipped
from extremals import arrived, check

import manip_dyn as md
from manip_dyn.bench import planning as benchmark

MGL = 5.0 * 9.8 * 0.3
"""Fan (2003), section 4.2.4: m g l of the vertical link, N m."""


START, GOAL = np.array([0.76, 0.2618]), np.zeros(2)
"""Fan (2003), table 6.3."""


@pytest.mark.parametrize("q0", [1.0, np.pi / 2, -0.3])
def test_a_horizontal_link_is_a_double_integrator(q0):
    """Fan (2003), eqs. 3.46, 3.47 and 4.8, with inertia 10 and effort 10."""
    plan = md.plan_minimum_time(md.load_robot("one_link_horizontal"), [q0], [0.0], budget=None)
    half = np.sqrt(abs(q0))
    assert plan.switch_times == [[pytest.approx(half, abs=1e-10)]]
    assert plan.t_final == pytest.approx(2.0 * half, abs=1e-10)
    # By eq. 3.24: p = k1, k2 - k1 t with S = 0 at the switch and H = 0.
    sign = np.sign(q0)
    assert plan.certificate.costates == pytest.approx([sign / half, sign], abs=1e-8)
    assert plan.costate(0.7 * half) == pytest.approx([sign / half, 0.3 * sign], abs=1e-8)
    check(plan)


@pytest.mark.parametrize(
    ("q0", "t_switch", "t_final"), [(1.0, 0.0531, 0.6268), (1.57, 0.1079, 0.7525)]
)
def test_a_vertical_link_switches_where_its_work_is_zero(q0, t_switch, t_final):
    """Fan (2003), section 4.2.4; its motions end 1e-4 rad before the goal, so they are shorter."""
    plan = md.plan_minimum_time(md.load_robot("one_link_vertical"), [q0], [0.0], budget=None)
    (switch,) = plan.switch_positions[0]
    assert switch == pytest.approx(q0 / 2 + MGL * np.sin(q0) / (4 * 8.0), abs=1e-9)
    assert plan.switch_times == [[pytest.approx(t_switch, abs=5.1e-5)]]
    assert t_final < plan.t_final + 5e-5 < t_final + 0.02
    zero_net_work = md.plan_zero_net_work(plan.robot, [q0], [0.0])
    assert plan.t_final == pytest.approx(zero_net_work.t_final, abs=1e-9)
    check(plan)


def test_a_damped_link_with_gravity_and_a_rotor(tmp_path):
    path = write_shipped(
        tmp_path,
        "one_link_vertical",
        ('velocity="20"', 'velocity="99"'),
        armature={"joint_1": 0.1},
    )
    text = path.read_text()
    start = text.index("<dynamics")
    path.write_text(text.replace(text[start : text.index("/>", start)], '<dynamics damping="0.4"'))
    robot = md.load_robot(path)
    plan = md.plan_minimum_time(robot, [-1.2], [0.4], budget=None)
    assert [len(times) for times in plan.switch_times] == [1]
    zero_net_work = md.plan_zero_net_work(robot, [-1.2], [0.4])
    assert plan.t_final == pytest.approx(zero_net_work.t_final, abs=1e-9)
    check(plan)


@pytest.mark.parametrize(("q0", "published"), [([0.975, 0.0], 1.0834), ([0.76, 0.2618], 1.0237)])
def test_the_ibm_arm_is_faster_than_published(q0, published):
    """Fan (2003), tables 6.2 and 6.3, prints local minima; certified motions are faster."""
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), q0, [0.0, 0.0], budget=None)
    assert plan.status == "solved"
    assert plan.t_final < published - 1e-3
    assert plan.certificate.singular_arcs == ()
    check(plan)


def test_the_cylindrical_arm(cylindrical):
    """Fan (2003), table 5.3; the motion of 1.26 s there ends with 3e-3 rad/s."""
    plan = md.plan_minimum_time(cylindrical, [np.pi / 4, 0.0], [0.0, 0.0], budget=None)
    assert [len(times) for times in plan.switch_times] == [1, 2]
    assert plan.switch_times[0] == pytest.approx([0.6308], abs=2e-4)
    assert plan.switch_times[1] == pytest.approx([0.351, 0.9094], abs=1e-3)
    check(plan)


def test_joints_with_equal_start_and_goal_move_too():
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), [1.0, 0.5], [1.2, 0.5], budget=None)
    assert all(times for times in plan.switch_times)
    q, _ = plan.state(0.5 * plan.t_final)
    assert abs(q[1] - 0.5) > 0.05
    check(plan)


def test_two_joints_with_gravity_and_armature():
    plan = md.plan_minimum_time(md.load_robot("rr"), [0.3, -0.5], [0.9, 0.4], budget=None)
    assert sum(map(len, plan.switch_times)) >= 3
    check(plan)


@pytest.mark.parametrize("name", ["rr", "ibm7535", "rp"])
def test_random_goals_are_reached_or_raise_with_a_reason(name, cylindrical):
    robot = cylindrical if name == "rp" else md.load_robot(name)
    rng, solved = np.random.default_rng(3), 0
    low, high = np.maximum(robot.q_min, -1.0), np.minimum(robot.q_max, 1.0)
    for _ in range(8):
        start, goal = rng.uniform(low, high), rng.uniform(low, high)
        plan = plan_or_reason(robot, start, goal)
        if isinstance(plan, str):
            assert "limit" in plan
            continue
        assert arrived(plan) == pytest.approx([*goal, 0.0, 0.0], abs=1e-6)
        solved += plan.status == "solved"
    assert solved >= 6


def plan_or_reason(robot, start, goal):
    try:
        return md.plan_minimum_time(robot, start, goal, budget=None)
    except md.ManipDynError as error:
        return str(error)


def test_collocation_has_the_same_duration():
    """CasADi + IPOPT with 100 intervals, within 1e-4 s above the exact minimum."""
    pytest.importorskip("casadi")
    robot = md.load_robot("ibm7535")
    plan = md.plan_minimum_time(robot, START, GOAL, budget=None)
    assert 0.0 < benchmark.collocation(robot, START, GOAL)() - plan.t_final < 1e-4


def test_the_straight_path_takes_longer():
    pytest.importorskip("toppra")
    robot = md.load_robot("ibm7535")
    plan = md.plan_minimum_time(robot, START, GOAL, budget=None)
    assert benchmark.straight_path(robot, START, GOAL)() > plan.t_final


def test_a_start_at_the_goal_is_held():
    plan = md.plan_minimum_time(md.load_robot("one_link_vertical"), [0.7], [0.7], budget=None)
    assert plan.status == "at_goal"
    assert plan.success
    assert plan.t_final == 0.0
    assert plan.switch_times == [[]]
    assert plan.effort(0.0) == pytest.approx([MGL / 2.0 * np.cos(0.7)])
    assert [t for t, _ in plan.samples(0.1)] == [0.0]
    with pytest.raises(md.ManipDynError, match="no costates: start and goal are the same"):
        plan.costate(0.0)


def test_a_displacement_below_a_microradian_is_no_motion():
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), [9e-7, 0.0], [0.0, 0.0], budget=None)
    assert (plan.status, plan.t_final) == ("at_goal", 0.0)


def test_a_velocity_below_a_microradian_per_second_is_rest():
    robot, slow = md.load_robot("ibm7535"), np.array([1e-16, -9e-7])
    here = md.plan_minimum_time(robot, [0.5, 0.0], [0.5, 0.0], v0=slow, vf=slow)
    assert (here.status, here.t_final) == ("at_goal", 0.0)
    plan = md.plan_minimum_time(robot, START, GOAL, v0=slow, budget=None)
    assert plan.status == "solved"
    assert plan.t_final == md.plan_minimum_time(robot, START, GOAL, budget=None).t_final


@pytest.mark.parametrize("start", [[0.1, 0.0], [1.0027, -1.3992]])
def test_a_motion_whose_reflection_is_equally_fast_is_not_unique(start):
    """The arm moves in the horizontal plane, so its first position does not affect the efforts.

    The search does not compute the reflection. Its efforts, simulated, move the arm to the goal.
    """
    robot, goal = md.load_robot("ibm7535"), np.array([0.0, -start[1]])
    plan = md.plan_minimum_time(robot, start, goal, budget=None)
    assert (plan.status, plan.is_unique) == ("solved", False)
    assert "another motion is equally fast" in plan.reason
    times = np.round(1e9 * (plan.t_final - plan.knots[:0:-1])).astype(int).tolist()
    law = md.Schedule(robot, times, [-plan.effort(t) for t in plan.knots[-2::-1]])
    motion = md.simulate(robot, start, np.zeros(2), law, plan.t_final, method="rkdp87", rtol=1e-10)
    assert motion.q[-1] == pytest.approx(goal, abs=1e-6)
    assert motion.v[-1] == pytest.approx(np.zeros(2), abs=1e-6)
    halfway = plan.state(0.5 * plan.t_final)[0]
    assert np.abs(2.0 * halfway - start - goal).max() > 0.1


def test_the_reason_of_a_straight_motion_contains_the_extent_of_the_search():
    robot = md.load_robot("ibm7535")
    plan = md.plan_minimum_time(robot, [0.5, 0.5], [0.5001, 0.4999], budget=None)
    assert plan.reason.startswith("the straight path; motions near it are not faster by more than")
    assert "from 21 initial guesses" in plan.reason


@pytest.mark.parametrize("scale", [3e-6, 1e-4, 1e-2])
def test_short_motions_have_constant_inertia(scale):
    """Their duration is nearly proportional to the square root of the distance."""
    robot, goal = md.load_robot("ibm7535"), np.array([0.7, 0.5])
    displacement = np.array([1.0, 0.3])
    plan = md.plan_minimum_time(robot, goal + scale * displacement, goal, budget=None)
    assert plan.success
    if scale == 1e-2:  # the shoulder alone determines the duration of shorter motions
        assert plan.certificate.distance == pytest.approx(scale)
        assert plan.certificate.boundary <= 1e-8 * scale
    shorter = md.plan_minimum_time(robot, goal + 0.5 * scale * displacement, goal, budget=None)
    assert plan.t_final / shorter.t_final == pytest.approx(np.sqrt(2.0), rel=0.1 * scale + 1e-5)


@pytest.mark.parametrize(
    ("q0", "qf", "words"),
    [
        (
            [0.0, 0.0],
            [4.0, 0.0],
            "goal of joint 'shoulder' must be from -3.14159 to 3.14159 rad, got 4 rad.",
        ),
        (
            [-4.0, 0.0],
            [1.0, 0.0],
            "start of joint 'shoulder' must be from -3.14159 to 3.14159 rad, got -4 rad.",
        ),
        ([0.0, 0.0], [np.nan, 0.0], "goal must be finite numbers, got [nan, 0.0]"),
        ([0.0, np.inf], [1.0, 0.0], "start must be finite numbers, got [0.0, inf]"),
        ([0.0, 0.0], [1.0], "goal must have shape (2,), got (1,)"),
        ([0.0, 0.0], ["a", 0.0], "goal must be 2 numbers, got ['a', 0.0]"),
    ],
)
def test_invalid_arguments_raise(q0, qf, words):
    with pytest.raises(md.ManipDynError) as error:
        md.plan_minimum_time(md.load_robot("ibm7535"), q0, qf, budget=None)
    assert words in str(error.value)


def test_progress_must_be_a_function():
    with pytest.raises(md.ManipDynError, match="progress must be a function, got 3"):
        md.plan_minimum_time(md.load_robot("ibm7535"), START, GOAL, progress=3)


@pytest.mark.parametrize("budget", ["2", b"2", True, -1.0, np.nan])
def test_the_budget_must_be_a_number(budget):
    with pytest.raises(md.ManipDynError, match="budget must be"):
        md.plan_minimum_time(md.load_robot("ibm7535"), [0.0, 0.0], [0.1, 0.0], budget=budget)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            [('effort="50"', 'effort="0"')],
            "effort limit of joint 'shoulder' must be finite and above 0",
        ),
        ([('effort="20"', 'effort="1e-3"')], "'elbow' needs the effort"),
        ([('effort="50"', 'effort="5"')], "'shoulder' needs the effort"),
    ],
)
def test_an_arm_with_insufficient_efforts_raises(tmp_path, changes, words):
    robot = md.load_robot(write(tmp_path, changed(ARM, *changes)))
    with pytest.raises(md.ManipDynError) as error:
        md.plan_minimum_time(robot, [0.9, 0.3], [0.0, 0.2], budget=None)
    assert words in str(error.value)


def test_a_speed_limit_of_zero_raises():
    """Regression: "no search converged" after 1.5 s, and "would reach nan rad/s"."""
    robot = replace(md.load_robot("ibm7535"), v_max=np.array([20.0, 0.0]))
    for plan in (md.plan_minimum_time, md.plan_zero_net_work):
        with pytest.raises(
            md.ManipDynError, match="speed limit of joint 'elbow' must be above 0, got 0"
        ):
            plan(robot, [0.5, 0.3], [0.0, 0.2])
    assert md.plan_zero_net_work(robot, [0.5, 0.3], [0.0, 0.3]).success


def test_three_joints_with_gravity(tmp_path):
    """At least five switches: one less than the number of conditions on the final state."""
    plan = md.plan_minimum_time(
        three_joints(tmp_path), [-1.0, 0.3, 0.2], [-1.3, 0.1, -0.2], budget=None
    )
    assert sum(map(len, plan.switch_times)) >= 5
    check(plan)


def three_joints(folder):
    """Return an arm of slender rods in a vertical plane."""
    elements, parent, length_before = ['<robot name="three"><link name="link_0"/>'], "link_0", 0.0
    for i, (mass, length, effort) in enumerate([(8, 0.4, 60), (5, 0.35, 30), (2, 0.25, 8)], 1):
        inertia = mass * length**2 / 12
        elements.append(
            f'<joint name="joint_{i}" type="revolute"><parent link="{parent}"/>'
            f'<child link="link_{i}"/><origin xyz="{length_before} 0 0"/><axis xyz="0 -1 0"/>'
            f'<limit lower="-3" upper="3" velocity="40" effort="{effort}"/></joint>'
            f'<link name="link_{i}"><inertial><origin xyz="{length / 2} 0 0"/>'
            f'<mass value="{mass}"/><inertia ixx="0" ixy="0" ixz="0" iyy="{inertia}" iyz="0" '
            f'izz="{inertia}"/></inertial></link>'
        )
        parent, length_before = f"link_{i}", length
    return md.load_robot(write(folder, "".join([*elements, "</robot>"])))
