"""Stamps and durations in nanoseconds."""

from __future__ import annotations

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
