"""Mechanical stops at joint limits: holding, compliance and energy."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.control import Brake
from manip_dyn.simulation import (
    CommandedArm,
    Integrator,
    Simulation,
    SimulationWithStops,
    held,
)

MILLISECOND = 1_000_000
GIVE, RETURN_RATE = 0.02, 10.0
"""Maximum distance beyond a limit, rad or m, and the rate at which it decreases, 1/s."""
METHODS = (
    Integrator("rk4"),
    Integrator("rk1"),
    Integrator("rk4", 0.02),
    Integrator("rkdp54", rtol=1e-6),
    Integrator("taylor", order=4),
)


def beyond(simulation):
    robot = simulation.robot
    return np.maximum(robot.q_min - simulation.q, simulation.q - robot.q_max)


def pushed(robot, q, v, effort, integrator=None):
    simulation = SimulationWithStops(robot, q, v, integrator)
    simulation.law = held(robot, effort)
    return simulation


def test_stops_do_not_change_a_motion_within_the_limits():
    robot = md.load_robot("ibm7535")
    free = Simulation(robot, [0.5, 0.0], [0.0, 0.0])
    arm = pushed(robot, [0.5, 0.0], [0.0, 0.0], [0.0, 0.0])
    for effort in np.random.default_rng(1).uniform(-9.0, 9.0, (100, 2)):
        for simulation in (free, arm):
            simulation.law = held(robot, effort)
            simulation.advance(MILLISECOND)
        assert (arm.q.tolist(), arm.v.tolist()) == (free.q.tolist(), free.v.tolist())
    assert arm.statistics == free.statistics


@pytest.mark.parametrize("integrator", METHODS, ids=lambda value: f"{value.method}-{value.step}")
def test_no_joint_moves_farther_beyond_its_limit_than_its_compliance(integrator):
    """Full efforts in both directions, from 0 to 60 rad/s, with any method and step."""
    robot = md.load_robot("ibm7535")
    rng = np.random.default_rng(2)
    contacts = 0
    for speed in (0.0, 5.0, 60.0):
        arm = pushed(robot, [0.2, 0.1], speed * rng.normal(size=2), [0.0, 0.0], integrator)
        for _ in range(6):
            arm.law = held(robot, robot.tau_max * rng.choice([-1.0, 1.0], 2))
            for _ in range(100):
                arm.advance(MILLISECOND)
                assert beyond(arm).max() <= GIVE
                contacts += arm.stop_effort.any()
    assert contacts > 50


def test_a_joint_pressed_against_its_stop_is_at_rest():
    """The effort of the stop balances that of the joint; the other joint is free."""
    robot = md.load_robot("cylindrical")
    arm = pushed(robot, [0.1, 0.2], [0.0, 0.0], [0.0, 1.5])
    arm.advance(1500 * MILLISECOND)
    assert 0.0 <= beyond(arm)[1] < 1e-5
    assert abs(arm.v[1]) < 1e-6
    assert arm.stop_effort[1] == pytest.approx(-1.5, rel=1e-3)
    assert arm.stop_effort[0] == 0.0


def test_stops_never_increase_the_energy():
    """An arm without weight and efforts between its stops, with an energy balance."""
    robot = md.load_robot("ibm7535")
    precise = Integrator("rkdp54", rtol=1e-9)
    arm = pushed(robot, [0.2, 0.1], [6.0, 3.0], [0.0, 0.0], precise)
    kinetic, contacts = [arm.energy().kinetic], 0
    for _ in range(1500):
        arm.advance(MILLISECOND)
        kinetic.append(arm.energy().kinetic)
        contacts += arm.stop_effort.any()
    assert contacts > 0
    inertia = md.customize(robot).mass_matrix([0.0, 0.0]).max()
    returning = 0.5 * inertia * (RETURN_RATE * GIVE / 2) ** 2  # of a joint back to its limit
    assert np.all(np.diff(kinetic) <= returning)
    assert kinetic[-1] < 0.9 * kinetic[0]
    assert abs(arm.energy().residual) < 1e-7


def test_contacts_inside_a_long_period_are_detected():
    """A joint that would pass its limit and return before the period ends."""
    robot = md.load_robot("one_link_horizontal")
    limit = robot.q_max[0]
    assert np.isfinite(limit)
    arm = pushed(robot, [limit - 0.01], [0.5], [-10.0])  # I = 10: 0.115 rad beyond, back in 1 s
    arm.advance(1000 * MILLISECOND)
    free = Simulation(robot, [limit - 0.01], [0.5])
    free.law = held(robot, [-10.0])
    free.advance(1000 * MILLISECOND)
    assert free.q[0] <= limit  # at the end the contact is over
    assert arm.q[0] < free.q[0] - 0.1


def test_feedback_laws_are_rejected():
    arm = SimulationWithStops(md.load_robot("ibm7535"), [0.0, 0.0], [0.0, 0.0])
    arm.law = md.simulation.gravity_compensation(arm.kernels)
    with pytest.raises(md.ManipDynError, match="must have piecewise constant efforts"):
        arm.advance(MILLISECOND)


def test_an_arm_without_its_controller_comes_to_rest_within_its_limits():
    """Regression: the PA-10 at 4.7 rad/s, W1 at 11.5 rad, after its planner was killed."""
    robot = md.load_robot("pa10")
    start = [0.0, 0.5, 0.0, 0.9, 0.0, 0.4, 0.0]
    simulation = SimulationWithStops(robot, start, np.zeros(7))
    arm = CommandedArm(simulation, Brake(simulation.kernels), timeout=0.5)
    arm.command(held(robot, robot.tau_max * [1, 1, 1, 1, -1, 1, 1]))
    fastest = 0.0
    for _ in range(1200):
        arm.advance(MILLISECOND)
        fastest = max(fastest, np.abs(simulation.v).max())
        assert beyond(simulation).max() <= GIVE
    assert fastest > 3.0
    assert arm.timed_out
    assert np.abs(simulation.v).max() < 1e-4


def test_samples_respect_the_stops():
    robot = md.load_robot("ibm7535")
    q0, v0 = robot.q_max - 1e-3, np.ones(robot.n)
    simulation, reference = (SimulationWithStops(robot, q0, v0, Integrator()) for _ in range(2))
    samples, failure = simulation.record(20_000_000, 5_000_000)
    assert failure is None
    for k, time_ns in enumerate(samples.times_ns):
        reference.advance(time_ns - reference.time_ns)
        np.testing.assert_array_equal(samples.states[k, : robot.n], reference.q)
    assert (simulation.q < robot.q_max + 1e-3).all()
