"""What every plan has, whichever method made it."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.errors import ManipDynError

START, GOAL = np.array([0.76, 0.2618]), np.zeros(2)
"""Fan (2003), table 6.3."""


@pytest.mark.parametrize("time", [np.nan, np.inf, np.array([0.1, 0.2]), np.array([0.1]), "soon"])
def test_times_are_finite_numbers(time):
    arm = md.load_robot("ibm7535")
    plans = [
        md.plan_minimum_time(arm, START, GOAL),
        md.plan_minimum_time(arm, GOAL, GOAL),
        md.plan_zero_net_work(arm, START, GOAL),
        md.plan_zero_net_work(arm, START, GOAL, slew_rate=500.0),
    ]
    for plan in plans:
        for read in (plan.effort, plan.state, getattr(plan, "costate", plan.state)):
            with pytest.raises(ManipDynError, match="time is"):
                read(time)


def test_a_plan_is_read_at_any_time():
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), [0.76, 0.2618], [0.0, 0.0])
    assert plan.state(-1.0)[0] == pytest.approx(plan.q0)
    assert plan.state(9.0)[0] == pytest.approx(plan.qf)
    assert plan.effort(9.0) == pytest.approx([0.0, 0.0])
    times = [t for t, _ in plan.samples(1e-3)]
    switches = sorted(t for each in plan.switch_times for t in each)
    assert times == pytest.approx([0.0, *switches, plan.t_final])
    assert plan.joint_names == ("shoulder", "elbow")


@pytest.mark.parametrize("plan", [md.plan_minimum_time, md.plan_zero_net_work])
def test_what_is_no_robot_is_refused(plan):
    with pytest.raises(ManipDynError, match="robot is 'ibm7535'; expected a Robot"):
        plan("ibm7535", [0.0, 0.0], [1.0, 0.0])
