"""How the simulated arm is: a state, a level and a sentence for /diagnostics."""

from __future__ import annotations

from typing import NamedTuple

from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.diagnostics import ERROR, OK, WARN

HELD = "the position commanded last is held"
ROUNDING = 1e-9
"""How far a joint that is at its limit may seem to be beyond it, rad or m."""


class Situation(NamedTuple):
    """What is known of the arm.

    Attributes:
        fault: Why it cannot go on; empty if it can.
        beyond: By how much joints are beyond their limits, as words by joint.
        at_stops: Whether all of them are within the give of a mechanical stop.
        commanders: Names of those who publish commands.
        handover: Why the safe command has taken over; empty if it has not.
        safe_command: Its name.
        overruns: Periods that were missed in the last while.
        paused: Whether time stands still.
        commanded: Whether a command has come.
        holding: Whether the arm rests where it was told to be, without a command for so long.
    """

    fault: str = ""
    beyond: tuple[str, ...] = ()
    at_stops: bool = False
    commanders: tuple[str, ...] = ()
    handover: str = ""
    safe_command: str = "brake"
    overruns: int = 0
    paused: bool = False
    commanded: bool = True
    holding: bool = False


class Condition(NamedTuple):
    """State, level and sentence."""

    state: str
    level: bytes
    sentence: str


def condition(now: Situation) -> Condition:
    """Return the worst that is to be said: the first that holds."""
    where = ", ".join(now.beyond)
    if now.fault:
        return Condition("fault", ERROR, f"{now.fault}; call ~/reset to start anew")
    if now.beyond and not now.at_stops:
        return Condition("outside_limits", ERROR, f"outside its limits: {where}")
    if len(now.commanders) > 1:
        names = ", ".join(now.commanders)
        return Condition(
            "second_commander", WARN, f"{len(now.commanders)} publishers of commands: {names}"
        )
    if now.handover:
        return Condition("lost_commander", WARN, f"{now.handover}: {now.safe_command}")
    if now.holding and not now.commanders:
        return Condition("lost_commander", WARN, f"nobody publishes commands: {HELD}")
    if now.beyond:
        return Condition("at_stop", WARN, f"at its stop: {where}")
    if now.overruns:
        return Condition("overruns", WARN, f"overruns in the last while: {now.overruns}")
    if now.paused:
        return Condition("paused", OK, "paused")
    if not now.commanded:
        return Condition("waiting", OK, f"no command yet: {now.safe_command}")
    if now.holding:
        return Condition("holding", OK, f"no new command: {HELD}")
    return Condition("running", OK, "running")


def beyond_limits(robot: Robot, q: Vector) -> dict[str, tuple[float, str]]:
    """Return by how much, and in words, the joints at q (n,) are beyond their limits."""
    found = {}
    for i, name in enumerate(robot.joint_names):
        low, high = robot.q_min[i] - q[i], q[i] - robot.q_max[i]
        if max(low, high) > ROUNDING:
            amount, side = max(low, high), "lower" if low > high else "upper"
            found[name] = amount, f"{name} {amount:.3g} {robot.unit(i)} beyond its {side} limit"
    return found
