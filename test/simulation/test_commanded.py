"""A simulated arm under commands: safe law, timeout, schedules and disturbances."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.control import Brake
from manip_dyn.simulation import CommandedArm, Disturbance, Simulation, held

PERIOD = 1_000_000
"""Control period, ns."""
SAFE, PUSH = [1.0, -1.0], [3.0, 0.5]


@pytest.fixture(scope="module")
def robot():
    return md.load_robot("ibm7535")


def arm_of(robot, timeout=0.0, disturbance=None):
    simulation = Simulation(robot, [0.0, 0.0], [0.0, 0.0])
    return CommandedArm(simulation, held(robot, SAFE), timeout, disturbance)


def effort(arm):
    return arm.simulation.effort.tolist()


def test_the_safe_law_acts_until_the_first_command_and_the_last_command_holds(robot):
    arm = arm_of(robot)
    assert effort(arm) == SAFE
    arm.command(held(robot, PUSH))
    for _ in range(20):
        arm.advance(PERIOD)
        assert effort(arm) == PUSH
    assert not arm.timed_out


def test_the_safe_law_takes_over_after_the_timeout_until_the_next_command(robot):
    arm = arm_of(robot, timeout=0.003)
    arm.advance(10 * PERIOD)
    assert not arm.timed_out  # the timeout starts with the first command
    arm.command(held(robot, PUSH))
    efforts = []
    for _ in range(6):
        arm.advance(PERIOD)
        efforts.append(effort(arm))
    assert efforts == [PUSH] * 4 + [SAFE] * 2
    assert arm.timed_out
    arm.command(held(robot, PUSH))
    assert (effort(arm), arm.timed_out) == (PUSH, False)


def test_the_present_effort_acts_until_the_start_of_a_later_schedule(robot):
    arm = arm_of(robot)
    arm.advance(PERIOD)
    arm.command(md.Schedule(robot, [3 * PERIOD, 4 * PERIOD], [PUSH, [0.0, 0.0]]))
    efforts = []
    for _ in range(4):
        efforts.append(effort(arm))
        arm.advance(PERIOD)
    assert efforts == [SAFE, SAFE, PUSH, [0.0, 0.0]]


def test_a_disturbance_starts_with_the_first_command(robot):
    """Its impulse is that of an additional effort over the same time."""
    push = Disturbance(np.array(PUSH), PERIOD, 3 * PERIOD)
    arm, undisturbed = arm_of(robot, disturbance=push), arm_of(robot)
    for one in (arm, undisturbed):
        one.advance(5 * PERIOD)
    assert arm.simulation.v.tolist() == undisturbed.simulation.v.tolist()
    for one in (arm, undisturbed):
        one.command(held(robot, SAFE))
        one.advance(PERIOD)
    assert arm.simulation.v.tolist() == undisturbed.simulation.v.tolist()
    undisturbed.command(held(robot, np.add(SAFE, PUSH)))
    for one in (arm, undisturbed):
        one.advance(2 * PERIOD)
    np.testing.assert_allclose(arm.simulation.v, undisturbed.simulation.v, rtol=1e-12)


def test_reset_clears_commands_and_disturbances(robot):
    push = Disturbance(np.array(PUSH), 0, 10 * PERIOD)
    arm, new = arm_of(robot, 0.002, push), arm_of(robot)
    arm.command(held(robot, PUSH))
    arm.advance(5 * PERIOD)
    arm.reset()
    assert (arm.time_ns, effort(arm), arm.timed_out) == (0, SAFE, False)
    for one in (arm, new):
        one.advance(5 * PERIOD)
    assert arm.simulation.q.tolist() == new.simulation.q.tolist()


@pytest.mark.parametrize(("timeout", "oldest"), [(0.0, "1"), (0.25, "0.25")])
def test_schedules_that_start_too_early_or_too_late_are_rejected(robot, timeout, oldest):
    arm = arm_of(robot, timeout)
    for valid in (0.0, 59.0, -0.2):
        arm.check_age(round(valid * 1e9))
    for invalid in (-1.5, 61.0):
        with pytest.raises(
            md.ManipDynError, match=f"-{oldest} to 60 s from now .* got {invalid:.3f} s"
        ):
            arm.check_age(round(invalid * 1e9))


def test_a_braked_arm_in_equilibrium_stays_there_without_integration():
    """The state is that of an integration, bit for bit, until something else acts."""
    robot = md.load_robot("pa10")
    start = np.array([0.3, 0.4, -0.2, 1.2, 0.5, -0.3, 0.1]), 0.01 * np.ones(7)
    reference = Simulation(robot, *start)
    reference.law = Brake(reference.kernels)
    arm = CommandedArm(Simulation(robot, *start), Brake(reference.kernels))
    simulation = arm.simulation
    for _ in range(600):
        arm.advance(10 * PERIOD)
        reference.advance(10 * PERIOD)
    assert (simulation.q.tolist(), simulation.v.tolist()) == (
        reference.q.tolist(),
        reference.v.tolist(),
    )
    assert simulation.time_ns == reference.time_ns
    assert simulation.energy() == reference.energy()
    assert simulation.statistics.steps < reference.statistics.steps
    arm.push(0.1 * robot.tau_max, 20 * PERIOD)
    arm.advance(10 * PERIOD)
    assert np.abs(simulation.v).max() > 1e-3
    arm.advance(300 * PERIOD)
    arm.command(held(robot, np.zeros(7)))
    arm.advance(10 * PERIOD)
    assert np.abs(simulation.v).max() > 1e-2
