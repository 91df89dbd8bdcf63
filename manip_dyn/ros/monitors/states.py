"""What state a monitor is in, how bad that is, and the sentence for it."""

from __future__ import annotations

from manip_dyn.ros.messages.diagnostics import OK, WARN, Report
from manip_dyn.ros.messages.states import State
from manip_dyn.ros.monitors.report import Progress

SILENT = 1.0
"""Wall time without a message after which what is measured is silent, s."""
STATES = (
    State("waiting", WARN, "nothing was heard yet on {topic}"),
    State("silent", WARN, "nothing was heard on {topic} for {silence:.1f} s"),
    State("measuring", OK, "measuring: {percent:.0f} % of the run was heard"),
)
"""In the order in which they are told where several hold."""


def report_of(topic: str, progress: Progress, now: float) -> Report:
    """Return the first state of `STATES` that holds, as a report.

    Args:
        topic: What is listened to.
        progress: What was heard of it.
        now: The time by the clock of `progress`, s.
    """
    silence = 0.0 if progress.heard_at is None else now - progress.heard_at
    holds = {"waiting": progress.heard_at is None, "silent": silence > SILENT, "measuring": True}
    state = next(state for state in STATES if holds[state.name])
    percent = 100.0 * min(progress.fraction, 1.0)
    sentence = state.says(topic=topic, silence=silence, percent=percent)
    return Report(state.level, sentence, {"state": state.name, "heard [%]": percent})
