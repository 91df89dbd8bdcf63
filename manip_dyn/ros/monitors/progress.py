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
    """Parameters of the arm monitor node."""

    measure: str = parameter(
        "motion", "Kind of measurement", choices=("tracking", "free", "motion", "soak")
    )
    goal: Numbers = parameter((), "Expected positions at the end, in joint order", "rad or m")
    settle: float = parameter(5.0, "Path time after which errors count as steady", "s", 0.0, 1e6)
    duration: float = parameter(
        0.0, "Duration of the measurement; 0, for tracking: one lap", "s", 0.0, 1e6
    )
    period: float = parameter(1e-3, "Time between joint states, for a soak", "s", 1e-6, 10.0)
    patience: float = parameter(
        6.0, "Additional time for an arm that has not settled", "s", 0.0, 1e3
    )
    rest: float = parameter(
        0.2, "Time for which the arm must have settled at the end", "s", 0.0, 1e3
    )


@dataclass(frozen=True)
class MechanismMonitorParameters:
    """Parameters of the mechanism monitor node."""

    mechanism: str = parameter("four_bar", "Name of a shipped mechanism or path of a YAML file")
    body: str = parameter("", "Name of the body of which the height is measured")
    height: float = parameter(
        0.0, "Expected height of its centre of mass at the end", "m", -1e6, 1e6
    )
    duration: float = parameter(1.0, "Simulated time of the motion", "s", 1e-3, 1e6)


PROGRESS_STEP = 0.01
"""Smallest increase of the progress that is printed, as a fraction of the run."""


def print_json(**content: Any) -> None:
    """Print a JSON object on one line of standard output."""
    print(json.dumps(content), flush=True)


class Progress:
    """Prints the progress of a run in steps of at least `PROGRESS_STEP`.

    Attributes:
        received_at: Monotonic time of the last message, s, or None.
        fraction: Measured fraction of the run; it may exceed 1.
    """

    def __init__(self) -> None:
        """Start at zero."""
        self.received_at: float | None = None
        self._printed = self.fraction = 0.0

    def message_received(self) -> None:
        """Record that a message has arrived."""
        self.received_at = time.monotonic()

    def __call__(self, fraction: float) -> None:
        """Print the fraction of the run if it has increased by `PROGRESS_STEP` or reached 1."""
        self.fraction = fraction
        if fraction >= self._printed + PROGRESS_STEP or fraction >= 1.0 > self._printed:
            self._printed = fraction
            print_json(progress=min(fraction, 1.0))


def missed_samples(t: Vector) -> int:
    """Return the number of samples missing in `t`, s. Their period is the median interval."""
    if len(t) < 2:
        return 0
    return max(0, round(float((t[-1] - t[0]) / np.median(np.diff(t)))) + 1 - len(t))


SILENT = 1.0
"""Wall time without a message after which a topic counts as silent, s."""
MONITOR_STATES = (
    State("waiting", WARN, "no messages yet on {topic}"),
    State("silent", WARN, "no messages on {topic} for {silence:.1f} s"),
    State("measuring", OK, "measuring: {percent:.0f} % of the run"),
)
"""States in order of priority."""


def monitor_report(topic: str, progress: Progress, now: float) -> Report:
    """Return a report of the first applicable state of `MONITOR_STATES`.

    Args:
        topic: The measured topic.
        progress: Progress of the run.
        now: Current monotonic time, s.
    """
    silence = 0.0 if progress.received_at is None else now - progress.received_at
    holds = {
        "waiting": progress.received_at is None,
        "silent": silence > SILENT,
        "measuring": True,
    }
    state = next(state for state in MONITOR_STATES if holds[state.name])
    percent = 100.0 * min(progress.fraction, 1.0)
    sentence = state.message(topic=topic, silence=silence, percent=percent)
    return Report(state.level, sentence, {"state": state.name, "received [%]": percent})
