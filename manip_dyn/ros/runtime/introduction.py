"""What a node says first: who it is, and what has to be compiled before it can begin."""

from __future__ import annotations

import time

from rclpy.node import Node

from manip_dyn.core.cache.announcement import say_nothing
from manip_dyn.core.cache.first_time import tell_first_time
from manip_dyn.core.cache.folder import cache_directory
from manip_dyn.robot import Robot

AGAIN = 10.0
"""Wall time between two sentences about what is being compiled, s."""


def introduce(node: Node, *what: str) -> None:
    """Log what a node is about in one line; from now on, log what it compiles, as it begins to.

    Args:
        node: The node.
        what: Parts of the line, such as robot, mode and rate.
    """
    say_nothing()  # on stderr
    node.get_logger().info(", ".join(what))
    said_at = float("-inf")

    def tell(made: str) -> None:
        nonlocal said_at
        now = time.monotonic()
        if now - said_at >= AGAIN:
            said_at = now
            node.get_logger().info(
                f"compiling {made} for the first time; kept in {cache_directory()}, so that the "
                "next start takes a second or two"
            )

    tell_first_time(tell)


def described(robot: Robot) -> str:
    """Return a robot and its joints in a few words."""
    return f"robot '{robot.name}' with {robot.n} joints ({', '.join(robot.joint_names)})"


def paced(mode: str, period: float, factor: float = 1.0) -> str:
    """Return a mode and its rate in a few words.

    Args:
        mode: How time passes.
        period: Time between messages, s.
        factor: Path or simulated time per wall time.
    """
    if mode in ("fast", "lockstep"):
        return f"{mode} in periods of {period:g} s"
    return f"{mode} at {factor / period:g} Hz"
