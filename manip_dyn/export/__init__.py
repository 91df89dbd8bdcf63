"""Kernels where they are needed: as C source, and as functions of PyTorch and JAX."""

from manip_dyn.export.c99 import export_c
from manip_dyn.export.differentiable import jax_function, torch_function

__all__ = ["export_c", "jax_function", "torch_function"]
