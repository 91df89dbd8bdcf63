"""Sampled references agree with their plans."""

import numpy as np
import pytest
from goals import GOALS, planned

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
        for sampled, exact in zip(reference.state(t), plan.state(t), strict=True):
            np.testing.assert_allclose(sampled, exact, atol=1e-6)
    times = np.linspace(-0.1, plan.t_final + 0.1, 100)
    for rows, separate in zip(
        reference.states(times), zip(*map(reference.state, times), strict=True), strict=True
    ):
        np.testing.assert_allclose(rows, separate, rtol=0.0, atol=1e-15)
    for t in [switch for times in plan.switch_times for switch in times]:
        assert np.abs(reference.times - t).min() < 1e-9
