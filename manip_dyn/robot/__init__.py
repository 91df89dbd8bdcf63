"""Robots from URDF: the immutable `Robot`, its loader, and pinocchio as the reference."""

from manip_dyn.core.imports import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
