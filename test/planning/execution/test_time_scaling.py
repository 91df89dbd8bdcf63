"""A plan gives way to an arm that is heavier than planned for, and so the goal is not passed."""

from functools import cache

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.ensembles.sweeps import Conditions, execute
from manip_dyn.planning.execution.effort_components import effort_components
from manip_dyn.planning.execution.executor import PlanExecutor
from manip_dyn.planning.execution.feedback import Tuning
from manip_dyn.planning.execution.sampled_motion import SampledMotion
from manip_dyn.planning.execution.time_scaling import Pace, TimeScaling
from manip_dyn.robot.pinocchio_model import Oracle

MOTIONS = {
    "ibm7535": [([0.975, 0.0], [0.0, 0.0]), ([0.5, 1.2], [-0.6, -0.4])],
    "rr": [([-0.17, 0.21], [0.57, 1.1]), ([-0.9, 0.8], [0.7, -0.5])],  # gravity and rotors
}
SCALES = (1.005, 1.02, 1.05, 1.1, 1.2, 1.5)


@pytest.fixture(scope="module")
def plans():
    robots = {name: md.load_robot(name) for name in MOTIONS}
    return {
        name: [md.plan_minimum_time(robots[name], *each) for each in motions]
        for name, motions in MOTIONS.items()
    }


@cache
def planned(plan):
    """Return positions (k, n) of a plan."""
    return plan.at(np.linspace(0.0, plan.t_final, 1000))[0]


def passed(plan, q):
    """Return how much farther beyond the goal the arm went than was planned, rad."""
    way = np.sign(plan.qf - plan.q0)
    beyond = [np.maximum(way * (each - plan.qf), 0.0).max(axis=0) for each in (q, planned(plan))]
    return float((beyond[0] - beyond[1]).max())


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", MOTIONS)
def test_a_heavier_arm_is_hardly_late_and_does_not_pass_the_goal(plans, name, scale):
    """Seen: up to 3.4 rad beyond the goal, and 2.3 s late."""
    for plan in plans[name]:
        got = execute(plan, Conditions(mass_scale=scale, duration=plan.t_final + 1.0))
        assert got.success
        assert got.returns == 0
        assert passed(plan, got.q) < 0.01
        fastest = np.sqrt(scale) * plan.t_final  # exact without gravity and rotors
        weight = 0.8 * max(scale - 1.1, 0.0) * bool(np.any(plan.robot.gravity))
        assert got.arrival_time < fastest + (0.02 + weight) * plan.t_final + 0.02


@pytest.mark.parametrize("scale", [0.8, 0.9])
@pytest.mark.parametrize("name", MOTIONS)
def test_a_lighter_arm_keeps_its_plan(plans, name, scale):
    """Seen: up to 1.6 rad beyond the goal, and 1.3 s late."""
    for plan in plans[name]:
        got = execute(plan, Conditions(mass_scale=scale, duration=plan.t_final + 1.0))
        assert got.returns == 0
        assert passed(plan, got.q) < 0.01
        assert got.arrival_time < plan.t_final + 0.2
        assert np.all((got.q > plan.robot.q_min) & (got.q < plan.robot.q_max))
        assert np.all(np.abs(got.v) < 1.01 * plan.robot.v_max)


@pytest.mark.parametrize("name", MOTIONS)
def test_an_arm_as_it_is_planned_for_is_not_slowed(plans, name):
    for plan in plans[name]:
        executor = PlanExecutor(plan.robot, plan, 1e-3)
        for t in np.linspace(0.0, 0.99 * plan.t_final, 50):
            executor.segments(float(t), *plan.state(float(t)))
        assert (executor.pace, executor.returns) == (Pace(), 0)
        there = executor.expected(0.4 * plan.t_final)
        np.testing.assert_array_equal(there, plan.state(0.4 * plan.t_final))


def test_a_slowed_plan_is_the_motion_of_the_heavier_arm(plans):
    """Its efforts are within the limits, and by inverse dynamics those of that motion."""
    plan, scale = plans["rr"][0], 1.07
    robot, heavier = plan.robot, md.load_robot("rr", mass_scale=scale)
    lagging = execute(plan, Conditions(mass_scale=scale, duration=0.1))
    whole = SampledMotion.of(plan, 1e-3)
    scaling, k = TimeScaling(robot, whole, Tuning(off_plan=0.02)), 0
    motion = None
    while motion is None:
        k += 1
        t, q, v = lagging.t[k], lagging.q[k], lagging.v[k]
        motion = scaling.for_error(np.abs(q - whole.state(t)[0]).max(), t, q, v)
        assert lagging.t[k] < 0.09
    assert scaling.pace.mass_ratio == pytest.approx(scale, abs=2e-3)
    assert 0.8 < scaling.pace.rate < 0.99
    assert np.all(np.abs(motion.efforts) <= robot.tau_max)
    np.testing.assert_allclose(motion.goal, plan.qf, atol=1e-12)
    efforts = Oracle(heavier).inverse_dynamics
    for cell in range(5, len(motion.efforts) - 5, 20):
        q, v = (0.5 * (row[cell] + row[cell + 1]) for row in (motion.q, motion.v))
        a = (motion.v[cell + 1] - motion.v[cell]) / np.diff(motion.times)[cell]
        np.testing.assert_allclose(motion.efforts[cell], efforts(q, v, a), atol=1.0)
    hold = efforts(plan.qf, np.zeros(2), np.zeros(2))
    np.testing.assert_allclose(motion.hold, hold, rtol=5e-3)


def test_the_parts_of_efforts_are_what_they_are_called():
    """Of an arm with everything: weight, springs, damping and rotors."""
    robot = md.load_robot("stiff_pendulum", viscous_friction=[0.4, 0.1], armature=[0.3, 0.05])
    rng = np.random.default_rng(1)
    q0, v0, a = robot.rest + 0.01 * rng.normal(size=2), rng.normal(size=2), rng.normal(size=2)
    h = 1e-4
    q = np.array([q0, q0 + h * (v0 + 0.5 * h * a)])
    v = np.array([v0, v0 + h * a])
    middle = 0.5 * (q[0] + q[1]), 0.5 * (v[0] + v[1])
    effort = Oracle(robot).inverse_dynamics(*middle, a)
    zero = np.zeros(2)
    parts = effort_components(
        robot, SampledMotion(np.array([0.0, h]), q, v, effort[None], zero, zero)
    )
    rate, scale = 0.8, 1.3
    heavier = md.load_robot(
        "stiff_pendulum", mass_scale=scale, viscous_friction=[0.4, 0.1], armature=[0.3, 0.05]
    )
    expected = Oracle(heavier).inverse_dynamics(middle[0], rate * middle[1], rate**2 * a)
    np.testing.assert_allclose(parts.scaled(rate, scale)[0], expected, rtol=1e-9, atol=1e-9)
