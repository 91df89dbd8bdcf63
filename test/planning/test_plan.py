"""Contract of plans from all methods."""

import pickle
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn import ManipDynError
from manip_dyn.core import by_reference

START, GOAL = np.array([0.76, 0.2618]), np.zeros(2)
"""Fan (2003), table 6.3."""


@pytest.mark.parametrize("time", [np.nan, np.inf, np.array([0.1, 0.2]), np.array([0.1]), "soon"])
def test_times_are_finite_numbers(time):
    for name in ("minimum time", "at the goal", "zero net work", "ramps"):
        plan = plan_of(name)
        for read in (plan.effort, plan.state, getattr(plan, "costate", plan.state)):
            with pytest.raises(ManipDynError, match="time must be"):
                read(time)


def test_plans_can_be_evaluated_at_any_time():
    plan = plan_of("minimum time")
    assert plan.state(-1.0)[0] == pytest.approx(plan.q0)
    assert plan.state(9.0)[0] == pytest.approx(plan.qf)
    assert plan.effort(9.0) == pytest.approx([0.0, 0.0])
    sample_times = [t for t, _ in plan.samples(1e-3)]
    switches = sorted(t for times in plan.switch_times for t in times)
    assert sample_times == pytest.approx([0.0, *switches, plan.t_final])
    assert plan.joint_names == ("shoulder", "elbow")


@pytest.mark.parametrize("plan", [md.plan_minimum_time, md.plan_zero_net_work])
def test_planners_reject_other_types_than_robots(plan):
    with pytest.raises(
        ManipDynError, match="robot must be a Robot from load_robot, got 'ibm7535'"
    ):
        plan("ibm7535", [0.0, 0.0], [1.0, 0.0])


PLANS = {
    "zero net work": lambda: md.plan_zero_net_work(ibm(), START, GOAL),
    "one joint": lambda: md.plan_zero_net_work(ibm(), [0.975, 0.0], GOAL),
    "straight path": lambda: md.plan_zero_net_work(ibm(), [-1.18, -0.48], [2.06, -0.57]),
    "ramps": lambda: md.plan_zero_net_work(ibm(), START, GOAL, slew_rate=500.0),
    "minimum time": lambda: md.plan_minimum_time(ibm(), START, GOAL, budget=None),
    "at the goal": lambda: md.plan_minimum_time(ibm(), GOAL, GOAL, budget=None),
    "at the goal, zero net work": lambda: md.plan_zero_net_work(ibm(), GOAL, GOAL),
}


def ibm():
    return md.load_robot("ibm7535")


@cache
def plan_of(name):
    return PLANS[name]()


@pytest.mark.parametrize("name", PLANS)
def test_every_method_returns_a_consistent_plan(name):
    plan = plan_of(name)
    robot = plan.robot
    assert type(plan) is md.Plan
    assert plan.success == (plan.status in ("solved", "at_goal"))
    assert plan.success == (name != "straight path")
    assert (plan.status == "at_goal") == name.startswith("at the goal")
    assert plan.t_final == max(plan.arrival_times)
    assert plan.knots[0] == 0.0
    assert plan.knots[-1] == pytest.approx(plan.t_final, abs=1e-12)
    for t, q, tau in ((-1.0, plan.q0, plan.effort(0.0)), (plan.t_final, plan.qf, plan.hold)):
        np.testing.assert_allclose(plan.state(t)[0], q, atol=1e-12)
        np.testing.assert_array_equal(plan.effort(t), tau)
    times, efforts = zip(*plan.samples(0.01), strict=True)
    assert times[0] == 0.0
    assert np.all(np.diff(times) > 0.0)
    assert efforts[-1] == pytest.approx(plan.hold)
    assert np.all(np.abs(efforts) <= robot.tau_max)
    assert np.abs(plan.net_work).max() <= 1e-9 * plan.peak_work
    first = [positions[0] if positions else np.nan for positions in plan.switch_positions]
    np.testing.assert_array_equal(plan.q_switch, first)


def test_plans_contain_the_evidence_of_their_method():
    evidence = {
        name: [
            kind
            for kind in ("certificate", "extremal", "ramps", "single_switch", "switching")
            if getattr(plan_of(name), kind) is not None
        ]
        for name in PLANS
    }
    assert evidence == {
        "zero net work": [],
        "one joint": ["single_switch"],
        "straight path": [],
        "ramps": ["ramps"],
        "minimum time": ["certificate", "extremal", "switching"],
        "at the goal": [],
        "at the goal, zero net work": [],
    }
    with pytest.raises(ManipDynError, match="the plan has no costates: every joint switches once"):
        plan_of("zero net work").costate(0.1)


def test_plans_at_the_goal_hold_at_any_time():
    """Include times before 0."""
    plan = plan_of("at the goal")
    assert plan.effort(-0.1) == pytest.approx(plan.hold)
    assert plan.net_work == pytest.approx([0.0, 0.0])
    assert plan.peak_work == 0.0


@pytest.mark.parametrize("name", [*PLANS, "on grids"])
def test_unpickled_plans_are_bitwise_identical(name):
    """Pickle twice, because the first evaluation fills caches."""
    moving = {"v0": [0.0, 0.5]} if name == "on grids" else {}
    plan = md.plan_minimum_time(ibm(), START, GOAL, **moving) if moving else plan_of(name)
    for _ in range(2):
        copy = pickle.loads(pickle.dumps(plan))
        for t in np.linspace(-0.1, plan.t_final + 0.1, 9):
            np.testing.assert_array_equal(copy.state(t), plan.state(t))
            np.testing.assert_array_equal(copy.effort(t), plan.effort(t))
            if plan.extremal is not None:
                np.testing.assert_array_equal(copy.costate(t), plan.costate(t))
        assert (copy.status, copy.reason) == (plan.status, plan.reason)


def test_machine_words_cannot_be_pickled():
    """They contain addresses of the process."""
    with pytest.raises(TypeError, match="machine words of Some cannot be pickled"):
        pickle.dumps(by_reference(Some(np.zeros(2))))


class Some(NamedTuple):
    numbers: np.ndarray
