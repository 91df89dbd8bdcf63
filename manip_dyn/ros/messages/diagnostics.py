"""/diagnostics: one status per node, once a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from manip_dyn.ros.runtime.pacing import PacingStatistics

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
PERIOD = 1.0
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
            KeyValue(key=key, value=_text(value))
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
    node.create_timer(PERIOD, publish, clock=Clock(clock_type=ClockType.STEADY_TIME))


def _text(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)
