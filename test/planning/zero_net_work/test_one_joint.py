"""Zero-net-work plans of one joint: closed forms, published switches, executed in closed loop."""

import numpy as np
import pytest
from arms import write_shipped
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import manip_dyn as md
from manip_dyn import ManipDynError
from manip_dyn.planning import PlanExecutor, mean_effort

MGL = 5.0 * 9.8 * 0.3
"""Fan (2003), section 4.2.4: m g l of the vertical link, N m."""


@pytest.mark.parametrize("q0", [1.0, np.pi / 2, -0.3])
def test_horizontal_link_is_a_double_integrator(q0):
    plan = md.plan_zero_net_work(md.load_robot("one_link_horizontal"), [q0], [0.0])
    half = np.sqrt(abs(q0) * 10.0 / 10.0)
    assert plan.t_switch == pytest.approx(half, abs=1e-12)
    assert plan.t_final == pytest.approx(2.0 * half, abs=1e-12)
    assert plan.q_switch == pytest.approx(q0 / 2.0, abs=1e-12)


@pytest.mark.parametrize(
    ("q0", "q_switch", "t_switch"), [(1.0, 0.8866, 0.0531), (1.57, 1.2444, 0.1079)]
)
def test_vertical_link_switches_at_the_published_position(q0, q_switch, t_switch):
    """Fan (2003), eqs. 4.48-4.50 and section 4.2.4, printed to four digits."""
    plan = md.plan_zero_net_work(md.load_robot("one_link_vertical"), [q0], [0.0])
    assert plan.q_switch == pytest.approx(q0 / 2 + MGL * np.sin(q0) / (4 * 8.0), abs=1e-10)
    assert plan.q_switch == pytest.approx(q_switch, abs=5.1e-5)
    assert plan.t_switch == pytest.approx(t_switch, abs=5.1e-5)


def test_ibm_shoulder_with_the_elbow_held():
    """Fan (2003), eqs. 6.21-6.23, 6.55 with the parameters of eq. 6.64."""
    c1 = 0.416739 + 29.58 * 0.2**2 + 21.0 * 0.4**2
    c2 = 0.205625 + 15.0 * 0.125**2 + 6.0 * 0.25**2
    c3 = 15.0 * 0.4 * 0.125 + 6.0 * 0.4 * 0.25
    plan = md.plan_zero_net_work(md.load_robot("ibm7535"), [0.975, 0.0], [0.0, 0.0])
    inertia = c1 + c2 + 2.0 * c3
    assert plan.t_final == pytest.approx(2.0 * np.sqrt(0.975 * inertia / 25.0), abs=1e-11)
    assert plan.effort(0.1) == pytest.approx([-25.0, -25.0 * (c2 + c3) / inertia], abs=1e-9)
    assert plan.effort(plan.t_final) == pytest.approx([0.0, 0.0], abs=1e-12)
    assert len(plan.samples(1e-3)) == 3


def damped_arm(folder):
    """A vertical link with damping, spring and armature."""
    path = write_shipped(
        folder,
        "one_link_vertical",
        ('velocity="20"', 'velocity="100"'),
        armature={"joint_1": 0.02},
        springs={"joint_1": {"stiffness": 1.5, "rest": 0.4}},
    )
    text = path.read_text()
    start = text.index("<dynamics")
    path.write_text(text.replace(text[start : text.index("/>", start)], '<dynamics damping="0.4"'))
    return md.load_robot(path)


CASES = {
    "horizontal": lambda _: (md.load_robot("one_link_horizontal"), [1.0], [0.0]),
    "vertical up": lambda _: (md.load_robot("one_link_vertical"), [-1.2], [0.4]),
    "vertical down": lambda _: (md.load_robot("one_link_vertical"), [1.5], [-0.9]),
    "damped": lambda folder: (damped_arm(folder), [1.0], [-0.2]),
    "ibm shoulder": lambda _: (md.load_robot("ibm7535"), [0.9, 0.7], [-0.1, 0.7]),
    "ibm elbow": lambda _: (md.load_robot("ibm7535"), [0.2, -0.2], [0.2, 0.3]),
}


@pytest.fixture(params=CASES, scope="module")
def plan(request, tmp_path_factory):
    return md.plan_zero_net_work(*CASES[request.param](tmp_path_factory.mktemp("arm")))


def test_net_work_is_zero(plan):
    assert np.abs(plan.net_work).max() < 1e-9 * plan.peak_work


def test_independent_integration_arrives_at_rest(plan):
    """DOP853 over pinocchio's dynamics with all joints free, phase by phase."""
    kernels, n = md.customize(plan.robot), plan.robot.n
    y = np.concatenate([plan.q0, np.zeros(n)])

    def rhs(t, y, end):
        tau = plan.effort(min(t, np.nextafter(end, 0.0)))
        return np.concatenate([y[n:], kernels.forward_dynamics(y[:n], y[n:], tau)])

    for begin, end in ((0.0, plan.t_switch), (plan.t_switch, plan.t_final)):
        run = solve_ivp(rhs, (begin, end), y, args=(end,), method="DOP853", rtol=1e-11, atol=1e-12)
        y = run.y[:, -1]
    assert y == pytest.approx([*plan.qf, *np.zeros(n)], abs=1e-8)


def closed_loop(robot, plan, period, exact=True, rest=0.0, plant=None, planned_on=None):
    """Simulate the executor's efforts; return the final position error and speed."""
    simulation = md.simulation.Simulation(
        plant or robot, plan.q0, np.zeros(robot.n), md.simulation.Integrator(step=period)
    )
    executor = PlanExecutor(robot, plan, period)
    period_ns = round(period * 1e9)
    while simulation.time_ns < (plan.t_final + 2 * period + rest) * 1e9:
        segments = executor.segments(simulation.time_ns * 1e-9, simulation.q, simulation.v)
        if exact:
            times = [simulation.time_ns + round(s.offset * 1e9) for s in segments]
            law = md.Schedule(simulation.robot, times, [s.effort for s in segments])
        else:
            mean = mean_effort(segments, period)
            law = md.simulation.held(simulation.robot, mean)
        simulation.law = law
        simulation.advance(period_ns)
    return np.abs(simulation.q - plan.qf).max(), np.abs(simulation.v).max()


@pytest.mark.parametrize("period", [2e-3, 1.8e-3, 4.7e-3])
def test_closed_loop_is_exact_for_any_sample_times(period):
    robot = md.load_robot("ibm7535")
    plan = md.plan_zero_net_work(robot, [0.975, 0.0], [0.0, 0.0])
    position, speed = closed_loop(robot, plan, period)
    assert position < 1e-8
    assert speed < 1e-7


@pytest.mark.parametrize("period", [2e-3, 4.7e-3])
def test_closed_loop_with_mean_efforts_settles(plan, period):
    position, speed = closed_loop(plan.robot, plan, period, False, rest=2.0)
    assert position < 1e-6
    assert speed < 1e-6


def test_plans_arrive_with_a_payload_error_of_ten_percent(tmp_path):
    payload = {"link": "tool0", "mass": 6.6, "com": [0.0, 0.0, 0.0]}
    plant = md.load_robot(write_shipped(tmp_path, "ibm7535", payload=payload))
    robot = md.load_robot("ibm7535")
    plan = md.plan_zero_net_work(robot, [0.975, 0.0], [0.0, 0.0])
    position, speed = closed_loop(robot, plan, 4e-3, plant=plant, rest=2.0)
    assert position < 1e-3
    assert speed < 1e-2


@settings(max_examples=40, deadline=None, derandomize=True)
@given(start=st.floats(-3.0, 3.0), goal=st.floats(-3.0, 3.0))
def test_plans_to_random_goals_arrive_or_raise_with_a_reason(start, goal):
    """The vertical link under gravity: 8 N m against at most 7.35 N m of load."""
    robot = md.load_robot("one_link_vertical")
    plan = plan_or_reason(robot, start, goal)
    if isinstance(plan, str):
        assert "its limit is" in plan
        return
    run = md.simulate(robot, [start], [0.0], plan_law(robot, plan), plan.t_final or 1e-3, 2e-3)
    assert run.q[-1] == pytest.approx([goal], abs=1e-5)


def plan_or_reason(robot, start, goal):
    try:
        return md.plan_zero_net_work(robot, [start], [goal])
    except ManipDynError as error:
        return str(error)


def plan_law(robot, plan):
    times, efforts = zip(*plan.samples(10.0), strict=True)
    return md.Schedule(robot, [round(t * 1e9) for t in times], efforts)


def test_start_at_the_goal_holds():
    robot = md.load_robot("one_link_vertical")
    plan = md.plan_zero_net_work(robot, [0.7], [0.7])
    assert plan.t_final == 0.0
    assert plan.switch_times == [[]]
    assert plan.effort(0.0) == pytest.approx([MGL / 2.0 * np.cos(0.7)])
