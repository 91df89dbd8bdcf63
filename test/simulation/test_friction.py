"""Coulomb friction in simulations under commands, and what compensates it."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.control import Brake
from manip_dyn.control.computed_torque import ComputedTorque, JointMotion
from manip_dyn.core.friction import CREEP
from manip_dyn.simulation import Feedback, Integrator, Simulation, held

INERTIA, FRICTION = 10.0, 3.0
LINK = md.load_robot("one_link_horizontal", coulomb_friction=[FRICTION])
"""One link without weight."""


def coasting(integrator=None, effort=0.0):
    simulation = Simulation(LINK, [0.0], [1.0], integrator)
    simulation.law = held(LINK, [effort])
    simulation.advance(1_000_000_000)
    return simulation


def speed(time):
    """Return the speed of the coasting link: sinh(v / v0) falls by exp(-F t / (I v0))."""
    return CREEP * np.arcsinh(np.sinh(1.0 / CREEP) * np.exp(-FRICTION * time / (INERTIA * CREEP)))


@pytest.mark.parametrize(
    "integrator",
    [Integrator(), Integrator("rkdp87", rtol=1e-10), Integrator("rosenbrock_nystrom", rtol=1e-8)],
    ids=lambda each: each.method,
)
def test_friction_slows_a_link_and_takes_its_energy(integrator):
    simulation = coasting(integrator)
    assert simulation.v[0] == pytest.approx(speed(1.0), rel=1e-6)
    assert simulation.v[0] == pytest.approx(1.0 - FRICTION / INERTIA, rel=1e-3)
    assert abs(simulation.energy().residual) < 1e-7


@pytest.mark.parametrize("kind", ["compiled", "interpreted", "brake", "weight"])
def test_friction_acts_under_every_law(kind):
    """The interpreted one calls what numba cannot compile; the brake has a rate of zero."""
    simulation = Simulation(LINK, [0.0], [1.0])
    laws = {
        "compiled": lambda: Feedback(LINK, lambda t, q, v: np.zeros(1)),
        "interpreted": lambda: Feedback(LINK, lambda t, q, v: np.array([float(str(0.0))])),
        "brake": lambda: Brake(simulation.kernels, rate=0.0),
        "weight": lambda: md.gravity_compensation(simulation.kernels),
    }
    simulation.law = laws[kind]()
    simulation.advance(1_000_000_000)
    assert simulation.v[0] == pytest.approx(speed(1.0), rel=1e-6)
    assert abs(simulation.energy().residual) < 1e-7


def test_a_stiff_method_has_the_derivatives_of_friction_under_a_law():
    simulation = Simulation(LINK, [0.0], [1.0], Integrator("rosenbrock_nystrom", rtol=1e-8))
    simulation.law = Feedback(LINK, lambda t, q, v: np.zeros(1))
    simulation.advance(1_000_000_000)
    assert simulation.v[0] == pytest.approx(speed(1.0), rel=1e-6)


def test_an_effort_as_large_as_the_friction_keeps_the_speed():
    assert coasting(effort=FRICTION).v[0] == pytest.approx(1.0, rel=1e-9)


def test_friction_is_not_for_taylor_series():
    with pytest.raises(md.ManipDynError, match="'taylor' cannot follow Coulomb friction"):
        Simulation(LINK, [0.0], [0.0], Integrator("taylor", order=8))


def test_bad_friction():
    with pytest.raises(md.ManipDynError, match=r"coulomb_friction is \[-1.0\]; expected none"):
        md.load_robot("one_link_horizontal", coulomb_friction=[-1.0])


def followed(known, effort_rate=0.0):
    """Return the largest error of a swinging link that is driven for 2 s, and its efforts."""
    controller = ComputedTorque(known, 400.0, 40.0, 0.002, effort_rate)
    simulation, error, efforts = Simulation(LINK, [0.0], [0.0]), 0.0, []
    for k in range(1000):
        t = 0.002 * k
        wanted = JointMotion(
            *(0.2 * np.array([each]) for each in (1.0 - np.cos(t), np.sin(t), np.cos(t)))
        )
        error = max(error, float(np.abs(simulation.q - wanted.q).max()))
        efforts.append(controller.efforts(simulation.q, simulation.v, wanted).effort)
        simulation.law = held(LINK, efforts[-1])
        simulation.advance(2_000_000)
    return error, np.array(efforts)


def test_computed_torque_compensates_friction_that_it_knows():
    unaware, _ = followed(md.load_robot("one_link_horizontal"))
    aware, _ = followed(LINK)
    assert unaware == pytest.approx(FRICTION / INERTIA / 400.0, rel=0.1)
    assert aware < 0.01 * unaware


def test_efforts_change_no_faster_than_they_may():
    _, free = followed(LINK)
    error, limited = followed(LINK, effort_rate=10.0)
    assert np.abs(np.diff(free, axis=0)).max() > 11.0 * 0.002
    assert np.abs(np.diff(limited, axis=0)).max() <= 10.0 * 0.002 * (1.0 + 1e-9)
    assert error < 1e-3
    with pytest.raises(md.ManipDynError, match="effort_rate"):
        ComputedTorque(LINK, 400.0, 40.0, 0.002, -1.0)
