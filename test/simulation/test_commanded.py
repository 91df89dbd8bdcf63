"""A simulated arm under commands: what acts, from when on, and what disturbs it."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.core.errors import ManipDynError
from manip_dyn.simulation import Disturbance, Simulation, held
from manip_dyn.simulation.commanded_arm import CommandedArm

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


def test_the_safe_command_acts_first_then_the_last_one_holds(robot):
    arm = arm_of(robot)
    assert effort(arm) == SAFE
    arm.command(held(robot, PUSH))
    for _ in range(20):
        arm.advance(PERIOD)
        assert effort(arm) == PUSH
    assert not arm.timed_out


def test_the_safe_command_takes_over_after_the_timeout_until_another_one_comes(robot):
    arm = arm_of(robot, timeout=0.003)
    arm.advance(10 * PERIOD)
    assert not arm.timed_out  # no command has come that could be missed
    arm.command(held(robot, PUSH))
    acted = []
    for _ in range(6):
        arm.advance(PERIOD)
        acted.append(effort(arm))
    assert acted == [PUSH] * 4 + [SAFE] * 2
    assert arm.timed_out
    arm.command(held(robot, PUSH))
    assert (effort(arm), arm.timed_out) == (PUSH, False)


def test_a_schedule_that_begins_later_leaves_what_acts_until_then(robot):
    arm = arm_of(robot)
    arm.advance(PERIOD)
    arm.command(md.Schedule(robot, [3 * PERIOD, 4 * PERIOD], [PUSH, [0.0, 0.0]]))
    acted = []
    for _ in range(4):
        acted.append(effort(arm))
        arm.advance(PERIOD)
    assert acted == [SAFE, SAFE, PUSH, [0.0, 0.0]]


def test_a_disturbance_begins_after_the_first_command(robot):
    """Its impulse is that of as much more effort for as long."""
    push = Disturbance(np.array(PUSH), PERIOD, 3 * PERIOD)
    arm, alone = arm_of(robot, disturbance=push), arm_of(robot)
    for each in (arm, alone):
        each.advance(5 * PERIOD)
    assert arm.simulation.v.tolist() == alone.simulation.v.tolist()
    for each in (arm, alone):
        each.command(held(robot, SAFE))
        each.advance(PERIOD)
    assert arm.simulation.v.tolist() == alone.simulation.v.tolist()
    alone.command(held(robot, np.add(SAFE, PUSH)))
    for each in (arm, alone):
        each.advance(2 * PERIOD)
    np.testing.assert_allclose(arm.simulation.v, alone.simulation.v, rtol=1e-12)


def test_reset_forgets_commands_and_disturbances(robot):
    push = Disturbance(np.array(PUSH), 0, 10 * PERIOD)
    arm, new = arm_of(robot, 0.002, push), arm_of(robot)
    arm.command(held(robot, PUSH))
    arm.advance(5 * PERIOD)
    arm.reset()
    assert (arm.time_ns, effort(arm), arm.timed_out) == (0, SAFE, False)
    for each in (arm, new):
        each.advance(5 * PERIOD)
    assert arm.simulation.q.tolist() == new.simulation.q.tolist()


@pytest.mark.parametrize(("timeout", "oldest"), [(0.0, "1"), (0.25, "0.25")])
def test_what_is_too_old_or_too_far_ahead_is_refused(robot, timeout, oldest):
    arm = arm_of(robot, timeout)
    for good in (0.0, 59.0, -0.2):
        arm.check_age(round(good * 1e9))
    for bad in (-1.5, 61.0):
        with pytest.raises(ManipDynError, match=f"-{oldest} to 60 s from now .* got {bad:.3f} s"):
            arm.check_age(round(bad * 1e9))
