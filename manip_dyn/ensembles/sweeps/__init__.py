"""Sweeps: one function, or a task of a file, over many cases, on cores or on a cluster."""

from manip_dyn.core.lazy import lazy_package

# What takes the compiler is loaded when it is used: a worker may not need it.
__getattr__, __dir__, __all__ = lazy_package(__name__)
