"""Plans of arms with dry friction, and methods that reject it."""

import numpy as np
import pytest
from closed_loop import execute

import manip_dyn as md

START, GOAL = [0.2, -0.8], [-0.9, 1.2]
MESSAGE = "friction of joint 'joint_1' must be 0 for a .* plan.*, got 20"


@pytest.fixture(scope="module")
def arm():
    return md.load_robot("rr", coulomb_friction=[20.0, 8.0])


def test_zero_net_work_plans_follow_the_straight_path_and_arrive(arm):
    plan = md.plan_zero_net_work(arm, START, GOAL)
    assert plan.status == "near_minimum"
    assert "dry friction" in plan.reason
    simulation = md.Simulation(arm, START, np.zeros(2))
    execute(simulation, md.PlanExecutor(arm, plan, 2e-3), 2e-3, plan.t_final + 0.5)
    assert simulation.q == pytest.approx(GOAL, abs=1e-4)
    assert simulation.v.tolist() == [0.0, 0.0]
    work = plan.work_curves.work
    assert work[-1] == pytest.approx([0.0, 0.0], abs=1e-3 * np.abs(work).max())


def test_methods_without_friction_reject_it(arm):
    with pytest.raises(md.ManipDynError, match=MESSAGE):
        md.plan_minimum_time(arm, START, GOAL)
    with pytest.raises(md.ManipDynError, match=MESSAGE):
        md.plan_zero_net_work(arm, START, GOAL, slew_rate=1e3)
