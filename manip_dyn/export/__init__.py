"""Export of kernels as C source and as functions of PyTorch and JAX."""

from manip_dyn.core.imports import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
