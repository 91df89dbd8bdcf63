"""PyTorch autograd function for all kernels.

The gradient J(x)^T w and the tangent J(x) d of a kernel y(x) are functions of (x, w) and (x, d)
of the same class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from manip_dyn.export.vector_functions import VectorFunction, write_rows


def call(function: VectorFunction, x: Any) -> Any:
    """Return y (..., outputs) for x (..., inputs), both in double precision."""
    return _Kernel.apply(x, function)


class _Kernel(torch.autograd.Function):
    """Compiled kernel with exact derivatives in reverse and forward mode, and with batching."""

    @staticmethod
    def forward(x: Any, function: VectorFunction) -> Any:
        states = x.detach().contiguous().numpy().reshape(-1, function.inputs)
        out = np.empty((len(states), function.outputs))
        write_rows(function, states, out)
        return torch.from_numpy(out).reshape(*x.shape[:-1], function.outputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, ctx.function = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx: Any, weight: Any) -> Any:
        (x,) = ctx.saved_tensors
        return call(ctx.function.adjoint, torch.cat([x, weight], dim=-1)), None

    @staticmethod
    def jvp(ctx: Any, d: Any, _function: Any) -> Any:
        (x,) = ctx.saved_tensors
        return call(ctx.function.tangent, torch.cat([x, d], dim=-1))

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any, function: VectorFunction) -> Any:
        return call(function, x.movedim(in_dims[0], 0)), 0
