"""One autograd function of PyTorch for all kernels: its derivatives are itself, of other ones.

y(x) of a kernel has the gradient J(x)^T w and the tangent J(x) d, which are kernels again, of
(x, w) and of (x, d).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from manip_dyn.export.vector_functions import VectorFunction, write_rows


def call(made: VectorFunction, x: Any) -> Any:
    """Return y (..., outputs) of x (..., inputs), both in double precision."""
    return _Kernel.apply(x, made)


class _Kernel(torch.autograd.Function):
    @staticmethod
    def forward(x: Any, made: VectorFunction) -> Any:
        states = x.detach().contiguous().numpy().reshape(-1, made.inputs)
        out = np.empty((len(states), made.outputs))
        write_rows(made, states, out)
        return torch.from_numpy(out).reshape(*x.shape[:-1], made.outputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, ctx.made = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx: Any, weight: Any) -> Any:
        (x,) = ctx.saved_tensors
        return call(ctx.made.adjoint, torch.cat([x, weight], dim=-1)), None

    @staticmethod
    def jvp(ctx: Any, d: Any, _made: Any) -> Any:
        (x,) = ctx.saved_tensors
        return call(ctx.made.tangent, torch.cat([x, d], dim=-1))

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any, made: VectorFunction) -> Any:
        return call(made, x.movedim(in_dims[0], 0)), 0
