"""Disturbances of a simulation, and arms with scaled masses."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.simulation import CommandedArm, Disturbance, Simulation


def test_a_disturbance_is_an_impulse_at_exact_times():
    """One link without weight, I = 10: the velocity is the total impulse over I."""
    robot = md.load_robot("one_link_horizontal")
    simulation = Simulation(robot, [0.0], [0.0])
    simulation.law = md.Schedule(robot, [0], [[2.0]])
    simulation.disturbance = Disturbance(np.array([30.0]), 1_234_567, 3_456_789)
    simulation.advance(5_000_000)
    impulse = 2.0 * 5e-3 + 30.0 * (3_456_789 - 1_234_567) * 1e-9
    assert simulation.v[0] == pytest.approx(impulse / 10.0, rel=1e-12)
    assert abs(simulation.energy().residual) < 1e-12


def test_a_push_acts_for_its_duration_and_ends_with_a_reset():
    robot = md.load_robot("one_link_horizontal")
    simulation = Simulation(robot, [0.0], [0.0])
    rest = md.Schedule(robot, [0], [[0.0]])
    arm = CommandedArm(simulation, rest)
    arm.command(rest)
    arm.advance(5_000_000)
    arm.push(np.array([30.0]), 2_000_000)
    arm.advance(5_000_000)
    assert simulation.v[0] == pytest.approx(30.0 * 2e-3 / 10.0, rel=1e-12)
    arm.push(np.array([-30.0]), 2_000_000)
    arm.reset()
    arm.advance(5_000_000)
    assert simulation.v[0] == 0.0


@pytest.mark.parametrize("name", ["pa10", "ibm7535"])
def test_mass_scale_applies_to_links_and_not_to_rotors(name):
    """Without damping and springs, inverse dynamics is linear in masses and inertias."""
    light, heavy = md.load_robot(name), md.load_robot(name, mass_scale=1.1)
    rng = np.random.default_rng(2)
    q, v, a = rng.normal(size=(3, light.n))
    own = md.customize(light).inverse_dynamics(q, v, a) - light.damping * v - light.armature * a
    more = md.customize(heavy).inverse_dynamics(q, v, a) - heavy.damping * v - heavy.armature * a
    assert not light.stiffness.any()
    np.testing.assert_allclose(more, 1.1 * own, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(heavy.tau_max, light.tau_max)


@pytest.mark.parametrize("factor", [0.0, -1.0, np.nan])
def test_an_invalid_mass_scale_is_rejected(factor):
    with pytest.raises(md.ManipDynError, match="mass_scale"):
        md.load_robot("ibm7535", mass_scale=factor)


def test_a_divergence_under_a_disturbance_names_it():
    simulation = Simulation(md.load_robot("one_link_vertical"), [0.1], [0.0])
    simulation.disturbance = Disturbance(np.array([1e300]), 0, 1_000_000)
    with pytest.raises(
        md.ManipDynError, match=r"diverged at 0.0\S+ s under the disturbance \[1e\+300"
    ):
        simulation.advance(1_000_000)
