"""Collision models, distances, and proofs that a motion is free of collisions."""

from manip_dyn.core.imports import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
