"""Plans in closed loop on arms that differ: compiled as in Python, and by equations of others."""

import dataclasses

import closed_loop
import numpy as np
import pinocchio
import pytest

import manip_dyn as md
from manip_dyn.ensembles.sweeps import Conditions, execute
from manip_dyn.integration import rk4_step

CONDITIONS = {
    "as planned": {},
    "heavier": {"mass_scale": 1.6},
    "lighter, with a load": {"mass_scale": 0.8, "payload": 0.7},
    "late": {"delay": 0.0115},
    "late unknowingly": {"delay": 0.006, "assumed_delay": 0.0},
    "pushed and noisy": {
        "disturbance": [10.0, 2.0],
        "disturbance_start": 0.3,
        "disturbance_duration": 0.1003,
        "position_noise": 1e-4,
        "velocity_noise": 1e-3,
        "seed": 4,
    },
}
PLANS = ("one switches", "both", "feedback alone")
PERIOD = 1e-3


@pytest.fixture(scope="module")
def robot():
    return md.load_robot("ibm7535")


@pytest.fixture(scope="module")
def plans(robot):
    """A joint that is switched by its state, a motion that is tracked, and no motion."""
    start = np.array([0.3, 0.2])
    standing = md.plan_zero_net_work(robot, [0.0, 0.0], [0.0, 0.0])
    return {
        "one switches": md.plan_zero_net_work(robot, [0.3, 0.0], [0.0, 0.0]),
        "both": md.plan_zero_net_work(robot, start, [0.0, 0.0]),
        "feedback alone": dataclasses.replace(standing, q0=0.1 * start),
    }


@pytest.mark.parametrize("given", CONDITIONS)
@pytest.mark.parametrize("name", PLANS)
def test_the_compiled_loop_does_what_the_executor_does(plans, name, given):
    conditions = Conditions(**CONDITIONS[given], duration=plans[name].t_final + 0.4)
    tuning = md.Tuning(off_plan=np.inf if name == "feedback alone" else 0.01)
    fast = execute(plans[name], conditions, tuning)
    slow = execute(plans[name], conditions, tuning, compiled=False)
    assert (fast.status, fast.returns) == (slow.status, slow.returns)
    np.testing.assert_allclose(fast.q, slow.q, atol=1e-10)
    np.testing.assert_allclose(fast.v, slow.v, atol=1e-9)


@pytest.mark.parametrize("name", PLANS)
def test_an_arm_of_other_masses_moves_as_the_simulation_of_one(plans, name):
    """`Simulation` of a robot that was loaded with those masses, answered by an executor."""
    plan, scale = plans[name], 1.15
    heavy = md.load_robot("ibm7535", mass_scale=scale)
    simulation = md.Simulation(heavy, plan.q0, [0.0, 0.0])
    tuning = md.Tuning(off_plan=np.inf)
    duration = plan.t_final + 0.1
    executor = md.PlanExecutor(plan.robot, plan, PERIOD, tuning)
    closed_loop.execute(simulation, executor, PERIOD, duration)
    mine = execute(plan, Conditions(mass_scale=scale, duration=duration), tuning)
    row = round(simulation.time_ns * 1e-9 / PERIOD)
    np.testing.assert_allclose(mine.q[row], simulation.q, atol=1e-8)
    np.testing.assert_allclose(mine.v[row], simulation.v, atol=1e-7)
    assert np.abs(simulation.q).max() > 1e-5  # the masses do matter


def test_the_equations_are_those_of_pinocchio():
    """Scale, load, push, rotors, damping and springs: one step, by pinocchio's own model."""
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


def test_what_is_heard_late_or_wrong_matters(plans):
    """An executor that knows of the delay makes up for it, one that does not is worse off."""
    late = {"delay": 0.006, "duration": plans["both"].t_final + 0.3}
    knowing = execute(plans["both"], Conditions(**late))
    not_knowing = execute(plans["both"], Conditions(**late, assumed_delay=0.0))
    off = [np.abs(each.q[-300] - 0.0).max() for each in (knowing, not_knowing)]
    assert off[0] < 0.1 * off[1]
    noisy = [
        execute(plans["both"], Conditions(position_noise=1e-3, seed=seed, duration=0.2)).q
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(noisy[0], noisy[1])
    assert not np.array_equal(noisy[0], noisy[2])


def test_a_miss_says_how_far_and_an_arrival_when(plans):
    arrived = execute(plans["both"], Conditions())
    assert arrived.success
    assert arrived.arrival_time == pytest.approx(plans["both"].t_final, abs=0.05)
    missed = execute(plans["both"], Conditions(mass_scale=6.0, duration=0.5))
    assert (missed.status, missed.success) == ("missed", False)
    assert np.isnan(missed.arrival_time)
    off = np.abs(missed.q[-1]).max()
    assert missed.reason.startswith(f"{off:.3g} from the goal after {missed.t[-1]:.3f} s")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"mass_scale": 0.0}, "mass_scale is 0; expected a number above 0"),
        ({"delay": -0.1}, "delay is -0.1 s; expected 0 or more"),
        ({"position_noise": -1.0}, "position_noise is -1"),
        ({"control_period": 0.0}, "control_period is 0 s"),
        ({"seed": 0.5}, "seed is 0.5; expected a whole number"),
        ({"disturbance": np.nan}, "disturbance is nan; expected finite numbers"),
        ({"disturbance": [[1.0], [1.0, 2.0]]}, "disturbance must be numbers"),
        ({"payload": np.inf}, "payload is inf kg; expected a finite number"),
        ({"mass_scale": True}, "mass_scale is True; expected a number"),
        ({"duration": 1e30}, "duration and delay must be .* got 1e.30 s and 0 s"),
        ({"disturbance": [1.0, 2.0, 3.0]}, r"disturbance has shape \(3,\); expected \(2,\)"),
    ],
)
def test_bad_conditions_are_refused(plans, wrong, said):
    with pytest.raises(md.ManipDynError, match=said):
        execute(plans["both"], Conditions(**wrong))


def test_dry_friction_and_plans_that_move_on_are_refused(plans):
    robot = md.load_robot("ibm7535", coulomb_friction=[1.0, 1.0])
    with pytest.raises(md.ManipDynError, match="must have no dry friction"):
        execute(dataclasses.replace(plans["both"], robot=robot))
    with pytest.raises(md.ManipDynError, match="must end at rest"):
        execute(dataclasses.replace(plans["both"], vf=np.array([0.1, 0.0])))
