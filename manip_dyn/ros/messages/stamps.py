"""Stamps and durations in nanoseconds."""

from __future__ import annotations

import struct

from builtin_interfaces.msg import Duration, Time


def to_time(nanoseconds: int) -> Time:
    """Return a time message."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return Time(sec=seconds, nanosec=rest)


def to_duration(nanoseconds: int) -> Duration:
    """Return a duration message."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return Duration(sec=seconds, nanosec=rest)


def to_nanoseconds(stamp: Time | Duration) -> int:
    """Return a time or duration message in nanoseconds."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def serialized_stamp(message: bytes) -> int:
    """Return the stamp of a serialized message that begins with a header, ns.

    Four bytes precede it that say how numbers are written (OMG, DDS-XTypes, CDR encapsulation):
    the second is odd for little-endian.
    """
    seconds, rest = struct.unpack_from("<iI" if message[1] & 1 else ">iI", message, 4)
    return seconds * 1_000_000_000 + rest
