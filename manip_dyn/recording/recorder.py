"""Write messages to an MCAP file in the format of ``ros2 bag record -s mcap``.

Messages are written to disk about once per second in self-contained chunks, so that the file
remains readable if the process is killed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.recording.messages import definition, required_library, serialize

CHUNK_PERIOD = 1.0
"""Wall time (s) after which `Recorder.flush_when_due` writes buffered messages to disk."""
FOREVER = "{sec: 9223372036, nsec: 854775807}"
LATCHED = f"""- history: keep_last
  depth: 1
  reliability: reliable
  durability: transient_local
  deadline: {FOREVER}
  lifespan: {FOREVER}
  liveliness: automatic
  liveliness_lease_duration: {FOREVER}
  avoid_ros_namespace_conventions: false"""
"""QoS profile of a latched topic, which sends its last message to new subscribers, in rosbag2's
format."""
QOS = "offered_qos_profiles"
SUFFIX = ".mcap"
"""File name suffix of recordings."""


def check_new(file: str | Path) -> None:
    """Check that a path is valid for a new recording.

    Raises:
        ManipDynError: If the path does not end with ``.mcap``, or the file exists.
    """
    if Path(file).suffix != SUFFIX:
        raise ManipDynError(f"name of a recording must end in {SUFFIX}, got '{file}'.")
    if Path(file).exists():
        raise _exists_error(file)


def _exists_error(file: str | Path) -> ManipDynError:
    return ManipDynError(f"recording must be a new file, but '{file}' exists already.")


class Recorder:
    """A writer of ROS messages to an MCAP file.

    Attributes:
        file: Path of the file.
        counts: Number of messages by topic.
    """

    def __init__(self, file: str | Path):
        """Create the file.

        Args:
            file: Path of a new file that ends with ``.mcap``.

        Raises:
            ManipDynError: If the path has a different suffix, the file exists or cannot be
                written, or mcap is not installed.
        """
        self.file, self.counts = Path(file), dict[str, int]()
        library = required_library("mcap.writer")
        check_new(file)
        try:
            self._raw: Any = self.file.open("xb", buffering=0)
        except FileExistsError as error:
            raise _exists_error(file) from error
        except OSError as error:
            raise self._unwritable(error) from error
        self._writer = library.Writer(_UnbufferedFile(self._raw))
        self._channels: dict[tuple[str, str], int] = {}
        self._schemas: dict[str, int] = {}
        self._try(self._writer.start, "ros2", "manip_dyn")
        self._flushed = time.monotonic()

    def __enter__(self) -> Recorder:
        """Return the recorder."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def add_topic(self, topic: str, kind: str, latched: bool = False) -> None:
        """Declare a topic with its message type; latched topics are transient local."""
        if (topic, kind) in self._channels:
            return
        if kind not in self._schemas:
            text = definition(kind).encode()
            self._schemas[kind] = self._writer.register_schema(kind, "ros2msg", text)
        offered = {QOS: LATCHED if latched else ""}
        self._channels[topic, kind] = self._writer.register_channel(
            topic, "cdr", self._schemas[kind], offered
        )
        self.counts.setdefault(topic, 0)

    def add(self, topic: str, content: Any, time_ns: int, latched: bool = False) -> None:
        """Write a message from `messages.message` with its time (ns), and declare its topic."""
        self.add_topic(topic, content.__msgtype__, latched)
        self.add_raw(topic, content.__msgtype__, serialize(content), time_ns)

    def add_raw(
        self,
        topic: str,
        kind: str,
        data: bytes,
        time_ns: int,
        sent_ns: int | None = None,
        sequence: int = 0,
    ) -> None:
        """Write a serialized message to a topic declared by `add_topic`.

        Args:
            topic: Name of the topic.
            kind: Type of the message.
            data: Serialized message (CDR).
            time_ns: Time of reception, ns.
            sent_ns: Time of sending, ns. Default: `time_ns`.
            sequence: Sequence number of the publisher; 0 if unknown.
        """
        channel, sent = self._channels[topic, kind], time_ns if sent_ns is None else sent_ns
        self._try(self._writer.add_message, channel, time_ns, data, sent, sequence)
        self.counts[topic] += 1
        self.flush_when_due()

    def add_note(self, name: str, content: Mapping[str, str]) -> None:
        """Write a note: named metadata (strings by key), such as the parameters of a node."""
        self._try(self._writer.add_metadata, name, dict(content))

    def flush_when_due(self) -> None:
        """Write buffered messages to disk if `CHUNK_PERIOD` has passed since the last write."""
        now = time.monotonic()
        if now - self._flushed >= CHUNK_PERIOD:
            self._flushed = now
            self._try(self._writer.flush)

    def close(self) -> None:
        """Write the last chunk and the index, and close the file. Further calls do nothing."""
        if not self._raw.closed:
            self._try(self._writer.finish)
            self._raw.close()

    def _try(self, write: Any, *arguments: Any) -> None:
        try:
            write(*arguments)
        except OSError as error:
            self._raw.close()
            raise self._unwritable(error, " The file is incomplete.") from error

    def _unwritable(self, error: OSError, hint: str = "") -> ManipDynError:
        return ManipDynError(
            f"recording '{self.file}' cannot be written: {error.strerror or error}.{hint}"
        )


class _UnbufferedFile:
    """File without a buffer, so that closing it after a failed write does not fail again."""

    def __init__(self, raw: Any):
        self._raw, self.tell, self.flush = raw, raw.tell, raw.flush

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._raw.write(rest) :]
