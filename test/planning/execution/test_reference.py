"""Sampled references agree with their plans."""

import numpy as np
import pytest
from goals import GOALS, planned

import manip_dyn as md
from manip_dyn.planning import SampledMotion


def test_samples_of_a_plan_are_cached():
    _, plan = planned(next(iter(GOALS)))
    first = SampledMotion.of(plan, 1e-3)
    assert SampledMotion.of(plan, 1e-3) is first
    assert SampledMotion.of(plan, 2e-3).times.size < first.times.size


@pytest.mark.parametrize("name", GOALS)
def test_a_reference_agrees_with_its_plan(name):
    _, plan = planned(name)
    reference = SampledMotion.of(plan, 1e-3)
    for t in np.random.default_rng(0).uniform(0.0, plan.t_final, 40):
        rows = zip(reference.state(t), plan.state(t), (1e-6, 1e-4), strict=True)
        for sampled, exact, tolerance in rows:  # velocities under constant efforts differ
            np.testing.assert_allclose(sampled, exact, atol=tolerance)
    times = np.linspace(-0.1, plan.t_final + 0.1, 100)
    for rows, separate in zip(
        reference.states(times), zip(*map(reference.state, times), strict=True), strict=True
    ):
        np.testing.assert_allclose(rows, separate, rtol=0.0, atol=1e-15)
    for t in [switch for times in plan.switch_times for switch in times]:
        assert np.abs(reference.times - t).min() < 1e-9


@pytest.mark.parametrize("name", GOALS)
def test_constant_efforts_move_the_arm_through_the_samples(name):
    """Regression: up to 1e-8 rad per cell, and 1e-5 rad at the end of fast motions."""
    robot, plan = planned(name)
    reference = SampledMotion.of(plan, 1e-3)
    dynamics = md.customize(robot).forward_dynamics
    error = 0.0
    for k, h in enumerate(np.diff(reference.times)):
        q, v, effort = reference.q[k], reference.v[k], reference.efforts[k]
        first = dynamics(q, v, effort)
        second = dynamics(q + 0.5 * h * v, v + 0.5 * h * first, effort)
        third = dynamics(q + 0.5 * h * v + 0.25 * h**2 * first, v + 0.5 * h * second, effort)
        following = q + h * v + h**2 / 6.0 * (first + second + third)  # Runge-Kutta
        error = max(error, np.abs(following - reference.q[k + 1]).max())
    assert error < 2e-10
