"""Grid search of the thesis, compared with the plans."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn import ManipDynError
from manip_dyn.planning import grid_search

NEAR = 1e-4
"""`Xerror` of the thesis's programs: a joint so near its goal counts as arrived."""


def test_grid_search_agrees_with_the_plan():
    """Table 5.3 by the thesis's program: as near as its rule of arrival and its grid allow."""
    robot, start = md.load_robot("cylindrical"), [np.pi / 4, 0.0]
    # All of it at 1e-3 rad takes forty times as long: first by steps of 0.02 rad, whose last
    # brakes too late by one of them at most and so arrives with some energy.
    step = 0.02
    energy = 2.0 * step * robot.tau_max[0]
    coarse = grid_search(robot, start, [0.0, 0.0], step, enough=energy, longest=1.5)
    assert (coarse.success, coarse.step) == (True, step)
    window = (coarse.q_switch, np.add(coarse.q_switch, [step, 0.0]))
    result = grid_search(robot, start, [0.0, 0.0], 1e-3, enough=3e-4, longest=1.5, window=window)
    plan = md.plan_zero_net_work(robot, start, [0.0, 0.0])
    assert result.success
    assert result.q_switch[0] == pytest.approx(plan.q_switch[0], abs=NEAR)
    assert result.t_switch[0] == pytest.approx(plan.switch_times[0][0], abs=3e-4)
    assert 0.0 < plan.t_final - result.t_arrival[0] < np.sqrt(2.0 * NEAR * 1.17 / 2.0)


def test_grid_search_stops_after_its_trials_and_requires_two_joints():
    result = grid_search(md.load_robot("cylindrical"), [0.2, 0.3], [0.0, 0.0], most=5)
    assert (result.success, result.trials) == (False, 5)
    with pytest.raises(ManipDynError, match="must have 2 joints for the grid search, got 7"):
        grid_search(md.load_robot("pa10"), np.zeros(7), np.zeros(7))
