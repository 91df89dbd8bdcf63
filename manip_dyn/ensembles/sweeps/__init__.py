"""Parameter sweeps: a function or a task from a file, over many cases, on cores or a cluster."""

from manip_dyn.core.imports import lazy_package

# Names that require the compiler are loaded on first use, because not every worker needs them.
__getattr__, __dir__, __all__ = lazy_package(__name__)
