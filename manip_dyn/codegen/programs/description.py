"""What `help` says of a robot's kernels: what each returns, the shapes and units of its arrays."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import Any

from manip_dyn.codegen.rigid_body.catalogue import BATCH, BY_NAME, argument_size
from manip_dyn.codegen.rigid_body.equations import Equations

ARGUMENTS = {
    "q": "joint positions, rad or m",
    "v": "joint velocities, rad/s or m/s",
    "a": "joint accelerations, rad/s^2 or m/s^2",
    "tau": "joint efforts, N m or N",
    "y": "positions and velocities, (q, v)",
    "payload": "mass, centre of mass (3) and moments of inertia about it (6) in the tool's axes, "
    "kg, m, kg m^2",
    "wrench": "force and moment on the tool at its origin, base axes, N, N m",
    "drive": "efforts, and 1 for each joint that they drive, 0 for each that is locked",
    "inertias": "inertial parameters of the bodies, 10 of each",
    "adjoint": "factors of the accelerations",
    "p_q": "costates of the positions",
    "p_v": "costates of the velocities",
}


def describe(function: Any, name: str, n: int, owner: str) -> None:
    """Describe a function that returns a kernel's result, and checks nothing.

    Args:
        function: Of the arrays of the kernel's declaration.
        name: The kernel's.
        n: Number of joints.
        owner: The class that has it.
    """
    _named(function, name, owner, ())
    function.__doc__ = f"{_purpose(name)}\n\nNothing is checked.\n\n{_arguments(name, n)}\n"


def describe_batch(function: Any, name: str, n: int, owner: str) -> None:
    """Describe one that does so for many states side by side; it checks its arguments."""
    _named(function, name, owner, [Parameter("threads", Parameter.KEYWORD_ONLY, default=1)])
    function.__doc__ = (
        f"{_purpose(name)}\n\nAll arrays have one axis more, with a column for each state.\n\n"
        f"{_arguments(name, n)}\n    threads: how many run side by side, each with its columns.\n"
    )


def describe_in_place(function: Any, name: str, n: int) -> None:
    """Describe a compiled kernel that writes into an array, or its form for many states."""
    kernel = name.removesuffix(BATCH)
    shape, rows = BY_NAME[kernel].shape(n), _arguments(kernel, n)
    told = "Nothing is checked; arrays are float64 and C-contiguous"
    rows += f"\n    out: what is written, {shape}."
    if kernel != name:
        told += ", with one axis more: a column for each state"
        rows += "\n    first: the first column to compute.\n    last: the one after the last."
    written = _purpose(kernel).replace("Return", "Write", 1)
    function.__doc__ = f"{written}\n\n{told}.\n\n{rows}\n"


def _named(function: Any, name: str, owner: str, others: Sequence[Parameter]) -> None:
    function.__name__, function.__qualname__ = name, f"{owner}.{name}"
    arrays = [Parameter(each, Parameter.POSITIONAL_OR_KEYWORD) for each in BY_NAME[name].arguments]
    function.__signature__ = Signature([*arrays, *others])


def _purpose(name: str) -> str:
    return (getattr(Equations, name).__doc__ or "").strip().replace("\n        ", "\n")


def _arguments(name: str, n: int) -> str:
    rows = [
        f"    {each}: {ARGUMENTS[each]}, ({argument_size(each, n)},)."
        for each in BY_NAME[name].arguments
    ]
    return "\n".join(["Args:", *rows])
