"""C names, floating-point types, and sines and cosines in C."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen.backend.trigonometry import COSINE, LIMIT, PARTS, SINE, TWO_OVER_PI
from manip_dyn.core.errors import ManipDynError

SIGNIFICANT = 31
"""Number of significant characters in external names that C99 guarantees (5.2.4.1)."""
SHORT = {
    "forward_dynamics_derivatives": "fd_derivatives",
    "inverse_dynamics_derivatives": "id_derivatives",
    "forward_dynamics_adjoint": "fd_adjoint",
    "forward_dynamics_second_derivatives": "fd_second_derivatives",
}
"""Short names of kernels that would be too long with the prefix of a robot's name."""
RESERVED = frozenset(
    [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "bool",
        "catch",
        "class",
        "delete",
        "explicit",
        "export",
        "friend",
        "mutable",
        "namespace",
        "new",
        "operator",
        "private",
        "protected",
        "public",
        "template",
        "this",
        "throw",
        "try",
        "typename",
        "using",
        "virtual",
    ]
)
"""Names that are rejected as prefixes: keywords of C99, and the most common ones of C++."""


def c_name(kernel: str) -> str:
    """Return the C name of a kernel, without the prefix."""
    return SHORT.get(kernel, kernel)


def prefix_for(robot_name: str, name: str | None, single: bool, kernels: Sequence[str]) -> str:
    """Return the prefix of all names: `name`, or one derived from the robot's name.

    The robot's name is followed by f if `single`. It is shortened if functions would not differ in
    their significant characters.

    Raises:
        ManipDynError: If `name` is not a lower-case C identifier, is a keyword, or is too long.
    """
    if name is None:
        words = re.sub(r"[^a-z0-9]+", "_", robot_name.lower()).strip("_")
        prefix = words if words[:1].isalpha() else f"arm_{words}".rstrip("_")
        while len(prefix) > 1 and not _distinct(prefix + "f" * single, kernels):
            prefix = prefix[:-1].rstrip("_")
        return prefix + "f" * single
    valid = isinstance(name, str) and re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name)
    if not valid or name in RESERVED or keyword.iskeyword(name):
        raise ManipDynError(
            f"name must be a C identifier in lower case such as 'pa10', got {name!r}."
        )
    if not _distinct(name, kernels):
        raise ManipDynError(
            f"name must be shorter, got '{name}': functions would be the same in their first "
            f"{SIGNIFICANT} characters."
        )
    return name


def _distinct(prefix: str, kernels: Sequence[str]) -> bool:
    """Return whether functions differ in their significant characters."""
    names = {f"{prefix}_{c_name(kernel)}"[:SIGNIFICANT] for kernel in kernels}
    return len(names) == len(kernels)


def letters(number: int) -> str:
    """Convert a number >= 0 to letters: a, ..., z, aa, ab, ..."""
    text = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(ord("a") + digit) + text
    return text


class Precision(NamedTuple):
    """A floating-point type of C.

    Attributes:
        kind: Name of the type.
        suffix: Suffix of constants and of functions in math.h.
        dtype: Corresponding NumPy type.
        limit: Magnitude in rad below which angles are reduced with `parts`. The C library computes
            sines of larger angles.
        rounder: Number that rounds to an integer when added; the integer is in the last bits of
            the sum.
        bits: Unsigned integer type of the same size.
        parts: Parts of pi/2; multiples of the first two are exact.
        sine: Coefficients of (sin r - r) / r^3 as a polynomial in r^2.
        cosine: Coefficients of (cos r - 1 + r^2 / 2) / r^4.
    """

    kind: str
    suffix: str
    dtype: type
    limit: float
    rounder: float
    bits: str
    parts: tuple[float, ...]
    sine: tuple[float, ...]
    cosine: tuple[float, ...]

    @property
    def rounding(self) -> float:
        """The unit roundoff."""
        return float(np.finfo(self.dtype).eps) / 2.0

    def literal(self, value: float) -> str:
        """Return the C literal of `value`, rounded to this type.

        Raises:
            ManipDynError: If the rounded value is not finite.
        """
        with np.errstate(over="ignore"):
            number = self.dtype(value)
        if not np.isfinite(number):
            raise ManipDynError(
                f"Constants of the equations must be finite in C's {self.kind}, got {value!r}. "
                "Check the lengths and masses of the robot."
            )
        return f"{np.format_float_scientific(number, unique=True, trim='0')}{self.suffix}"


DOUBLE = Precision(
    *("double", "", np.float64, LIMIT, 6755399441055744.0, "uint64_t"), PARTS, SINE, COSINE
)
SINGLE = Precision(
    "float",
    "f",
    np.float32,
    8000.0,
    12582912.0,
    "uint32_t",
    (1.5703125, 4.837512969970703125e-4, 7.549789948768648e-8),
    (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
    (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
)

PREAMBLE = """\
#include <float.h>
#include <math.h>
#include <string.h>

/* A sum rounded to the precision of the type, even on processors with extended precision. */
#if FLT_EVAL_METHOD == 0
#define {P}_STORED const
#else
#define {P}_STORED volatile
#endif
"""
TEXT = """\
/* Sines and cosines of {count} angles in rad. */
static void {prefix}_{count}_sines(const {kind} *{restrict} angle, {kind} *{restrict} sine,
    {kind} *{restrict} cosine)
{{
    int32_t far = 0;
    int32_t i;

    for (i = 0; i < {count}; i++) {{
        far |= (fabs{suffix}(angle[i]) < {limit}) ? 0 : 1;
    }}
    if (far != 0) {{
        for (i = 0; i < {count}; i++) {{
            sine[i] = sin{suffix}(angle[i]);
            cosine[i] = cos{suffix}(angle[i]);
        }}
    }} else {{
        for (i = 0; i < {count}; i++) {{
            /* The last bits of this sum are the number of quarter turns. */
            {P}_STORED {kind} stored = (angle[i] * {two_over_pi}) + {rounder};
            const {kind} shifted = stored;
            const {kind} turns = shifted - {rounder};
            const {kind} rest = ((angle[i] - (turns * {part_a})) - (turns * {part_b}))
                - (turns * {part_c});
            const {kind} square = rest * rest;
            const {kind} half = 0.5{suffix} * square;
            const {kind} leading = 1.0{suffix} - half;
            const {kind} s = rest + ((rest * square) * ({sine}));
            const {kind} c = leading + (((1.0{suffix} - leading) - half)
                + ((square * square) * ({cosine})));
            {bits} quarter;

            (void)memcpy(&quarter, &shifted, sizeof quarter);
            {{
                const {kind} first = ((quarter & 1u) != 0u) ? c : s;
                const {kind} second = ((quarter & 1u) != 0u) ? s : c;

                sine[i] = ((quarter & 2u) != 0u) ? -first : first;
                cosine[i] = (((quarter + 1u) & 2u) != 0u) ? -second : second;
            }}
        }}
    }}
}}
"""


def sines_preamble(prefix: str) -> str:
    """Return the preamble shared by all sine functions."""
    return PREAMBLE.format(P=prefix.upper())


def sines_text(precision: Precision, prefix: str, count: int) -> str:
    """Return the C function for sines and cosines of `count` angles."""
    # Hexadecimal, because some compilers evaluate decimal constants with more digits.
    parts = [f"{float(precision.dtype(x)).hex()}{precision.suffix}" for x in precision.parts]
    return TEXT.format(
        prefix=prefix,
        restrict=f"{prefix.upper()}_RESTRICT",
        count=count,
        kind=precision.kind,
        suffix=precision.suffix,
        limit=precision.literal(precision.limit),
        rounder=precision.literal(precision.rounder),
        bits=precision.bits,
        P=prefix.upper(),
        two_over_pi=precision.literal(TWO_OVER_PI),
        part_a=parts[0],
        part_b=parts[1],
        part_c=parts[2],
        sine=_polynomial(precision, precision.sine),
        cosine=_polynomial(precision, precision.cosine),
    )


def _polynomial(precision: Precision, coefficients: tuple[float, ...]) -> str:
    """Return a polynomial in the square; a long one is split into two independent halves."""
    half = len(coefficients) // 2
    if half < 3:
        return _nested(precision, coefficients)
    low, high = (_nested(precision, terms) for terms in (coefficients[:half], coefficients[half:]))
    power = " * ".join(["square"] * half)
    return f"({low})\n                + (({power}) * ({high}))"


def _nested(precision: Precision, coefficients: tuple[float, ...]) -> str:
    text = precision.literal(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        text = f"{precision.literal(coefficient)}\n                + (square * ({text}))"
    return text
