"""Eq. 45 of Sandu et al. (2001) requires the mass matrix at the start of the step.

The paper prints the generalized force at the stage, Q(Y_i) = M(Y_i) f(Y_i). Eq. 25f times
M / gamma gives M(y_n) f(Y_i), with the M of eq. 44.
"""

import numpy as np
import pytest
from numba import njit
from scipy.integrate import solve_ivp

import manip_dyn as md
from manip_dyn.integration import order_four
from manip_dyn.multibody import load_mechanism, simulate_mechanism

TABLE, START, END = order_four(), np.array([1.0, 0.5]), 2.0
GAMMA = float(TABLE.diagonal)
ALPHA, GAMMAS = ([float(x) for x in row] for row in (TABLE.alpha_sums, TABLE.gamma_sums))
A, C, DELTA, THETA = (
    [[float(x) for x in row] for row in rows]
    for rows in (TABLE.a, TABLE.c, TABLE.delta, TABLE.theta)
)
M_WEIGHTS, MU = (
    [float(x) for x in row] for row in (TABLE.weights(TABLE.b), TABLE.position_weights(TABLE.b))
)


def acceleration(t, y, v):
    return -np.sin(y) - 0.3 * y * v + 0.2 * v**2 * np.cos(y) + 0.5 * np.cos(2.0 * t)


def slopes(t, y, v):
    """Return J1, J2 and the derivative by time."""
    by_position = -np.cos(y) - 0.3 * v - 0.2 * v**2 * np.sin(y)
    return by_position, -0.3 * y + 0.4 * v * np.cos(y), -np.sin(2.0 * t)


def varying(y):
    return 2.0 + np.sin(y)


def constant(_y):
    return 3.0


def solved(form, mass, count):
    """Return the final state (2,) after fixed steps; `form` is plain, corrected or printed."""
    h, t, (y, v) = END / count, 0.0, START
    for _ in range(count):
        j1, j2, by_time = slopes(t, y, v)
        m = 1.0 if form == "plain" else mass(y)
        matrix = m * (1.0 / GAMMA**2 - h / GAMMA * j2 - h * h * j1)  # eq. 44
        z = []
        for i in range(TABLE.stages):
            at = y + h * (ALPHA[i] * v + dot(THETA[i], z)), v + dot(A[i], z)
            f = acceleration(t + ALPHA[i] * h, *at)
            force = (mass(at[0]) if form == "printed" else m) * f
            bend = GAMMAS[i] * v + dot(DELTA[i], z)
            right = h * force + h * h * m * (GAMMAS[i] * by_time + j1 * bend) + m * dot(C[i], z)
            z.append(right / GAMMA / matrix)  # eq. 43 and 45
        y, v, t = y + h * v + h * dot(MU, z), v + dot(M_WEIGHTS, z), t + h
    return np.array([y, v])


def dot(weights, z):
    return sum(weight * stage for weight, stage in zip(weights, z, strict=False))


def order(form, mass):
    exact = solve_ivp(
        lambda t, s: [s[1], acceleration(t, *s)], (0, END), START, "DOP853", rtol=1e-13, atol=1e-14
    ).y[:, -1]
    errors = [np.abs(solved(form, mass, count) - exact).max() for count in (50, 100, 200)]
    return np.polyfit([0, 1, 2], -np.log2(errors), 1)[0]


def test_the_corrected_form_equals_the_form_without_mass_and_the_printed_one_does_not():
    plain = solved("plain", varying, 40)
    np.testing.assert_allclose(solved("corrected", varying, 40), plain, rtol=1e-13)
    assert np.abs(solved("printed", varying, 40) - plain).max() > 1e-3


def test_the_printed_form_has_order_one_if_the_mass_varies():
    assert order("plain", varying) == pytest.approx(4.0, abs=0.1)
    assert order("corrected", varying) == pytest.approx(4.0, abs=0.1)
    assert order("printed", varying) == pytest.approx(1.0, abs=0.1)
    assert order("printed", constant) == pytest.approx(4.0, abs=0.1)


@njit
def rates(t, y, p, out):
    """The same motion."""
    out[0] = y[1]
    out[1] = -np.sin(y[0]) - 0.3 * y[0] * y[1] + 0.2 * y[1] ** 2 * np.cos(y[0])
    out[1] += 0.5 * np.cos(2.0 * t)


@njit
def weighted(t, y, p, out, by_time):
    """M J1, M J2, M and M df/dt with a varying mass."""
    m = 2.0 + np.sin(y[0])
    out[0, 0] = m * (-np.cos(y[0]) - 0.3 * y[1] - 0.2 * y[1] ** 2 * np.sin(y[0]))
    out[0, 1] = m * (-0.3 * y[0] + 0.4 * y[1] * np.cos(y[0]))
    out[0, 2], by_time[0] = m, -m * np.sin(2.0 * t)


def test_the_compiled_step_is_the_corrected_one():
    solution = md.integrate(
        rates,
        (0.0, END),
        START,
        method="rosenbrock_nystrom",
        step=END / 40,
        jacobian=md.Jacobian(weighted, 1, mass=True),
    ).y_last
    np.testing.assert_allclose(solution, solved("corrected", varying, 40), rtol=1e-12)


def test_a_mechanism_with_a_varying_mass_converges_with_order_four():
    """The slider-crank: its reduced mass changes by more than half during a turn."""
    mechanism = load_mechanism("slider_crank")
    exact = simulate_mechanism(mechanism, 0.5, rtol=1e-12).q[-1]
    errors = []
    for count in (40, 80, 160):
        motion = simulate_mechanism(
            mechanism,
            0.5,
            rtol=1e-1,
            atol=10.0,
            control=md.StepControl(max_step=0.5 / count, first_step=0.5 / count),
        )
        assert abs(motion.statistics.steps - count) <= 1 + motion.partitions
        errors.append(np.abs(motion.q[-1] - exact).max())
    assert np.polyfit([0, 1, 2], -np.log2(errors), 1)[0] == pytest.approx(4.0, abs=0.3)
