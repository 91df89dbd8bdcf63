"""Self-test in C that compares kernels with reference values, and computation of these values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen.generation.kernel_source import Function, program_text
from manip_dyn.codegen.rigid_body.catalogue import argument_size
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.export.c99.kernels import Style
from manip_dyn.export.c99.language import DOUBLE, SINGLE, Precision, c_name
from manip_dyn.export.c99.series import Series
from manip_dyn.robot import Robot


def evaluated(function: Function, arguments: Sequence[Any]) -> Vector:
    """Return the results (..., m) of a kernel for m states, in the data type of the arguments.

    An argument of k numbers is an array (k, m).
    """
    states, kind = arguments[0].shape[1], arguments[0].dtype
    out = np.empty((*function.shape, states), kind)
    names = dict(zip(function.declaration.arguments, arguments, strict=True))
    run(program_text(function), {**names, "out": out})
    return out


def run(text: str, names: dict[str, Any]) -> None:
    """Run a straight-line program with NumPy; arrays may have an additional axis of states."""
    with np.errstate(all="ignore"):  # infinite numbers and NaN propagate
        exec(compile(text, "<program>", "exec"), {"sin": np.sin, "cos": np.cos, **names})


STATES = 4
ROUNDINGS = 16.0
"""Allowed multiple of numpy's rounding errors in single precision, scaled to the type."""
ORDER = 6
"""Order of the Taylor series."""


class Cases(NamedTuple):
    """Reference values of one kernel.

    Attributes:
        kernel: Name of the kernel.
        arguments: Values (size, STATES) of the arguments by name, in float32.
        expected: Results in double precision (size, STATES).
        tolerance: Maximum error, relative to the largest result of a state.
    """

    kernel: str
    arguments: dict[str, Any]
    expected: Matrix
    tolerance: float


def cases_of(robot: Robot, function: Function, precision: Precision) -> Cases:
    """Return reference values of a kernel at random states with positions within the limits."""
    arguments = _arguments(robot, function.declaration.arguments)
    exact, rough = (
        evaluated(function, [argument.astype(kind) for argument in arguments.values()])
        for kind in (np.float64, np.float32)
    )
    return _cases(function.name, arguments, exact, rough, precision)


def series_cases(robot: Robot, series: Series, precision: Precision) -> Cases:
    """Return reference values of the series for constant efforts and the order `ORDER`."""
    arguments = _arguments(robot, ("q", "v", "tau"))
    exact, rough = (
        _coefficients(series, *(argument.astype(kind) for argument in arguments.values()))
        for kind in (np.float64, np.float32)
    )
    return _cases("taylor", arguments, exact, rough, precision)


def _arguments(robot: Robot, names: tuple[str, ...]) -> dict[str, Any]:
    """Return random arguments, exact in single precision, with positions within the limits.

    The inertia of a payload is that of a physically possible rigid body.
    """
    random = np.random.default_rng(0)
    values = {}
    for name in names:
        value = random.uniform(-1.0, 1.0, (argument_size(name, robot.n), STATES))
        if name in ("q", "y"):
            low, high = np.clip(robot.q_min, -3.0, 3.0), np.clip(robot.q_max, -3.0, 3.0)
            centre, half = 0.5 * (low + high), 0.5 * (high - low)
            value[: robot.n] = centre[:, None] + 0.9 * half[:, None] * value[: robot.n]
        elif name == "drive":
            value[robot.n :] = value[robot.n :] > 0.0
        elif name == "payload":
            value = np.abs(value)
            value[4:7] = 0.5 + 0.1 * value[4:7]
            value[7:] *= 0.1
        values[name] = value.astype(np.float32)
    return values


def _cases(
    kernel: str, arguments: dict[str, Any], exact: Any, rough: Any, precision: Precision
) -> Cases:
    exact, rough = (array.reshape(-1, STATES) for array in (exact, rough))
    scale = np.maximum(np.abs(exact).max(axis=0), np.finfo(np.float64).tiny)
    error = float((np.abs(rough - exact).max(axis=0) / scale).max())
    roundings = max(error / SINGLE.rounding, 1.0) * ROUNDINGS
    return Cases(kernel, arguments, exact, roundings * precision.rounding)


def _coefficients(series: Series, q: Any, v: Any, tau: Any) -> Any:
    """Return the coefficients (ORDER + 1, n, m) of q(t), computed by the passes of `series`."""
    n, factors = series.n, series.factors
    work = np.zeros((ORDER, factors.width, q.shape[1]), q.dtype)
    work[0, :n], work[0, n : 2 * n], work[0, 2 * n : 3 * n] = q, v, tau
    run("\n".join(series.first), {"out": work[0]})
    columns = [slice(k, k + factors.products) for k in (factors.first, factors.last)]
    for k in range(1, ORDER - 1):
        products = [work[j, columns[0]] * work[k - j, columns[1]] for j in range(1, k)]
        sums = slice(factors.sums, factors.sums + factors.products)
        work[0, sums] = np.sum(products, axis=0, dtype=q.dtype) if products else 0.0
        names = {"start": work[0], "previous": work[k - 1], "out": work[k], "order": float(k)}
        run("\n".join(series.following), names)
    later = [work[k - 2, 4 * n : 5 * n] / (k * (k - 1)) for k in range(2, ORDER + 1)]
    return np.stack([q, v, *later])


TEXT = """\
#include "{p}.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Compares results of one state; returns 1 if an error exceeds the tolerance. */
static int compare(const char *kernel, int32_t state, const {real} *results,
    const double *expected, int32_t count, double tolerance)
{{
    double largest = 0.0;
    double error = 0.0;
    int finite = 1;
    int32_t i;

    for (i = 0; i < count; i++) {{
        const double difference = fabs((double)results[i] - expected[i]);

        finite = (difference < HUGE_VAL) ? finite : 0;
        largest = fmax(largest, fabs(expected[i]));
        error = fmax(error, difference);
    }}
    const int passed = ((finite != 0) && (error <= (tolerance * largest))) ? 1 : 0;

    (void)printf("%s %s, state %d: largest error %.1e of %.3g, allowed %.1e\\n",
        (passed != 0) ? "ok  " : "FAIL", kernel, (int)state, error, largest, tolerance * largest);
    return 1 - passed;
}}

{tests}
int main(void)
{{
    int failures = 0;

{calls}
    (void)printf("%d failures\\n", failures);
    return (failures == 0) ? EXIT_SUCCESS : EXIT_FAILURE;
}}
"""
TEST = """\
static int test_{kernel}(void)
{{
{values}
    {real} out[{size}];
{workspace}    int failures = 0;
    int32_t i;

    for (i = 0; i < {states}; i++) {{
        {p}_{kernel}({arguments}out);
        failures += compare("{kernel}", i, out, expected[i], {size}, {tolerance});
    }}
    return failures;
}}
"""


def selftest_text(style: Style, tests: Sequence[Cases]) -> str:
    """Return the source of the self-test."""
    return TEXT.format(
        p=style.prefix,
        real=style.precision.kind,
        tests="\n".join(_test(style, cases) for cases in tests),
        calls="\n".join(f"    failures += test_{c_name(cases.kernel)}();" for cases in tests),
    )


def _test(style: Style, cases: Cases) -> str:
    real, size = style.precision.kind, cases.expected.shape[0]
    literal = style.precision.literal
    values = [
        _table(
            f"static const {real} {name}", argument, map(literal, argument.T.astype(float).flat)
        )
        for name, argument in cases.arguments.items()
    ]
    expected = map(DOUBLE.literal, cases.expected.T.flat)
    values.append(_table("static const double expected", cases.expected, expected))
    arguments = "".join(f"{name}[i], " for name in cases.arguments)
    workspace = ""
    if cases.kernel == "taylor":
        workspace = f"    static {real} work[{ORDER} * {style.prefix.upper()}_TAYLOR_WIDTH];\n"
        arguments += f"1, {ORDER}, work, "
    return TEST.format(
        p=style.prefix,
        kernel=c_name(cases.kernel),
        values="\n".join(values),
        real=real,
        size=size,
        workspace=workspace,
        states=STATES,
        arguments=arguments,
        tolerance=DOUBLE.literal(cases.tolerance),
    )


def _table(declaration: str, values: Matrix, literals: Iterable[str]) -> str:
    """Return the definition of an array with one row per state."""
    size, numbers = values.shape[0], list(literals)
    lines = [f"    {declaration}[{STATES}][{size}] = {{"]
    for state in range(STATES):
        row = numbers[state * size : (state + 1) * size]
        lines.append("        {")
        lines += [f"            {', '.join(row[i : i + 3])}," for i in range(0, size, 3)]
        lines.append("        },")
    return "\n".join([*lines, "    };"])
