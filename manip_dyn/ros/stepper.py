"""Advances simulated time in real time, fast or in lockstep, and provides services for it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool, Trigger

from manip_dyn.core.checks import nanoseconds
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ros.diagnostics import ERROR, OK, WARN, Report, pacing_values
from manip_dyn.ros.messages.geometry import to_time
from manip_dyn.ros.parameters.common import SteppingParameters
from manip_dyn.ros.runtime.execution import unless_shut_down
from manip_dyn.ros.runtime.subscriptions import REQUESTS
from manip_dyn.ros.runtime.threads import (
    PeriodicThread,
    RealTimeShare,
    WallClockAnchor,
    monotonic,
    skip_message,
)

HEARTBEAT = 0.1
"""Wall time between repeated messages while time stands still, s."""
REMEMBERED_SKIPS = 100
"""Number of skips of the stamps after which commands with earlier stamps are out of date."""


class Stepped(Protocol):
    """Interface of a simulation that a `Stepper` advances."""

    @property
    def time_ns(self) -> int:
        """Simulated time since the initial state, ns."""

    def reset(self) -> None:
        """Return to the initial state."""

    def advance(self, duration_ns: int) -> None:
        """Advance by `duration_ns`, ns. Raise `ManipDynError` if that is impossible."""


class Stepper:
    """Advances the simulated time of a node, and publishes it if `publish_clock` is set.

    In mode real_time without `publish_clock`, stamps start at the time of the node's clock. With a
    real-time factor of 1, these stamps skip periods, with a warning, if the simulation is too slow
    (see `WallClockAnchor`). In all other cases, stamps start at 0.

    Attributes:
        lock: Held while time advances. Code that changes the simulation must hold it.
        paused: Whether time is paused.
        fault: Why the simulation cannot continue until a reset, or "".
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
        """Reset the simulation and prepare the thread that advances time.

        Args:
            node: The node.
            moved: The simulation.
            parameters: Mode, period, real-time factor and whether to publish the clock.
            publish: Called after every successful period, after a reset, and every `HEARTBEAT` s
                while time stands still.
            settle: Wall time from a reset to the response of its service, s.
            listen: Called before every period, except those that start with a command or service.
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
        self._anchor, self._share = WallClockAnchor(), RealTimeShare()
        self._skips: deque[tuple[int, int]] = deque(maxlen=REMEMBERED_SKIPS)
        self._restart()
        self._pacer = PeriodicThread(self._cycle, self._wall_period())

    def start(self) -> None:
        """Start the thread that advances time."""
        with self.lock:
            self._begin()
        self._pacer.start()

    def stop(self) -> None:
        """Stop the thread that advances time."""
        self._pacer.stop()

    def use(self, parameters: SteppingParameters) -> None:
        """Apply a new real-time factor."""
        self._parameters = parameters
        self._tie()
        self._pacer.set_period(self._wall_period())

    @property
    def origin_ns(self) -> int:
        """Stamp that corresponds to simulated time zero, ns."""
        return self._origin_ns

    def origin_at(self, stamp_ns: int) -> int:
        """Return the origin (ns) of a stamp (ns). Stamps from before a skip have an older one."""
        return next((old for last, old in self._skips if stamp_ns <= last), self._origin_ns)

    @property
    def stamp_ns(self) -> int:
        """Current stamp in wall-clock or simulated time, ns."""
        return self._origin_ns + self._moved.time_ns

    @property
    def lockstep(self) -> bool:
        """Whether time advances only with commands and calls of the step services."""
        return self._parameters.mode == "lockstep"

    def answer(self) -> None:
        """In lockstep, advance one period for a command: now, or after the pause if paused."""
        if self.lockstep and self.paused:
            self._answered = True
        elif self.lockstep:
            self._advance()

    def report(self, warning: str, values: dict[str, object]) -> Report:
        """Return a report for /diagnostics. A fault takes precedence over a warning.

        Args:
            warning: A warning, or "".
            values: Named values in addition to mode, time and pacing.
        """
        named = {
            "mode": self._parameters.mode,
            "time [s]": self.time,
            **pacing_values(self._pacer.statistics()),
            "real_time_share": self._share.share(self._parameters.real_time_factor),
            **values,
        }
        if self.fault:
            return Report(ERROR, self.fault, named)
        if warning:
            return Report(WARN, warning, named)
        return Report(OK, "paused" if self.paused else "running", named)

    @property
    def slow_share(self) -> float | None:
        """The real-time share if the simulation is persistently too slow, else None."""
        factor = self._parameters.real_time_factor
        return self._share.share(factor) if self._share.slow(factor) else None

    # ---------------------------------------------------------------- services
    @property
    def waiting(self) -> bool:
        """Whether time stands still until a command or a service call, or because of a fault."""
        return self.paused or self.lockstep or bool(self.fault)

    def reset(self) -> None:
        """Return to the initial state at time zero and publish it.

        In wall-clock time, the stamps continue without a gap. After a gap, subscribers could
        interpret the jump of the joints as a motion. A lag behind the wall clock is discarded.
        """
        with self.lock:
            last = self.stamp_ns
            self._restart()
            self._pacer.set_period(self._wall_period())
            if self._by_the_wall:
                self._origin_ns = last + self._period_ns
            self._pacer.forget_lag()
            self._send()
        time.sleep(self._settle)

    def step(self) -> str:
        """Advance one period; return why that was not possible, or ""."""
        with self.lock:
            if not self.waiting:
                return "the simulation runs; call ~/pause before ~/step"
            self._advance()
            return self.fault

    def pause(self, paused: bool) -> None:
        """Pause or resume time."""
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
        self._skips.clear()
        self._tie()

    @property
    def _by_the_wall(self) -> bool:
        return self._parameters.mode == "real_time" and not self._parameters.publish_clock

    def _tie(self) -> None:
        self._anchor.tie(time.time_ns(), self._moved.time_ns)
        self._share.begin()

    def _wall_period(self) -> float:
        if self.waiting:
            return HEARTBEAT
        if self._parameters.mode == "fast":
            return 0.0
        return self._period_ns * 1e-9 / self._parameters.real_time_factor

    def _cycle(self) -> None:
        with self.lock:
            unless_shut_down(self._node, self._send if self.waiting else self._run_period)

    def _run_period(self) -> None:
        if self._parameters.mode == "real_time" and not self.fault:
            self._share.add(monotonic(), self.time)
            if self._parameters.real_time_factor == 1.0:
                self._keep_up()
        self._listen()
        self._advance()

    def _keep_up(self) -> None:
        """Warn if the simulation is too slow. Stamps in wall-clock time skip the lost periods."""
        skip = self._anchor.skip_ns(time.time_ns(), self._moved.time_ns, self._period_ns)
        if not skip:
            return
        by_wall_clock = self._by_the_wall and not self._node.get_clock().ros_time_is_active
        if by_wall_clock:
            self._skips.append((self.stamp_ns, self._origin_ns))
            self._origin_ns += skip
        message = skip_message(skip, self._period_ns, by_wall_clock)
        self._node.get_logger().warning(message, throttle_duration_sec=10.0)

    def _advance(self) -> None:
        self._answered = False
        if self.fault:
            return
        try:
            self._moved.advance(self._period_ns)
        except ManipDynError as error:
            self.fault = str(error)
            self._node.get_logger().error(f"{error}; call ~/reset to restart")
            self._pacer.set_period(self._wall_period())
            return
        self._send()

    def _send(self) -> None:
        self._publish()
        if self._clock is not None:
            self._clock.publish(Clock(clock=to_time(self.stamp_ns)))


MAX_STEPS = 100_000
"""Largest number of steps of one call of ~/step_simulation, which blocks the node."""


class StandardServices:
    """Services of the ROS standard `simulation_interfaces` for a simulated arm or mechanism."""

    FEATURES = (
        "SIMULATION_RESET",
        "SIMULATION_STATE_GETTING",
        "SIMULATION_STATE_SETTING",
        "SIMULATION_STATE_PAUSE",
        "STEP_SIMULATION_SINGLE",
        "STEP_SIMULATION_MULTIPLE",
    )

    @classmethod
    def offer(cls, node: Node, stepper: Stepper) -> StandardServices | None:
        """Create the services if simulation_interfaces is installed; otherwise return None."""
        try:
            services = import_module("simulation_interfaces.srv")
            messages = import_module("simulation_interfaces.msg")
        except ImportError:
            return None
        return cls(node, stepper, services, messages)

    def __init__(self, node: Node, stepper: Stepper, services: Any, messages: Any):
        """Create the services.

        Args:
            node: The node.
            stepper: The stepper that the services control.
            services: The module `simulation_interfaces.srv`.
            messages: The module `simulation_interfaces.msg`.
        """
        self._stepper, self._messages = stepper, messages
        self._state, self._result = messages.SimulationState, messages.Result
        self._set_state = services.SetSimulationState.Response
        for kind, name, callback in (
            (services.GetSimulatorFeatures, "get_simulator_features", self._features),
            (services.GetSimulationState, "get_simulation_state", self._get_state),
            (services.SetSimulationState, "set_simulation_state", self._change_state),
            (services.ResetSimulation, "reset_simulation", self._reset),
            (services.StepSimulation, "step_simulation", self._step),
        ):
            node.create_service(kind, f"~/{name}", callback, qos_profile=REQUESTS)

    @property
    def _present(self) -> int:
        if not self._stepper.paused:
            return self._state.STATE_PLAYING
        return self._state.STATE_PAUSED if self._stepper.time else self._state.STATE_STOPPED

    def _done(self, response: Any, code: int | None = None, reason: str = "") -> Any:
        response.result.result = self._result.RESULT_OK if code is None else code
        response.result.error_message = reason
        return response

    def _features(self, _request: Any, response: Any) -> Any:
        constants = self._messages.SimulatorFeatures
        response.features.features = [getattr(constants, name) for name in self.FEATURES]
        return response

    def _get_state(self, _request: Any, response: Any) -> Any:
        response.state.state = self._present
        return self._done(response)

    def _change_state(self, request: Any, response: Any) -> Any:
        target, state = request.state.state, self._state
        if target == self._present:
            reason = "the simulation is in this state already"
            return self._done(response, self._set_state.ALREADY_IN_TARGET_STATE, reason)
        if target not in (state.STATE_PLAYING, state.STATE_PAUSED, state.STATE_STOPPED):
            reason = f"state must be stopped, playing or paused, got {target}."
            return self._done(response, self._result.RESULT_FEATURE_UNSUPPORTED, reason)
        if target == state.STATE_PAUSED and self._present == state.STATE_STOPPED:
            return self._done(response)  # time stands still at the start in both states
        self._stepper.pause(target != state.STATE_PLAYING)
        if target == state.STATE_STOPPED:
            self._stepper.reset()
        return self._done(response)

    def _reset(self, request: Any, response: Any) -> Any:
        together = request.SCOPE_TIME | request.SCOPE_STATE
        if request.scope != request.SCOPE_DEFAULT and request.scope & together != together:
            reason = f"scope must be time and state together, or all, got {request.scope}."
            return self._done(response, self._result.RESULT_FEATURE_UNSUPPORTED, reason)
        self._stepper.reset()
        return self._done(response)

    def _step(self, request: Any, response: Any) -> Any:
        if request.steps > MAX_STEPS:
            reason = f"steps must be at most {MAX_STEPS}, got {request.steps}."
            return self._done(response, self._result.RESULT_OPERATION_FAILED, reason)
        for _ in range(request.steps):
            reason = self._stepper.step()
            if reason:
                return self._done(response, self._result.RESULT_OPERATION_FAILED, reason)
        return self._done(response)


class StepperServices:
    """Services that pause, step and reset the simulation."""

    def __init__(self, node: Node, stepper: Stepper):
        """Create the services, with those of simulation_interfaces if it is installed."""
        self._stepper = stepper
        node.create_service(Trigger, "~/reset", self._on_reset, qos_profile=REQUESTS)
        node.create_service(Trigger, "~/step", self._on_step, qos_profile=REQUESTS)
        node.create_service(SetBool, "~/pause", self._on_pause, qos_profile=REQUESTS)
        StandardServices.offer(node, stepper)

    def _on_reset(self, _request, response: Trigger.Response) -> Trigger.Response:
        self._stepper.reset()
        response.success, response.message = True, "back at the initial state"
        return response

    def _on_step(self, _request, response: Trigger.Response) -> Trigger.Response:
        problem = self._stepper.step()
        response.success = not problem
        response.message = problem or f"now at {self._stepper.time:.9f} s"
        return response

    def _on_pause(self, request, response: SetBool.Response) -> SetBool.Response:
        self._stepper.pause(request.data)
        response.success, response.message = True, "paused" if request.data else "running"
        return response
