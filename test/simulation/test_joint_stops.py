"""Mechanical stops at joint limits: they hold, they give little, and act nowhere else."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.control.joint_drives import Brake
from manip_dyn.simulation import Integrator, Simulation, SimulationWithStops, held
from manip_dyn.simulation.commanded_arm import CommandedArm
from manip_dyn.simulation.joint_stops import GIVE, RETURN_RATE

MILLISECOND = 1_000_000
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


def test_within_the_limits_the_motion_is_that_without_stops_bit_by_bit():
    robot = md.load_robot("ibm7535")
    alone = Simulation(robot, [0.5, 0.0], [0.0, 0.0])
    arm = pushed(robot, [0.5, 0.0], [0.0, 0.0], [0.0, 0.0])
    for effort in np.random.default_rng(1).uniform(-9.0, 9.0, (100, 2)):
        for each in (alone, arm):
            each.law = held(robot, effort)
            each.advance(MILLISECOND)
        assert (arm.q.tolist(), arm.v.tolist()) == (alone.q.tolist(), alone.v.tolist())
    assert arm.statistics == alone.statistics


@pytest.mark.parametrize("integrator", METHODS, ids=lambda each: f"{each.method}-{each.step}")
def test_no_joint_goes_beyond_its_give(integrator):
    """Full efforts back and forth, from 0 to 60 rad/s, with any method and step."""
    robot = md.load_robot("ibm7535")
    rng = np.random.default_rng(2)
    met = 0
    for speed in (0.0, 5.0, 60.0):
        arm = pushed(robot, [0.2, 0.1], speed * rng.normal(size=2), [0.0, 0.0], integrator)
        for _ in range(6):
            arm.law = held(robot, robot.tau_max * rng.choice([-1.0, 1.0], 2))
            for _ in range(100):
                arm.advance(MILLISECOND)
                assert beyond(arm).max() <= GIVE
                met += arm.stop_effort.any()
    assert met > 50


def test_a_joint_that_is_pressed_against_its_stop_rests():
    """The stop pushes back with what the joint pushes; the other joint is free."""
    robot = md.load_robot("cylindrical")
    arm = pushed(robot, [0.1, 0.2], [0.0, 0.0], [0.0, 1.5])
    arm.advance(1500 * MILLISECOND)
    assert 0.0 <= beyond(arm)[1] < 1e-5
    assert abs(arm.v[1]) < 1e-6
    assert arm.stop_effort[1] == pytest.approx(-1.5, rel=1e-3)
    assert arm.stop_effort[0] == 0.0


def test_stops_take_energy_and_never_give_any():
    """An arm without weight and efforts between its stops; the work of the stops is balanced."""
    robot = md.load_robot("ibm7535")
    precise = Integrator("rkdp54", rtol=1e-9)
    arm = pushed(robot, [0.2, 0.1], [6.0, 3.0], [0.0, 0.0], precise)
    kinetic, met = [arm.energy().kinetic], 0
    for _ in range(1500):
        arm.advance(MILLISECOND)
        kinetic.append(arm.energy().kinetic)
        met += arm.stop_effort.any()
    assert met > 0
    inertia = md.customize(robot).mass_matrix([0.0, 0.0]).max()
    back = 0.5 * inertia * (RETURN_RATE * GIVE / 2) ** 2  # what leads a joint back to its limit
    assert np.all(np.diff(kinetic) <= back)
    assert kinetic[-1] < 0.9 * kinetic[0]
    assert abs(arm.energy().residual) < 1e-7


def test_long_periods_do_not_hide_what_happens_within():
    """A joint that would pass its limit and come back before the period ends."""
    robot = md.load_robot("one_link_horizontal")
    limit = robot.q_max[0]
    assert np.isfinite(limit)
    arm = pushed(robot, [limit - 0.01], [0.5], [-10.0])  # I = 10: back after 1 s, 0.115 beyond
    arm.advance(1000 * MILLISECOND)
    alone = Simulation(robot, [limit - 0.01], [0.5])
    alone.law = held(robot, [-10.0])
    alone.advance(1000 * MILLISECOND)
    assert alone.q[0] <= limit  # at the end there is nothing to see
    assert arm.q[0] < alone.q[0] - 0.1


def test_a_law_inside_the_loop_is_refused():
    arm = SimulationWithStops(md.load_robot("ibm7535"), [0.0, 0.0], [0.0, 0.0])
    arm.law = md.simulation.gravity_compensation(arm.kernels)
    with pytest.raises(md.ManipDynError, match="joint stops act beside efforts that are held"):
        arm.advance(MILLISECOND)


def test_an_arm_whose_controller_dies_comes_to_rest_within_its_limits():
    """Seen: the PA-10 at 4.7 rad/s, W1 at 11.5 rad, its planner killed amid full efforts."""
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
