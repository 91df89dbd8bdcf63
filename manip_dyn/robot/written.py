"""Joints to lock and xacro arguments, as they are written in a parameter or a launch argument."""

from __future__ import annotations

import shlex

from manip_dyn.core.errors import ManipDynError


def lock_from(text: str) -> dict[str, float]:
    """Return positions by joint from ``JOINT=POSITION, JOINT=POSITION``."""
    lock = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        joint, _, position = entry.partition("=")
        try:
            lock[joint.strip()] = float(position)
        except ValueError as error:
            raise ManipDynError(
                f"parameter 'lock' has the entry '{entry}'; expected JOINT=POSITION"
            ) from error
    return lock


def xacro_arguments_from(text: str) -> dict[str, str]:
    """Return values by name from ``NAME:=VALUE NAME:=VALUE``, quoted as for a shell."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ManipDynError(f"xacro_arguments is '{text}': {error}") from error
    arguments = {}
    for word in words:
        name, separator, value = word.partition(":=")
        if not (separator and name):
            raise ManipDynError(
                f"xacro_arguments has the entry '{word}'; expected NAME:=VALUE NAME:=VALUE"
            )
        arguments[name] = value
    return arguments
