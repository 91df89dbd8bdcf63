"""Faults by reset and pause of the simulator at each phase of planner and tracker."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from faults.case import ERROR, OK, WARN, Case
from faults.systems import AT_GOAL, BENT

PAUSE = 1.0
"""Longer than the command time-out, s."""
PHASES = ("idle", "planning", "executing", "reached")


def reset_at(phase):
    """Return a fault that resets the simulator at a phase of the planner."""

    def do(system):
        system.phase(phase)
        system.reset()

    return do


def pause_at(phase):
    """Return a fault that pauses the simulator for a second at a phase of the planner."""

    def do(system):
        system.phase(phase)
        system.pause()
        system.until_state("simulator", "paused")
        system.wait(PAUSE)
        system.pause(False)

    return do


def reset_tracked(moving):
    """Return a fault that resets the simulator of a tracker; the tracker continues from there."""

    def do(system):
        if moving:
            system.move()
            system.until(lambda: np.abs(system.q - BENT).max() > 0.08, "not half way")
        else:
            system.goal = system.targets[1]
            system.send(system.goal)
            system.until(system.follows, "the second target is not reached")
        before = restarts(system)
        system.reset()
        # The log is throttled, the counts are complete. If the machine was suspended meanwhile,
        # the reset looks like missing states, and the arm is picked up.
        system.until(lambda: restarts(system) > before, "the reset is not detected")
        system.until(lambda: np.abs(system.q - BENT).max() < 10 * AT_GOAL, "not reset")
        system.goal = system.forward_kinematics(system.q)[:3, 3]
        return system.values["clik_tracker"]["reason of the last restart"]

    return do


def restarts(system):
    """Return the number of times the tracker restarted or resumed its path."""
    values = system.values["clik_tracker"]
    counts = "times the arm was reset", "times the path was resumed"
    return sum(int(values.get(count, 0)) for count in counts)


def pause_tracked(moving):
    """Return a fault that pauses the simulator of a tracker for a second."""

    def do(system):
        if moving:
            system.move()
        system.pause()
        system.until_state("simulator", "paused")
        system.wait(PAUSE)
        system.pause(False)

    return do


AFTER_RESET = {
    "idle": ("idle", WARN, "the arm was reset"),
    "planning": ("reached", OK, "reached the goal"),
    "executing": ("lost", ERROR, "gave up: the arm was reset"),
    "reached": ("idle", WARN, "the arm was reset"),
}
_CASES = (
    *(
        Case(
            f"reset_while_{phase}", "planner",
            f"~/reset of the simulator in the planner's state `{phase}`",
            reset_at(phase), "bang_bang_planner", *AFTER_RESET[phase], (),
            "following" if phase == "planning" else "rest",
        )
        for phase in PHASES
    ),
    *(
        Case(
            f"pause_while_{phase}", "planner",
            f"~/pause of the simulator for a second in the planner's state `{phase}`",
            pause_at(phase), "bang_bang_planner",
            *(AFTER_RESET["idle"] if phase == "idle" else ("reached", OK, "reached the goal")),
            (), "rest" if phase == "idle" else "following",
        )
        for phase in PHASES
    ),
    *(
        Case(
            f"reset_while_{'moving' if moving else 'holding'}", "tracker",
            f"~/reset of the simulator while the tracker is {'moving' if moving else 'holding'}",
            reset_tracked(moving), "clik_tracker", "tracking", OK, "", (), "following",
        )
        for moving in (False, True)
    ),
    *(
        Case(
            f"pause_while_{'moving' if moving else 'holding'}", "tracker",
            "~/pause of the simulator for a second while the tracker is "
            + ("moving" if moving else "holding"),
            pause_tracked(moving), "clik_tracker", "tracking", OK, "tracking", (), "following",
        )
        for moving in (False, True)
    ),
)  # fmt: skip
CASES = tuple(replace(case, by_hand=True) for case in _CASES)
