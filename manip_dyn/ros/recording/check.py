"""`replay --check`: a lockstep recording once more through the simulator, compared bit for bit.

In lockstep a period passes with each command that the simulator accepts, and with each ~/step. So
the commands, in the order in which they were sent, and the parameters are the whole run.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.core.checks import nanoseconds
from manip_dyn.core.errors import ManipDynError
from manip_dyn.recording.messages_in import Message, MessagesIn
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.efforts import efforts_from, schedule_from
from manip_dyn.ros.messages.joint_commands import references_from
from manip_dyn.ros.messages.stamps import to_nanoseconds
from manip_dyn.ros.parameters.robot import robot_from
from manip_dyn.ros.parameters.simulator import (
    SimulatorParameters,
    disturbance_from,
    safe_law_from,
    simulation_from,
)
from manip_dyn.ros.recording.lockstep_run import (
    DESCRIPTION,
    EVENTS,
    FOLLOWED,
    STATES,
    State,
    refuse_changes,
    simulator_parameters,
    states_of,
)
from manip_dyn.simulation import EffortLaw, driven, held
from manip_dyn.simulation.commanded import CommandedArm

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


def check(file: str | Path) -> Verdict:
    """Let the simulator do once more what it did, and compare every state.

    Args:
        file: A recording of a simulator in lockstep.

    Raises:
        ManipDynError: If it cannot be read, or it is no such recording.
    """
    source = MessagesIn(file)
    kept = [
        each for each in source if each.topic in (STATES, DESCRIPTION, FOLLOWED, EVENTS, *KINDS)
    ]
    parameters = simulator_parameters(file, source, kept)
    robot = robot_from(parameters, mass_scale=parameters.mass_scale)
    states = list(states_of(kept, robot))
    if not states:
        raise ManipDynError(f"recording '{file}' has no states of '{robot.name}'; expected some")
    refuse_changes(file, kept, states)
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
            executed += _obey(arm, parameters, commands, state.sent_ns)
            arm.advance(period)
        simulation = arm.simulation
        values = np.array([simulation.q, simulation.v, simulation.effort])
        if arm.time_ns != state.stamp_ns or values.tobytes() != state.values.tobytes():
            return Verdict(False, k, executed, _difference(simulation.robot, state, values))
    told = f"{len(states)} states under {executed} commands, equal bit for bit"
    return Verdict(True, len(states), executed, told)


def _obey(
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
