"""Kernels as differentiable functions of PyTorch and JAX."""

from manip_dyn.export.differentiable.jax_function import jax_function
from manip_dyn.export.differentiable.torch_function import torch_function

__all__ = ["jax_function", "torch_function"]
