"""Recordings read as messages or as arrays, also if their writer was killed."""

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
        topic: Its topic.
        kind: Its type, such as ``sensor_msgs/msg/JointState``.
        time_ns: When it was received, ns.
        sent_ns: When it was sent, ns.
        sequence: Which message of its publisher it is; 0 where that is not known.
        data: Its CDR.
        latched: Whether its topic is latched.
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
        """The message, its arrays as numpy arrays."""
        return deserialize(self.data, self.kind)


class MessageReader:
    """Iterates over the messages of a file, in the order in which they were written.

    Attributes:
        file: The file.
        notes: Texts by name and key, such as the parameters of nodes; all of them at the end.
        complete: Whether the end of the file was found; False, too, before it was looked for.
    """

    def __init__(self, file: str | Path):
        """Take the file.

        Raises:
            ManipDynError: If there is none, or it is no recording.
        """
        self.file, self.complete = Path(file), False
        self.notes: dict[str, dict[str, str]] = {}
        try:
            with self.file.open("rb") as opened:
                magic = opened.read(8)
        except OSError as error:
            raise ManipDynError(f"recording '{file}' cannot be read: {error.strerror}") from error
        if magic != b"\x89MCAP0\r\n":
            raise ManipDynError(f"'{file}' is no recording; expected an MCAP file")

    def __iter__(self) -> Iterator[Message]:
        """Yield the messages; those of a chunk that is not whole are left out."""
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
        """Yield the records up to the end, or up to where the file is cut off."""
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
    """Return the records of a file; a chunk whose checksum is wrong ends them."""
    return reader.StreamReader(opened, validate_crcs=True, record_size_limit=size).records


JOINT_STATES, DESCRIPTION = "joint_states", "robot_description"
PARAMETERS = "parameters of "
"""How notes with the parameters of a node begin, as JSON by name; its name follows."""
COMMANDS = ("commands", "joint_commands", "effort_trajectory", "joint_trajectory")
"""Last parts of the names of topics that tell an arm what to do."""


class Command(NamedTuple):
    """What an arm was told.

    Attributes:
        t: Time of the last state that was out when it was sent, s.
        topic: Its topic.
        content: The message, such as a Float64MultiArray, its arrays as numpy arrays.
    """

    t: float
    topic: str
    content: Any


@dataclass(frozen=True, eq=False, repr=False)
class Recording:
    """A recorded motion of m states.

    Attributes:
        file: Where it was read from.
        robot: The robot that was described in it; None for mechanisms.
        joint_names: The joints (n,).
        stamps_ns: Stamps of the states (m,), ns; they fall where the arm was reset.
        t: Times (m,) from the first state, s, that rise: a reset takes no time.
        q: Positions (m, n), rad or m; nan where they were not told.
        v: Velocities (m, n), rad/s or m/s; nan where they were not told.
        effort: Efforts (m, n) from each state on, N m or N; nan where they were not told.
        commands: What the arm was told, in the order in which it was sent.
        resets: Which states are the first after a reset.
        metadata: Texts by name and key: the parameters of the nodes, what a result said.
        topics: How many messages there are by topic.
        complete: Whether the recorder ended the file; not if it was killed.
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
        """Return what it is about in one line."""
        who = "a mechanism" if self.robot is None else f"'{self.robot.name}'"
        end = "" if self.complete else ", cut off"
        last = self.t[-1] if len(self.t) else 0.0
        return f"Recording({who}: {len(self.t)} states in {last:g} s{end})"


def read(file: str | Path, namespace: str = "") -> Recording:
    """Return the motion in an MCAP file, as far as it goes if its recorder was killed.

    Args:
        file: The file.
        namespace: Whose joint_states are meant where there are several, such as ``/left``.

    Raises:
        ManipDynError: If it cannot be read, or has no joint states there.
    """
    source = MessageReader(file)
    place = f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"
    states: list[Message] = []
    told: list[Message] = []
    topics: dict[str, int] = {}
    description = ""
    for each in source:
        topics[each.topic] = topics.get(each.topic, 0) + 1
        name = each.topic.removeprefix(place)
        if name == JOINT_STATES:
            states.append(each)
        elif name == DESCRIPTION:
            description = each.content.data
        elif each.topic.startswith(place) and name.rpartition("/")[2] in COMMANDS:
            told.append(each)
    if not states:
        others = [topic for topic in topics if topic.endswith(f"/{JOINT_STATES}")]
        has = f"; it has {', '.join(others)}" if others else ""
        raise ManipDynError(f"recording '{file}' has no {place}{JOINT_STATES}{has}")
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
        commands=_commands(told, sent, t),
        resets=resets,
        metadata=source.notes,
        topics=topics,
        complete=source.complete,
    )


def _states(messages: Iterable[Message]) -> tuple[list[int], list[Any]]:
    """Return when states were sent, and the states; what is repeated while time stands is not."""
    sent, rows, last = [], [], None
    for each in messages:
        row = each.content
        if last is None or _nanoseconds(row) != last:
            sent.append(each.sent_ns)
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
    return np.array([each if len(each) == size else np.full(size, np.nan) for each in values])


def _commands(told: list[Message], sent: list[int], t: Vector) -> tuple[Command, ...]:
    told.sort(key=lambda each: each.sent_ns)
    out = np.searchsorted(sent, [each.sent_ns for each in told], side="right")
    return tuple(
        Command(float(t[max(int(k) - 1, 0)]), each.topic, each.content)
        for k, each in zip(out, told, strict=True)
    )


def _robot(description: str, notes: dict[str, dict[str, str]]) -> Robot | None:
    if not description:
        return None
    told = [each for name, each in notes.items() if name.startswith(PARAMETERS)]
    tips = [json.loads(each["tip"]) for each in told if "tip" in each]
    return load_robot(description, tip=next(filter(None, tips), None))
