"""Sine and cosine as LLVM instructions, for numbers or vectors.

The argument is reduced by multiples of pi/2 in three parts (Cody, Waite 1980). The polynomials
are those of fdlibm (Sun Microsystems 1993, k_sin.c and k_cos.c). Errors of double numbers are
below 2.5 units in the last place. Beyond a limit, and for infinite numbers and NaN, the C library
is called.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir

LIMIT = 1e5
"""Angle in rad up to which the multiples of the parts of pi/2 are exact, for double numbers."""

TWO_OVER_PI = 6.36619772367581382433e-01

PARTS = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)


class Reduction(NamedTuple):
    """Numbers of the argument reduction for a floating-point type.

    Attributes:
        limit: Angle in rad up to which the multiples of the parts of pi/2 are exact.
        parts: Parts of pi/2.
        rounder: Adding it rounds to an integer, which the last bits of the sum contain.
        bits: Size of a number.
    """

    limit: float
    parts: tuple[float, float, float]
    rounder: float
    bits: int


DOUBLE = Reduction(LIMIT, PARTS, 6755399441055744.0, 64)
SINGLE = Reduction(
    1e3, (1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8), 12582912.0, 32
)
SINE = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
COSINE = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip
_FLAGS = ("contract",)


def sine_and_cosine(builder: ir.IRBuilder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return the sine and the cosine of `x`, with the same type."""
    function = _function(builder.module, x.type)
    both = builder.call(function, [x])
    return builder.extract_value(both, 0), builder.extract_value(both, 1)


def sines_and_cosines(
    builder: ir.IRBuilder, angles: list[ir.Value]
) -> list[tuple[ir.Value, ir.Value]]:
    """Return the sine and the cosine of each angle, computed in one vector."""
    if len(angles) == 1:
        return [sine_and_cosine(builder, angles[0])]
    lanes = 1 << (len(angles) - 1).bit_length()
    lanes_used = [ir.Constant(ir.IntType(32), i) for i in range(len(angles))]
    packed = ir.Constant(ir.VectorType(ir.DoubleType(), lanes), None)
    for angle, lane in zip(angles, lanes_used, strict=True):
        packed = builder.insert_element(packed, angle, lane)
    sine, cosine = sine_and_cosine(builder, packed)
    return [
        (builder.extract_element(sine, lane), builder.extract_element(cosine, lane))
        for lane in lanes_used
    ]


def _function(module: ir.Module, kind: ir.Type) -> ir.Function:
    """Return the function of the module for one type; its body is emitted on first use."""
    lanes, bits = getattr(kind, "count", 1), _reduction(kind).bits
    name = f"manip_dyn.sine_and_cosine.{lanes}.{bits}"
    if name in module.globals:
        return module.globals[name]
    pair = ir.LiteralStructType([kind, kind])
    function = ir.Function(module, ir.FunctionType(pair, [kind]), name)
    function.linkage = "internal"
    function.attributes.add("alwaysinline")
    builder = ir.IRBuilder(function.append_basic_block())
    (x,) = function.args
    fast = _fast(builder, x)
    quick = builder.block
    outside = _outside(builder, x)
    with builder.if_then(_any(builder, outside), likely=False):
        # The result of a lane must not depend on the other lanes.
        slow = [
            builder.select(outside, *both) for both in zip(_slow(builder, x), fast, strict=True)
        ]
        far = builder.block
    merged = [builder.phi(kind), builder.phi(kind)]
    result = ir.Constant(pair, ir.Undefined)
    for i, value in enumerate(merged):
        value.add_incoming(fast[i], quick)
        value.add_incoming(slow[i], far)
        result = builder.insert_value(result, value, i)
    builder.ret(result)
    return function


def _fast(builder: ir.IRBuilder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    reduction = _reduction(x.type)
    number, integer = x.type, _like(x.type, ir.IntType(reduction.bits))
    one, half = _constant(number, 1.0), _constant(number, 0.5)
    rounder = _constant(number, reduction.rounder)
    shifted = builder.fadd(builder.fmul(x, _constant(number, TWO_OVER_PI)), rounder)
    quarter_turns = builder.fsub(shifted, rounder)
    rest = x
    for part in reduction.parts:
        turn = builder.fmul(quarter_turns, _constant(number, part), flags=_FLAGS)
        rest = builder.fsub(rest, turn, flags=_FLAGS)
    z = builder.fmul(rest, rest, flags=_FLAGS)
    cubic = builder.fmul(builder.fmul(rest, z, flags=_FLAGS), _polynomial(builder, z, SINE),
                         flags=_FLAGS)  # fmt: skip
    sine = builder.fadd(rest, cubic, flags=_FLAGS)
    # 1 - z/2 is rounded; the rounding error is added to the small terms.
    squared = builder.fmul(z, half)
    leading = builder.fsub(one, squared)
    lost = builder.fsub(builder.fsub(one, leading), squared)
    quartic = builder.fmul(builder.fmul(z, z, flags=_FLAGS), _polynomial(builder, z, COSINE),
                           flags=_FLAGS)  # fmt: skip
    cosine = builder.fadd(leading, builder.fadd(lost, quartic, flags=_FLAGS))
    quadrant = builder.bitcast(shifted, integer)
    odd = _bit(builder, quadrant, 1)
    after = builder.add(quadrant, _constant(integer, 1))
    return (
        _signed(builder, builder.select(odd, cosine, sine), _bit(builder, quadrant, 2)),
        _signed(builder, builder.select(odd, sine, cosine), _bit(builder, after, 2)),
    )


def _slow(builder: ir.IRBuilder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    kind = getattr(x.type, "element", x.type)
    results = []
    for name in ("sin", "cos"):
        library = builder.module.declare_intrinsic(f"llvm.{name}", [kind])
        if isinstance(x.type, ir.VectorType):
            value = ir.Constant(x.type, ir.Undefined)
            for lane in range(x.type.count):
                index = ir.Constant(ir.IntType(32), lane)
                result = builder.call(library, [builder.extract_element(x, index)])
                value = builder.insert_element(value, result, index)
        else:
            value = builder.call(library, [x])
        results.append(value)
    return results[0], results[1]


def _outside(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """Return a mask of numbers beyond the limit, including NaN."""
    limit = _reduction(x.type).limit
    return builder.or_(
        builder.fcmp_unordered(">", x, _constant(x.type, limit)),
        builder.fcmp_unordered("<", x, _constant(x.type, -limit)),
    )


def _any(builder: ir.IRBuilder, which: ir.Value) -> ir.Value:
    """Return whether any bit of a mask is set."""
    if not isinstance(which.type, ir.VectorType):
        return which
    bits = ir.IntType(which.type.count)
    return builder.icmp_unsigned("!=", builder.bitcast(which, bits), ir.Constant(bits, 0))


def _polynomial(builder: ir.IRBuilder, z: ir.Value, coefficients: tuple[float, ...]) -> ir.Value:
    """Return a polynomial in z with six coefficients, paired for a short dependency chain."""

    def fused(factor, by, term):
        return builder.fadd(builder.fmul(factor, by, flags=_FLAGS), term, flags=_FLAGS)

    constants: list[Any] = [_constant(z.type, value) for value in coefficients]
    squared = builder.fmul(z, z, flags=_FLAGS)
    fourth = builder.fmul(squared, squared, flags=_FLAGS)
    low, middle, high = (
        fused(constants[i + 1], z, constants[i]) for i in range(0, len(constants), 2)
    )
    return fused(high, fourth, fused(middle, squared, low))


def _bit(builder: ir.IRBuilder, integer: ir.Value, bit: int) -> ir.Value:
    masked = builder.and_(integer, _constant(integer.type, bit))
    return builder.icmp_unsigned("!=", masked, _constant(integer.type, 0))


def _signed(builder: ir.IRBuilder, value: ir.Value, negative: ir.Value) -> ir.Value:
    return builder.select(negative, builder.fneg(value), value)


def _reduction(kind: ir.Type) -> Reduction:
    return SINGLE if getattr(kind, "element", kind) == ir.FloatType() else DOUBLE


def _like(kind: ir.Type, element: ir.Type) -> ir.Type:
    return ir.VectorType(element, kind.count) if isinstance(kind, ir.VectorType) else element


def _constant(kind: ir.Type, value: float) -> ir.Constant:
    if isinstance(kind, ir.VectorType):
        return ir.Constant(kind, [ir.Constant(kind.element, value)] * kind.count)
    return ir.Constant(kind, value)
