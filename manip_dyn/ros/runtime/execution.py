"""Creates nodes and runs them until they are stopped."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeVar

import rclpy
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.exceptions import NotInitializedException
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.signals import SignalHandlerOptions

from manip_dyn.core.cache import cache_directory, disable_announcements, on_first_use
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.interruption import END, reset_interrupt_flag
from manip_dyn.robot import Robot
from manip_dyn.ros.runtime.environment import check_parameter_files, local_discovery

STOPPED, BAD_INPUT = 0, 2
ANNOUNCEMENT_PERIOD = 10.0
"""Wall time between two log lines about compilation, s."""
GRACE = 0.5
"""Wall time from a signal to the shutdown of ROS if the main thread does not respond, s."""
LAST_MESSAGES_TIMEOUT = 1.0
"""Longest wall time for which a node that exits waits until its last messages are received, s."""


class Component(Protocol):
    """The behaviour of a node: parameters, publishers and subscriptions on a plain ROS node.

    Attributes:
        name: Name of the node unless it is remapped.
        node: The ROS node.
    """

    name: str
    node: Node

    def __init__(self, node: Node):
        """Declare parameters, create publishers and subscriptions, and start threads."""

    def close(self) -> None:
        """Stop the threads."""


C = TypeVar("C", bound=Component)


class RosError(ManipDynError):
    """An error of ROS before a node exists, such as an invalid command-line argument."""


class ComponentNode(Node):
    """A ROS node that stores its command line.

    Attributes:
        arguments: Command-line arguments of the process, followed by those of the node.
    """

    arguments: Sequence[str] = ()


def build(kind: type[C], args: Sequence[str] | None = None, **options: Any) -> C:
    """Create a component on a new ROS node. If this fails, the node is destroyed.

    With use_sim_time, the node follows the topic clock in its namespace (/clock in the root
    namespace). Two simulated arms therefore do not interfere with each other. A remapping of
    /clock by the user has precedence.

    Args:
        kind: Class of the component.
        args: Command line of the process. Default: `sys.argv`.
        options: Options of rclpy's `Node`.

    Returns:
        The component.

    Raises:
        ManipDynError: If ROS rejects the command line, a parameters file does not name the node,
            or the component rejects its parameters.
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
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):  # threads of the component may be running
            node.context.try_shutdown()
        node.destroy_node()
        raise


def run(kind: type[Component], args: list[str] | None = None) -> int:
    """Create a node, spin it and return the exit code.

    The exit code is 0 after SIGINT, SIGTERM or a shutdown of ROS. After a `ManipDynError`, such as
    for an invalid parameter, it is 2, and the message is reported in one line.
    """
    atexit.register(gc.freeze)  # otherwise Python collects garbage for 0.2 s at exit
    try:
        return _run(kind, args)
    except KeyboardInterrupt:
        return STOPPED  # a second signal, during shutdown
    except ManipDynError as error:  # during shutdown, such as a full disk of the recorder
        _report_error(kind, str(error))
        return BAD_INPUT
    finally:
        reset_interrupt_flag()


def _report_error(kind: type[Component], message: str) -> None:
    """Log why a node exits, or pass the message to the component's `report_error`."""
    log = get_logger(kind.name)
    report: Callable[[str], object] = getattr(kind, "report_error", None) or log.fatal
    report(message)


def _run(kind: type[Component], args: list[str] | None) -> int:
    # Other threads must release the interpreter within a fraction of the control period.
    sys.setswitchinterval(2e-4)
    os.environ.update(local_discovery(os.environ))
    component: Component | None = None
    initialized = False
    signals: list[int] = []

    def interrupt(number: int, _frame: object) -> None:
        signals.append(number)
        # The interrupt may leave an incomplete rclpy object, whose destructor then fails.
        sys.unraisablehook = lambda unraisable: None
        raise KeyboardInterrupt

    try:
        # rclpy's own handlers would shut ROS down before `close` can publish last messages.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, interrupt)
        _initialize(args)
        initialized = True
        sys.unraisablehook = report_unraisable
        executor = getattr(kind, "executor", SingleThreadedExecutor)()
        with _woken_by_signals(executor):
            component = build(kind, args)
            executor.add_node(component.node)
            executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except Exception as error:
        if initialized and (signals or not rclpy.ok()):
            return STOPPED  # a signal interrupted rclpy, which then raised another error
        if not isinstance(error, ManipDynError):
            raise
        _report_error(kind, str(error))
        return BAD_INPUT
    finally:
        # Launch systems send a second signal while the node is shutting down.
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
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:
        raise RosError(_first_line(error)) from error


@contextmanager
def _woken_by_signals(executor: Executor) -> Iterator[None]:
    """Return a context manager in which signals wake the executor, so that their handlers run.

    Python's C signal handler writes signal numbers to a pipe, and a thread reads them. If no
    exception leaves the context within `GRACE`, as during compilation, the thread shuts ROS down.
    """
    finished = threading.Event()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def watch() -> None:
        while os.read(reading, 1) != END:
            executor.wake()
            if not finished.wait(GRACE):
                rclpy.try_shutdown()

    thread = threading.Thread(target=watch, name="signals", daemon=True)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        signal.set_wakeup_fd(before)
        os.write(writing, END)
        thread.join()
        os.close(reading)
        os.close(writing)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def report_unraisable(unraisable: Any) -> None:
    """Print an exception in a destructor, except after a shutdown of ROS."""
    if rclpy.ok():
        sys.__unraisablehook__(unraisable)


def unless_shut_down(node: Node, call: Callable[[], None]) -> None:
    """Call a function that uses the node, unless ROS is shut down.

    Any thread may call this function. If ROS is shut down during the call, a `RuntimeError` is
    ignored. The error class of rclpy, a subclass, has no public name.
    """
    try:
        if node.context.ok():
            call()
    except RuntimeError:
        if node.context.ok():
            raise


def publish_last(node: Node, messages: Sequence[tuple[Publisher, Any]]) -> None:
    """Publish the last messages of a node that exits, and wait until they are received.

    The wait ends after `LAST_MESSAGES_TIMEOUT`. After a shutdown of ROS, nothing is published.

    Args:
        node: The node.
        messages: Publishers and their messages.
    """

    def publish() -> None:
        end = time.monotonic() + LAST_MESSAGES_TIMEOUT
        for publisher, message in messages:
            publisher.publish(message)
        for publisher, _ in messages:
            with suppress(RuntimeError):  # the middleware does not support it
                remaining = max(0.0, end - time.monotonic())
                publisher.wait_for_all_acked(Duration(seconds=remaining))

    unless_shut_down(node, publish)


def create_wall_timer(node: Node, period: float, call: Callable[[], None]) -> None:
    """Call a function every `period` seconds of wall time.

    With use_sim_time, a timer on the node's own clock stops while /clock is not published.
    """
    node.create_timer(period, call, clock=Clock(clock_type=ClockType.STEADY_TIME))


class ThrottledWarning:
    """A warning that is logged at most once per period of wall time.

    rclpy's option `throttle_duration_sec` inspects the call stack in every call. At 1 kHz, this
    requires a quarter of a core.
    """

    def __init__(self, node: Node, prefix: str = "", period: float = 1.0):
        """Create a warning that starts with `prefix`; `period` is in seconds."""
        self._log, self._prefix, self._period = node.get_logger(), prefix, period
        self._last = float("-inf")

    def __call__(self, reason: object) -> None:
        """Log the prefix and `reason`, unless a warning was logged within the last period."""
        now = time.monotonic()
        if now - self._last >= self._period:
            self._last = now
            self._log.warning(f"{self._prefix}{reason}")


def announce(node: Node, *items: str) -> None:
    """Log a one-line summary of the node, and log later compilations of kernels.

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
    """Return a string with the name of a robot, and the number and names of its joints."""
    return f"robot '{robot.name}' with {robot.n} joints ({', '.join(robot.joint_names)})"


def rate_summary(mode: str, period: float, factor: float = 1.0) -> str:
    """Return a mode with its rate, for example "real_time at 1000 Hz".

    For the modes fast and lockstep, the string contains the period instead of the rate.

    Args:
        mode: The mode of the node, such as real_time, lockstep or kinematic.
        period: Simulated time or path time between messages, s.
        factor: Ratio of path time or simulated time to wall time.
    """
    if mode in ("fast", "lockstep"):
        return f"{mode} in periods of {period:g} s"
    return f"{mode} at {factor / period:g} Hz"
