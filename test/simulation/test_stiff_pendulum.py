"""Rosenbrock methods on the stiff double pendulum of Sandu et al. (2001) and on any robot."""

import numpy as np
import pytest
from arms import random_state, random_tree
from laws import swing
from scipy.integrate import solve_ivp

import manip_dyn as md
from manip_dyn.simulation import Integrator, gravity_compensation

ROBOT = md.load_robot("stiff_pendulum")
START, DURATION = np.array([2.0 * np.pi, -np.pi / 12, 0.0, 10.0]), 2.0
"""Initial state and duration of the benchmark."""


def final_state(tolerance):
    """Return the final state (4,) and the number of steps."""
    run = md.simulate(
        *(ROBOT, START[:2], START[2:], np.zeros(2), DURATION),
        sample_period=DURATION,
        method="rosenbrock_nystrom",
        rtol=tolerance,
    )
    return np.concatenate([run.q[-1], run.v[-1]]), run.statistics.steps


def test_the_dominant_eigenvalue_is_that_of_the_paper():
    by_q, by_v, _ = md.customize(ROBOT).forward_dynamics_derivatives(START[:2], START[2:], [0, 0])
    matrix = np.block([[np.zeros((2, 2)), np.eye(2)], [by_q, by_v]])
    fastest = np.linalg.eigvals(matrix).real.min()
    assert fastest == pytest.approx(-1e5, rel=0.01)


def test_the_final_state_agrees_with_an_independent_stiff_solver():
    kernels, zero = md.customize(ROBOT), np.zeros(2)

    def rates(_t, y):
        return np.concatenate([y[2:], kernels.unchecked.forward_dynamics(y[:2], y[2:], zero)])

    def slopes(_t, y):
        by_q, by_v, _ = kernels.unchecked.forward_dynamics_derivatives(y[:2], y[2:], zero)
        return np.block([[np.zeros((2, 2)), np.eye(2)], [by_q, by_v]])

    exact = solve_ivp(rates, (0.0, DURATION), START, "Radau", rtol=1e-12, atol=1e-12, jac=slopes)
    np.testing.assert_allclose(final_state(1e-11)[0], exact.y[:, -1], atol=1e-9, rtol=0.0)


def test_errors_decrease_with_the_tolerance_at_few_steps():
    exact = final_state(1e-11)[0]
    results = [final_state(tolerance) for tolerance in (1e-2, 1e-4, 1e-6)]
    errors = [np.abs(end - exact)[[0, 2]].max() for end, _ in results]
    assert errors[0] < 1e-1
    assert errors[1] < 1e-3
    assert errors[2] < 1e-5
    assert max(steps for _, steps in results) < 1000  # an explicit method requires 2e5 / 3


@pytest.mark.parametrize("name", ["ibm7535", "rr", "tree", "stiff_pendulum"])
def test_linearizations_are_the_derivatives_of_the_motion(name, tmp_path):
    """The tree has one joint of each type."""
    robot = md.load_robot(random_tree(tmp_path, 1, joints=3) if name == "tree" else name)
    kernels, n = md.customize(robot), robot.n
    q, v, tau = random_state(robot, np.random.default_rng(3))
    y = np.concatenate([q, v, [0.7]])
    out, by_time = np.full((n + 1, 3 * n + 1), np.nan), np.full(n + 1, np.nan)
    kernels.linearization_with_work(0.0, y, tau, out, by_time)
    by_q, by_v, _ = kernels.forward_dynamics_derivatives(q, v, tau)
    mass = kernels.mass_matrix(q)
    scale = np.abs(mass @ np.hstack([by_q, by_v])).max()
    np.testing.assert_allclose(
        out[:n, : 2 * n], mass @ np.hstack([by_q, by_v]), atol=1e-12 * scale
    )
    np.testing.assert_allclose(out[:n, 2 * n + 1 :], mass, atol=1e-12 * np.abs(mass).max())
    power = tau - 2.0 * robot.damping * v
    np.testing.assert_allclose(out[n], [*np.zeros(n), *power, *np.zeros(n + 1)], rtol=1e-14)
    assert not by_time.any()
    assert not out[:, 2 * n].any()
    short = np.empty((n, 3 * n))
    kernels.linearization(0.0, y, tau, short, by_time[:n])
    np.testing.assert_array_equal(short, np.delete(out[:n], 2 * n, axis=1))


@pytest.mark.parametrize("law", ["feedback", "weightless"])
def test_rosenbrock_nystrom_has_order_four_under_effort_laws(law):
    robot = md.load_robot({"feedback": "ibm7535", "weightless": "rr"}[law])
    effort = swing if law == "feedback" else gravity_compensation(robot)
    q, v = np.array([0.5, 0.3]), np.array([1.0, -1.0])
    runs = [
        md.simulate(robot, q, v, effort, 1.0, step, 1.0, method="rosenbrock_nystrom")
        for step in (0.02, 0.01, 0.005)
    ]
    exact = md.simulate(robot, q, v, effort, 1.0, 2e-4, 1.0, method="rk4")
    expected = [*exact.q[-1], *exact.v[-1], exact.energy[-1, 2]]
    ends = [np.array([*run.q[-1], *run.v[-1], run.energy[-1, 2]]) for run in runs]
    errors = [np.abs(end - expected).max() for end in ends]
    assert np.polyfit([0, 1, 2], -np.log2(errors), 1)[0] > 3.7


def test_the_energy_of_the_stiff_pendulum_is_balanced():
    run = md.simulate(
        ROBOT, START[:2], START[2:], [0.0, 0.0], DURATION, method="rosenbrock_nystrom", rtol=1e-9
    )
    assert run.success
    assert np.abs(run.energy[:, 3]).max() < 1e-7 * np.abs(run.energy[:, 2]).max()
    assert run.statistics.evaluations < 10_000


def test_integrators_report_implicit_and_adaptive_methods():
    assert Integrator("rosenbrock_nystrom", rtol=1e-4).implicit
    assert not Integrator("rosenbrock_w").adaptive
    assert not Integrator("rk4").implicit
