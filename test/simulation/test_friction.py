"""Dry friction in simulations and dynamics, and its compensation."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from dry_friction import Reference

import manip_dyn as md
from manip_dyn.control import Brake, ComputedTorque, JointMotion
from manip_dyn.simulation import Feedback, Integrator, Simulation, held

INERTIA, FRICTION = 10.0, 3.0
LINK = md.load_robot("one_link_horizontal", coulomb_friction=[FRICTION])
"""One link without weight."""


def coasting(integrator=None, effort=0.0, v0=1.0, duration=1.0):
    simulation = Simulation(LINK, [0.0], [v0], integrator)
    simulation.law = held(LINK, [effort])
    simulation.advance(round(duration * 1e9))
    return simulation


@pytest.mark.parametrize(
    "integrator",
    [Integrator(), Integrator("rkdp87", rtol=1e-10), Integrator("rosenbrock_nystrom", rtol=1e-8)],
    ids=lambda integrator: integrator.method,
)
def test_a_sliding_link_stops_in_finite_time_and_sticks(integrator):
    simulation = coasting(integrator)
    assert simulation.v[0] == pytest.approx(1.0 - FRICTION / INERTIA, rel=1e-12)
    simulation.advance(4_000_000_000)
    assert simulation.v[0] == 0.0
    assert simulation.q[0] == pytest.approx(0.5 * INERTIA / FRICTION, rel=1e-12)
    assert simulation.energy().work == pytest.approx(-0.5 * INERTIA, rel=1e-12)
    assert abs(simulation.energy().residual) < 1e-12
    q = simulation.q
    simulation.law = held(LINK, [FRICTION])
    simulation.advance(10_000_000_000)
    assert (simulation.q, simulation.v) == (q, [0.0])
    simulation.law = held(LINK, [FRICTION + 1.0])
    simulation.advance(1_000_000_000)
    assert simulation.v[0] == pytest.approx(1.0 / INERTIA, rel=1e-12)


def spring(t, q, v, p):
    """Return the force of a spring of stiffness p[0] to a point with the velocity p[1]."""
    return p[0] * (p[1] * t - q)


def interpreted_spring(t, q, v, p):
    """Return the same force with code that numba cannot compile."""
    return spring(float(str(t)), q, v, p)


@pytest.mark.parametrize("kind", ["compiled", "interpreted", "brake", "weight"])
def test_friction_acts_under_every_law(kind):
    """With laws whose efforts are zero: no stiffness, no brake rate, no weight."""
    simulation = Simulation(LINK, [0.0], [1.0], Integrator(step=5e-3))
    laws = {
        "compiled": lambda: Feedback(LINK, spring, parameters=[0.0, 0.0]),
        "interpreted": lambda: Feedback(LINK, interpreted_spring, parameters=[0.0, 0.0]),
        "brake": lambda: Brake(simulation.kernels, rate=0.0),
        "weight": lambda: md.gravity_compensation(simulation.kernels),
    }
    simulation.law = laws[kind]()
    simulation.advance(5_000_000_000)
    assert simulation.q[0] == pytest.approx(0.5 * INERTIA / FRICTION, rel=1e-12)
    assert simulation.v[0] == 0.0
    assert abs(simulation.energy().residual) < 1e-12


def test_an_effort_equal_to_the_friction_does_not_change_the_velocity():
    assert coasting(effort=FRICTION).v[0] == pytest.approx(1.0, rel=1e-12)
    assert coasting(effort=FRICTION, v0=0.0).v[0] == 0.0


def test_a_link_reverses_with_the_accelerations_of_both_signs_of_friction():
    """An effort against the motion; friction changes its sign at the reversal."""
    effort, stop = -2.0 * FRICTION, INERTIA / (3.0 * FRICTION)
    simulation = coasting(Integrator(step=7e-3), effort, duration=3.0)
    back = 3.0 - stop
    assert simulation.v[0] == pytest.approx(-FRICTION / INERTIA * back, rel=1e-11)
    position = 0.5 * stop - 0.5 * FRICTION / INERTIA * back**2
    assert simulation.q[0] == pytest.approx(position, rel=1e-11)


@pytest.mark.parametrize("kind", ["compiled", "interpreted"])
def test_a_mass_on_a_belt_has_the_exact_stick_slip_period(kind):
    """In the frame of the belt the far end of the spring moves at the speed of the belt.

    The mass sticks until the force reaches the static friction. Then the spring oscillates about
    its length at Coulomb friction until the mass has the speed of the belt again.
    """
    stiffness, speed, static = 40.0, 0.1, 8.0
    arm = replace(LINK, static_friction=np.array([static]))
    gap, omega = static - FRICTION, np.sqrt(stiffness / INERTIA)
    slip = 2.0 / omega * (np.pi - np.arctan(gap * omega / (stiffness * speed)))
    period = 2.0 * gap / (stiffness * speed) + slip
    pull = {"compiled": spring, "interpreted": interpreted_spring}[kind]
    simulation = Simulation(arm, [0.0], [0.0], Integrator(step=4e-3))
    simulation.law = Feedback(arm, pull, parameters=[stiffness, speed])
    first = static / (stiffness * speed)
    at_rest = []
    for time in (first - 1e-6, first + 1e-3, first + slip - 1e-3, first + slip + 1e-6):
        simulation.advance(round(time * 1e9) - simulation.time_ns)
        at_rest.append(simulation.v[0] == 0.0)
    assert at_rest == [True, False, False, True]
    simulation.advance(round((first + period - 1e-5) * 1e9) - simulation.time_ns)
    assert simulation.v[0] == 0.0
    assert simulation.q[0] == pytest.approx(speed * period, abs=1e-8)
    simulation.advance(20_000)
    assert simulation.v[0] > 0.0


@pytest.fixture(scope="module")
def arm():
    """Return an arm of two joints with Stribeck friction."""
    return replace(
        md.load_robot("rr"),
        coulomb_friction=np.array([8.0, 3.0]),
        static_friction=np.array([14.0, 6.0]),
        stribeck_velocity=np.array([0.05, 0.1]),
    )


def motions(arm, count):
    """Yield states with about half of the joints at rest, and efforts near the weight."""
    rng = np.random.default_rng(1)
    for _ in range(count):
        q, v = rng.uniform(-1.5, 1.5, 2), rng.uniform(-2.0, 2.0, 2) * rng.integers(0, 2, 2)
        weight = md.customize(arm).unchecked.inverse_dynamics(q, np.zeros(2), np.zeros(2))
        yield q, v, weight + rng.uniform(-25.0, 25.0, 2) * [1.0, 0.4]


def test_sticking_and_sliding_joints_agree_with_an_independent_integration(arm):
    changes, modes, reference = 0, set(), Reference(arm)
    for q, v, tau in motions(arm, 8):
        pieces = reference.run(q, v, tau, 1.0)
        changes += len(pieces) - 1
        modes.update(tuple(mode) for *_, mode in pieces)
        simulation = Simulation(arm, q, v, Integrator("rkdp87", rtol=1e-12))
        simulation.law = held(arm, tau)
        simulation.advance(1_000_000_000)
        assert np.r_[simulation.q, simulation.v] == pytest.approx(pieces[-1][1], abs=2e-9)
        assert abs(simulation.energy().residual) < 1e-9
    assert changes > 10
    assert len(modes) > 5


def test_forward_dynamics_with_friction_is_the_inverse_of_inverse_dynamics(arm):
    kernels, reference, zero = md.customize(arm), Reference(arm), np.zeros(2)
    for q, v, tau in motions(arm, 40):
        expected, _ = reference.accelerations(q, v, tau, reference.modes(q, v, tau, zero))
        a = kernels.forward_dynamics(q, v, tau)
        assert a == pytest.approx(expected, abs=1e-9)
        loaded = kernels.forward_dynamics(q, v, tau, payload=np.zeros(10))
        assert loaded == pytest.approx(expected, abs=1e-9)
        v = np.where(v == 0.0, 0.3, v)
        effort = kernels.inverse_dynamics(q, v, a)
        assert kernels.forward_dynamics(q, v, effort) == pytest.approx(a, abs=1e-9)
    assert kernels.inverse_dynamics(q, zero, zero) == pytest.approx(
        kernels.unchecked.inverse_dynamics(q, zero, zero)
    )


def test_friction_of_zero_does_not_change_the_motion():
    """Bit by bit: the compiled code is that of an arm without friction."""
    bare = md.load_robot("one_link_horizontal", coulomb_friction=[0.0])
    runs = []
    for robot in (bare, md.load_robot("one_link_horizontal")):
        simulation = Simulation(robot, [0.1], [0.2])
        simulation.law = held(robot, [0.3])
        simulation.advance(500_000_000)
        runs.append((simulation.q[0], simulation.v[0]))
    assert runs[0] == runs[1]


def test_a_sliding_joint_may_end_the_simulation_at_its_limit():
    arm = replace(LINK, q_min=np.array([-np.inf]))
    motion = md.simulate(arm, [1.0], [3.0], [0.0], 5.0, stop_at_limits=True)
    assert not motion.success
    assert motion.q[-1] == pytest.approx(LINK.q_max, abs=1e-9)
    distance = LINK.q_max[0] - 1.0
    assert motion.v[-1, 0] == pytest.approx(
        np.sqrt(9.0 - 2.0 * FRICTION / INERTIA * distance), rel=1e-9
    )


def test_taylor_series_exclude_friction():
    with pytest.raises(md.ManipDynError, match="must not be 'taylor' with Coulomb friction"):
        Simulation(LINK, [0.0], [0.0], Integrator("taylor", order=8))


def test_negative_friction_is_rejected():
    with pytest.raises(md.ManipDynError, match="coulomb_friction"):
        md.load_robot("one_link_horizontal", coulomb_friction=[-1.0])


@cache
def tracked(model, effort_rate=0.0):
    """Return the largest error of a link that swings back and forth, and its efforts."""
    controller = ComputedTorque(model, 400.0, 40.0, 0.002, effort_rate)
    simulation, error, efforts = Simulation(LINK, [0.0], [0.0]), 0.0, []
    for k in range(2000):
        t = 0.002 * k
        reference = JointMotion(
            *(0.2 * np.array([x]) for x in (1.0 - np.cos(t), np.sin(t), np.cos(t)))
        )
        error = max(error, float(np.abs(simulation.q - reference.q).max()))
        efforts.append(controller.efforts(simulation.q, simulation.v, reference).effort)
        simulation.law = held(LINK, efforts[-1])
        simulation.advance(2_000_000)
    return error, np.array(efforts)


def test_computed_torque_compensates_the_friction_of_its_model():
    without, _ = tracked(md.load_robot("one_link_horizontal"))
    compensated, _ = tracked(LINK)
    assert without == pytest.approx(FRICTION / INERTIA / 400.0, rel=0.1)
    assert compensated < 0.03 * without


def test_the_rate_of_efforts_is_limited():
    _, free = tracked(LINK)
    error, limited = tracked(LINK, effort_rate=100.0)
    assert np.abs(np.diff(free, axis=0)).max() > 110.0 * 0.002
    assert np.abs(np.diff(limited, axis=0)).max() <= 100.0 * 0.002 * (1.0 + 1e-9)
    assert error < 1e-3
    with pytest.raises(md.ManipDynError, match="effort_rate"):
        ComputedTorque(LINK, 400.0, 40.0, 0.002, -1.0)
