"""Certificates agree with independent computations and reject invalid motions."""

import dataclasses

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import manip_dyn as md

START, GOAL = np.array([0.76, 0.2618]), np.zeros(2)
"""Fan (2003), table 6.3."""


def test_the_costates_are_the_sensitivities_of_the_final_time():
    """T(q0 + dq) - T(q0) = p_q . dq to first order, by plans from displaced starts."""
    robot, goal = md.load_robot("ibm7535"), [0.0, 0.0]
    start = np.array([0.76, 0.2618])
    plan = md.plan_minimum_time(robot, start, goal, budget=None)
    for joint in range(2):
        step = 1e-4 * np.eye(2)[joint]
        later, earlier = (
            md.plan_minimum_time(robot, start + shift, goal, budget=None).t_final
            for shift in (step, -step)
        )
        slope = (later - earlier) / 2e-4
        assert plan.certificate.costates[joint] == pytest.approx(slope, rel=1e-5)


def test_costates_and_switching_functions_agree_with_finite_differences():
    """The flow of the state, differentiated numerically, maps the final costate backwards."""
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), [0.76, 0.2618], [0.0, 0.0], budget=None)
    robot, n = plan.robot, 2
    kernels = md.customize(robot).unchecked

    def end(y, t):
        for begin, until, _ in plan.switching.arcs():
            if until <= t:
                continue
            tau = plan.effort(0.5 * (begin + until))
            y = solve_ivp(
                lambda _, y, tau=tau: np.concatenate(
                    [y[n:], kernels.forward_dynamics(y[:n], y[n:], tau)]
                ),
                (max(begin, t), until),
                y,
                "DOP853",
                rtol=1e-12,
                atol=1e-13,
            ).y[:, -1]
        return y

    final = plan.costate(plan.t_final)
    for t in np.linspace(0.03, 0.97, 6) * plan.t_final:
        q, v = plan.state(t)
        y, h = np.concatenate([q, v]), 1e-5
        flow = np.array([(end(y + h * e, t) - end(y - h * e, t)) / (2 * h) for e in np.eye(4)])
        costate = flow @ final
        assert costate == pytest.approx(plan.costate(t), abs=1e-6)
        switching = np.linalg.solve(kernels.mass_matrix(q), costate[n:])
        assert np.all(switching * plan.effort(t) < 0.0)
        accelerations = kernels.forward_dynamics(q, v, plan.effort(t))
        assert 1.0 + costate @ np.concatenate([v, accelerations]) == pytest.approx(0.0, abs=1e-6)


def test_a_wrong_plan_is_not_certified():
    """A change of any number beyond its tolerance invalidates the certificate."""
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), [0.76, 0.2618], [0.0, 0.0], budget=None)
    valid = plan.certificate
    assert valid.holds
    for changes in (
        {"margin": -0.1},
        {"boundary": 1e-6},
        {"hamiltonian": np.nan},
        {"curvature": -1.0},
        {"singular": ("elbow",)},
        {"singular_effort": 1.1},
        {"legendre_clebsch": -1.0},
    ):
        violated = dataclasses.replace(valid, **changes)
        assert not violated.holds
        assert violated.failures[0] in str(violated)


def test_a_short_motion_must_end_closer_to_the_goal():
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), START, GOAL, budget=None)
    near = dataclasses.replace(plan.certificate, boundary=5e-9)
    assert near.holds
    assert not dataclasses.replace(near, distance=1e-3).holds
