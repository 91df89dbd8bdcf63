"""Motions refined on grids: beside exact ones, from motion to motion, within their limits."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.core.errors import ManipDynError
from manip_dyn.integration import rk4_step
from manip_dyn.planning.transcription.node_motion import cubic_spline
from manip_dyn.planning.transcription.planner import (
    converged_plan,
    faster_plan,
    plan_from_straight,
    straight_plan,
)
from manip_dyn.planning.transcription.spline import Ends, Spline
from manip_dyn.robot.pinocchio_model import Oracle

START, GOAL, REST = np.array([0.76, 0.2618]), np.zeros(2), np.zeros(2)
"""Fan (2003), table 6.3."""


@cache
def robot():
    return md.load_robot("ibm7535")


@cache
def exact():
    plan = md.plan_minimum_time(robot(), START, GOAL)
    assert plan.status == "solved"
    return plan


@cache
def refined():
    hold = robot().tau_max * 0.0
    return converged_plan(robot(), Ends(START, REST, GOAL, REST), hold, "minimum_time")


@cache
def on_the_way():
    """Return a time of the exact motion, and the plan from its state there."""
    t = 0.4 * exact().t_final
    q, v = exact().state(t)
    return t, md.plan_minimum_time(robot(), q, GOAL, v0=v)


def test_it_is_as_slow_as_the_exact_motion_but_for_the_gap():
    plan = refined()
    assert plan.status == "converged"
    assert plan.certificate.holds
    assert 0.0 < plan.t_final - exact().t_final < plan.certificate.gap < 5e-4


def test_its_costates_are_those_of_the_exact_motion():
    for t in (0.2, 0.35, 0.7):
        expected = exact().costate(t)
        assert refined().costate(t) == pytest.approx(expected, abs=0.02 * np.abs(expected).max())


def test_its_switches_are_those_of_the_exact_motion():
    for mine, expected in zip(refined().switch_times, exact().switch_times, strict=True):
        assert mine == pytest.approx(expected, abs=2e-3)


def test_from_motion_to_rest_is_the_rest_of_the_exact_motion():
    """Bellman's principle of optimality."""
    t, plan = on_the_way()
    assert plan.status == "converged"
    assert 0.0 < plan.t_final + t - exact().t_final < plan.certificate.gap


def test_from_rest_to_motion_is_the_begin_of_the_exact_motion():
    t = 0.6 * exact().t_final
    q, v = exact().state(t)
    plan = md.plan_minimum_time(robot(), START, q, vf=v)
    assert 0.0 < plan.t_final - t < plan.certificate.gap
    assert plan.state(plan.t_final)[1] == pytest.approx(v)
    assert replayed(plan) == pytest.approx([*q, *v], abs=1e-9)


def replayed(plan):
    """Return the state (2 n,) at the end by pinocchio's dynamics, a Runge-Kutta step a cell."""
    dynamics, knots = Oracle(robot()).forward_dynamics, plan.knots
    times = np.sort(np.concatenate([knots, 0.5 * (knots[:-1] + knots[1:])]))
    efforts, y = plan.motion.at(times)[2], np.concatenate(plan.state(0.0))
    for k, h in enumerate(np.diff(knots)):

        def rates(t, y, k=k, h=h):
            effort = efforts[2 * k + round(2.0 * t / h)]
            return np.concatenate([y[2:], dynamics(y[:2], y[2:], effort)])

        y = rk4_step(rates, 0.0, y, h)
    return y


@pytest.mark.parametrize("plan", [refined, lambda: on_the_way()[1]])
def test_it_moves_as_pinocchio_says_within_all_limits(plan):
    plan = plan()
    times = np.linspace(0.0, plan.t_final * (1.0 - 1e-12), 4_001)
    q, v, a = plan.motion.joints(times)
    efforts = np.array([plan.motion.effort(t) for t in times])
    assert np.all(np.abs(efforts) <= robot().tau_max * (1.0 + 1e-9))
    assert np.all(np.abs(v) <= robot().v_max)
    assert np.all((robot().q_min <= q) & (q <= robot().q_max))
    oracle = Oracle(robot())
    for k in range(0, len(times), 97):
        assert oracle.forward_dynamics(q[k], v[k], efforts[k]) == pytest.approx(a[k], abs=1e-8)
    assert q[-1] == pytest.approx(GOAL, abs=1e-9)
    assert v[-1] == pytest.approx(REST, abs=1e-8)


def test_an_executor_stops_where_a_plan_ends_moving():
    q, v = exact().state(0.6 * exact().t_final)
    plan = md.plan_minimum_time(robot(), START, q, vf=v)
    executor = md.PlanExecutor(robot(), plan, 1e-3)
    executor.segments(plan.t_final, q, v)
    assert np.all(np.sign(executor.goal - q) == np.sign(v))


def test_a_moving_arm_is_brought_within_its_limits_on_each_grid():
    """Being slower alone does not do it: the speeds at both ends stay."""
    start, goal = [-2.29275628, 1.39165228], [0.15930591, -1.19228546]
    plan = md.plan_minimum_time(
        robot(), start, goal, v0=[-0.06799028, 1.8695416], vf=[2.08340888, -0.68258306]
    )
    assert plan.status == "converged"
    assert plan.t_final == pytest.approx(0.938485, abs=1e-4)


def test_it_is_refined_from_the_straight_path_where_that_was_faster():
    straight = straight_plan(robot(), Ends(START, REST, GOAL, REST))
    assert straight.t_final > refined().t_final
    slow = replace(refined(), t_final=2.0 * straight.t_final)
    summary, hold = refined().certificate.searched, robot().tau_max * 0.0
    ends = Ends(START, REST, GOAL, REST)
    again = partial(plan_from_straight, robot(), ends, hold, "minimum_time", straight, summary)
    result = faster_plan(slow, straight, again)
    assert result.status == "converged"
    assert refined().t_final * 0.999 < result.t_final < straight.t_final


def test_it_is_the_straight_path_where_nothing_refined_is_faster():
    straight = straight_plan(robot(), Ends(START, REST, GOAL, REST))
    proof = replace(refined().certificate, gap=1e-4 * straight.t_final)
    slow = replace(refined(), t_final=(1.0 + 1e-5) * straight.t_final, certificate=proof)
    for again in (None, slow):
        result = faster_plan(slow, straight, lambda again=again: again)
        assert result.status == "converged"
        assert result.t_final == result.certificate.t_final == straight.t_final
        assert result.certificate.gap == pytest.approx(9e-5 * straight.t_final)
        assert result.motion is straight.motion
        assert result.reason.startswith("the straight path")
    doubtful = replace(slow, certificate=replace(proof, gap=1e-2 * straight.t_final))
    result = faster_plan(doubtful, straight, lambda: None)
    assert (result.status, result.t_final) == ("uncertified", straight.t_final)


def test_a_plan_that_is_faster_than_the_straight_path_is_not_begun_anew():
    straight = straight_plan(robot(), Ends(START, REST, GOAL, REST))
    assert faster_plan(refined(), straight, lambda: pytest.fail("begun anew")) is refined()


def test_the_scheme_is_that_of_a_cubic_spline():
    rng, nodes, duration = np.random.default_rng(0), 9, 1.7
    ends = Ends(*rng.normal(size=(4, 2)))
    origin = rng.normal(size=2)
    scheme = cubic_spline(ends.v0, ends.vf, nodes, origin)
    beyond = rng.normal(size=(nodes - 2, 2))
    spline = Spline.between(ends, origin + beyond + duration * scheme.shift[1:-1], duration)
    unknown = np.vstack([ends.q0 - origin, beyond, ends.qf - origin])
    beside = np.stack([unknown[np.r_[0, : nodes - 1]], unknown, unknown[np.r_[1:nodes, -1]]], 1)
    tables = scheme.place, scheme.speed, scheme.bend
    expected = spline.joints(np.linspace(0.0, duration, nodes))
    for order, (shares, values) in enumerate(zip(tables, expected, strict=True)):
        result = np.einsum("kc,kci->ki", shares, beside) / duration**order
        result += scheme.lead[:, order] * duration ** (1 - order)
        result += origin * (order == 0)
        assert result == pytest.approx(values, abs=1e-9)
    times = rng.uniform(0.0, duration, 20)
    for mine, same in zip(spline.halved().joints(times), spline.joints(times), strict=True):
        assert mine == pytest.approx(same, abs=1e-9)
    assert spline.joints(np.array([0.0, duration]))[1] == pytest.approx(
        np.array([ends.v0, ends.vf])
    )


@pytest.mark.parametrize(
    ("speeds", "words"),
    [
        ({"v0": [99.0, 0.0]}, "its limit is"),
        ({"v0": [1.0]}, "velocity of the start"),
        ({"vf": [0.0, np.nan]}, "velocity of the goal"),
    ],
)
def test_bad_velocities_are_refused(speeds, words):
    with pytest.raises(ManipDynError, match=words):
        md.plan_minimum_time(robot(), START, GOAL, **speeds)


def test_an_arm_that_cannot_be_stopped_in_time_is_refused():
    edge = robot().q_max - [1e-3, 0.5]
    with pytest.raises(ManipDynError, match=r"cannot be stopped in time beyond the goal: joint"):
        md.plan_minimum_time(robot(), START, edge, vf=[1.5, 0.0])
    with pytest.raises(ManipDynError, match=r"cannot be stopped in time from the start: joint"):
        md.plan_minimum_time(robot(), edge, START, v0=[1.5, 0.0])
