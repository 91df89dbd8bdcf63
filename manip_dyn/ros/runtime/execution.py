"""Build a node, run it until it is stopped, and end with an exit code."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import rclpy
from rclpy._rclpy_pybind11 import RCLError
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.exceptions import NotInitializedException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node

from manip_dyn.core.cache import cache_directory, disable_announcements, on_first_use
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.ros.runtime.environment import check_parameter_files, local_discovery

ANNOUNCEMENT_PERIOD = 10.0
"""Wall time between two sentences about what is being compiled, s."""


def announce(node: Node, *what: str) -> None:
    """Log what a node is about in one line; from now on, log what it compiles, as it begins to.

    Args:
        node: The node.
        what: Parts of the line, such as robot, mode and rate.
    """
    disable_announcements()  # on stderr
    node.get_logger().info(", ".join(what))
    said_at = float("-inf")

    def tell(made: str) -> None:
        nonlocal said_at
        now = time.monotonic()
        if now - said_at >= ANNOUNCEMENT_PERIOD:
            said_at = now
            node.get_logger().info(
                f"compiling {made} for the first time; kept in {cache_directory()}, so that the "
                "next start takes a second or two"
            )

    on_first_use(tell)


def robot_summary(robot: Robot) -> str:
    """Return a robot and its joints in a few words."""
    return f"robot '{robot.name}' with {robot.n} joints ({', '.join(robot.joint_names)})"


def rate_summary(mode: str, period: float, factor: float = 1.0) -> str:
    """Return a mode and its rate in a few words.

    Args:
        mode: How time passes.
        period: Time between messages, s.
        factor: Path or simulated time per wall time.
    """
    if mode in ("fast", "lockstep"):
        return f"{mode} in periods of {period:g} s"
    return f"{mode} at {factor / period:g} Hz"


STOPPED, BAD_INPUT = 0, 2


class Component(Protocol):
    """What a node does: made around a bare ROS node, which it connects.

    Attributes:
        name: The node's name unless it is remapped.
        node: The ROS node.
    """

    name: str
    node: Node

    def __init__(self, node: Node):
        """Declare parameters, make publishers and subscriptions, start."""

    def close(self) -> None:
        """End what runs beside the node, such as threads."""


W = TypeVar("W", bound=Component)


def build(kind: type[W], **options: Any) -> W:
    """Return the work around a new ROS node; if it is refused, no node is left behind.

    With use_sim_time a node follows the clock of its namespace, /clock in the root one, so that
    two simulated arms do not disturb each other. A remapping of /clock by the user overrides that.

    Args:
        kind: What the node does.
        options: Those of rclpy's `Node`.
    """
    own = list(options.pop("cli_args", None) or ())
    if not any("/clock:=" in each for each in (*sys.argv, *own)):
        own += ["--ros-args", "-r", "/clock:=clock"]
    node = Node(kind.name, cli_args=own, **options)
    try:
        check_parameter_files(node.get_fully_qualified_name(), [*sys.argv, *own])
        return kind(node)
    except BaseException:
        node.destroy_node()
        raise


def run(kind: type[Component], args: list[str] | None = None) -> int:
    """Build the node, spin it and return the exit code.

    0 after SIGINT or SIGTERM, 2 with one clear line when its parameters or robot are refused.
    """
    try:
        return _run(kind, args)
    except KeyboardInterrupt:
        return STOPPED  # by a second signal, while the node was ending
    except ManipDynError as error:  # while it ended: a recorder whose disk is full
        _refuse(kind, str(error))
        return BAD_INPUT


def _refuse(kind: type[Component], sentence: str) -> None:
    """Say why a node does not go on: by its log, or as its `refuse` says it."""
    say: Callable[[str], object] = getattr(kind, "refuse", None) or get_logger(kind.name).fatal
    say(sentence)


def _run(kind: type[Component], args: list[str] | None) -> int:
    # The pacing thread must get the interpreter within a fraction of a control period.
    sys.setswitchinterval(2e-4)
    os.environ.update(local_discovery(os.environ))
    work: Component | None = None
    begun = False
    try:
        # While a node is being built nothing looks whether to end; rclpy passes signals on.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        rclpy.init(args=args)
        begun = True
        sys.unraisablehook = report_unraisable
        work = build(kind)
        executor = getattr(kind, "executor", SingleThreadedExecutor)()
        executor.add_node(work.node)
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except ManipDynError as error:
        _refuse(kind, str(error))
        return BAD_INPUT
    except (RCLError, NotInitializedException) as error:
        if begun and not rclpy.ok():
            return STOPPED  # by a signal, while the node was being built
        _refuse(kind, str(error).strip().splitlines()[0])
        return BAD_INPUT
    except Exception:
        if begun and not rclpy.ok():
            return STOPPED  # by a signal, of which rclpy makes an error where it takes a message
        raise
    finally:
        # Launch systems send a second signal; the node is ending already.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        try:
            if work is not None:
                work.close()
        finally:
            if work is not None:
                work.node.destroy_node()
            rclpy.try_shutdown()
    return STOPPED


def report_unraisable(unraisable: Any) -> None:
    """Tell of an exception that nobody can catch, but not of a Ctrl-C, nor after a shutdown.

    A signal may come while an object ends: rclpy has heard it, too, and the node ends all the
    same. It may interrupt rclpy while it makes an object; what is half made cannot end cleanly.
    """
    if rclpy.ok() and not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def unless_shut_down(node: Node, publish: Callable[[], None]) -> None:
    """Call `publish` from a thread of the node's own; a shutdown meanwhile is no error."""
    try:
        if node.context.ok():
            publish()
    except RCLError:
        if node.context.ok():
            raise


def create_wall_timer(node: Node, seconds: float, call: Callable[[], None]) -> None:
    """Call a function of a node every so many seconds of wall time."""
    node.create_timer(seconds, call, clock=Clock(clock_type=ClockType.STEADY_TIME))
