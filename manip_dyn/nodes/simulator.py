"""The simulator node: direct dynamics of a robot behind ros2_control's effort topics."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout, String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.errors import ManipDynError
from manip_dyn.nodes import diagnostics, messages
from manip_dyn.nodes.base import SetUpNode
from manip_dyn.nodes.pacing import Pacer
from manip_dyn.nodes.parameters import declare, on_change
from manip_dyn.nodes.run import run, unless_shut_down
from manip_dyn.nodes.simulator_parameters import (
    INTEGRATION,
    PARAMETERS,
    disturbance_from,
    integrator_from,
)
from manip_dyn.simulation import (
    Disturbance,
    EffortLaw,
    Simulation,
    gravity_compensation,
    held,
)
from manip_dyn.validate import nanoseconds

MAX_AGE, MAX_LEAD = 1.0, 60.0
"""How old a trajectory may be without a command_timeout, and how far ahead it may begin, s."""

HEARTBEAT = 0.1
"""Wall time between repeated joint states while lockstep or pause lets no time pass, s."""


class SimulatorNode(SetUpNode):
    """Integrates the arm and publishes its state; the mathematics is in `Simulation`."""

    def __init__(self, **options: Any):
        """Take rclpy's node options."""
        super().__init__("simulator", **options)

    def set_up(self) -> None:
        """Declare parameters, load the robot and start the clock."""
        values = declare(self, PARAMETERS)
        self._values = values
        self._robot = messages.load_robot_from_parameters(values, "inverse_dynamics", "energy")
        self._simulation = Simulation(
            self._robot,
            messages.joint_array("initial_position", values["initial_position"], self._robot),
            messages.joint_array("initial_velocity", values["initial_velocity"], self._robot),
            integrator_from(values),
        )
        disturbance_from(values, self._robot, 0)  # refuses what is bad at the start
        self._period_ns = nanoseconds("control_period", values["control_period"])
        self._energy_every = round(values["energy_period"] / values["control_period"])
        self._lock = threading.RLock()
        self._lockstep = values["mode"] == "lockstep"
        self._paused = False
        self._fault = ""
        self._dropped = 0
        self._safe_law = self._make_safe_law()
        for law in (held(self._robot, np.zeros(self._robot.n)), self._safe_law):
            self._simulation.prepare(law)
        self._restart()
        self._connect()
        for note in self._robot.notes:
            self.get_logger().warning(note)
        self._pacer = Pacer(self._cycle, self._wall_period())
        self._pacer.start()

    def close(self) -> None:
        """Stop the clock."""
        self._pacer.stop()

    # ------------------------------------------------------------- connections
    def _connect(self) -> None:
        newest = messages.EVERY_MESSAGE if self._lockstep else messages.NEWEST_ONLY
        self._states = self.create_publisher(JointState, "joint_states", messages.EVERY_MESSAGE)
        self._energy = self.create_publisher(Float64MultiArray, "~/energy", 10)
        self._description = self.create_publisher(String, "robot_description", messages.LATCHED)
        self._description.publish(String(data=self._robot.urdf))
        if self._values["publish_clock"]:
            self._clock_publisher = self.create_publisher(Clock, "/clock", 10)
        self.create_subscription(Float64MultiArray, "~/commands", self._on_command, newest)
        self.create_subscription(
            JointTrajectory, "~/effort_trajectory", self._on_trajectory, newest
        )
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(Trigger, "~/step", self._on_step)
        self.create_service(SetBool, "~/pause", self._on_pause)
        diagnostics.publish_every_second(self, self._report)
        on_change(self, PARAMETERS, self._on_parameters, self._refuse_parameters)

    # ---------------------------------------------------------------- commands
    def _on_command(self, message: Float64MultiArray) -> None:
        with self._lock:
            try:
                self._accept(held(self._robot, messages.efforts_from(message, self._robot)))
            except ManipDynError as error:
                self._drop(error)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        with self._lock:
            try:
                now = self._simulation.time_ns
                schedule = messages.schedule_from(message, self._robot, self._origin_ns, now)
                if messages.to_nanoseconds(message.header.stamp):
                    self._refuse_stale(schedule.times_ns[0])
                if schedule.times_ns[0] > now:
                    schedule = schedule.preceded_by(now, self._simulation.effort)
                self._accept(schedule)
            except ManipDynError as error:
                self._drop(error)

    def _accept(self, law: EffortLaw) -> None:
        simulation = self._simulation
        simulation.law = law
        if self._commanded_ns is None:
            now = simulation.time_ns
            simulation.disturbance = disturbance_from(self._values, self._robot, now)
        self._commanded_ns = self._simulation.time_ns
        self._timed_out = False
        if self._lockstep and not self._paused:
            self._advance()

    def _refuse_stale(self, start_ns: int) -> None:
        age = (self._simulation.time_ns - start_ns) * 1e-9
        oldest = self._values["command_timeout"] or MAX_AGE
        if not -MAX_LEAD <= age <= oldest:
            raise ManipDynError(
                f"effort trajectory begins {-age:.3f} s from now; expected {-oldest:g} to "
                f"{MAX_LEAD:g} s, on the time line of joint_states"
            )

    def _drop(self, error: ManipDynError) -> None:
        self._dropped += 1
        self.get_logger().warning(f"dropped: {error}", throttle_duration_sec=1.0)

    # ---------------------------------------------------------------- services
    def _on_reset(self, _request, response: Trigger.Response) -> Trigger.Response:
        with self._lock:
            self._restart()
            self._publish_state()
        response.success, response.message = True, "back at the initial state"
        return response

    def _on_step(self, _request, response: Trigger.Response) -> Trigger.Response:
        with self._lock:
            if not (self._paused or self._lockstep):
                response.message = "the simulator runs; pause it first to advance it by hand"
                return response
            self._advance()
            response.success = not self._fault
            response.message = self._fault or f"now at {self._simulation.time_ns * 1e-9:.9f} s"
        return response

    def _on_pause(self, request, response: SetBool.Response) -> SetBool.Response:
        with self._lock:
            self._paused = request.data
            self._pacer.set_period(self._wall_period())
        response.success, response.message = True, "paused" if request.data else "running"
        return response

    def _refuse_parameters(self, changed: dict[str, Any]) -> str:
        chosen = [name for name in INTEGRATION if name in changed]
        if not chosen:
            return ""
        if not self._paused:
            return f"{chosen[0]} can be set while the simulator is paused; call ~/pause first"
        try:
            self._simulation.check(integrator_from(self._values | changed), self._safe_law)
        except ManipDynError as error:
            return str(error)
        return ""

    def _on_parameters(self, changed: dict[str, Any]) -> None:
        with self._lock:
            self._values.update(changed)
            if any(name in changed for name in INTEGRATION):
                self._simulation.use(integrator_from(self._values))
                self._simulation.prepare(self._simulation.law)
            self._pacer.set_period(self._wall_period())

    # -------------------------------------------------------------------- time
    def _restart(self) -> None:
        simulation = self._simulation
        simulation.reset()
        simulation.law = self._safe_law
        simulation.disturbance = Disturbance(np.zeros(self._robot.n), 0, 0)
        wall = self._values["mode"] == "real_time" and not self._values["publish_clock"]
        self._origin_ns = self.get_clock().now().nanoseconds if wall else 0
        self._cycles = 0
        self._commanded_ns = None
        self._timed_out = False
        self._fault = ""

    def _make_safe_law(self) -> EffortLaw:
        if self._values["safe_command"] == "gravity_compensation":
            return gravity_compensation(self._simulation.kernels)
        return held(self._robot, np.zeros(self._robot.n))

    def _wall_period(self) -> float:
        if self._paused or self._lockstep:
            return HEARTBEAT
        if self._values["mode"] == "fast":
            return 0.0
        return self._period_ns * 1e-9 / self._values["real_time_factor"]

    def _cycle(self) -> None:
        with self._lock:
            waiting = self._paused or self._lockstep
            unless_shut_down(self, self._publish_state if waiting else self._advance)

    def _advance(self) -> None:
        if self._fault:
            return
        self._check_timeout()
        try:
            self._simulation.advance(self._period_ns)
        except ManipDynError as error:
            self._fault = str(error)
            self.get_logger().error(f"{error}; call ~/reset to start anew")
            return
        self._cycles += 1
        self._publish_state()
        if self._energy_every and self._cycles % self._energy_every == 0:
            self._publish_energy()

    def _check_timeout(self) -> None:
        timeout = self._values["command_timeout"]
        if not timeout or self._timed_out or self._commanded_ns is None:
            return
        if self._simulation.time_ns - self._commanded_ns > timeout * 1e9:
            self._timed_out = True
            self._simulation.law = self._safe_law
            self.get_logger().warning(
                f"no command for {timeout:g} s; the safe command "
                f"({self._values['safe_command']}) takes over"
            )

    # -------------------------------------------------------------- publishing
    def _publish_state(self) -> None:
        simulation = self._simulation
        stamp = self._origin_ns + simulation.time_ns
        q, v = simulation.q, simulation.v
        effort = simulation.law.effort(simulation.time_ns, q, v)
        self._states.publish(messages.joint_state(self._robot, stamp, q, v, effort.tolist()))
        if self._values["publish_clock"]:
            self._clock_publisher.publish(Clock(clock=messages.to_time(stamp)))

    def _publish_energy(self) -> None:
        energy = self._simulation.energy()
        label = MultiArrayDimension(label=",".join(f"{name} [J]" for name in energy._fields),
                                    size=4, stride=4)  # fmt: skip
        self._energy.publish(
            Float64MultiArray(layout=MultiArrayLayout(dim=[label]), data=list(energy))
        )

    def _report(self) -> diagnostics.Report:
        with self._lock:
            pacing, energy = self._pacer.statistics(), self._simulation.energy()
            outside = self._joints_outside_limits()
            values = {
                "mode": self._values["mode"],
                "time [s]": self._simulation.time_ns * 1e-9,
                "mean rate [Hz]": pacing.rate,
                "p99 period error [s]": pacing.p99_period_error,
                "max period error [s]": pacing.max_period_error,
                "overruns": pacing.overruns,
                "dropped messages": self._dropped,
                "energy balance residual [J]": energy.residual,
                "joints outside their limits": outside or "none",
                "integrator": self._values["integrator"],
                **self._simulation.statistics,
            }
            if self._fault:
                return diagnostics.Report(diagnostics.ERROR, self._fault, values)
            if self._timed_out:
                return diagnostics.Report(diagnostics.WARN, "no commands: safe command", values)
            if outside:
                return diagnostics.Report(
                    diagnostics.WARN, f"joint outside its limits: {outside}", values
                )
            message = "paused" if self._paused else "running"
            return diagnostics.Report(diagnostics.OK, message, values)

    def _joints_outside_limits(self) -> str:
        q, robot = self._simulation.q, self._robot
        outside = np.flatnonzero((q < robot.q_min) | (q > robot.q_max))
        return ", ".join(robot.joint_names[i] for i in outside)


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(SimulatorNode, args)


if __name__ == "__main__":
    sys.exit(main())
