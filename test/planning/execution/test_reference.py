"""A reference is the motion that it samples."""

import numpy as np
import pytest
from goals import GOALS, planned

from manip_dyn.planning.execution.sampled_motion import SampledMotion


def test_a_plan_is_sampled_once_for_all_its_executions():
    _, plan = planned(next(iter(GOALS)))
    first = SampledMotion.of(plan, 1e-3)
    assert SampledMotion.of(plan, 1e-3) is first
    assert SampledMotion.of(plan, 2e-3).times.size < first.times.size


@pytest.mark.parametrize("name", GOALS)
def test_a_reference_is_the_plan(name):
    _, plan = planned(name)
    reference = SampledMotion.of(plan, 1e-3)
    for t in np.random.default_rng(0).uniform(0.0, plan.t_final, 40):
        for ours, theirs in zip(reference.state(t), plan.state(t), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-6)
    for t in np.ravel([each for times in plan.switch_times for each in times]):
        assert np.abs(reference.times - t).min() < 1e-9
