"""`replay --check`: repeat a lockstep recording in the simulator and compare bit for bit."""

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
from manip_dyn.ros.messages.joints import efforts_from, in_joint_order, references_from
from manip_dyn.ros.messages.trajectories import schedule_from
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
    """A recorded state: when it was sent and its stamp, ns, positions, velocities, efforts."""

    sent_ns: int
    stamp_ns: int
    values: np.ndarray


def simulator_parameters(
    file: str | Path, source: MessageReader, kept: list[Message]
) -> SimulatorParameters:
    """Return the simulator's parameters, with the robot as it was described."""
    noted = source.notes.get(f"{PARAMETERS}simulator")
    if noted is None:
        raise ManipDynError(
            f"recording '{file}' has no parameters of a simulator; expected a recording of one"
        )
    known = {row.name for row in rows(SimulatorParameters)}
    values = {name: json.loads(text) for name, text in noted.items() if name in known}
    plain = {
        name: tuple(v) if isinstance(v, list) else v for name, v in values.items() if v is not None
    }
    parameters = with_values(SimulatorParameters(), plain)
    if parameters.mode != "lockstep" or any(each.topic == JOINT_TRAJECTORY for each in kept):
        what = "a joint trajectory" if parameters.mode == "lockstep" else f"mode {parameters.mode}"
        raise ManipDynError(
            f"recording '{file}' is of {what}; expected one in lockstep, under commands, joint "
            "commands or effort trajectories: only there commands say when they act"
        )
    described = [m for m in kept if m.topic == DESCRIPTION]
    text = deserialize_message(described[-1].data, String).data if described else ""
    if parameters.robot == TOPIC and text:
        return replace(parameters, robot_description=text)
    if text and robot_from(parameters).urdf != text:
        raise ManipDynError(
            f"recording '{file}' is of a robot '{parameters.robot}' that has changed since; "
            "expected its description as it was"
        )
    return parameters


def check_parameters_unchanged(file: str | Path, kept: list[Message], states: list[State]) -> None:
    """Refuse a recording of a simulator whose parameters were set on the way, such as its masses.

    Raises:
        ManipDynError: If some were after the first state, which the parameters do not tell of.
    """
    for each in kept:
        if each.topic == EVENTS and len(states) > 1 and each.sent_ns > states[1].sent_ns:
            event = deserialize_message(each.data, ParameterEvent)
            if event.node.rpartition("/")[2] == "simulator" and event.changed_parameters:
                raise ManipDynError(
                    f"recording '{file}' is of a simulator whose parameter "
                    f"'{event.changed_parameters[0].name}' was set while it ran; expected one "
                    "whose parameters stayed"
                )


def states_of(kept: list[Message], robot: Robot) -> Iterator[State]:
    """Yield the states in which time has passed, and the first after a reset."""
    last = None
    for each in kept:
        if each.topic != STATES:
            continue
        message = deserialize_message(each.data, JointState)
        stamp = to_nanoseconds(message.header.stamp)
        if stamp != last:
            fields = ("position", "velocity", "effort")
            row = np.array([in_joint_order(message, robot, field) for field in fields])
            yield State(each.sent_ns, stamp, row)
        last = stamp


KINDS = {
    "/simulator/commands": Float64MultiArray,
    "/simulator/joint_commands": JointState,
    "/simulator/effort_trajectory": JointTrajectory,
}


class Verdict(NamedTuple):
    """What came of it.

    Attributes:
        same: Whether all states are equal, bit for bit.
        states: How many were compared.
        commands: How many commands were executed.
        sentence: The same in words, with the first difference.
    """

    same: bool
    states: int
    commands: int
    sentence: str


def check_recording(file: str | Path) -> Verdict:
    """Let the simulator do once more what it did, and compare every state.

    Args:
        file: A recording of a simulator in lockstep.

    Raises:
        ManipDynError: If it cannot be read, or it is no such recording.
    """
    source = MessageReader(file)
    kept = [
        each
        for each in source
        if each.topic in (STATES, DESCRIPTION, JOINT_TRAJECTORY, EVENTS, *KINDS)
    ]
    parameters = simulator_parameters(file, source, kept)
    robot = robot_from(parameters, mass_scale=parameters.mass_scale)
    states = list(states_of(kept, robot))
    if not states:
        raise ManipDynError(f"recording '{file}' has no states of '{robot.name}'; expected some")
    check_parameters_unchanged(file, kept, states)
    commands = deque(sorted((m for m in kept if m.topic in KINDS), key=lambda m: m.sent_ns))
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
    told = f"{len(states)} states under {executed} commands, equal bit for bit"
    return Verdict(True, len(states), executed, told)


def _execute_next(
    arm: CommandedArm, parameters: SimulatorParameters, commands: deque[Message], sent_ns: int
) -> bool:
    """Let the next command act that is accepted and was sent before a time; return if one is."""
    while commands and commands[0].sent_ns <= sent_ns:
        try:
            law = _law(arm, parameters, commands.popleft())
            if law is not None:
                arm.command(law)
                return True
        except ManipDynError:
            continue  # the simulator dropped it, too
    return False


def _law(arm: CommandedArm, parameters: SimulatorParameters, command: Message) -> EffortLaw | None:
    """Return what a command lets act, as the simulator node makes it."""
    simulation, robot = arm.simulation, arm.simulation.robot
    message: Any = deserialize_message(command.data, KINDS[command.topic])
    if isinstance(message, Float64MultiArray):
        return held(robot, efforts_from(message, robot))
    if isinstance(message, JointState):
        told = references_from(message, robot)
        if told is None:
            return None
        bandwidth = parameters.command_bandwidth
        return driven(simulation.kernels, told, simulation.q, simulation.law, bandwidth)
    schedule = schedule_from(message, robot, 0, arm.time_ns)
    if to_nanoseconds(message.header.stamp):
        arm.check_age(schedule.times_ns[0])
    return schedule


def _difference(robot: Robot, state: State, values: np.ndarray) -> str:
    off = np.abs(values - state.values)
    row, joint = np.unravel_index(int(np.nanargmax(off)), off.shape)
    what = ("position", "velocity", "effort")[int(row)]
    return (
        f"at {state.stamp_ns * 1e-9:.6f} s the {what} of joint '{robot.joint_names[joint]}' was "
        f"{state.values[row, joint]!r} and is {values[row, joint]!r}"
    )
