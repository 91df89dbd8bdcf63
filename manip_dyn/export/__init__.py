"""Kernels where they are needed: as C source, and as functions of PyTorch and JAX."""

from manip_dyn.export.array_libraries import jax_function, torch_function
from manip_dyn.export.c99 import export_c

__all__ = ["export_c", "jax_function", "torch_function"]
