"""Which commands count: none from before a reset, none that became old in a pause."""

import time
from types import SimpleNamespace

import pytest

import manip_dyn as md
from manip_dyn import ManipDynError
from manip_dyn.ros import RESET_SETTLING, FreshCommands, sent_at, simulated_arm
from manip_dyn.simulation import CommandedArm, Simulation, held

SECOND, PERIOD = 1_000_000_000, 1_000_000
SAFE, PUSH = [1.0, -1.0], [3.0, 0.5]


@pytest.fixture
def clock(monkeypatch):
    """The wall clock, which goes on when it is told to or slept on, ns."""
    now = SimpleNamespace(ns=1000 * SECOND)

    def sleep(duration):
        now.ns += round(duration * 1e9)

    made = SimpleNamespace(time_ns=lambda: now.ns, sleep=sleep)
    monkeypatch.setattr(simulated_arm, "time", made)
    return now


@pytest.fixture
def passing():
    return SimpleNamespace(paused=False, lockstep=False)


@pytest.fixture
def commands(clock, passing):
    robot = md.load_robot("ibm7535")
    arm = CommandedArm(Simulation(robot, [0.0, 0.0], [0.0, 0.0]), held(robot, SAFE), timeout=0.5)
    made = FreshCommands(arm)
    made.listen(passing)
    return made


def push(commands, sent_ns):
    commands.command(held(commands.arm.simulation.robot, PUSH), sent_ns)


def acting(commands):
    return commands.arm.simulation.effort.tolist()


@pytest.mark.parametrize("lockstep", [False, True])
def test_what_was_sent_before_a_reset_does_not_act_after_it(commands, passing, clock, lockstep):
    """What answers the state before it comes a little later, and does not act either."""
    passing.lockstep = lockstep
    push(commands, clock.ns)
    begun = clock.ns
    commands.reset()
    assert acting(commands) == SAFE
    for late in (-3.0, -1e-6, 0.5 * RESET_SETTLING):
        with pytest.raises(ManipDynError, match="s before the reset was done"):
            push(commands, begun + round(late * 1e9))
    assert acting(commands) == SAFE
    assert (
        clock.ns > begun
    ) == lockstep  # a controller in lockstep answers once, so it is told later
    push(commands, begun + round(RESET_SETTLING * 1e9))
    assert acting(commands) == PUSH


@pytest.mark.parametrize(("waited", "after"), [(0.3, PUSH), (180.0, SAFE)])
@pytest.mark.parametrize("sent_while_paused", [False, True])
def test_a_command_is_not_executed_minutes_later(
    commands, passing, clock, waited, after, sent_while_paused
):
    if not sent_while_paused:
        push(commands, clock.ns)
        commands.advance(PERIOD)
    passing.paused = True
    commands.stand_still()
    if sent_while_paused:
        push(commands, clock.ns)
    clock.ns += round(waited * SECOND)
    passing.paused = False
    commands.advance(PERIOD)
    assert acting(commands) == after
    old = f"the last command was {waited:.1f} s old when the pause ended"
    assert commands.handover == ("" if after == PUSH else old)
    push(commands, clock.ns)
    assert (acting(commands), commands.handover) == (PUSH, "")


def test_steps_by_hand_while_paused_execute_what_was_sent(commands, passing, clock):
    passing.paused = True
    push(commands, clock.ns)
    clock.ns += 180 * SECOND
    commands.advance(PERIOD)
    assert acting(commands) == PUSH


def test_silence_is_why_the_safe_command_takes_over(commands, clock):
    push(commands, clock.ns)
    for _ in range(502):
        commands.advance(PERIOD)
    assert (acting(commands), commands.handover) == (SAFE, "no command for 0.5 s")


def test_without_a_timeout_a_pause_makes_nothing_old(commands, passing, clock):
    commands.arm.timeout = 0.0
    push(commands, clock.ns)
    passing.paused = True
    commands.stand_still()
    clock.ns += 3600 * SECOND
    passing.paused = False
    commands.advance(PERIOD)
    assert acting(commands) == PUSH


def test_the_senders_clock_counts_where_the_middleware_tells_it():
    assert sent_at({"source_timestamp": 5, "received_timestamp": 7}) == 5
    assert sent_at({"source_timestamp": 0, "received_timestamp": 7}) == 7
    assert abs(sent_at({}) - time.time_ns()) < 60 * SECOND
