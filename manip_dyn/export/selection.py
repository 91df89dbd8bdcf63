"""Which kernels are exported: their names checked, their graphs traced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from manip_dyn.codegen.rigid_body.catalogue import (
    BY_NAME,
    LONGEST,
    Declaration,
    Function,
    trace,
)
from manip_dyn.codegen.rigid_body.equations import Equations
from manip_dyn.codegen.rigid_body.graph import Graph
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot

GRAVITY = Declaration("gravity", "dynamics", ("q",), lambda n: (n,))
"""The efforts that hold the arm at rest, springs included."""
TAYLOR = "taylor"
USUAL = (
    "forward_dynamics",
    "inverse_dynamics",
    "mass_matrix",
    "gravity",
    "forward_kinematics",
    "jacobian",
)
"""What is exported unless it is said."""
KNOWN = (*BY_NAME, GRAVITY.name, TAYLOR)
SECOND = ("second_derivatives", "switching")
"""Modules of second derivatives: the longest lines of all."""


def straight_kernels(robot: Robot) -> tuple[str, ...]:
    """Return the kernels of `robot` that are straight lines of a length that compilers take."""
    return tuple(name for name in KNOWN if not _in_the_way(robot, name))


def selected(robot: Robot, names: Iterable[str]) -> list[str]:
    """Return the names of kernels, each once.

    Raises:
        ManipDynError: If one is unknown, or no straight line for so many joints; if there is none.
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        names = [names]
    given = list(names)
    if not given:
        raise ManipDynError(f"kernels is empty; expected some of {', '.join(KNOWN)}")
    for name in given:
        if name not in KNOWN:
            raise ManipDynError(f"there is no kernel {name!r}{closest(name, KNOWN)}")
    chosen = list(dict.fromkeys(given))
    for name in chosen:
        if why := _in_the_way(robot, name):
            raise ManipDynError(f"{name} of '{robot.name}' ({robot.n} joints) {why}")
    return chosen


def traced(equations: Equations, names: Sequence[str]) -> list[Function]:
    """Return the graphs of kernels, without the Taylor series."""
    return [
        gravity(equations) if name == GRAVITY.name else trace(equations, BY_NAME[name])
        for name in names
        if name != TAYLOR
    ]


def declaration_of(kernel: str) -> Declaration:
    """Return the declaration of a kernel other than the Taylor series."""
    return GRAVITY if kernel == GRAVITY.name else BY_NAME[kernel]


def gravity(equations: Equations, argument: str = "q") -> Function:
    """Return the inverse dynamics at rest, with positions of the given name."""
    graph, n = Graph(), equations.n
    q = [graph.input(f"{argument}[{i}]") for i in range(n)]
    still = [graph.constant(0.0)] * n
    efforts = [graph.lift(each) for each in equations.inverse_dynamics(q, still, still)]
    return Function(GRAVITY, graph, (n,), [((i,), each) for i, each in enumerate(efforts)])


def _in_the_way(robot: Robot, name: str) -> str:
    """Return why a kernel of this robot is no straight line, or nothing."""
    if name in (GRAVITY.name, TAYLOR):
        return ""
    declaration = BY_NAME[name]
    longest = LONGEST if declaration.module in SECOND else declaration.longest
    if robot.n <= longest:
        return ""
    return (
        f"would be too long a straight line; expected at most {longest:g} joints for it (lock "
        "joints), or what is a straight line of any length, such as forward_dynamics"
    )
