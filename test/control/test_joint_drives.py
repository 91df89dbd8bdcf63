"""Joint drives: poles, limits, approach and holding of references."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.control import Brake, JointDrive, References
from manip_dyn.simulation import (
    CommandedArm,
    Disturbance,
    Simulation,
    SimulationWithStops,
    driven,
)

MILLISECOND, PERIOD = 1_000_000, 1e-3
NEAR = 0.01
"""Tolerance of an arm at rest at its references, rad and rad/s."""
LINK = md.load_robot("one_link_horizontal")
"""One link without weight, so that the inertia is constant."""
RR, IBM = md.load_robot("rr"), md.load_robot("ibm7535")


def references_of(n, position=None, velocity=None, effort=None):
    """Return references of n joints; None: no joint has one."""
    return References(
        *(
            np.full(n, np.nan) if values is None else np.array(values, dtype=float)
            for values in (position, velocity, effort)
        )
    )


def driven_arm(robot, q, v, references, bandwidth=100.0, kind=SimulationWithStops):
    simulation = kind(robot, q, v)
    simulation.law = JointDrive(simulation.kernels, references, bandwidth)
    return simulation


def sampled_motion(simulation, steps):
    """Return positions and velocities (steps, n) every millisecond."""
    states = []
    for _ in range(steps):
        simulation.advance(MILLISECOND)
        states.append((simulation.q, simulation.v))
    return (np.array(column) for column in zip(*states, strict=True))


@pytest.mark.parametrize("bandwidth", [5.0, 100.0, 1000.0])
def test_a_position_reference_has_both_poles_at_the_bandwidth(bandwidth):
    """x_k+2 - 2 p x_k+1 + p^2 x_k = 0 for the position error and for the velocity."""
    p = np.exp(-bandwidth * PERIOD)
    for x in sampled_motion(
        driven_arm(LINK, [1e-7], [0.0], references_of(1, [0.0]), bandwidth), 30
    ):
        sampled = x[2:] - 2.0 * p * x[1:-1] + p**2 * x[:-2]
        assert np.abs(sampled).max() < 1e-6 * np.abs(x).max()


def test_a_velocity_reference_has_one_pole_at_the_bandwidth():
    simulation = driven_arm(LINK, [0.0], [0.1], references_of(1, velocity=[0.11]), 50.0)
    _, v = sampled_motion(simulation, 40)
    expected = 0.11 - 0.01 * np.exp(-50.0 * PERIOD * np.arange(1, 41))
    np.testing.assert_allclose(v[:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("lag", [True, False])
def test_a_ramp_is_followed_with_a_lag_unless_its_velocity_is_a_reference(lag):
    simulation = Simulation(RR, [0.1, 0.5], [0.04, -0.04])
    speed = np.array([0.04, -0.04])
    for k in range(400):
        position = np.array([0.1, 0.5]) + speed * k * PERIOD
        references = references_of(2, position, None if lag else speed)
        simulation.law = JointDrive(simulation.kernels, references, 100.0)
        error = position - simulation.q
        simulation.advance(MILLISECOND)
    if lag:
        np.testing.assert_allclose(error, 2.0 / 100.0 * speed, rtol=0.03)
    else:
        assert np.abs(error).max() < 1e-5


@pytest.mark.parametrize("robot", [RR, IBM], ids=lambda robot: robot.name)
@pytest.mark.parametrize("goal", [[1.5, -2.0], [-0.3, 2.5], [0.01, 0.0]])
def test_a_distant_position_is_approached_smoothly_within_the_limits(robot, goal):
    simulation = driven_arm(robot, [0.0, 0.5], [0.0, 0.0], references_of(2, goal))
    displacement = np.array(goal) - [0.0, 0.5]
    q, v = sampled_motion(simulation, 2500)
    assert np.abs(q[-1] - goal).max() < 1e-6
    assert np.all((q - goal) * np.sign(displacement) < 0.02 * np.abs(displacement).max())
    assert np.all(np.abs(v) < 1.01 * robot.v_max)
    assert np.abs(v[-1]).max() < 1e-4


def test_references_are_clipped_to_the_limits():
    beyond = references_of(2, [9.0, np.nan], [np.nan, -99.0])
    drive = JointDrive(md.customize(RR), beyond)
    assert drive.references.position[0] == RR.q_max[0]
    assert drive.references.velocity[1] == -RR.v_max[1]
    far = JointDrive(md.customize(RR), references_of(2, velocity=[1e9, -1e9]))
    assert np.all(np.abs(far.effort(0, np.zeros(2), np.zeros(2))) <= RR.tau_max)


def test_joints_with_an_effort_do_not_disturb_the_references_of_others():
    """In forward dynamics each joint has its effort or the acceleration of its feedback."""
    simulation = Simulation(RR, [0.1, 0.5], [0.3, -0.4])
    references = references_of(2, [np.nan, 0.5004], effort=[3.0, np.nan])
    law = JointDrive(simulation.kernels, references)
    effort = law.effort(0, simulation.q, simulation.v)
    assert effort[0] == 3.0
    acceleration = simulation.kernels.forward_dynamics(simulation.q, simulation.v, effort)
    p = np.exp(-0.1)
    k_p, k_v = (1 - p) ** 2 / PERIOD**2, (1 - p) * (3 + p) / (2 * PERIOD)
    assert acceleration[1] == pytest.approx(k_p * 0.0004 - k_v * -0.4, rel=1e-9)


def test_a_joint_without_a_reference_holds_its_last_reference_or_its_position():
    kernels, q = md.customize(RR), np.array([0.1, 0.5])
    first = driven(kernels, references_of(2, [0.2, np.nan]), q, Brake(kernels), 100.0)
    assert first.references.position.tolist() == [0.2, 0.5]
    then = driven(kernels, references_of(2, velocity=[np.nan, 0.3]), q + 0.01, first, 100.0)
    assert then.references.position[0] == 0.2
    assert np.isnan(then.references.position[1])
    last = driven(kernels, references_of(2, [0.3, np.nan]), q + 0.02, then, 100.0)
    assert last.references.position.tolist() == [0.3, 0.52]
    with pytest.raises(md.ManipDynError, match="joint 'joint_2' must have a position"):
        JointDrive(kernels, references_of(2, [0.2, np.nan]))
    with pytest.raises(md.ManipDynError, match="command bandwidth"):
        JointDrive(kernels, references_of(2, [0.2, 0.2]), -1.0)


def test_reference_efforts_of_all_joints_are_an_effort_command():
    kernels, efforts = md.customize(RR), references_of(2, effort=[1.0, 1e9])
    law = driven(kernels, efforts, np.zeros(2), Brake(kernels), 100.0)
    assert law.effort(0, np.zeros(2), np.zeros(2)).tolist() == [1.0, RR.tau_max[1]]
    assert law.next_switch(0) is None


def test_friction_is_compensated_at_the_reference_speed():
    rough = md.load_robot("one_link_horizontal", coulomb_friction=[3.0])
    simulation = driven_arm(rough, [0.0], [0.0], references_of(1, velocity=[0.3]))
    _, v = sampled_motion(simulation, 600)
    assert v[-1, 0] == pytest.approx(0.3, rel=1e-6)


def commanded_arm(references, q=(0.0, 0.5), v=(0.0, 0.0), disturbance=None):
    simulation = SimulationWithStops(RR, q, v)
    arm = CommandedArm(simulation, Brake(simulation.kernels), 0.02, disturbance)
    arm.command(driven(simulation.kernels, references, simulation.q, simulation.law, 100.0))
    return arm


@pytest.mark.parametrize(
    ("references", "holds"),
    [
        (references_of(2, [0.0, 0.5]), True),
        (references_of(2, [0.004, 0.496]), True),
        (references_of(2, [0.0, 0.5], [0.0, 0.0]), True),
        (references_of(2, velocity=[0.0, 0.0]), True),
        (references_of(2, [0.5, 0.5]), False),
        (references_of(2, velocity=[0.05, 0.0]), False),
        (references_of(2, [0.0, np.nan], effort=[np.nan, 0.0]), False),
        (references_of(2, effort=[0.0, 0.0]), False),
    ],
)
def test_silence_brakes_an_arm_unless_it_holds_its_references(references, holds):
    """A hardware component that sends no command equal to the state appears dead."""
    arm = commanded_arm(references)
    for _ in range(300):
        arm.advance(MILLISECOND)
    assert (arm.silent, arm.holding, arm.timed_out) == (True, holds, not holds)
    assert np.abs(arm.simulation.v).max() < 0.02
    if holds and not np.isnan(references.position).any():
        assert np.abs(arm.simulation.q - references.position).max() < 1e-6


def test_an_arm_pushed_away_from_its_references_is_braked_in_silence():
    """A live component would have sent a command."""
    push = Disturbance(np.array([900.0, 20.0]), 100 * MILLISECOND, 200 * MILLISECOND)
    arm = commanded_arm(references_of(2, [0.0, 0.5]), disturbance=push)
    furthest = 0.0
    for _ in range(600):
        arm.advance(MILLISECOND)
        furthest = max(furthest, np.abs(arm.simulation.q - [0.0, 0.5]).max())
    assert furthest > NEAR
    assert arm.timed_out
    assert np.abs(arm.simulation.v).max() < 0.02
