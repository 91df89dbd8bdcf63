"""Lets time pass, period by period, for a node that simulates: paced, fast or in lockstep."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from manip_dyn.core.checks import nanoseconds
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ros.messages.diagnostics import ERROR, OK, WARN, Report, pacing_values
from manip_dyn.ros.messages.stamps import to_time
from manip_dyn.ros.parameters.stepping import SteppingParameters
from manip_dyn.ros.runtime.pacing import Pacer
from manip_dyn.ros.runtime.run import unless_shut_down
from manip_dyn.ros.runtime.wall_anchor import WallAnchor, fell_behind

HEARTBEAT = 0.1
"""Wall time between repeated messages while lockstep or pause lets no time pass, s."""


class Stepped(Protocol):
    """What is moved."""

    @property
    def time_ns(self) -> int:
        """Simulated time since the start."""

    def reset(self) -> None:
        """Go back to the start."""

    def advance(self, duration_ns: int) -> None:
        """Move on; raise `ManipDynError` if that is impossible."""


class Stepper:
    """The clock of a node, and the topic clock of its namespace.

    In real time, stamps follow the wall clock. Where they fall behind it for good, because the
    process was suspended or the clock was set (see `WallAnchor`), they go on from the present, and
    the log says so.

    Attributes:
        lock: Held while time passes; whoever changes what is moved takes it.
        paused: Whether time stands still until it is told otherwise.
        fault: Why what is moved cannot go on, until it is reset; empty as long as it can.
    """

    def __init__(
        self,
        node: Node,
        moved: Stepped,
        parameters: SteppingParameters,
        publish: Callable[[], None],
        settle: float = 0.0,
        listen: Callable[[], None] = lambda: None,
    ):
        """Prepare the thread in which time passes.

        Args:
            node: The node.
            moved: What is moved.
            parameters: How time passes.
            publish: Called whenever time has passed, and now and then while it does not.
            settle: Wall time after which a reset is answered, s.
            listen: Called before a period that passes by itself.
        """
        self._node, self._moved, self._parameters = node, moved, parameters
        self._publish, self._settle, self._listen = publish, settle, listen
        self._period_ns = nanoseconds("control_period", parameters.control_period)
        self.lock = threading.RLock()
        self.paused, self.fault = False, ""
        self._answered = False
        self._clock = (
            node.create_publisher(Clock, "clock", 10) if parameters.publish_clock else None
        )
        self._anchor = WallAnchor()
        self._restart()
        self._pacer = Pacer(self._cycle, self._wall_period())

    def start(self) -> None:
        """Let time pass from now on."""
        with self.lock:
            self._begin()
        self._pacer.start()

    def stop(self) -> None:
        """End the thread in which time passes."""
        self._pacer.stop()

    def use(self, parameters: SteppingParameters) -> None:
        """Go on by other parameters."""
        self._parameters = parameters
        self._tie()
        self._pacer.set_period(self._wall_period())

    @property
    def origin_ns(self) -> int:
        """The stamp at simulated time zero."""
        return self._origin_ns

    @property
    def stamp_ns(self) -> int:
        """The stamp of now: wall-clock or simulated time."""
        return self._origin_ns + self._moved.time_ns

    @property
    def lockstep(self) -> bool:
        """Whether time only passes when it is told to."""
        return self._parameters.mode == "lockstep"

    def answer(self) -> None:
        """Let a period pass if that is what a command does: now, or when a pause ends."""
        if self.lockstep and self.paused:
            self._answered = True
        elif self.lockstep:
            self._advance()

    def report(self, warning: str, values: dict[str, object]) -> Report:
        """Return a report for /diagnostics: a fault, or a warning if there is one, and values."""
        named = {
            "mode": self._parameters.mode,
            "time [s]": self.time,
            **pacing_values(self._pacer.statistics()),
            **values,
        }
        if self.fault:
            return Report(ERROR, self.fault, named)
        if warning:
            return Report(WARN, warning, named)
        return Report(OK, "paused" if self.paused else "running", named)

    # ------------------------------------------------------------- by services
    @property
    def waiting(self) -> bool:
        """Whether time stands still until somebody lets a period pass."""
        return self.paused or self.lockstep

    def reset(self) -> None:
        """Go back to the initial state, at time zero.

        Stamps of the wall clock go on without a gap: in one, a jump of the joints might be taken
        for a motion.
        """
        with self.lock:
            last = self.stamp_ns
            behind = self._anchor.behind_ns(time.time_ns(), self._moved.time_ns)
            self._restart()
            if self._by_the_wall:
                self._origin_ns = last + self._period_ns
                # A lag is not forgotten; what a pause took is none.
                self._anchor.tie(time.time_ns() - behind, self._moved.time_ns)
            self._tell()
        time.sleep(self._settle)

    def step(self) -> str:
        """Let one period pass; return why that is impossible, or nothing."""
        with self.lock:
            if not self.waiting:
                return "the simulation runs; pause it first to advance it by hand"
            self._advance()
            return self.fault

    def pause(self, paused: bool) -> None:
        """Let time stand still, or pass again."""
        with self.lock:
            self.paused = paused
            self._tie()
            self._pacer.set_period(self._wall_period())
            if self._answered and not paused:
                self._advance()

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self._moved.time_ns * 1e-9

    # -------------------------------------------------------------------- time
    def _restart(self) -> None:
        self._moved.reset()
        self.fault, self._answered = "", False
        self._begin()

    def _begin(self) -> None:
        now = self._node.get_clock().now().nanoseconds
        self._origin_ns = now if self._by_the_wall else 0
        self._tie()

    @property
    def _by_the_wall(self) -> bool:
        return self._parameters.mode == "real_time" and not self._parameters.publish_clock

    def _tie(self) -> None:
        self._anchor.tie(time.time_ns(), self._moved.time_ns)

    def _wall_period(self) -> float:
        if self.waiting:
            return HEARTBEAT
        if self._parameters.mode == "fast":
            return 0.0
        return self._period_ns * 1e-9 / self._parameters.real_time_factor

    def _cycle(self) -> None:
        with self.lock:
            unless_shut_down(self._node, self._tell if self.waiting else self._go_on)

    def _go_on(self) -> None:
        real_time = self._parameters.mode == "real_time" and not self.fault
        if real_time and self._parameters.real_time_factor == 1.0:
            self._keep_up()
        self._listen()
        self._advance()

    def _keep_up(self) -> None:
        """Where time fell behind for good, let the stamps follow the wall clock again."""
        lag = self._anchor.lag_ns(time.time_ns(), self._moved.time_ns, self._period_ns)
        if not lag:
            return
        said = "steps"
        if not (self._parameters.publish_clock or self._node.get_clock().ros_time_is_active):
            self._origin_ns += lag
            said = "stamps"
        self._node.get_logger().warning(fell_behind(lag, said), throttle_duration_sec=10.0)

    def _advance(self) -> None:
        self._answered = False
        if self.fault:
            return
        try:
            self._moved.advance(self._period_ns)
        except ManipDynError as error:
            self.fault = str(error)
            self._node.get_logger().error(f"{error}; call ~/reset to start anew")
            return
        self._tell()

    def _tell(self) -> None:
        self._publish()
        if self._clock is not None:
            self._clock.publish(Clock(clock=to_time(self.stamp_ns)))
