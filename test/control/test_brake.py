"""A brake never increases the kinetic energy, for any arm, rate and period."""

from types import SimpleNamespace

import numpy as np
import pytest
from arms import load, random_state
from hypothesis import given, settings
from hypothesis import strategies as st

import manip_dyn as md
from manip_dyn.control import Brake
from manip_dyn.core import box_minimum
from manip_dyn.simulation import Integrator, Simulation

MILLISECOND = 1_000_000
RATE, PERIOD = 20.0, 1e-3
"""Defaults of `Brake`."""


def arm_of(inertia, weight, limits):
    """Return a substitute for kernels: mass matrix, weight and limits of an arm."""
    return SimpleNamespace(
        robot=SimpleNamespace(n=len(weight), tau_max=limits),
        unchecked=SimpleNamespace(
            mass_matrix=lambda _q: inertia, inverse_dynamics=lambda _q, _v, _a: weight
        ),
    )


@st.composite
def arms_in_motion(draw):
    """Return an inertia, limits that can hold the weight, the weight, a velocity and a rate."""
    n = draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    axes = np.linalg.qr(rng.normal(size=(n, n)))[0]
    inertia = axes @ np.diag(10.0 ** rng.uniform(-2, 2, n)) @ axes.T
    limits = 10.0 ** rng.uniform(-2, 3, n)
    weight = limits * rng.uniform(-1.0, 1.0, n)
    velocity = 10.0 ** draw(st.floats(-6, 3)) * rng.normal(size=n)
    return inertia, limits, weight, velocity, 10.0 ** draw(st.floats(-1, 3))


@settings(max_examples=200, deadline=None)
@given(arms_in_motion(), st.floats(-4, 1))
def test_kinetic_energy_never_increases_at_any_period(case, exponent):
    inertia, limits, weight, v, rate = case
    period = round(10.0 ** (exponent + 9)) * 1e-9
    effort = Brake(arm_of(inertia, weight, limits), rate, period).effort(0, 0.0 * v, v)
    assert np.all(np.abs(effort) <= limits * (1.0 + 1e-12))
    after = v + period * np.linalg.solve(inertia, effort - weight)
    energy = 0.5 * v @ inertia @ v
    assert 0.5 * after @ inertia @ after <= energy * (1.0 + 1e-9)
    assert (effort - weight) @ v <= 1e-9 * energy


@settings(max_examples=50, deadline=None)
@given(arms_in_motion(), st.floats(-4, 1))
def test_without_effort_limits_all_speeds_decrease_at_the_same_rate(case, exponent):
    inertia, limits, weight, v, rate = case
    period = round(10.0 ** (exponent + 9)) * 1e-9
    effort = Brake(arm_of(inertia, 0.0 * weight, np.inf * limits), rate, period).effort(0, v, v)
    after = v + period * np.linalg.solve(inertia, effort)
    np.testing.assert_allclose(after, v / (1.0 + rate * period), atol=1e-9 * np.abs(v).max())


@settings(max_examples=50, deadline=None)
@given(arms_in_motion())
def test_box_minimum_satisfies_the_optimality_conditions(case):
    """For well-conditioned matrices: the sweeps for a nearly singular one may end early."""
    inertia, high, slope, _, _ = case
    hessian = inertia + 0.05 * np.trace(inertia) * np.eye(len(high))
    low, x = -0.5 * high, np.zeros_like(high)
    box_minimum(hessian, slope, low, high, x)
    gradient = hessian @ x + slope
    small = 1e-5 * np.abs(slope).max()
    assert np.all((low <= x) & (x <= high))
    assert np.all((np.abs(gradient) <= small) | (x == low) & (gradient > 0) | (x == high))


@pytest.mark.parametrize("speed", [0.5, 20.0])
@pytest.mark.parametrize("name", ["pa10", "ibm7535", "rr", "tree1"])
def test_an_arm_loses_kinetic_energy_every_millisecond(name, speed, tmp_path):
    """With Coriolis efforts, springs and the change of weight within a millisecond."""
    robot = load(name, tmp_path) if name == "tree1" else md.load_robot(name)
    q, v, _ = random_state(robot, np.random.default_rng(3))
    simulation = Simulation(robot, np.clip(q, robot.q_min, robot.q_max), speed * v)
    simulation.law = Brake(simulation.kernels)
    kinetic = [simulation.energy().kinetic]
    for _ in range(300):
        simulation.advance(MILLISECOND)
        kinetic.append(simulation.energy().kinetic)
    assert np.all(np.diff(kinetic) <= 1e-12 * kinetic[0])
    # Joint damping makes the decrease faster in general.
    bound = kinetic[0] * (1.0 + RATE * PERIOD) ** (-2.0 * np.arange(301))
    if speed < 1.0 and name in ("pa10", "ibm7535"):
        assert np.all(kinetic <= bound * (1.0 + 1e-2))


@pytest.mark.parametrize("name", ["pa10", "rr"])
def test_an_arm_at_rest_is_held_in_place(name):
    robot = md.load_robot(name)
    q, _, _ = random_state(robot, np.random.default_rng(5))
    simulation = Simulation(robot, np.clip(q, robot.q_min, robot.q_max), np.zeros(robot.n))
    simulation.law, start = Brake(simulation.kernels), simulation.q
    simulation.advance(1000 * MILLISECOND)
    np.testing.assert_allclose(simulation.q, start, atol=1e-12)


@pytest.mark.parametrize("period", [1, 7, 250])
@pytest.mark.parametrize(
    "integrator",
    [Integrator("rk4"), Integrator("rk1", 0.01), Integrator("taylor", rtol=1e-9)],
    ids=lambda integrator: integrator.method,
)
def test_an_arm_is_braked_at_any_control_period_with_any_method(integrator, period):
    """Also with Taylor series, which exclude feedback: the efforts are held."""
    robot = md.load_robot("ibm7535")
    simulation = Simulation(robot, [0.3, -0.4], [1.0, -2.0], integrator)
    simulation.law = Brake(simulation.kernels)
    for _ in range(1750 // period):
        simulation.advance(period * MILLISECOND)
    assert np.abs(simulation.v).max() < 1e-9


def test_a_brake_with_rate_zero_is_gravity_compensation():
    kernels = md.customize(md.load_robot("rr"))
    q, v = np.array([0.2, 0.3]), np.array([1.0, 2.0])
    weight = md.simulation.gravity_compensation(kernels).effort(0, q, v)
    assert Brake(kernels, rate=0.0).effort(0, q, v).tolist() == weight.tolist()


@pytest.mark.parametrize(
    ("rate", "period", "words"),
    [(-1.0, 1e-3, "brake rate"), (np.nan, 1e-3, "brake rate"), (1.0, 0.0, "brake period")],
)
def test_invalid_rates_and_periods_are_rejected(rate, period, words):
    with pytest.raises(md.ManipDynError, match=words):
        Brake(md.customize(md.load_robot("rr")), rate, period)
