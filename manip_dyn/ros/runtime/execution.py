"""Build a node, run it until it is stopped, and end with an exit code."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import rclpy
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

STOPPED, BAD_INPUT = 0, 2
ANNOUNCEMENT_PERIOD = 10.0
"""Wall time between two log lines about compilation, s."""


class Component(Protocol):
    """The behaviour of a node: parameters, publishers and subscriptions on a plain ROS node.

    Attributes:
        name: The node's name unless it is remapped.
        node: The ROS node.
    """

    name: str
    node: Node

    def __init__(self, node: Node):
        """Declare parameters, create publishers and subscriptions, start threads."""

    def close(self) -> None:
        """Stop the threads."""


C = TypeVar("C", bound=Component)


class RosError(ManipDynError):
    """An error of ROS before a node exists, such as an invalid command line argument."""


class ComponentNode(Node):
    """A ROS node that stores its command line.

    Attributes:
        arguments: The words of the command line of the process and of the node.
    """

    arguments: Sequence[str] = ()


def build(kind: type[C], args: Sequence[str] | None = None, **options: Any) -> C:
    """Return a component on a new ROS node. If it raises an error, the node is destroyed.

    With use_sim_time a node follows the clock of its namespace, which is /clock in the root
    namespace, so that two simulated arms do not disturb each other. A user's remapping of /clock
    has precedence.

    Args:
        kind: The component.
        args: The command line of the process. Default: `sys.argv`.
        options: Those of rclpy's `Node`.
    """
    words = sys.argv if args is None else args
    arguments = list(options.pop("cli_args", None) or ())
    if not any("/clock:=" in word for word in (*words, *arguments)):
        arguments += ["--ros-args", "-r", "/clock:=clock"]
    try:
        node = ComponentNode(kind.name, cli_args=arguments, **options)
    except (RuntimeError, NotInitializedException) as error:
        raise RosError(_first_line(error)) from error
    node.arguments = [*words, *arguments]
    try:
        check_parameter_files(node.get_fully_qualified_name(), node.arguments)
        return kind(node)
    except BaseException:
        node.destroy_node()
        raise


def run(kind: type[Component], args: list[str] | None = None) -> int:
    """Build a node, spin it and return the exit code.

    The exit code is 0 after SIGINT or SIGTERM, and 2 with one log line for invalid parameters.
    """
    try:
        return _run(kind, args)
    except KeyboardInterrupt:
        return STOPPED  # a second signal, during shutdown
    except ManipDynError as error:  # during shutdown, such as a full disk of the recorder
        _report_error(kind, str(error))
        return BAD_INPUT


def _report_error(kind: type[Component], message: str) -> None:
    """Log why a node ends, or pass it to the component's `report_error`."""
    log = get_logger(kind.name)
    report: Callable[[str], object] = getattr(kind, "report_error", None) or log.fatal
    report(message)


def _run(kind: type[Component], args: list[str] | None) -> int:
    # A control period is short: another thread must release the interpreter within a part of it.
    sys.setswitchinterval(2e-4)
    os.environ.update(local_discovery(os.environ))
    component: Component | None = None
    initialized = False
    try:
        # No executor checks for a shutdown while a node is built. rclpy calls these handlers, too.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        _initialize(args)
        initialized = True
        sys.unraisablehook = report_unraisable
        component = build(kind, args)
        executor = getattr(kind, "executor", SingleThreadedExecutor)()
        executor.add_node(component.node)
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except Exception as error:
        if initialized and not rclpy.ok():
            return STOPPED  # a signal interrupted rclpy, which then raised another error
        if not isinstance(error, ManipDynError):
            raise
        _report_error(kind, str(error))
        return BAD_INPUT
    finally:
        # Launch systems send a second signal while the node is ending.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        try:
            if component is not None:
                component.close()
        finally:
            if component is not None:
                component.node.destroy_node()
            rclpy.try_shutdown()
    return STOPPED


def _initialize(args: list[str] | None) -> None:
    try:
        rclpy.init(args=args)
    except RuntimeError as error:
        raise RosError(_first_line(error)) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def report_unraisable(unraisable: Any) -> None:
    """Report an exception in a destructor, except Ctrl-C and errors after a shutdown.

    A signal may interrupt the construction of an rclpy object, whose destructor then fails. The
    node ends in any case.
    """
    if rclpy.ok() and not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def unless_shut_down(node: Node, call: Callable[[], None]) -> None:
    """Call a function that uses the node, from any thread; ignore errors of a shutdown.

    rclpy's errors are subclasses of `RuntimeError`. Its own class has no public name.
    """
    try:
        if node.context.ok():
            call()
    except RuntimeError:
        if node.context.ok():
            raise


def create_wall_timer(node: Node, period: float, call: Callable[[], None]) -> None:
    """Call a function every `period` s of wall time.

    With use_sim_time, a timer by the node's own clock stops while /clock is not published.
    """
    node.create_timer(period, call, clock=Clock(clock_type=ClockType.STEADY_TIME))


class ThrottledWarning:
    """A warning that is logged at most once per period of wall time.

    rclpy's option `throttle_duration_sec` inspects the call stack in every call. At 1 kHz that
    costs a quarter of a core.
    """

    def __init__(self, node: Node, prefix: str = "", period: float = 1.0):
        """Prepare a warning of a node that starts with `prefix`, for a period in s."""
        self._log, self._prefix, self._period = node.get_logger(), prefix, period
        self._last = float("-inf")

    def __call__(self, reason: object) -> None:
        """Log the prefix and the reason, unless the last warning was within the period."""
        now = time.monotonic()
        if now - self._last >= self._period:
            self._last = now
            self._log.warning(f"{self._prefix}{reason}")


def announce(node: Node, *items: str) -> None:
    """Log a summary of the node in one line; log compilations from now on.

    Args:
        node: The node.
        items: Items of the summary, such as robot, mode and rate.
    """
    disable_announcements()  # on standard error
    node.get_logger().info(", ".join(items))
    last = float("-inf")

    def report(kernels: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= ANNOUNCEMENT_PERIOD:
            last = now
            node.get_logger().info(
                f"compiling {kernels} for the first time; cached in {cache_directory()}, so the "
                "next start takes a second or two"
            )

    on_first_use(report)


def robot_summary(robot: Robot) -> str:
    """Return the name of a robot and of its joints."""
    return f"robot '{robot.name}' with {robot.n} joints ({', '.join(robot.joint_names)})"


def rate_summary(mode: str, period: float, factor: float = 1.0) -> str:
    """Return a mode and its rate, for example "real_time at 1000 Hz".

    Args:
        mode: The mode of time, such as real_time or lockstep.
        period: Time between messages, s.
        factor: Path or simulated time per wall time.
    """
    if mode in ("fast", "lockstep"):
        return f"{mode} in periods of {period:g} s"
    return f"{mode} at {factor / period:g} Hz"
