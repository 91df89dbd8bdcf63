"""Who says something to the log, by the frame alone.

rclpy asks `inspect` for the frame, which finds the files of all modules and the lines around the
call besides: 70 ms for the first message of a node, 8 ms for each later one, also for one that is
throttled. Of all that, rclpy takes the name of the file.
"""

from __future__ import annotations

import inspect
import sys
from types import FrameType, ModuleType
from typing import Any

from rclpy.logging import get_logger


def _place(frame: FrameType, context: int = 0) -> inspect.Traceback:
    """Return what `inspect` tells of a frame, without the lines around it unless asked for."""
    return inspect.getframeinfo(frame, context)


def tell_by_frame() -> None:
    """Have rclpy's loggers look no further than that, if they ask `inspect` at all."""
    loggers: Any = sys.modules[type(get_logger(__name__)).__module__]
    if getattr(loggers, "inspect", None) is inspect:
        short = ModuleType(inspect.__name__)
        vars(short).update(vars(inspect), getframeinfo=_place)
        loggers.inspect = short
