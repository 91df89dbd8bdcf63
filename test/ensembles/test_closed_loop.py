"""Plans executed under `Conditions`: compiled loop, Python executor and pinocchio agree."""

import dataclasses

import closed_loop
import numpy as np
import pinocchio
import pytest

import manip_dyn as md
from manip_dyn.ensembles import Conditions, execute
from manip_dyn.integration import rk4_step

CONDITIONS = {
    "as planned": {},
    "heavier": {"mass_scale": 1.6},
    "lighter, with a payload": {"mass_scale": 0.8, "payload": 0.7},
    "delayed": {"delay": 0.0115},
    "unmodelled delay": {"delay": 0.006, "assumed_delay": 0.0},
    "disturbed and noisy": {
        "disturbance": [10.0, 2.0],
        "disturbance_start": 0.3,
        "disturbance_duration": 0.1003,
        "position_noise": 1e-4,
        "velocity_noise": 1e-3,
        "seed": 4,
    },
}
PLANS = ("one joint", "both joints", "feedback only")
PERIOD = 1e-3


@pytest.fixture(scope="module")
def robot():
    return md.load_robot("ibm7535")


@pytest.fixture(scope="module")
def plans(robot):
    """Return plans: one joint switched by its state, a tracked motion, and no motion."""
    start = np.array([0.3, 0.2])
    standing = md.plan_zero_net_work(robot, [0.0, 0.0], [0.0, 0.0])
    return {
        "one joint": md.plan_zero_net_work(robot, [0.3, 0.0], [0.0, 0.0]),
        "both joints": md.plan_zero_net_work(robot, start, [0.0, 0.0]),
        "feedback only": dataclasses.replace(standing, q0=0.1 * start),
    }


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("name", PLANS)
def test_compiled_loop_matches_the_executor(plans, name, condition):
    conditions = Conditions(**CONDITIONS[condition], duration=plans[name].t_final + 0.4)
    tuning = md.Tuning(off_plan=np.inf if name == "feedback only" else 0.01)
    fast = execute(plans[name], conditions, tuning)
    slow = execute(plans[name], conditions, tuning, compiled=False)
    assert (fast.status, fast.returns) == (slow.status, slow.returns)
    np.testing.assert_allclose(fast.q, slow.q, atol=1e-10)
    np.testing.assert_allclose(fast.v, slow.v, atol=1e-9)


@pytest.mark.parametrize("delay", [0.0, 0.005, 0.02])
@pytest.mark.parametrize("compiled", [True, False])
def test_feedback_respects_speed_limits(compiled, delay):
    """Regression: a position error of 1 rad caused 2.5 to 3.8 times the speed limit."""
    robot = md.load_robot("ur5")
    goal = np.array([0.3, -1.2, 0.9, -0.4, 0.5, 0.1])
    standing = md.plan_zero_net_work(robot, goal, goal)
    plan = dataclasses.replace(standing, q0=goal + np.eye(6)[5])
    conditions = Conditions(duration=2.0, delay=delay)
    run = execute(plan, conditions, md.Tuning(off_plan=np.inf), compiled=compiled)
    fastest = np.abs(run.v / robot.v_max).max()
    assert 0.99 < fastest < 1.001
    assert np.abs(run.q[-1] - goal).max() < 1e-3


@pytest.mark.parametrize("delay", [0.0, 0.003])
def test_compiled_loop_continues_from_joints_at_speed_limits(delay):
    """Regression: a position error at a speed limit was integrated for one period: 0.001 rad."""
    robot = md.load_robot("ur5")
    goal = np.array([0.3, -1.2, 0.9, -0.4, 0.5, 0.1])
    plan = md.plan_zero_net_work(robot, goal - 0.05 * np.eye(6)[0], goal)
    plan = dataclasses.replace(plan, q0=plan.q0 + np.eye(6)[5])
    conditions, tuning = Conditions(duration=0.5, delay=delay), md.Tuning(off_plan=np.inf)
    fast, slow = (execute(plan, conditions, tuning, compiled) for compiled in (True, False))
    assert np.abs(fast.v[:, 5]).max() > 0.99 * robot.v_max[5]
    np.testing.assert_allclose(fast.q, slow.q, atol=1e-9)


@pytest.mark.parametrize("name", PLANS)
def test_scaled_masses_match_a_simulation_of_the_scaled_robot(plans, name):
    """Compare with a `Simulation` of the scaled robot in closed loop with an executor."""
    plan, scale = plans[name], 1.15
    heavy = md.load_robot("ibm7535", mass_scale=scale)
    simulation = md.Simulation(heavy, plan.q0, [0.0, 0.0])
    tuning = md.Tuning(off_plan=np.inf)
    duration = plan.t_final + 0.1
    executor = md.PlanExecutor(plan.robot, plan, PERIOD, tuning)
    closed_loop.execute(simulation, executor, PERIOD, duration)
    run = execute(plan, Conditions(mass_scale=scale, duration=duration), tuning)
    row = round(simulation.time_ns * 1e-9 / PERIOD)
    np.testing.assert_allclose(run.q[row], simulation.q, atol=1e-8)
    np.testing.assert_allclose(run.v[row], simulation.v, atol=1e-7)
    assert np.abs(simulation.q).max() > 1e-5  # the masses have an effect


def test_one_step_agrees_with_pinocchio():
    """Include mass scale, payload, disturbance, rotors, damping and springs."""
    friction, rotors = [0.4, 0.1], [0.3, 0.05]
    robot = md.load_robot("stiff_pendulum", viscous_friction=friction, armature=rotors)
    q, tau, push = np.add(robot.rest, [0.001, 0.0005]), np.array([2.0, -1.0]), np.array([3.0, 0.5])
    scale, load, step = 1.4, 0.6, 1e-3
    model = pinocchio.Model(robot.model)
    for joint in range(1, model.njoints):
        body = robot.model.inertias[joint]
        scaled = pinocchio.Inertia(scale * body.mass, body.lever, scale * body.inertia)
        model.inertias[joint] = scaled
    tip = robot.model.frames[robot.model.getFrameId(robot.tip)]
    point = pinocchio.Inertia(load, np.zeros(3), np.zeros((3, 3)))
    model.appendBodyToJoint(tip.parentJoint, point, tip.placement)
    data = model.createData()

    def rates(_t, y):
        passive = robot.damping * y[2:] + robot.stiffness * (y[:2] - robot.rest)
        a = pinocchio.aba(model, data, y[:2], y[2:], tau + push - passive)
        return np.concatenate([y[2:], a])

    plan = dataclasses.replace(md.plan_zero_net_work(robot, q, q), hold=tau)
    run = execute(
        plan,
        Conditions(scale, load, push, disturbance_duration=1.0, duration=step, step=step),
        md.Tuning(stiffness=0.0, damping=0.0, integral=0.0),
    )
    expected = rk4_step(rates, 0.0, np.array([*q, 0.0, 0.0]), step)
    np.testing.assert_allclose([*run.q[1], *run.v[1]], expected, atol=1e-12)


def test_noise_alone_does_not_move_a_saturated_arm_off_its_path():
    """Regression: 1.4 rad, because noise at the effort limits lowers the mean effort."""
    robot = md.load_robot("ibm7535")
    plan = md.plan_minimum_time(robot, [1.02268907, 0.64867691], [-1.78520673, 2.36781066])
    run = execute(
        plan,
        Conditions(position_noise=1e-3, velocity_noise=0.02, seed=36, duration=plan.t_final + 1.0),
    )
    path = plan.at(np.linspace(0.0, plan.t_final, 2000))[0]
    assert max(np.abs(path - q).max(axis=1).min() for q in run.q[::5]) < 0.01
    assert (run.status, run.returns) == ("arrived", 0)
    assert run.arrival_time < plan.t_final + 0.2


def test_unknown_delays_are_identified_and_noise_is_reproducible(plans):
    """The final error is that of a known delay. Regression: an error of 0.17 rad."""
    delay = {"delay": 0.006, "duration": plans["both joints"].t_final + 0.3}
    for options in ({}, {"assumed_delay": 0.0}):
        run = execute(plans["both joints"], Conditions(**delay, **options))
        assert np.abs(run.q[-200:]).max() < 1e-3
        assert run.returns == 0
    noisy = [
        execute(plans["both joints"], Conditions(position_noise=1e-3, seed=seed, duration=0.2)).q
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(noisy[0], noisy[1])
    assert not np.array_equal(noisy[0], noisy[2])


def test_results_report_arrival_time_or_final_error(plans):
    arrived = execute(plans["both joints"], Conditions())
    assert arrived.success
    assert arrived.arrival_time == pytest.approx(plans["both joints"].t_final, abs=0.05)
    missed = execute(plans["both joints"], Conditions(mass_scale=6.0, duration=0.5))
    assert (missed.status, missed.success) == ("missed", False)
    assert np.isnan(missed.arrival_time)
    error = np.abs(missed.q[-1]).max()
    assert missed.reason.startswith(f"{error:.3g} from the goal after {missed.t[-1]:.3f} s")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mass_scale": 0.0}, "mass_scale must be above 0, got 0"),
        ({"delay": -0.1}, "delay must be 0 or more, got -0.1 s"),
        ({"position_noise": -1.0}, "position_noise must be 0 or more, got -1"),
        ({"control_period": 0.0}, "control_period must be above 0, got 0 s"),
        ({"seed": 0.5}, "seed must be a whole number, 0 or more, got 0.5"),
        ({"disturbance": np.nan}, "disturbance must be finite numbers, got nan"),
        ({"disturbance": [[1.0], [1.0, 2.0]]}, "disturbance must be numbers"),
        ({"payload": np.inf}, "payload must be a finite number, got inf kg"),
        ({"mass_scale": True}, "mass_scale must be a number, got True"),
        ({"duration": 1e30}, "duration and delay must be .* got 1e.30 s and 0 s"),
        ({"disturbance": [1.0, 2.0, 3.0]}, r"disturbance must have shape \(2,\), got \(3,\)"),
    ],
)
def test_invalid_conditions_raise(plans, options, message):
    with pytest.raises(md.ManipDynError, match=message):
        execute(plans["both joints"], Conditions(**options))


def test_dry_friction_and_plans_that_end_moving_raise(plans):
    robot = md.load_robot("ibm7535", coulomb_friction=[1.0, 1.0])
    with pytest.raises(md.ManipDynError, match="must have no dry friction"):
        execute(dataclasses.replace(plans["both joints"], robot=robot))
    with pytest.raises(md.ManipDynError, match="must end at rest"):
        execute(dataclasses.replace(plans["both joints"], vf=np.array([0.1, 0.0])))


def test_a_fast_motion_with_an_unknown_delay_stays_on_its_path():
    """Regression: 0.48 rad from the path, because no effort was left for the feedback."""
    plan = md.plan_zero_net_work(md.load_robot("rr"), [1.13, 2.33], [-1.71, 2.48])
    delayed = Conditions(delay=0.01, assumed_delay=0.0, duration=plan.t_final + 0.2)
    run = execute(plan, delayed)
    path = plan.at(np.linspace(0.0, plan.t_final, 4000))[0]
    assert max(np.abs(path - q).max(axis=1).min() for q in run.q[::5]) < 0.01


def test_commands_that_cover_a_long_delay_are_applied_completely():
    """Regression: without efforts after the 32nd, the delay was identified wrongly."""
    robot = md.load_robot("rr")
    plan = md.plan_zero_net_work(robot, [-0.9, 0.8], [0.7, -0.5], slew_rate=5000.0)
    conditions = Conditions(mass_scale=1.2, delay=0.019, assumed_delay=0.0, tolerance=1e-4)
    run = execute(plan, conditions, compiled=False)
    assert run.arrival_time < plan.t_final + 0.15
