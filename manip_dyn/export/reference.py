"""Programs run in numpy for many states: reference values, and what rounding does to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from manip_dyn.codegen.generation.kernel_modules import program_text
from manip_dyn.codegen.rigid_body.catalogue import Function
from manip_dyn.core.checks import Vector


def evaluated(function: Function, arguments: Sequence[Any]) -> Vector:
    """Return a kernel's results (..., m) for arguments (k, m) of one type, in this type."""
    states, kind = arguments[0].shape[1], arguments[0].dtype
    out = np.empty((*function.shape, states), kind)
    names = dict(zip(function.declaration.arguments, arguments, strict=True))
    run(program_text(function), {**names, "out": out})
    return out


def run(text: str, names: dict[str, Any]) -> None:
    """Run a program's lines on arrays whose last axis, if they have one more, is states."""
    with np.errstate(all="ignore"):  # what is not finite comes out as such
        exec(compile(text, "<program>", "exec"), {"sin": np.sin, "cos": np.cos, **names})
