"""Recordings: motions in MCAP files with the messages of ROS, written, read, and from results."""

from manip_dyn.core.on_demand import on_demand

__getattr__, __dir__ = on_demand(
    __name__, {"reading": ("Recording", "read"), "results": ("record",), "recorder": ("Recorder",)}
)
