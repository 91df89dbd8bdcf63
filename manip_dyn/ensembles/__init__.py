"""Many motions side by side: in SIMD lanes, on all cores, and as sweeps."""

from manip_dyn.core.lazy import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
