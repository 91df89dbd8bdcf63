"""Diagnostics of a node: reports on /diagnostics, and states with their messages."""

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
    """A diagnostic report: level, message and named values. Values of None are not published."""

    level: bytes
    message: str
    values: dict[str, object]


def status_message(node: Node, report: Report, hardware: str) -> DiagnosticStatus:
    """Convert `report` to a message with the full name of the node.

    Args:
        node: The node that reports.
        report: Level, message and values.
        hardware: Name of the robot or mechanism.
    """
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
    """Convert the pacing statistics of a node to named values for a report."""
    return {
        "mean rate [Hz]": pacing.rate,
        "p99 period error [s]": pacing.p99_period_error,
        "max period error [s]": pacing.max_period_error,
        "overruns": pacing.overruns,
        "missed [s]": pacing.missed,
    }


def publish_every_second(node: Node, report: Callable[[], Report], hardware: str) -> None:
    """Publish `report()` on /diagnostics every second of wall time.

    Args:
        node: The node that reports.
        report: Returns the current report.
        hardware: Name of the robot or mechanism.
    """
    publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)

    def publish() -> None:
        message = DiagnosticArray(status=[status_message(node, report(), hardware)])
        message.header.stamp = node.get_clock().now().to_msg()
        publisher.publish(message)

    # With use_sim_time, the node's own clock stops while /clock is not published.
    node.create_timer(REPORT_PERIOD, publish, clock=Clock(clock_type=ClockType.STEADY_TIME))


def _formatted(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


LEVELS = {OK: "OK", WARN: "WARN", ERROR: "ERROR"}
VALUE_DESCRIPTIONS = {
    "beginning": "the motion, and when it ends",
    "delayed": "delay of the control loop and its margin",
    "distance": "distance, m and rad,",
    "end": "time of arrival, and delay",
    "fastest": "the fastest joint and its speed",
    "fault": "the reason",
    "late": "delay of the control loop and its margin, or time without the effect of a command",
    "lead": "number",
    "method": "method",
    "news": "off the path, out of reach, near a singularity or at a joint limit, with the amount",
    "others": "nodes",
    "outside": "joints, positions and limits",
    "overruns": "number",
    "percent": "percentage",
    "reason": "reason",
    "seconds": "number",
    "share": "number",
    "silence": "number",
    "topic": "topic",
    "unknown": "reason and reduced gains",
}
"""Descriptions of the values in messages, for the tables in the documentation."""


class State(NamedTuple):
    """A diagnostic state of a node.

    Attributes:
        name: Name of the state, published as the value `state`.
        level: OK, WARN or ERROR.
        sentence: Template of the message, with the names of values in braces.
        code: Code of the reason, for a state with several reasons.
    """

    name: str
    level: bytes
    sentence: str
    code: str = ""

    def message(self, **values: object) -> str:
        """Return the message with `values` inserted."""
        return self.sentence.format(**values)


def state_rows(states: Iterable[State]) -> list[str]:
    """Return the rows of a Markdown table with state, code, level and message."""
    return [
        f"| `{state.name}` | {f'`{state.code}`' if state.code else ''} | {LEVELS[state.level]} "
        f"| {_in_words(state.sentence)} |"
        for state in states
    ]


def _in_words(sentence: str) -> str:
    """Return a message template with its placeholders replaced by descriptions in italics."""
    return re.sub(r"\{(\w+)[^}]*\}", lambda match: f"*{VALUE_DESCRIPTIONS[match[1]]}*", sentence)


SLOW_SENTENCE = "slower than real time: real_time_share {share:.2f}"
"""Template of the message of a simulation that is persistently too slow."""
OVERRUN_WINDOW = 10.0
"""Wall time for which an overrun is reported, s. A loaded machine has occasional overruns."""


class RecentOverruns:
    """Counts the overruns of the last `OVERRUN_WINDOW` seconds."""

    def __init__(self) -> None:
        """Start with a count of zero."""
        self._total = 0
        self._seen: deque[tuple[float, int]] = deque()

    def __call__(self, total: int, now: float | None = None) -> int:
        """Return the number of overruns in the last `OVERRUN_WINDOW` seconds.

        Args:
            total: Number of overruns since the statistics began. It may restart from 0.
            now: Monotonic time, s. Default: the current time.
        """
        now = time.monotonic() if now is None else now
        more, self._total = total - self._total, total
        if more > 0:
            self._seen.append((now, more))
        while self._seen and now - self._seen[0][0] > OVERRUN_WINDOW:
            self._seen.popleft()
        return sum(count for _, count in self._seen)


LIMIT_TOLERANCE = 1e-3
"""Tolerance of the check of joint limits, rad or m."""


def joints_outside_limits(robot: Robot, q: Vector) -> str:
    """Return a description of the joints that are outside their limits, or "" if there are none.

    These are the joints whose position in `q` (n,), rad or m, is NaN or exceeds a limit by more
    than `LIMIT_TOLERANCE`.
    """
    return ", ".join(
        f"{name} at {q[i]:.4g} {robot.unit(i)} ({robot.q_min[i]:.4g} to {robot.q_max[i]:.4g})"
        for i, name in enumerate(robot.joint_names)
        if not robot.q_min[i] - LIMIT_TOLERANCE <= q[i] <= robot.q_max[i] + LIMIT_TOLERANCE
    )


def clipped_to_limits(robot: Robot, q: Vector) -> Vector:
    """Return q (n,) with joints slightly beyond a limit moved onto the limit.

    Joints that rest at a compliant stop are slightly beyond their limits. Joints farther beyond a
    limit than `LIMIT_TOLERANCE` are not moved.
    """
    near = np.clip(q, robot.q_min, robot.q_max)
    return np.where(np.abs(near - q) <= LIMIT_TOLERANCE, near, q)


def fastest_joint(robot: Robot, v: Vector) -> str:
    """Describe the fastest joint at the velocities `v` (n,): its name and its speed."""
    joint = int(np.abs(v).argmax())
    return f"joint '{robot.joint_names[joint]}' at {abs(v[joint]):.3g} {robot.unit(joint)}/s"


def publishers(node: Node, topic: str) -> list[str]:
    """Return the full node name of each publisher on a topic."""
    return [
        f"{endpoint.node_namespace.rstrip('/')}/{endpoint.node_name}"
        for endpoint in node.get_publishers_info_by_topic(topic)
    ]


def other_publishers(node: Node, topic: str) -> str:
    """Return the names of the other publishers on a topic, separated by commas, or ""."""
    names = publishers(node, topic)
    own = node.get_fully_qualified_name()
    if own in names:
        names.remove(own)
    return ", ".join(sorted(names))


def namesakes(node: Node) -> int:
    """Return the number of nodes with the full name of this node, including itself."""
    own = node.get_fully_qualified_name()
    pairs = node.get_node_names_and_namespaces()
    return sum(f"{space.rstrip('/')}/{name}" == own for name, space in pairs)


def commanders(node: Node, topics: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the nodes that publish on any of the command topics.

    A node with one publisher per topic is listed once. If two publishers on the same topic have
    the same node name, the name is listed twice.
    """
    counts: Counter[str] = Counter()
    for topic in topics:
        counts |= Counter(publishers(node, topic))
    return tuple(sorted(counts.elements()))
