"""The names in exported C: of files, functions and variables.

They begin with a letter, end in a letter where they are numbered, and differ within the 31
characters that C99 promises to tell external names apart by (MISRA C:2012, rules 5.1, 21.2).
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

from manip_dyn.core.errors import ManipDynError

SIGNIFICANT = 31
"""Characters in which C99 tells external names apart at least (5.2.4.1)."""
SHORT = {
    "forward_dynamics_derivatives": "fd_derivatives",
    "inverse_dynamics_derivatives": "id_derivatives",
    "forward_dynamics_adjoint": "fd_adjoint",
    "forward_dynamics_second_derivatives": "fd_second_derivatives",
}
"""Kernels whose own names would be too long with a robot's name before them."""
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
"""Words of C99 and C++."""


def c_name(kernel: str) -> str:
    """Return what a kernel is called in C, behind the prefix."""
    return SHORT.get(kernel, kernel)


def prefix_for(robot_name: str, name: str | None, single: bool, kernels: Sequence[str]) -> str:
    """Return what all names begin with: `name`, or the robot's, with an f for single precision.

    The robot's is cut short where functions would else be the same in their significant
    characters.

    Raises:
        ManipDynError: If `name` is no C identifier in lower case, or too long.
    """
    if name is None:
        words = re.sub(r"[^a-z0-9]+", "_", robot_name.lower()).strip("_")
        made = words if words[:1].isalpha() else f"arm_{words}".rstrip("_")
        while len(made) > 1 and not _distinct(made + "f" * single, kernels):
            made = made[:-1].rstrip("_")
        return made + "f" * single
    good = isinstance(name, str) and re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name)
    if not good or name in RESERVED or keyword.iskeyword(name):
        raise ManipDynError(
            f"name is {name!r}; expected a C identifier in lower case, such as 'pa10'"
        )
    if not _distinct(name, kernels):
        raise ManipDynError(
            f"with the name '{name}' functions are the same in their first {SIGNIFICANT} "
            f"characters; expected a shorter one (--name)"
        )
    return name


def _distinct(prefix: str, kernels: Sequence[str]) -> bool:
    """Return whether functions differ in their significant characters."""
    names = {f"{prefix}_{c_name(kernel)}"[:SIGNIFICANT] for kernel in kernels}
    return len(names) == len(kernels)


def letters(number: int) -> str:
    """Return a number, from 0 on, in letters: a, ..., z, aa, ab, ..."""
    text = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(ord("a") + digit) + text
    return text
