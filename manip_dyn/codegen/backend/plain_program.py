"""Straight-line programs as plain Python: what `straight_line` is with the compiler off."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, sin
from typing import Any

import numpy as np

from manip_dyn.codegen.backend.program import Program


def one_state(program: Program) -> Callable[..., None]:
    """Return ``(inputs, out)`` that runs a program."""
    run = _function(program)

    def for_one(inputs, out):
        run(**dict(zip(program.inputs, inputs, strict=True)), out=out)

    return for_one


def many_states(program: Program, lanes: int) -> Callable[..., None]:
    """Return ``(inputs, out, column)`` for `lanes` states from a column on."""
    run = one_state(program)

    def for_many(inputs, out, column):
        for each in range(column, column + lanes):
            run([array[..., each] for array in inputs], out[..., each])

    return for_many


def one_coefficient(program: Program, order: int | None = None) -> Callable[..., None]:
    """Return ``(inputs, out, k)`` for Taylor coefficients of order k, or of `order`."""
    run = _function(program)

    def for_order(_inputs, out, k):
        row = k if order is None else order
        run(start=out[0], previous=out[row - 1], out=out[row], order=float(row))

    return for_order


def lane_coefficient(
    program: Program, products: tuple[tuple[int, int], ...], lanes: int, order: int | None = None
) -> Callable[..., None]:
    """Return ``(inputs, out, k)`` for Taylor coefficients of many motions, see `straight_line`."""
    run = _function(program)

    def for_order(inputs, out, k):
        rows, row = out.reshape(len(out), -1, lanes), k if order is None else order
        given = dict(zip(program.inputs, inputs, strict=True))
        made = {"start": rows[0], "previous": rows[row - 1], "out": rows[row]}
        sums = [(rows[1:row, a] * rows[1:row, b][::-1]).sum(axis=0) for a, b in products]
        run(**given, **made, sums=sums, order=float(row), sin=np.sin, cos=np.cos)

    return for_order


def _function(program: Program) -> Callable[..., None]:
    """Return the program's lines as a function of the arrays that they name."""
    code = compile(program.text, f"<program {program.name}>", "exec")

    def run(**names: Any) -> None:
        with np.errstate(all="ignore"):  # what is not finite comes out as such
            exec(code, {"sin": sin, "cos": cos, **names})

    return run
