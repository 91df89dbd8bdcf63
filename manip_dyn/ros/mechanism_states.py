"""What state a mechanism's node is in, how bad that is, and the sentence for it."""

from __future__ import annotations

from manip_dyn.ros.messages.diagnostics import ERROR, OK, WARN
from manip_dyn.ros.messages.states import State

STATES = (
    State("fault", ERROR, "{fault}; call ~/reset to start anew"),
    State("overruns", WARN, "overruns in the last while: {overruns}"),
    State("paused", OK, "paused"),
    State("running", OK, "running"),
)
"""In the order in which they are told where several hold."""


def state_of(fault: str = "", overruns: int = 0, paused: bool = False) -> tuple[State, str]:
    """Return the first state of `STATES` that holds, and its sentence.

    Args:
        fault: Why the mechanism cannot go on.
        overruns: Periods that were missed in the last while.
        paused: Whether time stands still until it is told otherwise.
    """
    holds = {"fault": fault, "overruns": overruns, "paused": paused, "running": True}
    state = next(state for state in STATES if holds[state.name])
    return state, state.says(fault=fault, overruns=overruns)
