"""The messages of ROS without ROS: their definitions, and their CDR, by the library rosbags."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.recording.needed import needed


def message(kind: str, **values: Any) -> Any:
    """Return a message of a type such as ``std_msgs/msg/String``; arrays are numpy arrays."""
    return _store().types[kind](**values)


def serialized(content: Any) -> bytes:
    """Return a message as CDR."""
    return bytes(_store().serialize_cdr(content, content.__msgtype__))


def deserialized(data: bytes, kind: str) -> Any:
    """Return the message that was serialized.

    ROS's own serializer may leave more bytes behind a message than rosbags expects, for a number
    that an empty sequence would begin with.
    """
    refused = needed("rosbags.serde.errors").SerdeError
    try:
        return _store().deserialize_cdr(data, kind)
    except refused:
        return _store().deserialize_cdr(data[:-4], kind)


@cache
def definition(kind: str) -> str:
    """Return the definition of a type with those of all its fields, as MCAP's ``ros2msg`` has it.

    Raises:
        ManipDynError: If it is none of ROS's own, and no installed package has it.
    """
    _learn(kind)
    return str(_store().generate_msgdef(kind, ros_version=2)[0])


def _learn(kind: str) -> None:
    """Add a type, and those of its fields, from the files of installed packages."""
    store = _store()
    if kind in store.fielddefs:
        return
    package, _, name = kind.split("/")
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        file = Path(prefix, "share", package, "msg", f"{name}.msg")
        if file.is_file():
            parsed = needed("rosbags.typesys").get_types_from_msg(file.read_text(), kind)
            for _, fields in parsed.values():
                for each in _kinds_in(fields):
                    _learn(each)
            store.register(parsed)
            return
    raise ManipDynError(f"the definition of {kind} is not installed")


def _kinds_in(fields: Any) -> set[str]:
    """Return the types of messages that the fields of a definition have."""
    if isinstance(fields, str):
        return {fields} if fields.count("/") == 2 else set()
    if isinstance(fields, (list, tuple)):
        return set().union(*map(_kinds_in, fields))
    return set()


@cache
def _store() -> Any:
    types = needed("rosbags.typesys")
    return types.get_typestore(types.Stores.ROS2_JAZZY)
