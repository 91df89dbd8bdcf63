"""Minimum-time plans: closed forms, certificates recomputed, independent simulation, refusals."""

import dataclasses

import numpy as np
import pinocchio
import pytest
from arms import ARM, changed, write, write_shipped
from scipy.integrate import solve_ivp

import manip_dyn as md
from manip_dyn.bench.planning_minimum_time import collocation, straight_path
from manip_dyn.core.by_reference import by_reference
from manip_dyn.errors import ManipDynError
from manip_dyn.planning.linear_program import linear_program_of, solve_linear_program
from manip_dyn.planning.switching import Stay, Switching, read_off

MGL = 5.0 * 9.8 * 0.3
"""Fan (2003), section 4.2.4: m g l of the vertical link, N m."""

START, GOAL = np.array([0.76, 0.2618]), np.zeros(2)
"""Fan (2003), table 6.3."""
CYLINDRICAL = """<robot name="rp">
  <link name="base"/>
  <joint name="turn" type="revolute">
    <parent link="base"/> <child link="arm"/> <axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" velocity="20" effort="2"/>
  </joint>
  <link name="arm">
    <inertial><mass value="3"/>
      <inertia ixx="0.81" ixy="0" ixz="0" iyy="0.81" iyz="0" izz="0.81"/></inertial>
  </link>
  <joint name="slide" type="prismatic">
    <parent link="arm"/> <child link="head"/> <origin xyz="0.6 0 0"/> <axis xyz="1 0 0"/>
    <limit lower="-0.5" upper="0.5" velocity="20" effort="2"/>
  </joint>
  <link name="head">
    <inertial><mass value="1"/>
      <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial>
  </link>
</robot>"""
"""Fan (2003), chapter 5, parameter set 1."""


@pytest.fixture
def cylindrical(tmp_path):
    return md.load_robot(write(tmp_path, CYLINDRICAL))


def arrived(plan):
    """Integrate pinocchio's dynamics with all joints free, arc by arc; return the final state."""
    robot, n = plan.robot, plan.robot.n
    data = robot.model.createData()

    def rhs(t, y, end):
        q, v = y[:n], y[n:]
        tau = plan.torque(min(t, np.nextafter(end, 0.0)))
        assert np.all(np.abs(tau) <= robot.tau_max * (1 + 1e-9))
        tau = tau - robot.damping * v - robot.stiffness * (q - robot.rest)
        return np.concatenate([v, pinocchio.aba(robot.model, data, q, v, tau)])

    y = np.concatenate([plan.q0, np.zeros(n)])
    for begin, end, _ in plan.switching.arcs():
        if end > begin:
            run = solve_ivp(rhs, (begin, end), y, "DOP853", args=(end,), rtol=1e-10, atol=1e-12)
            y = run.y[:, -1]
    return y


def check(plan):
    """Assert what every solved plan must be."""
    assert plan.success, plan.reason
    assert arrived(plan) == pytest.approx([*plan.qf, *np.zeros(len(plan.qf))], abs=1e-6)
    assert plan.certificate.boundary < 1e-8
    assert plan.certificate.hamiltonian < 1e-6
    assert plan.certificate.margin > 0.0
    assert np.abs(plan.net_work).max() < 1e-6 * plan.peak_work


@pytest.mark.parametrize("q0", [1.0, np.pi / 2, -0.3])
def test_a_horizontal_link_is_a_double_integrator(q0):
    """Fan (2003), eqs. 3.46, 3.47 and 4.8, with inertia 10 and effort 10."""
    plan = md.plan_minimum_time(md.load_robot("one_link_horizontal"), [q0], [0.0])
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
    """Fan (2003), section 4.2.4; its final times end 1e-4 rad early, so before ours."""
    plan = md.plan_minimum_time(md.load_robot("one_link_vertical"), [q0], [0.0])
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
    plan = md.plan_minimum_time(robot, [-1.2], [0.4])
    assert [len(times) for times in plan.switch_times] == [1]
    zero_net_work = md.plan_zero_net_work(robot, [-1.2], [0.4])
    assert plan.t_final == pytest.approx(zero_net_work.t_final, abs=1e-9)
    check(plan)


@pytest.mark.parametrize(("q0", "published"), [([0.975, 0.0], 1.0834), ([0.76, 0.2618], 1.0237)])
def test_the_ibm_arm_is_faster_than_published(q0, published):
    """Fan (2003), tables 6.2 and 6.3: local minima, which faster certified motions beat."""
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), q0, [0.0, 0.0])
    assert plan.status == "solved"
    assert plan.t_final < published - 1e-3
    assert plan.certificate.singular_arcs == ()
    check(plan)


def test_the_cylindrical_arm(cylindrical):
    """Fan (2003), table 5.3; 1.26 s there ends short of rest by 3e-3 rad/s."""
    plan = md.plan_minimum_time(cylindrical, [np.pi / 4, 0.0], [0.0, 0.0])
    assert [len(times) for times in plan.switch_times] == [1, 2]
    assert plan.switch_times[0] == pytest.approx([0.6308], abs=2e-4)
    assert plan.switch_times[1] == pytest.approx([0.351, 0.9094], abs=1e-3)
    check(plan)


def test_a_singular_arc_is_found_and_reported(cylindrical):
    """Fan (2003), table 5.4: bang-bang there, but the switching function of joint 1 rests at 0."""
    plan = md.plan_minimum_time(cylindrical, [0.2, 0.3], [0.0, 0.0])
    ((joint, begin, end),) = plan.certificate.singular_arcs
    assert joint == "turn"
    assert plan.certificate.singular_effort < 1.0
    assert plan.certificate.legendre_clebsch > 0.0
    middle = 0.5 * (begin + end)
    assert abs(plan.torque(middle)[0]) < 2.0
    assert len(plan.switch_times[0]) == 3
    assert plan.torque(middle)[1] == pytest.approx(-2.0)
    mass = md.customize(cylindrical).mass_matrix(plan.state(middle)[0])
    switching = np.linalg.solve(mass, plan.costate(middle)[2:])
    assert abs(switching[0]) < 1e-9 < abs(switching[1])
    assert len(plan.samples(0.01)) == 5 + int((end - begin) / 0.01) + 1
    check(plan)


def test_joints_that_are_at_their_goal_move_too():
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), [1.0, 0.5], [1.2, 0.5])
    assert all(times for times in plan.switch_times)
    q, _ = plan.state(0.5 * plan.t_final)
    assert abs(q[1] - 0.5) > 0.05
    check(plan)


def test_gravity_armature_and_two_joints():
    plan = md.plan_minimum_time(md.load_robot("rr"), [0.3, -0.5], [0.9, 0.4])
    assert sum(map(len, plan.switch_times)) >= 3
    check(plan)


def test_the_costates_are_the_sensitivities_of_the_final_time():
    """What the start loses: T(q0 + dq) - T(q0) = p_q . dq, by planning again from there."""
    robot, goal = md.load_robot("ibm7535"), [0.0, 0.0]
    start = np.array([0.76, 0.2618])
    plan = md.plan_minimum_time(robot, start, goal)
    for joint in range(2):
        step = 1e-4 * np.eye(2)[joint]
        later, earlier = (
            md.plan_minimum_time(robot, start + each, goal).t_final for each in (step, -step)
        )
        slope = (later - earlier) / 2e-4
        assert plan.certificate.costates[joint] == pytest.approx(slope, rel=1e-5)


def test_the_certificate_again_by_finite_differences():
    """Switching functions from the flow alone: S_j = dT-weighted effect of an effort at t."""
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), [0.76, 0.2618], [0.0, 0.0])
    robot, n = plan.robot, 2
    kernels = md.customize(robot).unchecked

    def end(y, t):
        for begin, until, signs in plan.switching.arcs():
            if until <= t:
                continue
            tau = signs * robot.tau_max
            y = solve_ivp(
                lambda _, y, tau=tau: np.concatenate(
                    [y[n:], kernels.forward_dynamics(y[:n], y[n:], tau)]
                ),
                (max(begin, t), until), y, "DOP853", rtol=1e-12, atol=1e-13,
            ).y[:, -1]  # fmt: skip
        return y

    final = plan.costate(plan.t_final)
    for t in np.linspace(0.03, 0.97, 6) * plan.t_final:
        q, v = plan.state(t)
        y, h = np.concatenate([q, v]), 1e-5
        flow = np.array([(end(y + h * e, t) - end(y - h * e, t)) / (2 * h) for e in np.eye(4)])
        costate = flow @ final
        assert costate == pytest.approx(plan.costate(t), abs=1e-6)
        switching = np.linalg.solve(kernels.mass_matrix(q), costate[n:])
        assert np.all(switching * plan.torque(t) < 0.0)
        accelerations = kernels.forward_dynamics(q, v, plan.torque(t))
        assert 1.0 + costate @ np.concatenate([v, accelerations]) == pytest.approx(0.0, abs=1e-6)


def test_a_wrong_plan_is_not_certified():
    """The same motion with other costates: the certificate sees it."""
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), [0.76, 0.2618], [0.0, 0.0])
    good = plan.certificate
    assert good.holds
    for changes in (
        {"margin": -0.1}, {"boundary": 1e-6}, {"hamiltonian": np.nan}, {"curvature": -1.0},
        {"singular": ("elbow",)}, {"singular_effort": 1.1}, {"legendre_clebsch": -1.0},
    ):  # fmt: skip
        assert not dataclasses.replace(good, **changes).holds


@pytest.mark.parametrize("name", ["rr", "ibm7535", "rp"])
def test_random_goals_arrive_or_are_refused_with_a_reason(name, cylindrical):
    robot = cylindrical if name == "rp" else md.load_robot(name)
    rng, solved = np.random.default_rng(3), 0
    low, high = np.maximum(robot.q_min, -1.0), np.minimum(robot.q_max, 1.0)
    for _ in range(8):
        start, goal = rng.uniform(low, high), rng.uniform(low, high)
        plan = plan_or_reason(robot, start, goal)
        if isinstance(plan, str):
            assert "limit" in plan or "no search converged" in plan
            continue
        assert arrived(plan) == pytest.approx([*goal, 0.0, 0.0], abs=1e-6)
        solved += plan.status == "solved"
    assert solved >= 6


def plan_or_reason(robot, start, goal):
    try:
        return md.plan_minimum_time(robot, start, goal)
    except ManipDynError as error:
        return str(error)


def test_collocation_comes_to_the_same_time():
    """CasADi + IPOPT with 100 intervals, within 1e-4 s above the exact minimum."""
    pytest.importorskip("casadi")
    robot = md.load_robot("ibm7535")
    plan = md.plan_minimum_time(robot, START, GOAL)
    assert 0.0 < collocation(robot, START, GOAL, 1.5)() - plan.t_final < 1e-4


def test_the_straight_path_takes_longer():
    pytest.importorskip("toppra")
    robot = md.load_robot("ibm7535")
    plan = md.plan_minimum_time(robot, START, GOAL)
    assert straight_path(robot, START, GOAL)() > plan.t_final


def test_start_at_the_goal_holds():
    plan = md.plan_minimum_time(md.load_robot("one_link_vertical"), [0.7], [0.7])
    assert plan.status == "at_goal"
    assert plan.success
    assert plan.t_final == 0.0
    assert plan.switch_times == [[]]
    assert plan.torque(0.0) == pytest.approx([MGL / 2.0 * np.cos(0.7)])
    assert [t for t, _ in plan.samples(0.1)] == [0.0]
    with pytest.raises(ManipDynError, match="no costates: start and goal are the same"):
        plan.costate(0.0)


def test_less_than_a_microradian_is_no_motion():
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), [9e-7, 0.0], [0.0, 0.0])
    assert (plan.status, plan.t_final) == ("at_goal", 0.0)


@pytest.mark.parametrize("part", [3e-6, 1e-4, 1e-2])
def test_short_motions_are_those_of_a_constant_inertia(part):
    """Nearly so; for it the time goes with the root of the way."""
    robot, goal = md.load_robot("ibm7535"), np.array([0.7, 0.5])
    way = np.array([1.0, 0.3])
    plan = md.plan_minimum_time(robot, goal + part * way, goal)
    assert plan.status == "solved"
    assert plan.certificate.way == pytest.approx(part)
    assert plan.certificate.boundary <= 1e-8 * part
    shorter = md.plan_minimum_time(robot, goal + 0.5 * part * way, goal)
    assert plan.t_final / shorter.t_final == pytest.approx(np.sqrt(2.0), rel=0.1 * part + 1e-7)


def test_a_short_motion_has_to_end_nearer_to_the_goal():
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), START, GOAL)
    near = dataclasses.replace(plan.certificate, boundary=5e-9)
    assert near.holds
    assert not dataclasses.replace(near, way=1e-3).holds


@pytest.mark.parametrize("time", [np.nan, np.inf, np.array([0.1, 0.2]), np.array([0.1]), "soon"])
def test_times_are_finite_numbers(time):
    arm = md.load_robot("ibm7535")
    plans = [
        md.plan_minimum_time(arm, START, GOAL),
        md.plan_minimum_time(arm, GOAL, GOAL),
        md.plan_zero_net_work(arm, START, GOAL),
        md.plan_zero_net_work(arm, START, GOAL, slew_rate=500.0),
    ]
    for plan in plans:
        for read in (plan.torque, plan.state, getattr(plan, "costate", plan.state)):
            with pytest.raises(ManipDynError, match="time is"):
                read(time)


def test_a_plan_is_read_at_any_time():
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), [0.76, 0.2618], [0.0, 0.0])
    assert plan.state(-1.0)[0] == pytest.approx(plan.q0)
    assert plan.state(9.0)[0] == pytest.approx(plan.qf)
    assert plan.torque(9.0) == pytest.approx([0.0, 0.0])
    times = [t for t, _ in plan.samples(1e-3)]
    switches = sorted(t for each in plan.switch_times for t in each)
    assert times == pytest.approx([0.0, *switches, plan.t_final])
    assert plan.joint_names == ("shoulder", "elbow")


@pytest.mark.parametrize(
    ("q0", "qf", "words"),
    [
        ([0.0, 0.0], [4.0, 0.0], "goal of joint 'shoulder' is 4 rad"),
        ([-4.0, 0.0], [1.0, 0.0], "start of joint 'shoulder' is -4 rad"),
        ([0.0, 0.0], [np.nan, 0.0], "goal is [nan, 0.0]"),
        ([0.0, np.inf], [1.0, 0.0], "start is [0.0, inf]"),
        ([0.0, 0.0], [1.0], "goal has shape (1,)"),
        ([0.0, 0.0], ["a", 0.0], "goal is ['a', 0.0]"),
    ],
)
def test_bad_arguments_are_refused(q0, qf, words):
    with pytest.raises(ManipDynError) as error:
        md.plan_minimum_time(md.load_robot("ibm7535"), q0, qf)
    assert words in str(error.value)


@pytest.mark.parametrize("plan", [md.plan_minimum_time, md.plan_zero_net_work])
def test_what_is_no_robot_is_refused(plan):
    with pytest.raises(ManipDynError, match="robot is 'ibm7535'; expected a Robot"):
        plan("ibm7535", [0.0, 0.0], [1.0, 0.0])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([('effort="50"', 'effort="0"')], "'shoulder' has the effort limit 0"),
        ([('effort="20"', 'effort="1e-3"')], "'elbow' needs the effort"),
        ([('effort="50"', 'effort="5"')], "'shoulder' needs the effort"),
    ],
)
def test_an_arm_that_cannot_is_refused_with_the_reason(tmp_path, changes, words):
    robot = md.load_robot(write(tmp_path, changed(ARM, *changes)))
    with pytest.raises(ManipDynError) as error:
        md.plan_minimum_time(robot, [0.9, 0.3], [0.0, 0.2])
    assert words in str(error.value)


def test_a_link_with_a_speed_limit_moves_by_a_trapezoid(tmp_path):
    """The way over the speed and the speed over the acceleration, 1 rad/s^2."""
    change = ('velocity="10"', 'velocity="0.5"')
    robot = md.load_robot(write_shipped(tmp_path, "one_link_horizontal", change))
    plan = md.plan_minimum_time(robot, [1.0], [0.0])
    assert plan.t_final == pytest.approx(1.0 / 0.5 + 0.5, abs=1e-9)
    assert plan.switch_times == [[pytest.approx(0.5, abs=1e-9), pytest.approx(2.0, abs=1e-9)]]
    assert plan.certificate.limit_arcs == (("joint_1", "speed", *plan.switch_times[0]),)
    assert plan.torque(1.0) == pytest.approx([0.0], abs=1e-9)
    check(plan)


def along_limits(plan):
    """Assert that a motion at limits keeps to them and that its costates are sensitivities."""
    robot, n = plan.robot, plan.robot.n
    check(plan)
    assert plan.certificate.limit_force >= 0.0
    for t in np.linspace(0.0, plan.t_final, 200)[:-1]:
        q, v = plan.state(t)
        assert np.all(np.abs(v) < robot.v_max + 1e-8)
        assert np.all((robot.q_min - 1e-8 < q) & (q < robot.q_max + 1e-8))
        accelerations = md.customize(robot).forward_dynamics(q, v, plan.torque(t))
        rates = np.concatenate([v, accelerations])
        assert 1.0 + plan.costate(t) @ rates == pytest.approx(0.0, abs=1e-6)
    for step in 1e-4 * np.eye(n):
        later, earlier = (
            md.plan_minimum_time(robot, plan.q0 + each, plan.qf).t_final for each in (step, -step)
        )
        slope = (later - earlier) / 2e-4
        assert plan.certificate.costates[:n] @ step == pytest.approx(slope * 1e-4, rel=1e-4)


def test_a_speed_limit_is_kept(tmp_path):
    path = write_shipped(tmp_path, "ibm7535", ('velocity="20"', 'velocity="3"'))
    plan = md.plan_minimum_time(md.load_robot(path), [1.5, 0.2], [0.0, 0.0])
    assert "speed" in {kind for _, kind, _, _ in plan.certificate.limit_arcs}
    along_limits(plan)


def test_a_joint_rests_at_its_stop(cylindrical):
    plan = md.plan_minimum_time(cylindrical, [2.14, -0.46], [1.38, -0.32])
    ((joint, kind, begin, end),) = plan.certificate.limit_arcs
    assert (joint, kind) == ("slide", "position")
    q, v = plan.state(0.5 * (begin + end))
    assert (q[1], v[1]) == pytest.approx((-0.5, 0.0), abs=1e-8)
    along_limits(plan)


def test_a_joint_comes_to_its_speed_limit_without_acceleration():
    """Its effort is at the limit against it when it arrives."""
    start, goal = [-0.59971848, -1.89429841], [-2.57137445, 0.50474327]
    plan = md.plan_minimum_time(md.load_robot("rr"), start, goal)
    assert plan.certificate.jumps.size == 1
    assert plan.certificate.singular_effort == pytest.approx(1.0, abs=1e-8)
    along_limits(plan)


@pytest.mark.parametrize("name", ["ibm7535", "rr"])
def test_switching_rates_are_those_of_the_flow(name):
    """S = M^-1 p_v along the canonical equations, and its gradients, by central differences."""
    robot, rng, h = md.load_robot(name), np.random.default_rng(5), 1e-6
    n, kernels = robot.n, md.customize(robot)
    z, tau = rng.normal(size=4 * n), rng.normal(size=n)

    def switching(z):
        return np.linalg.solve(kernels.mass_matrix(z[:n]), z[3 * n :])

    q, v, p_q, p_v = z.reshape(4, n)
    by_q, by_v, _ = kernels.forward_dynamics_adjoint(q, v, tau, p_v)
    flow = np.concatenate([v, kernels.forward_dynamics(q, v, tau), -by_q, -p_q - by_v])
    rows = kernels.switching_rates(q, v, p_q, p_v)
    along = (switching(z + h * flow) - switching(z - h * flow)) / (2 * h)
    assert rows[:, 0] == pytest.approx(along, abs=1e-7)
    for i, e in enumerate(np.eye(4 * n)):
        ends = [kernels.switching_rates(*(z + k * h * e).reshape(4, n))[:, 0] for k in (1, -1)]
        assert rows[:, 1 + i] == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-7)


def test_three_joints_with_gravity(tmp_path):
    """Five switches or more, as many as there are conditions on the final state less one."""
    plan = md.plan_minimum_time(three_joints(tmp_path), [-1.0, 0.3, 0.2], [-1.3, 0.1, -0.2])
    assert sum(map(len, plan.switch_times)) >= 5
    check(plan)


def three_joints(folder):
    """Slender rods in a vertical plane."""
    parts, parent, reach = ['<robot name="three"><link name="link_0"/>'], "link_0", 0.0
    for i, (mass, length, effort) in enumerate([(8, 0.4, 60), (5, 0.35, 30), (2, 0.25, 8)], 1):
        inertia = mass * length**2 / 12
        parts.append(
            f'<joint name="joint_{i}" type="revolute"><parent link="{parent}"/>'
            f'<child link="link_{i}"/><origin xyz="{reach} 0 0"/><axis xyz="0 -1 0"/>'
            f'<limit lower="-3" upper="3" velocity="40" effort="{effort}"/></joint>'
            f'<link name="link_{i}"><inertial><origin xyz="{length / 2} 0 0"/>'
            f'<mass value="{mass}"/><inertia ixx="0" ixy="0" ixz="0" iyy="{inertia}" iyz="0" '
            f'izz="{inertia}"/></inertial></link>'
        )
        parent, reach = f"link_{i}", length
    return md.load_robot(write(folder, "".join([*parts, "</robot>"])))


def stated(columns, right, cost, low, high, at_high):
    """Return a linear program."""
    program = linear_program_of(*columns.shape)
    return program._replace(
        columns=columns.ravel(), right=right, cost=cost, low=low, high=high, at_high=at_high
    )


def test_linear_programs_agree_with_scipy():
    from scipy.optimize import linprog

    rng, rows, count = np.random.default_rng(0), 4, 41
    for _ in range(20):
        columns, cost = rng.normal(size=(count, rows)), rng.normal(size=count)
        low, high = -rng.uniform(0, 1, count), rng.uniform(0, 1, count)
        right = columns.T @ rng.uniform(low, high)
        program = stated(columns, right, cost, low, high, rng.random(count) < 0.5)
        pivots = solve_linear_program(by_reference(program), count, rows, 1e3)
        x, multipliers = program.x, program.multipliers
        assert pivots >= 0
        bounds = list(zip(low, high, strict=True))
        best = linprog(cost, A_eq=columns.T, b_eq=right, bounds=bounds)
        assert cost @ x == pytest.approx(best.fun)
        assert columns.T @ x == pytest.approx(right, abs=1e-9)
        assert multipliers == pytest.approx(best.eqlin.marginals, abs=1e-9)


def test_a_linear_program_without_solution_misses_by_little():
    ones = np.ones(2)
    program = stated(ones[:, None], np.array([5.0]), ones, 0 * ones, ones, np.zeros(2, bool))
    solve_linear_program(by_reference(program), 2, 1, 9.0)
    assert program.x == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize(
    ("stays", "signs", "rows"),
    [
        ([(0, 3, 2.0)], [1.0, 1.0], [(0.0, 2.0), (3.1, -1.0)]),
        ([(4, 6, -2.0)], [1.0, 1.0], [(3.0, -1.0), (3.9, -2.0)]),
        ([(1, 3, 2.0), (3, 4, 3.0)], [1.0, 1.0], [(0.9, 2.0), (3.0, 3.0), (4.1, -1.0)]),
        ([(1, 4, 2.0), (3, 5, 3.0)], [1.0, 1.0], [(0.9, 2.0), (4.0, 3.0), (5.1, -1.0)]),
    ],
)
def test_stays_may_begin_at_once_and_follow_each_other(stays, signs, rows):
    u = np.array([[1.0, 1.0]] * 3 + [[-1.0, 1.0]] * 3)
    switching = read_off(u, 6.0, [Stay(0, *each) for each in stays])
    assert switching.signs.tolist() == signs
    assert switching.joints == (0,) * len(rows)
    assert switching.times == pytest.approx([t for t, _ in rows])
    assert switching.values == tuple(value for _, value in rows)


def test_structures_are_read_off_controls():
    u = np.array([[1.0, -1], [1, -0.5], [0, -1], [-1, 1], [-1, 1], [-1, 1]])
    switching = read_off(u, 6.0)
    assert switching.signs.tolist() == [1.0, -1.0]
    first, second = switching.per_joint()
    assert first == pytest.approx([2.5])
    assert second == pytest.approx([1.375, 1.625, 3.0])


def test_structures_are_tidied():
    switching = Switching(
        np.array([1.0, -1.0]), (0, 0, 1), (-1.0, 1.0, 1.0), np.array([2, 1, -1]), 3
    )
    tidy = switching.tidied()
    assert tidy.signs.tolist() == [1.0, 1.0]
    assert tidy.joints == ()
