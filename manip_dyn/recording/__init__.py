"""Recordings: motions as ROS messages in MCAP files, written, read and created from results."""

from manip_dyn.core.lazy import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
