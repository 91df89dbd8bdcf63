"""Timers by a clock that always runs: with use_sim_time, a node's own needs a /clock to run."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node


def every(node: Node, seconds: float, call: Callable[[], None]) -> None:
    """Call a function of a node every so many seconds of wall time."""
    node.create_timer(seconds, call, clock=Clock(clock_type=ClockType.STEADY_TIME))
