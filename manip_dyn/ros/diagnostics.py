"""Diagnostics of a node: reports on /diagnostics, states and their sentences."""

from __future__ import annotations

import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot
from manip_dyn.ros.runtime.threads import PacingStatistics

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
REPORT_PERIOD = 1.0
"""Wall time between reports, s."""


class Report(NamedTuple):
    """Level, one sentence, and named values; what is not known now is None, and left out."""

    level: bytes
    message: str
    values: dict[str, object]


def status_message(node: Node, report: Report, hardware: str) -> DiagnosticStatus:
    """Return `report` as a message named after the node, about a robot or mechanism."""
    return DiagnosticStatus(
        level=report.level,
        name=node.get_fully_qualified_name().lstrip("/"),
        hardware_id=hardware,
        message=report.message,
        values=[
            KeyValue(key=key, value=_formatted(value))
            for key, value in report.values.items()
            if value is not None
        ],
    )


def pacing_values(pacing: PacingStatistics) -> dict[str, object]:
    """Return named values of how a node keeps its periods."""
    return {
        "mean rate [Hz]": pacing.rate,
        "p99 period error [s]": pacing.p99_period_error,
        "max period error [s]": pacing.max_period_error,
        "overruns": pacing.overruns,
        "missed [s]": pacing.missed,
    }


def publish_every_second(node: Node, report: Callable[[], Report], hardware: str) -> None:
    """Publish `report()` about a robot or mechanism on /diagnostics once a second of wall time."""
    publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)

    def publish() -> None:
        message = DiagnosticArray(status=[status_message(node, report(), hardware)])
        message.header.stamp = node.get_clock().now().to_msg()
        publisher.publish(message)

    # Not the node's clock: with use_sim_time it stands still where nobody publishes /clock.
    node.create_timer(REPORT_PERIOD, publish, clock=Clock(clock_type=ClockType.STEADY_TIME))


def _formatted(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


LEVELS = {OK: "OK", WARN: "WARN", ERROR: "ERROR"}
VALUE_DESCRIPTIONS = {
    "beginning": "executing: what, and when it ends",
    "distance": "how far, m and rad,",
    "end": "reached the goal: when, and how late",
    "fastest": "the fastest joint, and how fast",
    "fault": "why it cannot go on",
    "lead": "how many",
    "method": "by which method",
    "news": "off the path, out of reach, near a singularity or at a joint limit, and by how much",
    "others": "their nodes",
    "outside": "which, where, and the limits",
    "overruns": "how many",
    "percent": "how much",
    "reason": "why",
    "seconds": "how many",
    "silence": "how many",
    "topic": "the topic",
}
"""What stands in the table of a page for each value of a sentence."""


class State(NamedTuple):
    """A state of a node.

    Attributes:
        name: The value of the key `state`.
        level: OK, WARN or ERROR of a diagnostic status.
        sentence: What is told, with the names of values in braces.
        code: Why, where a state has several reasons.
    """

    name: str
    level: bytes
    sentence: str
    code: str = ""

    def says(self, **values: object) -> str:
        """Return the sentence with its values."""
        return self.sentence.format(**values)


def state_rows(states: Iterable[State]) -> list[str]:
    """Return the rows of a Markdown table: state, code, level, sentence."""
    return [
        f"| `{state.name}` | {f'`{state.code}`' if state.code else ''} | {LEVELS[state.level]} "
        f"| {_in_words(state.sentence)} |"
        for state in states
    ]


def _in_words(sentence: str) -> str:
    """Return a sentence with what its values are, in italics, in their places."""
    return re.sub(r"\{(\w+)[^}]*\}", lambda found: f"*{VALUE_DESCRIPTIONS[found[1]]}*", sentence)


OVERRUN_WINDOW = 10.0
"""How long an overrun is told, s of wall time: a loaded machine has one now and then."""


class RecentOverruns:
    """Counts the overruns of the last `WINDOW`, from how many there have been in all."""

    def __init__(self) -> None:
        """Begin with none."""
        self._total = 0
        self._seen: deque[tuple[float, int]] = deque()

    def __call__(self, total: int, now: float | None = None) -> int:
        """Return how many were new in the last while.

        Args:
            total: How many there have been; fewer than before: they are counted anew.
            now: A time that nobody sets, s; default: that of this process.
        """
        now = time.monotonic() if now is None else now
        more, self._total = total - self._total, total
        if more > 0:
            self._seen.append((now, more))
        while self._seen and now - self._seen[0][0] > OVERRUN_WINDOW:
            self._seen.popleft()
        return sum(count for _, count in self._seen)


LIMIT_TOLERANCE = 1e-3
"""How far outside its limits a joint counts, rad or m: feedback holds it no better."""


def joints_outside_limits(robot: Robot, q: Vector) -> str:
    """Return which joints are outside their limits at q (n,), where, and what the limit is."""
    return ", ".join(
        f"{name} at {q[i]:.4g} {robot.unit(i)} ({robot.q_min[i]:.4g} to {robot.q_max[i]:.4g})"
        for i, name in enumerate(robot.joint_names)
        if not robot.q_min[i] - LIMIT_TOLERANCE <= q[i] <= robot.q_max[i] + LIMIT_TOLERANCE
    )


def clipped_to_limits(robot: Robot, q: Vector) -> Vector:
    """Return q (n,) with joints that are just beyond a limit, as at a stop that gives, on it."""
    near = np.clip(q, robot.q_min, robot.q_max)
    return np.where(np.abs(near - q) <= LIMIT_TOLERANCE, near, q)


def fastest_joint(robot: Robot, v: Vector) -> str:
    """Return the fastest joint at velocities v (n,), and how fast it is."""
    joint = int(np.abs(v).argmax())
    return f"joint '{robot.joint_names[joint]}' at {abs(v[joint]):.3g} {robot.unit(joint)}/s"


def other_publishers(node: Node, topic: str) -> str:
    """Return the names of the nodes that publish on a topic beside one publisher of `node`."""
    names = [
        f"{each.node_namespace.rstrip('/')}/{each.node_name}"
        for each in node.get_publishers_info_by_topic(topic)
    ]
    own = node.get_fully_qualified_name()
    if own in names:
        names.remove(own)
    return ", ".join(sorted(names))


def commanders(node: Node, topics: Iterable[str]) -> tuple[str, ...]:
    """Return the names of those that publish on any of the topics, by publisher identity.

    A node that has one publisher on each topic is one; two nodes of one name, or two publishers of
    one node on one topic, are two.
    """
    most: Counter[str] = Counter()
    for topic in topics:
        found = Counter(
            f"{each.node_namespace.rstrip('/')}/{each.node_name}"
            for each in node.get_publishers_info_by_topic(topic)
        )
        most |= found
    return tuple(sorted(most.elements()))
