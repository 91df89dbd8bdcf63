"""Plans of any kind in closed loop: exact where the model is, robust where it is not."""

from functools import cache

import numpy as np
import pytest
from test_execution import execute

import manip_dyn as md
from manip_dyn.planning import PlanExecutor, Tuning
from manip_dyn.planning.reference import Reference
from manip_dyn.planning.return_motion import return_motion, stopping_motion
from manip_dyn.simulation import Disturbance, Simulation

PA10 = ([0.0, 0.5, 0.0, 0.9, 0.0, 0.4, 0.0], [0.8, 0.9, 0.3, 1.3, -0.4, 0.9, 0.5])
GOALS = {
    "two joints, one held early": ("zero_net_work", "ibm7535", [0.76, 0.2618], [0.0, 0.0]),
    "straight path": ("zero_net_work", "ibm7535", [-1.18, -0.48], [2.06, -0.57]),
    "prismatic": ("zero_net_work", "cylindrical", [1.0, 0.2], [0.0, -0.1]),
    "gravity": ("zero_net_work", "rr", [0.5, 0.5], [1.0, 0.2]),
    "seven joints": ("zero_net_work", "pa10", *PA10),
    "three switches": ("minimum_time", "ibm7535", [0.76, 0.2618], [0.0, 0.0]),
    "singular arc": ("minimum_time", "cylindrical", [0.2, 0.3], [0.0, 0.0]),
}


@cache
def planned(name):
    method, robot, start, goal = GOALS[name]
    robot = md.load_robot(robot)
    return robot, getattr(md, f"plan_{method}")(robot, start, goal)


def executed(name, extra, mass_scale=1.0, disturbance=None, tuning=None, **options):
    """Return simulation and executor `extra` seconds after the planned end."""
    robot, plan = planned(name)
    real = md.load_robot(GOALS[name][1], mass_scale=mass_scale) if mass_scale != 1.0 else robot
    simulation = Simulation(real, plan.q0, np.zeros(robot.n))
    if disturbance is not None:
        simulation.disturbance = disturbance
    executor = PlanExecutor(robot, plan, options.get("period", 1e-3), tuning)
    options = {"period": 1e-3} | options
    execute(simulation, executor, duration=plan.t_final + extra, **options)
    return simulation, executor


@pytest.mark.parametrize("period", [1e-3, 2.3e-3])
@pytest.mark.parametrize("name", GOALS)
def test_every_plan_ends_at_its_goal_on_time(name, period):
    simulation, executor = executed(name, 2.0 * period, period=period)
    np.testing.assert_allclose(simulation.q, executor.plan.qf, atol=1e-6)
    np.testing.assert_allclose(simulation.v, 0.0, atol=5e-5)
    assert executor.arrived
    assert executor.returns == 0
    assert executor.extra_time == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", ["two joints, one held early", "three switches", "seven joints"])
def test_mean_efforts_end_there_a_little_later(name):
    simulation, _ = executed(name, 1.5, sampled=True)
    np.testing.assert_allclose(simulation.q, GOALS[name][3], atol=1e-6)


@pytest.mark.parametrize("mass_scale", [0.9, 1.1])
@pytest.mark.parametrize("name", GOALS)
def test_wrong_masses_cost_time_but_it_arrives(name, mass_scale):
    simulation, executor = executed(name, 3.0, mass_scale=mass_scale)
    assert executor.arrived
    assert 0.0 <= executor.extra_time < 3.0
    np.testing.assert_allclose(simulation.q, GOALS[name][3], atol=1e-3)


@pytest.mark.parametrize("share", [-0.3, 0.3])
@pytest.mark.parametrize("name", GOALS)
def test_a_push_leads_to_a_new_motion_that_arrives(name, share):
    """A third of the effort limits of all joints, for a quarter of the motion."""
    robot, plan = planned(name)
    begin, end = (round(1e9 * part * plan.t_final) for part in (0.25, 0.5))
    push = Disturbance(share * robot.tau_max, begin, end)
    simulation, executor = executed(name, 4.0, disturbance=push)
    assert executor.arrived
    np.testing.assert_allclose(simulation.q, plan.qf, atol=1e-5)


def test_a_push_at_the_goal_is_answered():
    _, plan = planned("two joints, one held early")
    late = round(1e9 * (plan.t_final + 0.2))
    push = Disturbance(np.array([20.0, -5.0]), late, late + 300_000_000)
    simulation, executor = executed("two joints, one held early", 3.0, disturbance=push)
    assert executor.arrived
    assert executor.returns > 0
    np.testing.assert_allclose(simulation.q, plan.qf, atol=1e-5)


def test_without_new_motions_feedback_alone_arrives():
    name = "two joints, one held early"
    simulation, executor = executed(name, 4.0, mass_scale=1.1, tuning=Tuning(off_plan=np.inf))
    assert executor.returns == 0
    np.testing.assert_allclose(simulation.q, [0.0, 0.0], atol=1e-4)


def test_stop_comes_to_rest_and_stays():
    robot, plan = planned("seven joints")
    simulation = Simulation(robot, plan.q0, np.zeros(7))
    executor = PlanExecutor(robot, plan, 1e-3)
    execute(simulation, executor, 1e-3, 0.4)
    executor.stop(0.4, simulation.q, simulation.v)
    execute(simulation, executor, 1e-3, 1.5)
    assert executor.arrived
    np.testing.assert_allclose(simulation.q, executor.goal, atol=1e-4)
    assert np.abs(executor.goal - plan.qf).max() > 0.05


@pytest.mark.parametrize("make", [return_motion, stopping_motion])
def test_a_new_motion_begins_where_the_arm_is_and_keeps_the_limits(make):
    robot, rng = md.load_robot("pa10"), np.random.default_rng(4)
    efforts = md.customize(robot).inverse_dynamics
    for _ in range(5):
        q, v = PA10[0] + 0.2 * rng.normal(size=7), 0.2 * rng.normal(size=7)
        goal = (np.array(PA10[1]),) if make is return_motion else ()
        motion = make(robot, q, v, *goal, 1e-4)
        np.testing.assert_allclose(motion.q[0], q, atol=1e-12)
        np.testing.assert_allclose(motion.v[0], v, atol=1e-12)
        np.testing.assert_allclose(motion.v[-1], 0.0, atol=1e-12)
        assert np.all(np.abs(motion.efforts) <= robot.tau_max)
        # positions are the integral of velocities, efforts those of the motion
        h = np.diff(motion.times)[:, None]
        np.testing.assert_allclose(
            np.diff(motion.q, axis=0), 0.5 * h * (motion.v[1:] + motion.v[:-1]), atol=1e-5
        )
        k = len(h) // 2
        a = (motion.v[k + 1] - motion.v[k]) / h[k]
        middle = [0.5 * (row[k] + row[k + 1]) for row in (motion.q, motion.v)]
        np.testing.assert_allclose(motion.efforts[k], efforts(*middle, a), atol=1e-2)


@pytest.mark.parametrize("name", GOALS)
def test_a_reference_is_the_plan(name):
    _, plan = planned(name)
    reference = Reference.of(plan, 1e-3)
    for t in np.random.default_rng(0).uniform(0.0, plan.t_final, 40):
        for ours, theirs in zip(reference.state(t), plan.state(t), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-6)
    for t in np.ravel([each for times in plan.switch_times for each in times]):
        assert np.abs(reference.times - t).min() < 1e-9


def test_a_disturbance_is_an_impulse_at_exact_times():
    """One link without weight, I = 10: the speed is the impulse over I, efforts included."""
    robot = md.load_robot("one_link_horizontal")
    simulation = Simulation(robot, [0.0], [0.0])
    simulation.law = md.Schedule(robot, [0], [[2.0]])
    simulation.disturbance = Disturbance(np.array([30.0]), 1_234_567, 3_456_789)
    simulation.advance(5_000_000)
    impulse = 2.0 * 5e-3 + 30.0 * (3_456_789 - 1_234_567) * 1e-9
    assert simulation.v[0] == pytest.approx(impulse / 10.0, rel=1e-12)
    assert abs(simulation.energy().residual) < 1e-12


@pytest.mark.parametrize("name", ["pa10", "ibm7535"])
def test_mass_scale_scales_all_but_the_rotors(name):
    """Without damping and springs, inverse dynamics is linear in masses and inertias."""
    light, heavy = md.load_robot(name), md.load_robot(name, mass_scale=1.1)
    rng = np.random.default_rng(2)
    q, v, a = rng.normal(size=(3, light.n))
    own = md.customize(light).inverse_dynamics(q, v, a) - light.damping * v - light.armature * a
    more = md.customize(heavy).inverse_dynamics(q, v, a) - heavy.damping * v - heavy.armature * a
    assert not light.stiffness.any()
    np.testing.assert_allclose(more, 1.1 * own, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(heavy.tau_max, light.tau_max)


@pytest.mark.parametrize("factor", [0.0, -1.0, np.nan])
def test_bad_mass_scale(factor):
    with pytest.raises(md.ManipDynError, match=r"mass_scale is .*; expected a number above 0"):
        md.load_robot("ibm7535", mass_scale=factor)
