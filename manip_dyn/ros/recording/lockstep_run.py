"""What a recording has of a simulator in lockstep: its parameters, its states."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rcl_interfaces.msg import ParameterEvent
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from manip_dyn.core.errors import ManipDynError
from manip_dyn.recording.messages_in import Message, MessagesIn
from manip_dyn.recording.reading import PARAMETERS
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.joints import by_name
from manip_dyn.ros.messages.stamps import to_nanoseconds
from manip_dyn.ros.parameters.robot import TOPIC, robot_from
from manip_dyn.ros.parameters.rows import rows, with_values
from manip_dyn.ros.parameters.simulator import SimulatorParameters

STATES, DESCRIPTION = "/joint_states", "/robot_description"
EVENTS = "/parameter_events"
FOLLOWED = "/simulator/joint_trajectory"


class State(NamedTuple):
    """A recorded state: when it was sent and its stamp, ns, positions, velocities, efforts."""

    sent_ns: int
    stamp_ns: int
    values: np.ndarray


def simulator_parameters(
    file: str | Path, source: MessagesIn, kept: list[Message]
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
    if parameters.mode != "lockstep" or any(each.topic == FOLLOWED for each in kept):
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


def refuse_changes(file: str | Path, kept: list[Message], states: list[State]) -> None:
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
            row = np.array([by_name(message, robot, field) for field in fields])
            yield State(each.sent_ns, stamp, row)
        last = stamp
