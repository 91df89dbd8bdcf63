"""Motions refined on grids: comparison with exact motions, moving ends, and limits."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn import ManipDynError
from manip_dyn.bench import random_arms
from manip_dyn.integration import rk4_step
from manip_dyn.planning import (
    Ends,
    Spline,
    cubic_spline,
    faster_plan,
    straight_plan,
)
from manip_dyn.robot import Oracle

START, GOAL, REST = np.array([0.76, 0.2618]), np.zeros(2), np.zeros(2)
"""Fan (2003), table 6.3."""


@cache
def robot():
    return md.load_robot("ibm7535")


@cache
def exact():
    plan = md.plan_minimum_time(robot(), START, GOAL, budget=None)
    assert plan.status == "solved"
    return plan


@cache
def refined():
    """Return the motion on grids, because a moving start has no exact motion."""
    return md.plan_minimum_time(robot(), START, GOAL, v0=[2e-6, 0.0], budget=None)


@cache
def plan_from_exact_motion():
    """Return a time of the exact motion, and the plan from its state at that time."""
    t = 0.4 * exact().t_final
    q, v = exact().state(t)
    return t, md.plan_minimum_time(robot(), q, GOAL, v0=v, budget=None)


def test_refined_time_exceeds_the_exact_time_by_less_than_the_gap():
    plan = refined()
    assert plan.status == "converged"
    assert plan.certificate.holds
    assert 0.0 < plan.t_final - exact().t_final < plan.certificate.gap < 5e-4


def test_refined_costates_agree_with_the_exact_motion():
    for t in (0.2, 0.35, 0.7):
        expected = exact().costate(t)
        assert refined().costate(t) == pytest.approx(expected, abs=0.02 * np.abs(expected).max())


def test_refined_switch_times_agree_with_the_exact_motion():
    for times, expected in zip(refined().switch_times, exact().switch_times, strict=True):
        assert times == pytest.approx(expected, abs=2e-3)


def test_plan_from_a_state_of_the_exact_motion_is_its_remainder():
    """Bellman's principle of optimality."""
    t, plan = plan_from_exact_motion()
    assert plan.status == "converged"
    assert 0.0 < plan.t_final + t - exact().t_final < plan.certificate.gap


def test_plan_to_a_state_of_the_exact_motion_is_its_beginning():
    t = 0.6 * exact().t_final
    q, v = exact().state(t)
    plan = md.plan_minimum_time(robot(), START, q, vf=v, budget=None)
    assert 0.0 < plan.t_final - t < plan.certificate.gap
    assert plan.state(plan.t_final)[1] == pytest.approx(v)
    assert replayed(plan) == pytest.approx([*q, *v], abs=1e-9)


def replayed(plan):
    """Return the final state (2 n,) by pinocchio's dynamics, one Runge-Kutta step per cell."""
    dynamics, knots = Oracle(robot()).forward_dynamics, plan.knots
    times = np.sort(np.concatenate([knots, 0.5 * (knots[:-1] + knots[1:])]))
    efforts, y = plan.motion.at(times)[2], np.concatenate(plan.state(0.0))
    for k, h in enumerate(np.diff(knots)):

        def rates(t, y, k=k, h=h):
            effort = efforts[2 * k + round(2.0 * t / h)]
            return np.concatenate([y[2:], dynamics(y[:2], y[2:], effort)])

        y = rk4_step(rates, 0.0, y, h)
    return y


@pytest.mark.parametrize("plan", [refined, lambda: plan_from_exact_motion()[1]])
def test_motions_satisfy_dynamics_and_limits(plan):
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


def test_executor_brakes_after_plans_that_end_moving():
    q, v = exact().state(0.6 * exact().t_final)
    plan = md.plan_minimum_time(robot(), START, q, vf=v, budget=None)
    executor = md.PlanExecutor(robot(), plan, 1e-3)
    executor.segments(plan.t_final, q, v)
    assert np.all(np.sign(executor.goal - q) == np.sign(v))


def test_plans_between_moving_states_satisfy_the_limits():
    """A longer duration alone is not sufficient, because both end velocities are fixed."""
    start, goal = [-2.29275628, 1.39165228], [0.15930591, -1.19228546]
    plan = md.plan_minimum_time(
        robot(),
        start,
        goal,
        v0=[-0.06799028, 1.8695416],
        vf=[2.08340888, -0.68258306],
        budget=None,
    )
    assert plan.status == "converged"
    assert plan.t_final == pytest.approx(0.938485, abs=1e-4)


def test_refinement_converges_for_a_weak_arm_at_its_speed_limit():
    """The duration is that of collocation (CasADi and IPOPT, 8 starts, 240 cells).

    With the barrier reduced by a factor of ten at once, the refinement ended at 3.139 s.
    """
    arm = md.load_robot(random_arms.random_urdf(2811, 6))
    plan = md.plan_minimum_time(arm, [-0.2239, 0.0738], [2.1489, 0.1038], budget=None)
    assert plan.success
    assert plan.t_final < 3.1112


def test_the_straight_path_is_returned_if_no_refinement_is_faster():
    straight = straight_plan(robot(), Ends(START, REST, GOAL, REST))
    proof = replace(refined().certificate, gap=1e-4 * straight.t_final)
    slow = replace(refined(), t_final=(1.0 + 1e-5) * straight.t_final, certificate=proof)
    plan = faster_plan(slow, straight)
    assert plan.status == "converged"
    assert plan.t_final == plan.certificate.t_final == straight.t_final
    assert plan.certificate.gap == pytest.approx(9e-5 * straight.t_final)
    assert plan.motion is straight.motion
    assert plan.reason.startswith("the straight path")
    uncertain = replace(slow, certificate=replace(proof, gap=1e-2 * straight.t_final))
    plan = faster_plan(uncertain, straight)
    assert (plan.status, plan.t_final) == ("uncertified", straight.t_final)


def test_plans_faster_than_the_straight_path_are_returned():
    straight = straight_plan(robot(), Ends(START, REST, GOAL, REST))
    assert straight.t_final > refined().t_final
    assert faster_plan(refined(), straight) is refined()


def test_scheme_reproduces_a_cubic_spline():
    rng, nodes, duration = np.random.default_rng(0), 9, 1.7
    ends = Ends(*rng.normal(size=(4, 2)))
    origin = rng.normal(size=2)
    scheme = cubic_spline(ends.v0, ends.vf, nodes, origin)
    beyond = rng.normal(size=(nodes - 2, 2))
    spline = Spline.between(ends, origin + beyond + duration * scheme.shift[1:-1], duration)
    unknown = np.vstack([ends.q0 - origin, beyond, ends.qf - origin])
    stencils = np.stack([unknown[np.r_[0, : nodes - 1]], unknown, unknown[np.r_[1:nodes, -1]]], 1)
    tables = scheme.place, scheme.speed, scheme.bend
    expected = spline.joints(np.linspace(0.0, duration, nodes))
    for order, (weights, values) in enumerate(zip(tables, expected, strict=True)):
        result = np.einsum("kc,kci->ki", weights, stencils) / duration**order
        result += scheme.lead[:, order] * duration ** (1 - order)
        result += origin * (order == 0)
        assert result == pytest.approx(values, abs=1e-9)
    times = rng.uniform(0.0, duration, 20)
    for halved, original in zip(spline.halved().joints(times), spline.joints(times), strict=True):
        assert halved == pytest.approx(original, abs=1e-9)
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
def test_invalid_velocities_raise(speeds, words):
    with pytest.raises(ManipDynError, match=words):
        md.plan_minimum_time(robot(), START, GOAL, **speeds, budget=None)


def test_velocities_that_cannot_be_braked_in_time_raise():
    edge = robot().q_max - [1e-3, 0.5]
    with pytest.raises(ManipDynError, match=r"cannot be stopped in time beyond the goal: joint"):
        md.plan_minimum_time(robot(), START, edge, vf=[1.5, 0.0], budget=None)
    with pytest.raises(ManipDynError, match=r"cannot be stopped in time from the start: joint"):
        md.plan_minimum_time(robot(), edge, START, v0=[1.5, 0.0], budget=None)


def rod(mass, length, effort, reach):
    inertia = (0.0, mass * length**2 / 12.0, mass * length**2 / 12.0)
    return random_arms.Joint(
        "revolute", "0 -1 0", -reach, reach, 0.0, length, mass, 0.5 * length, inertia, effort, 30.0
    )


def double_pendulum():
    joints = [rod(2.5, 0.5, 40.0, 3.1), rod(1.5, 0.4, 12.0, 2.8)]
    return md.load_robot(random_arms.urdf("double", joints))


@pytest.mark.parametrize("shift", [0.0, 1e-9, 1e-6, 1e-5])
def test_the_hamiltonian_vanishes_at_switches_of_another_effort(shift):
    """Before, it depended on rounding, and so did the status.

    The start moves a little, because a motion from rest is certified.
    """
    arm = double_pendulum()
    start, goal = np.array([-0.3468598956, 0.4339928588]) + shift, [1.1891889400, 2.2813362700]
    plan = md.plan_minimum_time(arm, start, goal, v0=[2e-6, 0.0], budget=None)
    assert plan.status == "converged"
    assert plan.certificate.hamiltonian < 1e-3


def test_the_hamiltonian_vanishes_where_costates_jump_at_speed_limits():
    arm = double_pendulum()
    plan = md.plan_minimum_time(arm, [-3.0, -2.8], [3.0, 2.8], budget=None)
    assert np.abs(plan.certificate.hamiltonians).max() < 0.02
    assert plan.status == "converged"
