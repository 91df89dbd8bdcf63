"""Compiled kernels of a robot, generated from its rigid-body equations."""

from manip_dyn.core.imports import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
