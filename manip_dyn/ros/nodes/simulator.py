"""The simulator node: direct dynamics of a robot under commands from topics and an action."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.core.checks import nanoseconds
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ros.diagnostics import (
    RecentOverruns,
    Report,
    commanders,
    namesakes,
    publish_every_second,
)
from manip_dyn.ros.messages.geometry import to_nanoseconds
from manip_dyn.ros.messages.joints import (
    efforts_from,
    energy_message,
    is_release,
    joint_state,
    references_from,
    validity_of,
)
from manip_dyn.ros.messages.trajectories import (
    deserialized,
    is_release_trajectory,
    schedule_from,
)
from manip_dyn.ros.parameters.common import prepare, robot_from
from manip_dyn.ros.parameters.declaration import declare, declare_joints, on_change
from manip_dyn.ros.parameters.simulator import (
    INTEGRATION,
    SimulatorParameters,
    disturbance_from,
    integrator_from,
    safe_law_from,
    simulation_from,
)
from manip_dyn.ros.recorded_topics import await_recorder
from manip_dyn.ros.robot_topics import Transforms, publish_description, with_description
from manip_dyn.ros.runtime.execution import (
    ThrottledWarning,
    announce,
    rate_summary,
    robot_summary,
    run,
)
from manip_dyn.ros.runtime.subscriptions import EVERY_MESSAGE, NEWEST_ONLY, PolledSubscription
from manip_dyn.ros.simulated_arm import (
    ENDED,
    RESET_SETTLING,
    ArmFacts,
    FreshCommands,
    Trajectories,
    beyond_limits,
    condition,
    sent_at,
    too_fast,
)
from manip_dyn.ros.stepper import Stepper, StepperServices
from manip_dyn.simulation import EffortLaw, Simulation, driven, held
from manip_dyn.simulation.commanded_arm import CommandedArm
from manip_dyn.simulation.joint_stops import GIVE


class SimulatorNode:
    """Steps a `CommandedArm` in real time or in lockstep.

    `CommandedArm` contains the dynamics. This class provides topics, services, parameters and the
    action for joint trajectories.
    """

    name = "simulator"

    def __init__(self, node: Node):
        """Declare parameters, load the robot and start the clock."""
        self.node = node
        self._parameters = parameters = declare(node, SimulatorParameters)
        self._description = with_description(node, parameters)
        self._robot = robot_from(self._description, mass_scale=parameters.mass_scale)
        declare_joints(node, SimulatorParameters, self._robot.n)
        pace = rate_summary(
            parameters.mode, parameters.control_period, parameters.real_time_factor
        )
        announce(node, robot_summary(self._robot), pace, f"by {parameters.integrator}")
        disturbance = disturbance_from(parameters, self._robot)
        self._simulation, safe_law = self._prepared(parameters)
        timeout = parameters.command_timeout
        self._arm = CommandedArm(self._simulation, safe_law, timeout, disturbance)
        self._commands = FreshCommands(self._arm, parameters.speed_limits == "brake")
        self._dropped, self._energies, self._reported = 0, 0, ""
        self._warn_dropped = ThrottledWarning(node, "dropped: ")
        self._recent_overruns = RecentOverruns()
        every = round(parameters.energy_period / parameters.control_period)
        self._energy_ns = every * nanoseconds("control_period", parameters.control_period)
        self._states = node.create_publisher(JointState, "joint_states", EVERY_MESSAGE)
        self._energy = node.create_publisher(Float64MultiArray, "~/energy", 10)
        publish_description(node, self._robot)
        self._transforms = Transforms(node, self._robot, parameters)
        self._inputs: list[PolledSubscription] = []
        self._stepper = Stepper(
            node, self._commands, parameters, self._publish, RESET_SETTLING, self._listen
        )
        StepperServices(node, self._stepper)
        self._commands.use_time_control(self._stepper)
        rate = parameters.brake_rate
        self._trajectories = Trajectories(node, self._commands, self._stepper, rate)
        depth = EVERY_MESSAGE if self._stepper.lockstep else NEWEST_ONLY
        # Before each period, the thread of the stepper calls `_listen`, which calls these
        # callbacks. The executor calls them only while time stands still: paused or in lockstep.
        for kind, topic, call, raw in (
            (Float64MultiArray, "~/commands", self._on_command, False),
            (JointState, "~/joint_commands", self._on_joints, False),
            (JointTrajectory, "~/effort_trajectory", self._on_trajectory, True),
        ):
            executed = self._standing_still
            self._inputs.append(
                PolledSubscription(node, kind, topic, call, depth, raw=raw, executed=executed)
            )
        publish_every_second(node, self._report, f"simulated {self._robot.name}")
        # rclpy calls these callbacks in reverse order: `_push` is called after `_use`.
        node.add_post_set_parameters_callback(self._push)
        on_change(node, parameters, self._use, self._problem)
        await_recorder(node, parameters.await_recorder)
        self._stepper.start()

    def close(self) -> None:
        """Stop the clock and destroy the action server."""
        self._stepper.stop()
        self._trajectories.close()

    # ---------------------------------------------------------------- commands
    def _standing_still(self) -> bool:
        return self._stepper.waiting

    def _listen(self) -> None:
        for subscription in self._inputs:
            subscription.take()

    def _on_command(self, message: Float64MultiArray, info: Mapping[str, Any]) -> None:
        with self._stepper.lock:
            try:
                if is_release(message):
                    self._commands.release(sent_at(info))
                    return
                law = held(self._robot, efforts_from(message, self._robot))
                self._commands.command(law, sent_at(info), *self._limits_of(message))
            except ManipDynError as error:
                self._drop(error)
            else:
                self._stepper.answer()

    def _limits_of(self, message: Float64MultiArray) -> tuple[int | None, int | None]:
        """Return end and deadline of a command in simulated time, ns, or None for both.

        In lockstep, commands have neither, because time stands still without them.
        """
        validity = validity_of(message)
        if validity is None or self._stepper.lockstep:
            return None, None
        stamp = validity.stamp_ns - self._stepper.origin_at(validity.stamp_ns)
        return stamp + validity.duration_ns, stamp + validity.deadline_ns

    def _on_joints(self, message: JointState, info: Mapping[str, Any]) -> None:
        with self._stepper.lock:
            simulation, bandwidth = self._simulation, self._parameters.command_bandwidth
            try:
                references = references_from(message, self._robot)
                if references is None:
                    self.node.get_logger().info(
                        "a joint command has no effect: all its numbers are NaN", once=True
                    )
                    return
                law = driven(
                    simulation.kernels, references, simulation.q, simulation.law, bandwidth
                )
                self._commands.command(law, sent_at(info))
            except ManipDynError as error:
                self._drop(error)
            else:
                self._stepper.answer()

    def _on_trajectory(self, serialized: bytes, info: Mapping[str, Any]) -> None:
        try:
            message = deserialized(serialized, self._robot)
        except ManipDynError as error:
            self._drop(error)
            return
        with self._stepper.lock:
            try:
                if is_release_trajectory(message):
                    self._commands.release(sent_at(info))
                    return
                self._commands.check(sent_at(info))
                stamp, now = to_nanoseconds(message.header.stamp), self._arm.time_ns
                origin = self._stepper.origin_at(stamp)
                schedule, end = schedule_from(message, self._robot, origin, now)
                if stamp:
                    self._arm.check_age(schedule.times_ns[0])
                end = None if self._stepper.lockstep else end
                self._commands.command(schedule, sent_at(info), end)
            except ManipDynError as error:
                self._drop(error)
            else:
                self._stepper.answer()

    def _drop(self, error: ManipDynError) -> None:
        self._dropped += 1
        self._warn_dropped(error)

    # -------------------------------------------------------------- parameters
    def _problem(self, parameters: SimulatorParameters, changed: Collection[str]) -> str:
        try:
            disturbance_from(parameters, self._robot)
        except ManipDynError as error:
            return str(error)
        names = [name for name in INTEGRATION if name in changed]
        if not names:
            return ""
        if not self._stepper.paused:
            return f"{names[0]} can be set only while the simulator is paused; call ~/pause first"
        try:
            integrator_from(parameters)
        except ManipDynError as error:
            return str(error)
        return ""

    def _prepared(self, parameters: SimulatorParameters) -> tuple[Simulation, EffortLaw]:
        """Return the compiled simulation at its initial state and the compiled safe command."""
        prepare(self._robot, "inverse_dynamics", "energy", "mass_matrix")
        simulation = simulation_from(parameters, self._robot)
        safe_law = safe_law_from(parameters, simulation)
        for law in (simulation.law, safe_law):
            simulation.prepare(law)
        return simulation, safe_law

    def _use(self, parameters: SimulatorParameters) -> None:
        if parameters.mass_scale != self._parameters.mass_scale:
            self._load(parameters)
        with self._stepper.lock:
            integrator = integrator_from(parameters)
            if integrator != self._simulation.integrator:
                self._simulation.use(integrator)
                self._simulation.prepare(self._simulation.law)
            self._parameters, self._arm.timeout = parameters, parameters.command_timeout
            self._commands.brakes_if_too_fast = parameters.speed_limits == "brake"
            self._stepper.use(parameters)

    def _load(self, parameters: SimulatorParameters) -> None:
        """Change the masses. The old masses are simulated until the new model is compiled."""
        factor = parameters.mass_scale
        self._robot = robot_from(self._description, mass_scale=factor)
        simulation, safe_law = self._prepared(parameters)
        with self._stepper.lock:
            self._arm.use(simulation, safe_law)
            self._simulation = simulation
        self.node.get_logger().info(f"all masses are {factor:g} times those of the description")

    def _push(self, changes: list[Parameter]) -> None:
        """Apply the disturbance immediately if it or its duration was set."""
        if any(change.name in ("disturbance", "disturbance_duration") for change in changes):
            with self._stepper.lock:
                effort, begin, end = disturbance_from(self._parameters, self._robot)
                self._arm.push(effort, end - begin)

    # -------------------------------------------------------------- publishing
    def _publish(self) -> None:
        self._trajectories.renew()
        simulation = self._simulation
        q, v, effort = simulation.q, simulation.v, simulation.effort.tolist()
        self._states.publish(joint_state(self._robot, self._stepper.stamp_ns, q, v, effort))
        self._transforms.publish(self._stepper.stamp_ns, q)
        self._publish_energy()
        self._commands.stand_still()
        self._report_handover()

    def _publish_energy(self) -> None:
        count = self._arm.time_ns // self._energy_ns if self._energy_ns else 0
        if count > self._energies and self._energy.get_subscription_count():
            self._energy.publish(energy_message(self._simulation.energy()))
        self._energies = count

    def _report_handover(self) -> None:
        reason = self._commands.handover
        if reason and reason != self._reported:
            message = f"{reason}; the safe command ({self._parameters.safe_command}) acts"
            if reason == ENDED:  # often on a busy machine
                self.node.get_logger().warning(message, throttle_duration_sec=1.0)
            else:
                self.node.get_logger().warning(message)
        self._reported = reason

    def _report(self) -> Report:
        senders = commanders(self.node, [entry.topic_name for entry in self._inputs])
        with self._stepper.lock:
            beyond = beyond_limits(self._robot, self._simulation.q)
            fast = too_fast(self._robot, self._commands.highest_speeds())
            report = self._stepper.report("", {})
            overruns = self._recent_overruns(int(str(report.values["overruns"])))
            stops = self._parameters.joint_limits == "mechanical_stops"
            present = condition(
                ArmFacts(
                    fault=self._stepper.fault,
                    beyond=tuple(description for _, description in beyond.values()),
                    at_stops=stops and all(amount <= GIVE for amount, _ in beyond.values()),
                    too_fast=fast,
                    namesakes=namesakes(self.node),
                    commanders=senders,
                    handover=self._commands.handover,
                    safe_command=self._parameters.safe_command,
                    slow_share=self._stepper.slow_share,
                    overruns=overruns,
                    paused=self._stepper.paused,
                    commanded=self._arm.commanded,
                    holding=self._arm.silent and self._arm.holding,
                )
            )
            values = {
                "state": present.state,
                **report.values,
                "dropped messages": self._dropped,
                "commanders": ", ".join(senders) or "none",
                "energy balance residual [J]": self._simulation.energy().residual,
                "joints outside their limits": ", ".join(beyond) or "none",
                "joints beyond their speed limits": ", ".join(fast) or "none",
                "integrator": self._parameters.integrator,
                **asdict(self._simulation.statistics),
            }
            return Report(present.level, present.sentence, values)


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(SimulatorNode, args)


if __name__ == "__main__":
    sys.exit(main())
