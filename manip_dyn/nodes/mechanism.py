"""The mechanism node: the motion of a constrained mechanism as poses, joint states and markers."""

from __future__ import annotations

import sys
import threading
from typing import Any

from geometry_msgs.msg import PoseArray
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import MarkerArray

from manip_dyn.errors import ManipDynError
from manip_dyn.multibody import MechanismSimulation, load_mechanism
from manip_dyn.multibody.poses import JointCoordinates
from manip_dyn.nodes import diagnostics, messages
from manip_dyn.nodes.base import SetUpNode
from manip_dyn.nodes.mechanism_messages import Markers, header_of, pose_array
from manip_dyn.nodes.mechanism_parameters import PARAMETERS
from manip_dyn.nodes.pacing import Pacer
from manip_dyn.nodes.parameters import declare, on_change
from manip_dyn.nodes.run import run, unless_shut_down
from manip_dyn.validate import nanoseconds

HEARTBEAT = 0.1
"""Wall time between repeated messages while lockstep or pause lets no time pass, s."""


class MechanismNode(SetUpNode):
    """Moves a mechanism and publishes it; the mathematics is in `MechanismSimulation`."""

    def __init__(self, **options: Any):
        """Take rclpy's node options."""
        super().__init__("mechanism", **options)

    def set_up(self) -> None:
        """Declare parameters, load the mechanism, compile and start the clock."""
        values = declare(self, PARAMETERS)
        self._values = values
        self._mechanism = load_mechanism(values["mechanism"])
        self._simulation = MechanismSimulation(
            self._mechanism,
            method=values["integrator"],
            rtol=values["rtol"],
            atol=values["atol"] or None,
        )
        self._markers, self._joints = Markers(self._mechanism), JointCoordinates(self._mechanism)
        self._period_ns = nanoseconds("control_period", values["control_period"])
        self._lock = threading.RLock()
        self._lockstep = values["mode"] == "lockstep"
        self._paused = False
        self._simulation.advance_to(1e-9)  # compiles, so that the first period is not slow
        self._restart()
        self._connect()
        self._pacer = Pacer(self._cycle, self._wall_period())
        self._pacer.start()

    def close(self) -> None:
        """Stop the clock."""
        self._pacer.stop()

    def _connect(self) -> None:
        self._poses = self.create_publisher(PoseArray, "~/poses", messages.EVERY_MESSAGE)
        self._states = self.create_publisher(JointState, "joint_states", messages.EVERY_MESSAGE)
        self._drawing = self.create_publisher(MarkerArray, "~/markers", 10)
        if self._values["publish_clock"]:
            self._clock_publisher = self.create_publisher(Clock, "/clock", 10)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(Trigger, "~/step", self._on_step)
        self.create_service(SetBool, "~/pause", self._on_pause)
        diagnostics.publish_every_second(self, self._report)
        on_change(self, PARAMETERS, self._on_parameters)

    # ---------------------------------------------------------------- services
    def _on_reset(self, _request, response: Trigger.Response) -> Trigger.Response:
        with self._lock:
            self._restart()
            self._publish()
        response.success, response.message = True, "back at the assembly"
        return response

    def _on_step(self, _request, response: Trigger.Response) -> Trigger.Response:
        with self._lock:
            if not (self._paused or self._lockstep):
                response.message = "the mechanism runs; pause it first to advance it by hand"
                return response
            self._advance()
            response.success = not self._fault
            response.message = self._fault or f"now at {self._time_ns * 1e-9:.9f} s"
        return response

    def _on_pause(self, request, response: SetBool.Response) -> SetBool.Response:
        with self._lock:
            self._paused = request.data
            self._pacer.set_period(self._wall_period())
        response.success, response.message = True, "paused" if request.data else "running"
        return response

    def _on_parameters(self, changed: dict[str, Any]) -> None:
        with self._lock:
            self._values.update(changed)
            self._pacer.set_period(self._wall_period())

    # -------------------------------------------------------------------- time
    def _restart(self) -> None:
        self._simulation.reset()
        wall = self._values["mode"] == "real_time" and not self._values["publish_clock"]
        self._origin_ns = self.get_clock().now().nanoseconds if wall else 0
        self._time_ns = 0
        self._fault = ""

    def _wall_period(self) -> float:
        if self._paused or self._lockstep:
            return HEARTBEAT
        if self._values["mode"] == "fast":
            return 0.0
        return self._period_ns * 1e-9 / self._values["real_time_factor"]

    def _cycle(self) -> None:
        with self._lock:
            waiting = self._paused or self._lockstep
            unless_shut_down(self, self._publish if waiting else self._advance)

    def _advance(self) -> None:
        if self._fault:
            return
        try:
            self._simulation.advance_to((self._time_ns + self._period_ns) * 1e-9)
            self._fault = self._simulation.reason
        except ManipDynError as error:
            self._fault = str(error)
        if self._fault:
            self.get_logger().error(f"{self._fault}; call ~/reset to start anew")
            return
        self._time_ns += self._period_ns
        self._publish()

    # -------------------------------------------------------------- publishing
    def _publish(self) -> None:
        stamp = messages.to_time(self._origin_ns + self._time_ns)
        q, v = self._simulation.q, self._simulation.v
        header = header_of(self._values["frame"], stamp)
        self._poses.publish(pose_array(self._mechanism, header, q))
        position, velocity = self._joints(q, v)
        state = JointState(header=header_of("", stamp), name=self._joints.names)
        state.position, state.velocity = position.tolist(), velocity.tolist()
        self._states.publish(state)
        self._drawing.publish(self._markers(header, q, self._time_ns * 1e-9))
        if self._values["publish_clock"]:
            self._clock_publisher.publish(Clock(clock=stamp))

    def _report(self) -> diagnostics.Report:
        with self._lock:
            pacing = self._pacer.statistics()
            values = {
                "mode": self._values["mode"],
                "mechanism": str(self._mechanism),
                "time [s]": self._time_ns * 1e-9,
                "mean rate [Hz]": pacing.rate,
                "p99 period error [s]": pacing.p99_period_error,
                "max period error [s]": pacing.max_period_error,
                "overruns": pacing.overruns,
                "violation of the constraints": self._simulation.violation,
                "integrator": self._values["integrator"],
                **self._simulation.statistics,
            }
            if self._fault:
                return diagnostics.Report(diagnostics.ERROR, self._fault, values)
            message = "paused" if self._paused else "running"
            return diagnostics.Report(diagnostics.OK, message, values)


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(MechanismNode, args)


if __name__ == "__main__":
    sys.exit(main())
