"""The simulator node: direct dynamics of a robot behind ros2_control's effort topics."""

from __future__ import annotations

import sys
from collections.abc import Collection

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.core.checks import nanoseconds
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ros.messages.diagnostics import Report, publish_every_second
from manip_dyn.ros.messages.efforts import efforts_from, schedule_from
from manip_dyn.ros.messages.energy import energy_message
from manip_dyn.ros.messages.joints import joint_state
from manip_dyn.ros.messages.robot_description import publish_description
from manip_dyn.ros.messages.stamps import to_nanoseconds
from manip_dyn.ros.messages.topics import EVERY_MESSAGE, NEWEST_ONLY
from manip_dyn.ros.parameters.declare import declare, on_change
from manip_dyn.ros.parameters.robot import joint_array, robot_from
from manip_dyn.ros.parameters.simulator import (
    INTEGRATION,
    SimulatorParameters,
    disturbance_from,
    integrator_from,
)
from manip_dyn.ros.runtime.run import run
from manip_dyn.ros.stepper import Stepper
from manip_dyn.simulation import EffortLaw, Simulation, gravity_compensation, held
from manip_dyn.simulation.commanded import CommandedArm


class SimulatorNode:
    """Publishes a simulated arm that follows commands; the mathematics is in `CommandedArm`."""

    name = "simulator"

    def __init__(self, node: Node):
        """Declare parameters, load the robot and start the clock."""
        self.node = node
        self._parameters = parameters = declare(node, SimulatorParameters)
        self._robot = robot_from(
            parameters, "inverse_dynamics", "energy", mass_scale=parameters.mass_scale
        )
        self._simulation = Simulation(
            self._robot,
            joint_array("initial_position", parameters.initial_position, self._robot),
            joint_array("initial_velocity", parameters.initial_velocity, self._robot),
            integrator_from(parameters),
        )
        disturbance = disturbance_from(parameters, self._robot)
        self._safe_law = self._make_safe_law()
        for law in (self._simulation.law, self._safe_law):
            self._simulation.prepare(law)
        timeout = parameters.command_timeout
        self._arm = CommandedArm(self._simulation, self._safe_law, timeout, disturbance)
        self._dropped, self._energies, self._told_timeout = 0, 0, False
        every = round(parameters.energy_period / parameters.control_period)
        self._energy_ns = every * nanoseconds("control_period", parameters.control_period)
        self._states = node.create_publisher(JointState, "joint_states", EVERY_MESSAGE)
        self._energy = node.create_publisher(Float64MultiArray, "~/energy", 10)
        publish_description(node, self._robot)
        self._stepper = Stepper(node, self._arm, parameters, self._publish)
        depth = EVERY_MESSAGE if self._stepper.lockstep else NEWEST_ONLY
        node.create_subscription(Float64MultiArray, "~/commands", self._on_command, depth)
        node.create_subscription(
            JointTrajectory, "~/effort_trajectory", self._on_trajectory, depth
        )
        publish_every_second(node, self._report, self._robot.name)
        on_change(node, parameters, self._use, self._refuse)
        self._stepper.start()

    def close(self) -> None:
        """Stop the clock."""
        self._stepper.stop()

    def _make_safe_law(self) -> EffortLaw:
        if self._parameters.safe_command == "gravity_compensation":
            return gravity_compensation(self._simulation.kernels)
        return held(self._robot, np.zeros(self._robot.n))

    # ---------------------------------------------------------------- commands
    def _on_command(self, message: Float64MultiArray) -> None:
        with self._stepper.lock:
            try:
                self._arm.command(held(self._robot, efforts_from(message, self._robot)))
            except ManipDynError as error:
                self._drop(error)
            else:
                self._stepper.answer()

    def _on_trajectory(self, message: JointTrajectory) -> None:
        with self._stepper.lock:
            try:
                origin, now = self._stepper.origin_ns, self._arm.time_ns
                schedule = schedule_from(message, self._robot, origin, now)
                if to_nanoseconds(message.header.stamp):
                    self._arm.check_age(schedule.times_ns[0])
                self._arm.command(schedule)
            except ManipDynError as error:
                self._drop(error)
            else:
                self._stepper.answer()

    def _drop(self, error: ManipDynError) -> None:
        self._dropped += 1
        self.node.get_logger().warning(f"dropped: {error}", throttle_duration_sec=1.0)

    # -------------------------------------------------------------- parameters
    def _refuse(self, parameters: SimulatorParameters, changed: Collection[str]) -> str:
        chosen = [name for name in INTEGRATION if name in changed]
        if not chosen:
            return ""
        if not self._stepper.paused:
            return f"{chosen[0]} can be set while the simulator is paused; call ~/pause first"
        try:
            self._simulation.check(integrator_from(parameters), self._safe_law)
        except ManipDynError as error:
            return str(error)
        return ""

    def _use(self, parameters: SimulatorParameters) -> None:
        with self._stepper.lock:
            integrator = integrator_from(parameters)
            if integrator != self._simulation.integrator:
                self._simulation.use(integrator)
                self._simulation.prepare(self._simulation.law)
            self._parameters, self._arm.timeout = parameters, parameters.command_timeout
            self._stepper.use(parameters)

    # -------------------------------------------------------------- publishing
    def _publish(self) -> None:
        simulation = self._simulation
        q, v, effort = simulation.q, simulation.v, simulation.effort.tolist()
        self._states.publish(joint_state(self._robot, self._stepper.stamp_ns, q, v, effort))
        self._publish_energy()
        self._tell_timeout()

    def _publish_energy(self) -> None:
        count = self._arm.time_ns // self._energy_ns if self._energy_ns else 0
        if count > self._energies:
            self._energy.publish(energy_message(self._simulation.energy()))
        self._energies = count

    def _tell_timeout(self) -> None:
        if self._arm.timed_out and not self._told_timeout:
            self.node.get_logger().warning(
                f"no command for {self._arm.timeout:g} s; the safe command "
                f"({self._parameters.safe_command}) takes over"
            )
        self._told_timeout = self._arm.timed_out

    def _report(self) -> Report:
        with self._stepper.lock:
            outside = ", ".join(self._robot.outside_limits(self._simulation.q))
            warning = f"joint outside its limits: {outside}" if outside else ""
            if self._arm.timed_out:
                warning = "no commands: safe command"
            return self._stepper.report(
                warning,
                {
                    "dropped messages": self._dropped,
                    "energy balance residual [J]": self._simulation.energy().residual,
                    "joints outside their limits": outside or "none",
                    "integrator": self._parameters.integrator,
                    **self._simulation.statistics,
                },
            )


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(SimulatorNode, args)


if __name__ == "__main__":
    sys.exit(main())
