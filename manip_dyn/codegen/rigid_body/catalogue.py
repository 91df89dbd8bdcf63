"""Catalogue of kernels: names, arguments and shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

Shape = tuple[int, ...]


class Declaration(NamedTuple):
    """Declaration of a kernel to be generated.

    Attributes:
        name: Name of the method of `Equations` and of the generated function.
        module: Name of the generated module. Kernels of a module are generated together.
        arguments: Names of the array arguments.
        shape: Function that returns the shape of the result for n joints.
        longest: Largest number of joints of a serial chain for straight-line code. Longer chains,
            and trees of a larger size, use loops; see `is_straight`.
    """

    name: str
    module: str
    arguments: tuple[str, ...]
    shape: Callable[[int], Shape]
    longest: float = math.inf


def _vector(n: int) -> Shape:
    return (n,)


def _square(n: int) -> Shape:
    return (n, n)


def _cube(n: int) -> Shape:
    return (3, n, n)


_LOAD = ("payload", "wrench")
BATCH = "_batch"
"""Suffix of the names of batched kernels."""
SINGLE = "_single"
"""Suffix, before `BATCH`, of the names of batched kernels that compute in single precision."""
LONGEST, LONGEST_MASS = 14, 30
"""Maximum numbers of joints of a serial chain for straight-line derivative matrices of the
dynamics and for a straight-line mass matrix."""
DECLARATIONS = (
    Declaration("forward_dynamics", "dynamics", ("q", "v", "tau"), _vector),
    Declaration("inverse_dynamics", "dynamics", ("q", "v", "a"), _vector),
    Declaration("mass_matrix", "dynamics", ("q",), _square, LONGEST_MASS),
    Declaration("forward_kinematics", "dynamics", ("q",), lambda n: (4, 4)),
    Declaration("jacobian", "dynamics", ("q",), lambda n: (6, n)),
    Declaration("kinematics", "kinematics", ("q",), lambda n: (12 + 6 * n,)),
    Declaration("energy", "dynamics", ("q", "v"), lambda n: (2,)),
    Declaration("motion", "motion", ("y", "tau"), lambda n: (2 * n,)),
    Declaration("motion_and_work", "motion", ("y", "tau"), lambda n: (2 * n + 1,)),
    Declaration("linear_motion", "linear", ("y", "tau"), lambda n: (n, 3 * n), LONGEST),
    Declaration(
        "linear_motion_and_work",
        "linear",
        ("y", "tau"),
        lambda n: (n + 1, 3 * n + 1),
        LONGEST,
    ),
    Declaration("locked_joint_motion", "locked", ("y", "drive"), lambda n: (2 * n,)),
    Declaration("locked_joint_efforts", "locked", ("y", "drive"), _vector),
    Declaration("forward_dynamics_loaded", "loaded", ("q", "v", "tau", *_LOAD), _vector),
    Declaration("inverse_dynamics_loaded", "loaded", ("q", "v", "a", *_LOAD), _vector),
    Declaration("mass_matrix_loaded", "loaded", ("q", "payload"), _square),
    Declaration(
        "motion_with_inertias", "inertias", ("y", "tau", "inertias"), lambda n: (2 * n + 1,)
    ),
    Declaration("energy_with_inertias", "inertias", ("q", "v", "inertias"), lambda n: (2,)),
    Declaration("forward_dynamics_derivatives", "derivatives", ("q", "v", "tau"), _cube, LONGEST),
    Declaration("inverse_dynamics_derivatives", "derivatives", ("q", "v", "a"), _cube, LONGEST),
    Declaration("jacobian_rate", "derivatives", ("q", "v"), lambda n: (6, n)),
    Declaration("jacobian_derivatives", "derivatives", ("q",), lambda n: (6, n, n)),
    Declaration(
        "forward_dynamics_adjoint", "adjoint", ("q", "v", "tau", "adjoint"), lambda n: (3, n)
    ),
    Declaration(
        "forward_dynamics_second_derivatives",
        "second_derivatives",
        ("q", "v", "tau", "adjoint"),
        lambda n: (3, n, 3, n),
    ),
    Declaration(
        "switching_rates", "switching", ("q", "v", "p_q", "p_v"), lambda n: (n, 1 + 4 * n)
    ),
)
BY_NAME = {declaration.name: declaration for declaration in DECLARATIONS}


def is_straight(declaration: Declaration, parents: Sequence[int]) -> bool:
    """Return whether a kernel of a tree is straight-line code.

    The number of operations grows with the sum of the squared depths of the joints. It must not
    exceed that of a chain of `longest` joints. A humanoid with a fixed base has the size of a
    chain of 13 or 14 joints.

    Args:
        declaration: Declaration of the kernel.
        parents: Parent of each joint, -1 at the base; parents precede their children.
    """
    depths: list[int] = []
    for parent in parents:
        depths.append(1 if parent < 0 else depths[parent] + 1)
    longest = declaration.longest
    return sum(d * d for d in depths) <= longest * (longest + 1) * (2 * longest + 1) / 6


def argument_size(argument: str, n: int) -> int:
    """Return the number of entries of an argument for n joints."""
    sizes = {"payload": 10, "wrench": 6, "y": 2 * n, "drive": 2 * n, "inertias": 10 * n}
    return sizes.get(argument, n)
