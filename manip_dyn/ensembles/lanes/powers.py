"""Logarithms and powers to base 2 in SIMD lanes, as accurate as lengths of steps need them.

The logarithm is a series in (x - 1) / (x + 1) for x in [sqrt(1/2), sqrt(2)], the power one of
exp for arguments up to ln(2) / 2; both leave 1e-11. Infinite numbers are for the caller.
"""

from __future__ import annotations

from math import e, factorial, log, log2, sqrt

import numpy as np
from llvmlite import ir

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.codegen.backend.translator import FLAGS
from manip_dyn.codegen.backend.vectors import NUMBERS, constant

INTEGERS = ir.VectorType(ir.IntType(64), LANES)
MANTISSA = 52
_ROUNDER = 6755399441055744.0  # adding it rounds to an integer, then in the last bits
LOGARITHM = tuple(2.0 * log2(e) / k for k in range(1, 16, 2))
EXPONENTIAL = tuple(log(2.0) ** k / factorial(k) for k in range(11))


def _integer(value: int) -> ir.Constant:
    return ir.Constant(INTEGERS, [ir.Constant(INTEGERS.element, value)] * LANES)


def _bits(value: float) -> int:
    return int(np.float64(value).view(np.int64))


def _polynomial(builder: ir.IRBuilder, x: ir.Value, coefficients: tuple[float, ...]) -> ir.Value:
    total = constant(coefficients[-1])
    for each in reversed(coefficients[:-1]):
        total = builder.fadd(builder.fmul(total, x, flags=FLAGS), constant(each), flags=FLAGS)
    return total


def logarithm(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """Return the logarithm to base 2 of numbers above 1e-300."""
    bits = builder.bitcast(x, INTEGERS)
    shift = _integer(MANTISSA)
    power = builder.ashr(builder.sub(bits, _integer(_bits(sqrt(0.5)))), shift)
    rest = builder.bitcast(builder.sub(bits, builder.shl(power, shift)), NUMBERS)
    whole = builder.bitcast(builder.add(power, _integer(_bits(_ROUNDER))), NUMBERS)
    whole = builder.fsub(whole, constant(_ROUNDER))
    one = constant(1.0)
    s = builder.fdiv(builder.fsub(rest, one), builder.fadd(rest, one))
    series = _polynomial(builder, builder.fmul(s, s), LOGARITHM)
    return builder.fadd(whole, builder.fmul(s, series, flags=FLAGS), flags=FLAGS)


def power(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """Return 2^x for |x| < 1000."""
    shifted = builder.fadd(x, constant(_ROUNDER))
    rest = builder.fsub(x, builder.fsub(shifted, constant(_ROUNDER)))
    bits = builder.shl(builder.bitcast(shifted, INTEGERS), _integer(MANTISSA))
    mantissa = builder.bitcast(_polynomial(builder, rest, EXPONENTIAL), INTEGERS)
    return builder.bitcast(builder.add(mantissa, bits), NUMBERS)
