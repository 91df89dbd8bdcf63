"""The messages of an MCAP file, also of one whose writer was killed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from manip_dyn.core.errors import ManipDynError
from manip_dyn.recording.needed import needed
from manip_dyn.recording.schemas import deserialized


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
        return deserialized(self.data, self.kind)


class MessagesIn:
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
        records, schemas, channels = needed("mcap.records"), dict[int, str](), dict[int, Any]()
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
        reader, errors = needed("mcap.stream_reader"), needed("mcap.exceptions")
        cut_off = (errors.McapError, struct.error, ValueError, IndexError, UnicodeDecodeError)
        with self.file.open("rb") as opened:
            size = self.file.stat().st_size
            try:
                yield from _checked(reader, opened, size)
            except cut_off:
                return
            except needed("zstandard").ZstdError:
                return
        self.complete = True


def _checked(reader: Any, opened: Any, size: int) -> Iterator[Any]:
    """Return the records of a file; a chunk whose checksum is wrong ends them."""
    return reader.StreamReader(opened, validate_crcs=True, record_size_limit=size).records
