"""Minimum-time plans in which the effort of another joint holds a joint at its speed limit."""

import itertools

import numpy as np
import pinocchio
import pytest
from extremals import arrived

import manip_dyn as md


def held_joint(plan):
    """Index of the joint at its speed limit, and start and end of its boundary arc."""
    ((joint, kind, begin, end),) = plan.certificate.limit_arcs
    assert kind == "speed"
    return plan.robot.joint_names.index(joint), begin, end


@pytest.fixture(
    scope="module",
    params=[
        ([-2.89, 1.46], [0.72, -2.96]),  # three handovers
        ([1.35, -2.09], [-0.66, 2.58]),  # the second effort holds last
        ([2.37, -2.60], [1.31, 1.82]),  # the second effort holds first
        ([-0.292, 2.211], [0.944, -1.419]),  # the second effort holds first, for 0.3 ms
        ([-1.813, -0.57], [-0.383, 3.112]),  # the other effort switches shortly before the goal
    ],
)
def plan(request):
    """Plans of the RR arm between random goals."""
    return md.plan_minimum_time(md.load_robot("rr"), *request.param, budget=None)


def test_the_plan_is_certified_and_arrives(plan):
    """The certificate and all limits hold, and independent integration ends at the goal."""
    proof, robot = plan.certificate, plan.robot
    assert plan.status == "solved"
    assert proof.boundary <= 1e-8
    assert proof.hamiltonian <= 1e-6
    assert proof.margin > 0.0
    assert proof.limit_force > -1e-9
    assert np.abs(arrived(plan) - [*plan.qf, 0.0, 0.0]).max() < 1e-6
    for t in np.linspace(0.0, plan.t_final, 200):
        assert np.all(np.abs(plan.effort(t)) <= robot.tau_max * (1.0 + 1e-9))
        assert np.all(np.abs(plan.state(t)[1]) <= robot.v_max * (1.0 + 1e-9))


def test_one_effort_holds_the_joint_while_the_other_is_full(plan):
    """On the arc one S is 0, the other effort is full, and pinocchio computes no acceleration."""
    robot, (held, begin, end) = plan.robot, held_joint(plan)
    data, holders = robot.model.createData(), set()
    knots = [t for t in plan.knots if begin <= t <= end]
    for first, last in itertools.pairwise(knots):
        t = 0.5 * (first + last)
        tau, (q, v), costate = plan.effort(t), plan.state(t), plan.costate(t)
        load = np.abs(tau) / robot.tau_max
        holder, full = int(load.argmin()), int(load.argmax())
        assert load[holder] < 1.0
        assert load[full] == pytest.approx(1.0, abs=1e-12)
        holders.add(holder)
        acceleration = pinocchio.aba(robot.model, data, q, v, tau - robot.damping * v)
        assert abs(acceleration[held]) < 1e-6
        mass = pinocchio.crba(robot.model, data, q)
        functions = np.linalg.solve(np.triu(mass) + np.triu(mass, 1).T, costate[2:])
        assert abs(functions[holder]) < 1e-6 * np.abs(functions[full])
        assert functions[full] * tau[full] < 0.0
    assert holders == {0, 1}


def test_efforts_are_continuous_where_the_costate_of_the_speed_jumps(plan):
    """At a handover without a jump of both efforts, the limit acts again.

    Only the costate of the held joint's speed is discontinuous, with a jump toward the inside.
    """
    held, begin, end = held_joint(plan)
    rows = [row for row in zip(*plan.switching[1:4], strict=True) if begin < row[2] < end]
    count = 0
    for effort, value, t in rows:
        if value.held_at_speed(effort) is None:
            continue
        before, after = plan.effort(t - 1e-9), plan.effort(t + 1e-9)
        step = plan.costate(t + 1e-9) - plan.costate(t - 1e-9)
        if np.abs(after - before).max() < 1e-3 * plan.robot.tau_max.max():
            side = np.sign(plan.state(t)[1][held])
            assert side * step[2 + held] < 0.0
            assert np.abs(np.delete(step, 2 + held)).max() < 1e-6 * np.abs(step).max() + 1e-8
            count += 1
    assert count >= 1
