"""Simulation of many motions: in SIMD lanes, on all cores, and as parameter sweeps."""

from manip_dyn.core.imports import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
