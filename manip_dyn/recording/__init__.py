"""Recordings: write motions as ROS messages to MCAP files, and read them."""

from manip_dyn.core.imports import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
