"""A plan is rescaled for an arm that is heavier than planned, so the arm does not overshoot."""

from functools import cache

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.ensembles import Conditions, execute
from manip_dyn.planning import EffortModel, PathComponents, PlanExecutor
from manip_dyn.robot import Oracle

MOTIONS = {
    "ibm7535": [([0.975, 0.0], [0.0, 0.0]), ([0.5, 1.2], [-0.6, -0.4])],
    "rr": [([-0.17, 0.21], [0.57, 1.1]), ([-0.9, 0.8], [0.7, -0.5])],  # gravity and rotors
}
SCALES = (1.005, 1.02, 1.05, 1.1, 1.2, 1.5)


@pytest.fixture(scope="module")
def plans():
    robots = {name: md.load_robot(name) for name in MOTIONS}
    return {
        name: [md.plan_minimum_time(robots[name], *motion) for motion in motions]
        for name, motions in MOTIONS.items()
    }


@cache
def planned(plan):
    """Return positions (k, n) of a plan."""
    return plan.at(np.linspace(0.0, plan.t_final, 1000))[0]


def overshoot(plan, q):
    """Return the overshoot beyond the goal in excess of the plan, rad."""
    direction = np.sign(plan.qf - plan.q0)
    beyond = [
        np.maximum(direction * (rows - plan.qf), 0.0).max(axis=0) for rows in (q, planned(plan))
    ]
    return float((beyond[0] - beyond[1]).max())


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", MOTIONS)
def test_a_heavier_arm_arrives_with_little_delay_and_overshoot(plans, name, scale):
    """Regression: an overshoot of up to 3.4 rad, and a delay of 2.3 s."""
    for plan in plans[name]:
        result = execute(plan, Conditions(mass_scale=scale, duration=plan.t_final + 1.0))
        assert result.success
        assert result.returns == 0
        assert overshoot(plan, result.q) < 0.01
        fastest = np.sqrt(scale) * plan.t_final  # exact without gravity and rotors
        weight = 0.8 * max(scale - 1.1, 0.0) * bool(np.any(plan.robot.gravity))
        assert result.arrival_time < fastest + (0.02 + weight) * plan.t_final + 0.02


@pytest.mark.parametrize("scale", [0.8, 0.9])
@pytest.mark.parametrize("name", MOTIONS)
def test_a_lighter_arm_follows_its_plan(plans, name, scale):
    """Regression: an overshoot of up to 1.6 rad, and a delay of 1.3 s."""
    for plan in plans[name]:
        result = execute(plan, Conditions(mass_scale=scale, duration=plan.t_final + 1.0))
        assert result.returns == 0
        assert overshoot(plan, result.q) < 0.01
        assert result.arrival_time < plan.t_final + 0.2
        assert np.all((result.q > plan.robot.q_min) & (result.q < plan.robot.q_max))
        assert np.all(np.abs(result.v) < 1.01 * plan.robot.v_max)


@pytest.mark.parametrize("name", MOTIONS)
def test_an_arm_with_the_planned_masses_is_not_slowed_down(plans, name):
    for plan in plans[name]:
        executor = PlanExecutor(plan.robot, plan, 1e-3)
        for t in np.linspace(0.0, 0.99 * plan.t_final, 50):
            executor.segments(float(t), *plan.state(float(t)))
        assert (executor.pace.rate, executor.returns) == (1.0, 0)
        assert executor.pace.model.is_exact
        expected = executor.expected(0.4 * plan.t_final)
        np.testing.assert_array_equal(expected, plan.state(0.4 * plan.t_final))


def test_a_slowed_plan_satisfies_the_dynamics_of_the_heavier_arm():
    """Its efforts are within the limits and agree with the inverse dynamics of the motion."""
    robot, scale = md.load_robot("rr"), 1.07
    heavier = md.load_robot("rr", mass_scale=scale)
    plan = md.plan_minimum_time(robot, *MOTIONS["rr"][0])
    lagging = execute(plan, Conditions(mass_scale=scale, duration=0.1))
    executor, k = PlanExecutor(robot, plan, 1e-3), 0
    while executor.pace.rate == 1.0:
        k += 1
        executor.segments(lagging.t[k], lagging.q[k], lagging.v[k])
        assert lagging.t[k] < 0.09
    motion = executor.reference
    assert executor.pace.model.mass_ratio == pytest.approx(scale, abs=2e-3)
    assert 0.8 < executor.pace.rate < 0.99
    assert np.all(np.abs(motion.efforts) <= robot.tau_max)
    np.testing.assert_allclose(motion.goal, plan.qf, atol=1e-12)
    efforts = Oracle(heavier).inverse_dynamics
    for cell in range(5, len(motion.efforts) - 5, 20):
        q, v = (0.5 * (row[cell] + row[cell + 1]) for row in (motion.q, motion.v))
        a = (motion.v[cell + 1] - motion.v[cell]) / np.diff(motion.times)[cell]
        np.testing.assert_allclose(motion.efforts[cell], efforts(q, v, a), atol=1.0)
    hold = efforts(plan.qf, np.zeros(2), np.zeros(2))
    np.testing.assert_allclose(motion.hold, hold, rtol=5e-3)


def test_path_efforts_scale_with_rate_masses_and_friction():
    """The arm has gravity, springs, damping and rotors."""
    extras = {"viscous_friction": [0.4, 0.1], "armature": [0.3, 0.05]}
    robot, rng = md.load_robot("stiff_pendulum", **extras), np.random.default_rng(1)
    q, v, a = rng.normal(size=(3, 1, 2))
    rate, change, scale, friction = 0.8, 0.3, 1.3, np.array([0.2, 0.1])
    components = PathComponents.of(robot, q, v, a)
    efforts = components.efforts(EffortModel(scale, friction))
    heavier = md.load_robot("stiff_pendulum", mass_scale=scale, **extras)
    expected = Oracle(heavier).inverse_dynamics(q[0], rate * v[0], rate**2 * a[0] + change * v[0])
    expected += friction * np.sign(v[0])
    single = np.ones(1)
    rows = efforts.at(rate**2 * single, rate * single, change * single)
    np.testing.assert_allclose(rows[0], expected, rtol=1e-9, atol=1e-9)
