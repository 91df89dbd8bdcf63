"""The C program that compares the kernels with values made beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from manip_dyn.core.checks import Matrix
from manip_dyn.export.c99.cases import ORDER, STATES, Cases
from manip_dyn.export.c99.source.kernels import Style
from manip_dyn.export.c99.source.names import c_name
from manip_dyn.export.c99.source.precision import DOUBLE

TEXT = """\
#include "{p}.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Compares results of one state; returns 1 if one is further off than rounding explains. */
static int compare(const char *kernel, int32_t state, const {real} *results,
    const double *expected, int32_t count, double tolerance)
{{
    double largest = 0.0;
    double error = 0.0;
    int finite = 1;
    int32_t i;

    for (i = 0; i < count; i++) {{
        const double off = fabs((double)results[i] - expected[i]);

        finite = (off < HUGE_VAL) ? finite : 0;
        largest = fmax(largest, fabs(expected[i]));
        error = fmax(error, off);
    }}
    const int good = ((finite != 0) && (error <= (tolerance * largest))) ? 1 : 0;

    (void)printf("%s %s, state %d: largest error %.1e of %.3g, allowed %.1e\\n",
        (good != 0) ? "ok  " : "FAIL", kernel, (int)state, error, largest, tolerance * largest);
    return 1 - good;
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
{room}    int failures = 0;
    int32_t i;

    for (i = 0; i < {states}; i++) {{
        {p}_{kernel}({arguments}out);
        failures += compare("{kernel}", i, out, expected[i], {size}, {tolerance});
    }}
    return failures;
}}
"""


def selftest_text(style: Style, tests: Sequence[Cases]) -> str:
    """Return the program."""
    return TEXT.format(
        p=style.prefix,
        real=style.precision.kind,
        tests="\n".join(_test(style, each) for each in tests),
        calls="\n".join(f"    failures += test_{c_name(each.kernel)}();" for each in tests),
    )


def _test(style: Style, cases: Cases) -> str:
    real, size = style.precision.kind, cases.expected.shape[0]
    literal = style.precision.literal
    values = [
        _table(f"static const {real} {name}", each, map(literal, each.T.astype(float).flat))
        for name, each in cases.arguments.items()
    ]
    expected = map(DOUBLE.literal, cases.expected.T.flat)
    values.append(_table("static const double expected", cases.expected, expected))
    arguments = "".join(f"{name}[i], " for name in cases.arguments)
    room = ""
    if cases.kernel == "taylor":
        room = f"    static {real} work[{ORDER} * {style.prefix.upper()}_TAYLOR_WIDTH];\n"
        arguments += f"1, {ORDER}, work, "
    return TEST.format(
        p=style.prefix,
        kernel=c_name(cases.kernel),
        values="\n".join(values),
        real=real,
        size=size,
        room=room,
        states=STATES,
        arguments=arguments,
        tolerance=DOUBLE.literal(cases.tolerance),
    )


def _table(what: str, values: Matrix, literals: Iterable[str]) -> str:
    """Return an array with a row for each state."""
    size, numbers = values.shape[0], list(literals)
    lines = [f"    {what}[{STATES}][{size}] = {{"]
    for state in range(STATES):
        row = numbers[state * size : (state + 1) * size]
        lines.append("        {")
        lines += [f"            {', '.join(row[i : i + 3])}," for i in range(0, size, 3)]
        lines.append("        },")
    return "\n".join([*lines, "    };"])
