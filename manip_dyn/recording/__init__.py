"""Recordings: motions in MCAP files with the messages of ROS, written, read, and from results."""

from typing import TYPE_CHECKING

from manip_dyn.core.imports import lazy_names

if TYPE_CHECKING:
    from manip_dyn.recording.reader import Recording, read
    from manip_dyn.recording.recorder import Recorder
    from manip_dyn.recording.results import record
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {"reader": ("Recording", "read"), "results": ("record",), "recorder": ("Recorder",)},
    )

__all__ = ["Recorder", "Recording", "read", "record"]
