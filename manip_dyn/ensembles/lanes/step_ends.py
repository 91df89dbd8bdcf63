"""The ends of a block's steps, all lanes at once: how wrong they are, and what is kept of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.codegen.backend.translator import FLAGS
from manip_dyn.codegen.backend.vectors import (
    NUMBERS,
    broadcast_to_lanes,
    constant,
    magnitude,
    vectors_at,
)
from manip_dyn.core.compiled import PLAIN
from manip_dyn.ensembles.lanes.space import HIGH, LOW, MEAN, SCRATCH, U, Y

_INDEX = ir.IntType(64)
_TINY = 1e-300


def _pass_on(_typing, block, size, h, passed):
    """Go to the ends of steps that passed: the state, its integral, its least and most."""

    def generate(context, builder, signature, values):
        kinds = signature.args
        data = arrayobj.make_array(kinds[0])(context, builder, values[0]).data
        size = context.cast(builder, values[1], kinds[1], types.intp)
        h = arrayobj.make_array(kinds[2])(context, builder, values[2]).data
        steps = builder.load(builder.bitcast(h, NUMBERS.as_pointer()), align=8)
        lanes = arrayobj.make_array(kinds[3])(context, builder, values[3]).data
        lanes = builder.load(builder.bitcast(lanes, NUMBERS.as_pointer()), align=8)
        passed = builder.fcmp_ordered("!=", lanes, ir.Constant(NUMBERS, None))
        half = builder.fmul(steps, constant(0.5))

        with cgutils.for_range(builder, size) as loop:

            def place(row) -> Any:
                vector = builder.add(builder.mul(_INDEX(row), size), loop.index)
                (found,) = vectors_at(builder, data, builder.mul(vector, _INDEX(LANES)))
                return found

            start, end, mean, low, high = (
                builder.load(place(row), align=8) for row in (Y, U, MEAN, LOW, HIGH)
            )
            builder.store(builder.select(passed, end, start), place(Y), align=8)
            moved = builder.fmul(half, builder.fadd(start, end), flags=FLAGS)
            moved = builder.fadd(mean, moved, flags=FLAGS)
            builder.store(builder.select(passed, moved, mean), place(MEAN), align=8)
            for row, sign, bound in ((LOW, "<", low), (HIGH, ">", high)):
                beyond = builder.and_(passed, builder.fcmp_ordered(sign, end, bound))
                builder.store(builder.select(beyond, end, bound), place(row), align=8)
        return context.get_dummy_value()

    return types.void(block, size, h, passed), generate


def _plain_pass_on(block, size, h, passed):
    rows = block.reshape(-1, size, block.shape[1])
    for lane in np.flatnonzero(passed):
        start, end, mean, low, high = rows[[Y, U, MEAN, LOW, HIGH], :, lane]
        rows[MEAN, :, lane] = mean + 0.5 * h[lane] * (start + end)
        rows[LOW, :, lane], rows[HIGH, :, lane] = np.minimum(low, end), np.maximum(high, end)
        rows[Y, :, lane] = end


def _error_norms(_typing, block, size, tolerances, out):
    """Write the largest error of each lane over the tolerances; NaN as the state at the end."""

    def generate(context, builder, signature, values):
        kinds = signature.args
        data, bounds, end = (
            arrayobj.make_array(kinds[k])(context, builder, values[k]).data for k in (0, 2, 3)
        )
        size = context.cast(builder, values[1], kinds[1], types.intp)
        zero = ir.Constant(NUMBERS, None)
        worst = cgutils.alloca_once_value(builder, zero)
        with cgutils.for_range(builder, size) as loop:

            def vector(row) -> Any:
                place = builder.add(builder.mul(_INDEX(row), size), loop.index)
                (found,) = vectors_at(builder, data, builder.mul(place, _INDEX(LANES)))
                return builder.load(found, align=8)

            def bound(row) -> Any:
                place = builder.add(builder.mul(_INDEX(row), size), loop.index)
                return broadcast_to_lanes(builder, builder.load(builder.gep(bounds, [place])))

            last = vector(U)
            sizes = [magnitude(builder, each) for each in (vector(Y), last)]
            larger = builder.select(builder.fcmp_ordered(">", *sizes), *sizes)
            relative = builder.fmul(bound(0), larger, flags=FLAGS)
            scale = builder.fadd(bound(1), relative, flags=FLAGS)
            scale = builder.fadd(scale, constant(_TINY))
            ratio = builder.fdiv(magnitude(builder, vector(SCRATCH)), scale)
            ratio = builder.fadd(ratio, builder.fmul(last, zero))
            before = builder.load(worst)
            worse = builder.or_(
                builder.fcmp_ordered(">", ratio, before),
                builder.fcmp_unordered("uno", ratio, ratio),
            )
            builder.store(builder.select(worse, ratio, before), worst)
        builder.store(builder.load(worst), builder.bitcast(end, NUMBERS.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(block, size, tolerances, out), generate


def _plain_error_norms(block, size, tolerances, out):
    rows = block.reshape(-1, size, block.shape[1])
    larger = np.maximum(np.abs(rows[Y]), np.abs(rows[U]))
    scale = tolerances[1][:, None] + tolerances[0][:, None] * larger + 1e-300
    out[:] = (np.abs(rows[SCRATCH]) / scale + 0.0 * rows[U]).max(axis=0)


pass_on: Any = _plain_pass_on if PLAIN else intrinsic(_pass_on)
"""``pass_on(block, m, h, passed)``: row `Y` becomes row `U`, and the state's statistics go on with
it, in lanes whose `passed` (LANES,) is not 0."""
error_norms: Any = _plain_error_norms if PLAIN else intrinsic(_error_norms)
"""``error_norms(block, m, tolerances, out)``: norms (LANES,) of the estimate in row `SCRATCH`."""
