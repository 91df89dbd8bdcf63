"""Read recordings as messages or as arrays, even if the recorder was killed."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.recording.messages import deserialize, required_library
from manip_dyn.robot import Robot, load_robot


class Message(NamedTuple):
    """A recorded message.

    Attributes:
        topic: Topic of the message.
        kind: Type of the message, such as ``sensor_msgs/msg/JointState``.
        time_ns: Time of reception, ns.
        sent_ns: Time of sending, ns.
        sequence: Sequence number of the publisher; 0 if unknown.
        data: Serialized message (CDR).
        latched: Whether the topic is latched (durability transient local).
    """

    topic: str
    kind: str
    time_ns: int
    sent_ns: int
    sequence: int
    data: bytes
    latched: bool = False

    @property
    def content(self) -> Any:
        """The deserialized message; arrays are NumPy arrays."""
        return deserialize(self.data, self.kind)


class MessageReader:
    """Iterator over the messages of a file in the order in which they were written.

    Attributes:
        file: Path of the file.
        notes: Metadata (strings by name and key), such as node parameters. Complete after the
            iteration.
        complete: Whether the iteration has reached the regular end of the file.
    """

    def __init__(self, file: str | Path):
        """Check that a file is readable and starts like an MCAP file.

        Raises:
            ManipDynError: If the file cannot be read or is not an MCAP file.
        """
        self.file, self.complete = Path(file), False
        self.notes: dict[str, dict[str, str]] = {}
        try:
            with self.file.open("rb") as opened:
                magic = opened.read(8)
        except OSError as error:
            raise ManipDynError(f"recording '{file}' cannot be read: {error.strerror}.") from error
        if magic != b"\x89MCAP0\r\n":
            raise ManipDynError(f"recording must be an MCAP file, got '{file}'.")

    def __iter__(self) -> Iterator[Message]:
        """Yield all messages up to the first incomplete or damaged chunk."""
        records, schemas, channels = (
            required_library("mcap.records"),
            dict[int, str](),
            dict[int, Any](),
        )
        for record in self._records():
            if isinstance(record, records.Message):
                channel = channels[record.channel_id]
                yield Message(
                    channel.topic,
                    schemas.get(channel.schema_id, ""),
                    record.log_time,
                    record.publish_time,
                    record.sequence,
                    record.data,
                    "transient_local" in channel.metadata.get("offered_qos_profiles", ""),
                )
            elif isinstance(record, records.Schema):
                schemas[record.id] = record.name
            elif isinstance(record, records.Channel):
                channels[record.id] = record
            elif isinstance(record, records.Metadata):
                self.notes[record.name] = dict(record.metadata)

    def _records(self) -> Iterator[Any]:
        """Yield the records of the file up to the first incomplete or damaged record."""
        reader, errors = (
            required_library("mcap.stream_reader"),
            required_library("mcap.exceptions"),
        )
        cut_off = (errors.McapError, struct.error, ValueError, IndexError, UnicodeDecodeError)
        with self.file.open("rb") as opened:
            size = self.file.stat().st_size
            try:
                yield from _checked_records(reader, opened, size)
            except cut_off:
                return
            except required_library("zstandard").ZstdError:
                return
        self.complete = True


def _checked_records(reader: Any, opened: Any, size: int) -> Iterator[Any]:
    """Return an iterator over the records. It raises an error at a wrong size or checksum."""
    return reader.StreamReader(opened, validate_crcs=True, record_size_limit=size).records


JOINT_STATES, DESCRIPTION = "joint_states", "robot_description"
PARAMETERS = "parameters of "
"""Prefix of the names of notes that contain node parameters (JSON by name)."""
COMMANDS = ("commands", "joint_commands", "effort_trajectory", "joint_trajectory")
"""Last components of the names of command topics."""


class Command(NamedTuple):
    """A recorded command to an arm.

    Attributes:
        t: Time of the last state that was sent no later than the command, s; 0 without such a
            state.
        topic: Topic of the command.
        content: The message, such as a Float64MultiArray; arrays are NumPy arrays.
    """

    t: float
    topic: str
    content: Any


@dataclass(frozen=True, eq=False, repr=False)
class Recording:
    """A recorded motion with m states.

    Attributes:
        file: Path of the MCAP file.
        robot: The recorded robot, or None without a robot description, as for mechanisms.
        joint_names: Names of the n joints in the messages.
        stamps_ns: Stamps (m,) of the states, ns. They decrease at a reset of the arm.
        t: Times (m,) since the first state, s. They do not decrease: a reset takes no time.
        q: Positions (m, n), rad or m. A row is NaN if its message does not have n positions.
        v: Velocities (m, n), rad/s or m/s. Rows of NaN as in `q`.
        effort: Efforts (m, n) applied after each state, N m or N. Rows of NaN as in `q`.
        commands: Commands to the arm in the order in which they were sent.
        resets: Indices of the first states after a reset.
        metadata: Strings by name and key, such as node parameters or the status of a result.
        topics: Number of messages by topic.
        complete: Whether the file is undamaged and the recorder closed it. False if it was killed.
    """

    file: Path
    robot: Robot | None
    joint_names: tuple[str, ...]
    stamps_ns: np.ndarray
    t: Vector
    q: Matrix
    v: Matrix
    effort: Matrix
    commands: tuple[Command, ...]
    resets: tuple[int, ...]
    metadata: dict[str, dict[str, str]] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)
    complete: bool = True

    def __repr__(self) -> str:
        """Return a line with the robot, the number of states and the duration."""
        name = "a mechanism" if self.robot is None else f"'{self.robot.name}'"
        end = "" if self.complete else ", incomplete"
        last = self.t[-1] if len(self.t) else 0.0
        return f"Recording({name}: {len(self.t)} states in {last:g} s{end})"


def read(file: str | Path, namespace: str = "") -> Recording:
    """Read the motion in an MCAP file.

    If the recorder was killed, the file is read up to its last complete chunk.

    Args:
        file: Path of the MCAP file.
        namespace: Namespace of the joint states and commands, such as ``/left``. Default: root.

    Raises:
        ManipDynError: If the file cannot be read, or has no joint states in the namespace.
    """
    source = MessageReader(file)
    prefix = f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"
    states: list[Message] = []
    commands: list[Message] = []
    topics: dict[str, int] = {}
    description = ""
    for message in source:
        topics[message.topic] = topics.get(message.topic, 0) + 1
        name = message.topic.removeprefix(prefix)
        if name == JOINT_STATES:
            states.append(message)
        elif name == DESCRIPTION:
            description = message.content.data
        elif message.topic.startswith(prefix) and name.rpartition("/")[2] in COMMANDS:
            commands.append(message)
    if not states:
        others = [topic for topic in topics if topic.endswith(f"/{JOINT_STATES}")]
        hint = f"; it has {', '.join(others)}" if others else ""
        raise ManipDynError(f"recording '{file}' has no {prefix}{JOINT_STATES}{hint}.")
    sent, rows = _states(states)
    names = tuple(rows[0].name)
    stamps = np.array([_nanoseconds(row) for row in rows], dtype=np.int64)
    t, resets = _times(stamps)
    return Recording(
        file=Path(file),
        robot=_robot(description, source.notes),
        joint_names=names,
        stamps_ns=stamps,
        t=t,
        q=_column(rows, "position", len(names)),
        v=_column(rows, "velocity", len(names)),
        effort=_column(rows, "effort", len(names)),
        commands=_commands(commands, sent, t),
        resets=resets,
        metadata=source.notes,
        topics=topics,
        complete=source.complete,
    )


def _states(messages: Iterable[Message]) -> tuple[list[int], list[Any]]:
    """Return the send times (ns) and the states, without repetitions of the previous stamp."""
    sent, rows, last = [], [], None
    for message in messages:
        row = message.content
        if last is None or _nanoseconds(row) != last:
            sent.append(message.sent_ns)
            rows.append(row)
            last = _nanoseconds(row)
    return sent, rows


def _nanoseconds(row: Any) -> int:
    return int(row.header.stamp.sec) * 1_000_000_000 + int(row.header.stamp.nanosec)


def _times(stamps: np.ndarray) -> tuple[Vector, tuple[int, ...]]:
    steps = np.diff(stamps)
    resets = tuple(int(k) + 1 for k in np.flatnonzero(steps < 0))
    elapsed = np.concatenate([[0], np.cumsum(np.maximum(steps, 0))])
    return elapsed * 1e-9, resets


def _column(rows: list[Any], name: str, size: int) -> Matrix:
    values = [np.asarray(getattr(row, name), dtype=float) for row in rows]
    return np.array([row if len(row) == size else np.full(size, np.nan) for row in values])


def _commands(messages: list[Message], sent: list[int], t: Vector) -> tuple[Command, ...]:
    messages.sort(key=lambda message: message.sent_ns)
    states_before = np.searchsorted(sent, [message.sent_ns for message in messages], side="right")
    return tuple(
        Command(float(t[max(int(k) - 1, 0)]), message.topic, message.content)
        for k, message in zip(states_before, messages, strict=True)
    )


def _robot(description: str, notes: dict[str, dict[str, str]]) -> Robot | None:
    if not description:
        return None
    nodes = [values for name, values in notes.items() if name.startswith(PARAMETERS)]
    tips = [json.loads(values["tip"]) for values in nodes if "tip" in values]
    return load_robot(description, tip=next(filter(None, tips), None))
