"""Parameters, progress reports and diagnostic states of the monitors."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.ros.diagnostics import OK, WARN, Report, State
from manip_dyn.ros.parameters.common import RobotParameters
from manip_dyn.ros.parameters.declaration import Numbers, parameter


@dataclass(frozen=True)
class MonitorParameters(RobotParameters):
    """What the monitor of an arm measures."""

    measure: str = parameter(
        "motion", "What to measure", choices=("tracking", "free", "motion", "soak")
    )
    goal: Numbers = parameter((), "Where the motion should end, in joint order", "rad or m")
    settle: float = parameter(5.0, "Path time after which errors count as steady", "s", 0.0, 1e6)
    duration: float = parameter(0.0, "Time to measure; 0: the path, one lap of it", "s", 0.0, 1e6)
    period: float = parameter(1e-3, "Time between joint states, for a soak", "s", 1e-6, 10.0)
    patience: float = parameter(
        6.0, "Time beyond that for an arm that does not rest", "s", 0.0, 1e3
    )
    rest: float = parameter(
        0.2, "Time for which the arm must have settled at the end", "s", 0.0, 1e3
    )


@dataclass(frozen=True)
class MechanismMonitorParameters:
    """What the monitor of a mechanism measures."""

    mechanism: str = parameter("four_bar", "Name of a shipped mechanism or path of a YAML file")
    body: str = parameter("", "Whose height is measured")
    height: float = parameter(0.0, "Where its centre of mass should be at the end", "m", -1e6, 1e6)
    duration: float = parameter(1.0, "Simulated time of the motion", "s", 1e-3, 1e6)


PROGRESS_STEP = 0.01
"""Progress is told by hundredths."""


def print_json(**content: Any) -> None:
    """Print one line."""
    print(json.dumps(content), flush=True)


class Progress:
    """Says how much of a run was heard, each time that it is a hundredth more.

    Attributes:
        heard_at: When something was heard last, s of a clock that nobody sets; None before.
        fraction: How much of the run was heard.
    """

    def __init__(self) -> None:
        """Begin at nothing."""
        self.heard_at: float | None = None
        self._said = self.fraction = 0.0

    def heard(self) -> None:
        """Note that what is measured is there."""
        self.heard_at = time.monotonic()

    def __call__(self, fraction: float) -> None:
        """Say that a fraction of the run was heard, if that is news."""
        self.fraction = fraction
        if fraction >= self._said + PROGRESS_STEP or fraction >= 1.0 > self._said:
            self._said = fraction
            print_json(progress=min(fraction, 1.0))


def missed_samples(t: Vector) -> int:
    """Return how many samples of an even grid are missing between the first and the last."""
    if len(t) < 2:
        return 0
    return max(0, round(float((t[-1] - t[0]) / np.median(np.diff(t)))) + 1 - len(t))


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
