"""Selection of kernels for an export: checks of names, and expression graphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from manip_dyn.codegen.generation.kernel_source import Function, trace
from manip_dyn.codegen.rigid_body.catalogue import BY_NAME, Declaration, is_straight
from manip_dyn.codegen.rigid_body.equations import Equations
from manip_dyn.codegen.rigid_body.graph import Graph
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot

GRAVITY = Declaration("gravity", "dynamics", ("q",), lambda n: (n,))
"""The efforts that hold the arm at rest, including springs."""
TAYLOR = "taylor"
DEFAULT_KERNELS = (
    "forward_dynamics",
    "inverse_dynamics",
    "mass_matrix",
    "gravity",
    "forward_kinematics",
    "jacobian",
)
"""Kernels that are exported by default."""
KERNEL_NAMES = (*BY_NAME, GRAVITY.name, TAYLOR)
LONGEST = 12
"""Maximum number of joints of a chain for second derivatives."""
SECOND_DERIVATIVES = ("second_derivatives", "switching")
"""Modules of second derivatives, which have the longest straight-line code."""


def straight_kernels(robot: Robot) -> tuple[str, ...]:
    """Return the names of the kernels of `robot` that can be exported as straight-line code."""
    return tuple(name for name in KERNEL_NAMES if not _size_error(robot, name))


def selected(robot: Robot, names: Iterable[str]) -> list[str]:
    """Check kernel names and return them without duplicates; one string is a single name.

    Raises:
        ManipDynError: If there are no names, a name is unknown, or the robot has too many joints.
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        names = [names]
    requested = list(names)
    if not requested:
        raise ManipDynError(f"kernels must not be empty; known: {', '.join(KERNEL_NAMES)}.")
    for name in requested:
        if name not in KERNEL_NAMES:
            raise ManipDynError(
                f"kernels must be names of kernels, got {name!r}{closest(name, KERNEL_NAMES)}"
            )
    unique = list(dict.fromkeys(requested))
    for name in unique:
        if error := _size_error(robot, name):
            raise ManipDynError(error)
    return unique


def traced(equations: Equations, names: Sequence[str]) -> list[Function]:
    """Return the expression graphs of kernels, except the Taylor series."""
    return [
        gravity(equations) if name == GRAVITY.name else trace(equations, BY_NAME[name])
        for name in names
        if name != TAYLOR
    ]


def declaration_of(kernel: str) -> Declaration:
    """Return the declaration of a kernel other than the Taylor series."""
    return GRAVITY if kernel == GRAVITY.name else BY_NAME[kernel]


def gravity(equations: Equations, argument: str = "q") -> Function:
    """Return the graph of the inverse dynamics at rest for positions named `argument`."""
    graph, n = Graph(), equations.n
    q = [graph.input(f"{argument}[{i}]") for i in range(n)]
    zero = [graph.constant(0.0)] * n
    efforts = [graph.lift(value) for value in equations.inverse_dynamics(q, zero, zero)]
    return Function(GRAVITY, graph, (n,), [((i,), value) for i, value in enumerate(efforts)])


def _size_error(robot: Robot, name: str) -> str:
    """Return why a kernel of this robot cannot be straight-line code, or ""."""
    if name in (GRAVITY.name, TAYLOR):
        return ""
    declaration = BY_NAME[name]
    if declaration.module in SECOND_DERIVATIVES:
        declaration = declaration._replace(longest=LONGEST)
    if is_straight(declaration, [body.parent for body in robot.bodies]):
        return ""
    return (
        f"{name} requires a chain of at most {declaration.longest:g} joints, or a tree of that "
        f"size, to be exported, got {robot.n} joints of '{robot.name}'. Lock joints, or export "
        "kernels without a limit, such as forward_dynamics."
    )
