"""Check of `manip_dyn replay --check`: repeat a lockstep run and compare all states bitwise."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rcl_interfaces.msg import ParameterEvent
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.core.checks import nanoseconds
from manip_dyn.core.errors import ManipDynError
from manip_dyn.recording.reader import PARAMETERS, Message, MessageReader
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import to_nanoseconds
from manip_dyn.ros.messages.joints import (
    efforts_from,
    in_joint_order,
    is_release,
    references_from,
)
from manip_dyn.ros.messages.trajectories import is_release_trajectory, schedule_from
from manip_dyn.ros.parameters.common import TOPIC, robot_from
from manip_dyn.ros.parameters.declaration import rows, with_values
from manip_dyn.ros.parameters.simulator import (
    SimulatorParameters,
    disturbance_from,
    safe_law_from,
    simulation_from,
)
from manip_dyn.simulation import EffortLaw, driven, held
from manip_dyn.simulation.commanded_arm import CommandedArm

STATES, DESCRIPTION = "/joint_states", "/robot_description"
EVENTS = "/parameter_events"
JOINT_TRAJECTORY = "/simulator/joint_trajectory"


class State(NamedTuple):
    """A recorded joint state.

    Attributes:
        sent_ns: Wall-clock time at which the message was sent, ns.
        stamp_ns: Stamp of the message, ns.
        values: Positions, velocities and efforts (3, n).
    """

    sent_ns: int
    stamp_ns: int
    values: np.ndarray


def simulator_parameters(
    file: str | Path, source: MessageReader, messages: list[Message]
) -> SimulatorParameters:
    """Return the recorded simulator parameters, with the description if `robot` is "topic".

    Args:
        file: Path of the recording, for error messages.
        source: Reader of the recording.
        messages: Messages of the recording.

    Raises:
        ManipDynError: If the recording cannot be repeated exactly.
    """
    metadata = source.notes.get(f"{PARAMETERS}simulator")
    if metadata is None:
        raise ManipDynError(f"recording '{file}' must contain a simulator's parameters, got none.")
    names = {row.name for row in rows(SimulatorParameters)}
    values = {name: json.loads(text) for name, text in metadata.items() if name in names}
    present = {
        name: tuple(v) if isinstance(v, list) else v for name, v in values.items() if v is not None
    }
    parameters = with_values(SimulatorParameters(), present)
    if parameters.mode != "lockstep":
        raise ManipDynError(
            f"recording '{file}' must be of a simulator in mode lockstep, got mode "
            f"{parameters.mode}: other modes do not record the times at which commands act."
        )
    if any(message.topic == JOINT_TRAJECTORY for message in messages):
        raise ManipDynError(
            f"recording '{file}' must contain only commands, joint commands and effort "
            "trajectories, got a joint trajectory: it acts over many periods."
        )
    descriptions = [m for m in messages if m.topic == DESCRIPTION]
    text = deserialize_message(descriptions[-1].data, String).data if descriptions else ""
    if parameters.robot == TOPIC and text:
        return replace(parameters, robot_description=text)
    if text and robot_from(parameters).urdf != text:
        raise ManipDynError(
            f"robot '{parameters.robot}' must have the description in recording '{file}', got "
            "another one. The robot has changed since the recording."
        )
    return parameters


def check_parameters_unchanged(
    file: str | Path, messages: list[Message], states: list[State]
) -> None:
    """Check that no parameter of the simulator, such as the mass scale, was set during the run.

    The recording stores only the initial parameters.

    Args:
        file: Path of the recording, for error messages.
        messages: Messages of the recording.
        states: Recorded joint states.

    Raises:
        ManipDynError: If a parameter was set after the second state.
    """
    for message in messages:
        if message.topic == EVENTS and len(states) > 1 and message.sent_ns > states[1].sent_ns:
            event = deserialize_message(message.data, ParameterEvent)
            if event.node.rpartition("/")[2] == "simulator" and event.changed_parameters:
                raise ManipDynError(
                    f"recording '{file}' must be of a simulator with constant parameters; "
                    f"'{event.changed_parameters[0].name}' was set while it ran."
                )


def states_of(messages: list[Message], robot: Robot) -> Iterator[State]:
    """Yield every state with a new stamp. A paused simulator repeats states with equal stamps."""
    last = None
    for entry in messages:
        if entry.topic != STATES:
            continue
        message = deserialize_message(entry.data, JointState)
        stamp = to_nanoseconds(message.header.stamp)
        if stamp != last:
            fields = ("position", "velocity", "effort")
            values = np.array([in_joint_order(message, robot, field) for field in fields])
            yield State(entry.sent_ns, stamp, values)
        last = stamp


KINDS = {
    "/simulator/commands": Float64MultiArray,
    "/simulator/joint_commands": JointState,
    "/simulator/effort_trajectory": JointTrajectory,
}


class Verdict(NamedTuple):
    """Result of a comparison with a recording.

    Attributes:
        same: Whether all states are bit-identical.
        states: Number of bit-identical states before the first difference.
        commands: Number of executed commands.
        sentence: Summary, or description of the first difference.
    """

    same: bool
    states: int
    commands: int
    sentence: str


def check_recording(file: str | Path) -> Verdict:
    """Repeat the recorded commands in the simulator and compare every state.

    Args:
        file: A recording of a simulator in lockstep.

    Raises:
        ManipDynError: If the file cannot be read or cannot be repeated exactly.
    """
    source = MessageReader(file)
    topics = (STATES, DESCRIPTION, JOINT_TRAJECTORY, EVENTS, *KINDS)
    messages = [message for message in source if message.topic in topics]
    parameters = simulator_parameters(file, source, messages)
    robot = robot_from(parameters, mass_scale=parameters.mass_scale)
    states = list(states_of(messages, robot))
    if not states:
        raise ManipDynError(
            f"recording '{file}' must contain joint states of '{robot.name}', got none."
        )
    check_parameters_unchanged(file, messages, states)
    commands = deque(sorted((m for m in messages if m.topic in KINDS), key=lambda m: m.sent_ns))
    return _compared(_arm(parameters, robot), parameters, states, commands)


def _arm(parameters: SimulatorParameters, robot: Robot) -> CommandedArm:
    simulation = simulation_from(parameters, robot)
    safe_law = safe_law_from(parameters, simulation)
    disturbance = disturbance_from(parameters, robot)
    return CommandedArm(simulation, safe_law, parameters.command_timeout, disturbance)


def _compared(
    arm: CommandedArm,
    parameters: SimulatorParameters,
    states: list[State],
    commands: deque[Message],
) -> Verdict:
    period, executed = nanoseconds("control_period", parameters.control_period), 0
    for k, state in enumerate(states):
        if k and state.stamp_ns < states[k - 1].stamp_ns:
            arm.reset()
            while commands and commands[0].sent_ns < state.sent_ns:
                commands.popleft()
        while arm.time_ns < state.stamp_ns:
            executed += _execute_next(arm, parameters, commands, state.sent_ns)
            arm.advance(period)
        simulation = arm.simulation
        values = np.array([simulation.q, simulation.v, simulation.effort])
        if arm.time_ns != state.stamp_ns or values.tobytes() != state.values.tobytes():
            return Verdict(False, k, executed, _difference(simulation.robot, state, values))
    sentence = f"{len(states)} states under {executed} commands are bit-identical"
    return Verdict(True, len(states), executed, sentence)


def _execute_next(
    arm: CommandedArm, parameters: SimulatorParameters, commands: deque[Message], sent_ns: int
) -> bool:
    """Execute the next valid command sent until `sent_ns`; return False if there is none."""
    while commands and commands[0].sent_ns <= sent_ns:
        try:
            command = commands.popleft()
            message: Any = deserialize_message(command.data, KINDS[command.topic])
            if _releases(message):
                arm.release()
                continue
            law = _law(arm, parameters, message)
            if law is not None:
                arm.command(law)
                return True
        except ManipDynError:
            continue  # the simulator dropped this command, too
    return False


def _releases(message: Any) -> bool:
    """Return whether a message ends the current command. It does not advance time."""
    if isinstance(message, Float64MultiArray):
        return is_release(message)
    return isinstance(message, JointTrajectory) and is_release_trajectory(message)


def _law(arm: CommandedArm, parameters: SimulatorParameters, message: Any) -> EffortLaw | None:
    """Return the effort law that the simulator creates for a command, or None for only NaN."""
    simulation, robot = arm.simulation, arm.simulation.robot
    if isinstance(message, Float64MultiArray):
        return held(robot, efforts_from(message, robot))
    if isinstance(message, JointState):
        references = references_from(message, robot)
        if references is None:
            return None
        bandwidth = parameters.command_bandwidth
        return driven(simulation.kernels, references, simulation.q, simulation.law, bandwidth)
    schedule, _end = schedule_from(message, robot, 0, arm.time_ns)
    if to_nanoseconds(message.header.stamp):
        arm.check_age(schedule.times_ns[0])
    return schedule


def _difference(robot: Robot, state: State, values: np.ndarray) -> str:
    error = np.abs(values - state.values)
    row, joint = np.unravel_index(int(np.nanargmax(error)), error.shape)
    quantity = ("position", "velocity", "effort")[int(row)]
    return (
        f"at {state.stamp_ns * 1e-9:.6f} s the {quantity} of joint '{robot.joint_names[joint]}' "
        f"is {float(values[row, joint])!r}, recorded {float(state.values[row, joint])!r}"
    )
