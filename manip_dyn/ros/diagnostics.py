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
    """Level, message and named values. Values that are None are not published."""

    level: bytes
    message: str
    values: dict[str, object]


def status_message(node: Node, report: Report, hardware: str) -> DiagnosticStatus:
    """Return `report` as a message with the names of the node and of its robot or mechanism."""
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
    """Return the rate and period errors of a node as named values."""
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

    # Not the node's clock: with use_sim_time it stops while /clock is not published.
    node.create_timer(REPORT_PERIOD, publish, clock=Clock(clock_type=ClockType.STEADY_TIME))


def _formatted(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


LEVELS = {OK: "OK", WARN: "WARN", ERROR: "ERROR"}
VALUE_DESCRIPTIONS = {
    "beginning": "the motion, and when it ends",
    "distance": "distance, m and rad,",
    "end": "time of arrival, and delay",
    "fastest": "the fastest joint and its speed",
    "fault": "the reason",
    "lead": "number",
    "method": "method",
    "news": "off the path, out of reach, near a singularity or at a joint limit, with the amount",
    "others": "nodes",
    "outside": "joints, positions and limits",
    "overruns": "number",
    "percent": "percentage",
    "reason": "reason",
    "seconds": "number",
    "silence": "number",
    "topic": "topic",
}
"""Descriptions of the values of messages, for the tables of the documentation."""


class State(NamedTuple):
    """A state of a node.

    Attributes:
        name: The value of the key `state`.
        level: OK, WARN or ERROR of a diagnostic status.
        sentence: The message, with the names of values in braces.
        code: The reason, for a state with several reasons.
    """

    name: str
    level: bytes
    sentence: str
    code: str = ""

    def message(self, **values: object) -> str:
        """Return the message with its values."""
        return self.sentence.format(**values)


def state_rows(states: Iterable[State]) -> list[str]:
    """Return the rows of a Markdown table: state, code, level, sentence."""
    return [
        f"| `{state.name}` | {f'`{state.code}`' if state.code else ''} | {LEVELS[state.level]} "
        f"| {_in_words(state.sentence)} |"
        for state in states
    ]


def _in_words(sentence: str) -> str:
    """Return a message with descriptions in italics instead of its values."""
    return re.sub(r"\{(\w+)[^}]*\}", lambda match: f"*{VALUE_DESCRIPTIONS[match[1]]}*", sentence)


OVERRUN_WINDOW = 10.0
"""Wall time for which an overrun is reported, s: a loaded machine has one now and then."""


class RecentOverruns:
    """Counts the overruns of the last `OVERRUN_WINDOW`, from their total."""

    def __init__(self) -> None:
        """Begin with no overruns."""
        self._total = 0
        self._seen: deque[tuple[float, int]] = deque()

    def __call__(self, total: int, now: float | None = None) -> int:
        """Return the number of overruns in the last `OVERRUN_WINDOW`.

        Args:
            total: Number of overruns since the start. It restarts from 0 with new statistics.
            now: Monotonic time, s. Default: the present.
        """
        now = time.monotonic() if now is None else now
        more, self._total = total - self._total, total
        if more > 0:
            self._seen.append((now, more))
        while self._seen and now - self._seen[0][0] > OVERRUN_WINDOW:
            self._seen.popleft()
        return sum(count for _, count in self._seen)


LIMIT_TOLERANCE = 1e-3
"""Tolerance of joint limits, rad or m: feedback is not more precise."""


def joints_outside_limits(robot: Robot, q: Vector) -> str:
    """Return the joints outside their limits at q (n,), with positions and limits, or ""."""
    return ", ".join(
        f"{name} at {q[i]:.4g} {robot.unit(i)} ({robot.q_min[i]:.4g} to {robot.q_max[i]:.4g})"
        for i, name in enumerate(robot.joint_names)
        if not robot.q_min[i] - LIMIT_TOLERANCE <= q[i] <= robot.q_max[i] + LIMIT_TOLERANCE
    )


def clipped_to_limits(robot: Robot, q: Vector) -> Vector:
    """Return q (n,) with joints just beyond a limit, as at a compliant stop, moved onto it."""
    near = np.clip(q, robot.q_min, robot.q_max)
    return np.where(np.abs(near - q) <= LIMIT_TOLERANCE, near, q)


def fastest_joint(robot: Robot, v: Vector) -> str:
    """Return the fastest joint at velocities v (n,), and its speed."""
    joint = int(np.abs(v).argmax())
    return f"joint '{robot.joint_names[joint]}' at {abs(v[joint]):.3g} {robot.unit(joint)}/s"


def publishers(node: Node, topic: str) -> list[str]:
    """Return the full name of the node of each publisher of a topic."""
    return [
        f"{endpoint.node_namespace.rstrip('/')}/{endpoint.node_name}"
        for endpoint in node.get_publishers_info_by_topic(topic)
    ]


def other_publishers(node: Node, topic: str) -> str:
    """Return the names of the other nodes that publish on a topic, or ""."""
    names = publishers(node, topic)
    own = node.get_fully_qualified_name()
    if own in names:
        names.remove(own)
    return ", ".join(sorted(names))


def commanders(node: Node, topics: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the nodes that publish on any of the command topics.

    A node with one publisher on each topic counts once. Two nodes of the same name, or two
    publishers of one node on the same topic, count twice.
    """
    counts: Counter[str] = Counter()
    for topic in topics:
        counts |= Counter(publishers(node, topic))
    return tuple(sorted(counts.elements()))
