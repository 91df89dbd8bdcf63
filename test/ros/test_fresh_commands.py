"""Stale commands: those from before a reset and those that aged during a pause are ignored."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn import ManipDynError
from manip_dyn.control import Brake
from manip_dyn.ros import RESET_SETTLING, FreshCommands, sent_at, simulated_arm
from manip_dyn.simulation import CommandedArm, Simulation, held

SECOND, PERIOD = 1_000_000_000, 1_000_000
SAFE, PUSH = [1.0, -1.0], [3.0, 0.5]


@pytest.fixture
def clock(monkeypatch):
    """A wall clock that only advances by sleeping or by the test, ns."""
    now = SimpleNamespace(ns=1000 * SECOND)

    def sleep(duration):
        now.ns += round(duration * 1e9)

    replacement = SimpleNamespace(time_ns=lambda: now.ns, sleep=sleep)
    monkeypatch.setattr(simulated_arm, "time", replacement)
    return now


@pytest.fixture
def stepper_state():
    return SimpleNamespace(paused=False, lockstep=False)


@pytest.fixture
def commands(clock, stepper_state):
    robot = md.load_robot("ibm7535")
    arm = CommandedArm(Simulation(robot, [0.0, 0.0], [0.0, 0.0]), held(robot, SAFE), timeout=0.5)
    fresh = FreshCommands(arm)
    fresh.use_time_control(stepper_state)
    return fresh


def push(commands, sent_ns):
    commands.command(held(commands.arm.simulation.robot, PUSH), sent_ns)


def test_the_safe_command_replaces_a_command_at_its_end(commands, clock):
    law = held(commands.arm.simulation.robot, PUSH)
    commands.command(law, clock.ns, end_ns=5 * PERIOD // 2)
    commands.advance(2 * PERIOD)
    assert (acting(commands), commands.handover) == (PUSH, "")
    pushed = commands.arm.simulation.energy().work
    commands.advance(PERIOD // 2)
    assert commands.arm.simulation.energy().work != pushed
    commands.advance(PERIOD)
    assert (acting(commands), commands.time_ns) == (SAFE, 7 * PERIOD // 2)
    assert commands.handover == "no command before the end of the last one"
    with pytest.raises(ManipDynError, match=r"must arrive before its end, got one 0\.001 s late"):
        commands.command(law, clock.ns, end_ns=5 * PERIOD // 2)
    push(commands, clock.ns)
    commands.advance(100 * PERIOD)
    assert (acting(commands), commands.handover) == (PUSH, "")


def acting(commands):
    return commands.arm.simulation.effort.tolist()


@pytest.mark.parametrize("lockstep", [False, True])
def test_a_command_sent_before_a_reset_is_not_executed_after_it(
    commands, stepper_state, clock, lockstep
):
    """A response to the last state before the reset arrives later and is not executed, either."""
    stepper_state.lockstep = lockstep
    push(commands, clock.ns)
    begun = clock.ns
    commands.reset()
    assert acting(commands) == SAFE
    for late in (-3.0, -1e-6, 0.5 * RESET_SETTLING):
        with pytest.raises(ManipDynError, match="s before the reset was done"):
            push(commands, begun + round(late * 1e9))
    assert acting(commands) == SAFE
    assert (
        (clock.ns > begun) == lockstep
    )  # a controller in lockstep responds once: the new state is sent after the settling time
    push(commands, begun + round(RESET_SETTLING * 1e9))
    assert acting(commands) == PUSH


@pytest.mark.parametrize(("waited", "after"), [(0.3, PUSH), (180.0, SAFE)])
@pytest.mark.parametrize("sent_while_paused", [False, True])
def test_a_command_is_not_executed_minutes_later(
    commands, stepper_state, clock, waited, after, sent_while_paused
):
    if not sent_while_paused:
        push(commands, clock.ns)
        commands.advance(PERIOD)
    stepper_state.paused = True
    commands.stand_still()
    if sent_while_paused:
        push(commands, clock.ns)
    clock.ns += round(waited * SECOND)
    stepper_state.paused = False
    commands.advance(PERIOD)
    assert acting(commands) == after
    old = f"the last command was {waited:.1f} s old when the pause ended"
    assert commands.handover == ("" if after == PUSH else old)
    push(commands, clock.ns)
    assert (acting(commands), commands.handover) == (PUSH, "")


def test_steps_by_hand_while_paused_execute_what_was_sent(commands, stepper_state, clock):
    stepper_state.paused = True
    push(commands, clock.ns)
    clock.ns += 180 * SECOND
    commands.advance(PERIOD)
    assert acting(commands) == PUSH


def test_the_safe_command_acts_after_missing_commands(commands, clock):
    push(commands, clock.ns)
    for _ in range(502):
        commands.advance(PERIOD)
    assert (acting(commands), commands.handover) == (SAFE, "no command for 0.5 s")


def test_without_a_timeout_commands_do_not_age_in_a_pause(commands, stepper_state, clock):
    commands.arm.timeout = 0.0
    push(commands, clock.ns)
    stepper_state.paused = True
    commands.stand_still()
    clock.ns += 3600 * SECOND
    stepper_state.paused = False
    commands.advance(PERIOD)
    assert acting(commands) == PUSH


def test_the_source_timestamp_is_preferred():
    assert sent_at({"source_timestamp": 5, "received_timestamp": 7}) == 5
    assert sent_at({"source_timestamp": 0, "received_timestamp": 7}) == 7
    assert abs(sent_at({}) - time.time_ns()) < 60 * SECOND


def test_the_energy_of_an_arm_that_was_too_fast_decreases_until_it_rests():
    """Full efforts act again from rest, but not while the arm brakes."""
    robot = md.load_robot("pa10")
    kernels, zero = md.customize(robot), np.zeros(robot.n)
    simulation = Simulation(robot, zero, zero)
    commands = FreshCommands(CommandedArm(simulation, Brake(kernels)), brakes_if_too_fast=True)
    full, energies = held(robot, robot.tau_max), [[0.0]]
    for _ in range(200):
        if not commands.stopping:
            energies.append([])
        commands.command(full, time.time_ns())
        commands.advance(5 * PERIOD)
        v = simulation.v
        energies[-1].append(float(v @ kernels.mass_matrix(simulation.q) @ v) / 2.0)
    brakes = [rows for rows in energies if len(rows) > 2]
    assert len(brakes) >= 3
    assert all(np.all(np.diff(rows) < 0.0) for rows in brakes)
