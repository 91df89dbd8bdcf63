"""Kernels as functions of one vector, with exact derivatives, compiled for states in rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.codegen.backend.vectors import on_stack
from manip_dyn.codegen.generation.kernel_modules import module_text, robot_module
from manip_dyn.codegen.rigid_body import vectors
from manip_dyn.codegen.rigid_body.catalogue import (
    BATCH,
    Declaration,
    Function,
    Shape,
    argument_size,
)
from manip_dyn.codegen.rigid_body.equations import Equations
from manip_dyn.codegen.rigid_body.graph import Graph, Scalar, gradient, rates
from manip_dyn.core.cache import source_of
from manip_dyn.core.checks import Matrix
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.specialized import specialized
from manip_dyn.export import row_kernels as rows
from manip_dyn.export.selection import GRAVITY, TAYLOR, declaration_of, gravity, selected
from manip_dyn.robot import Robot
from manip_dyn.robot.model import checked_robot

TANGENT, ADJOINT = "tangent", "adjoint"


class Expressions(NamedTuple):
    """What a function computes: inputs x (k,) and outputs y (m,) of a graph."""

    graph: Graph
    x: list[Scalar]
    y: list[Scalar]


class VectorFunction:
    """A function y (m,) of x (k,).

    Attributes:
        robot: Whose it is.
        frame: The link whose kinematics are meant.
        kernel: Which one it comes from.
        chain: `TANGENT` and `ADJOINT`, one after the other, from the kernel on.
    """

    def __init__(self, robot: Robot, frame: str, kernel: str, chain: tuple[str, ...] = ()):
        """Take which function it is; it is traced when it is needed."""
        self.robot, self.frame, self.kernel, self.chain = robot, frame, kernel, chain

    def __repr__(self) -> str:
        """Return robot and name."""
        return f"Vector('{self.robot.name}', {self.name})"

    @property
    def name(self) -> str:
        """A name for it."""
        return "_".join((self.kernel, *self.chain))

    @property
    def inputs(self) -> int:
        """The number k of inputs."""
        return len(self.expressions.x)

    @property
    def outputs(self) -> int:
        """The number m of outputs."""
        return len(self.expressions.y)

    @property
    def tangent(self) -> VectorFunction:
        """The function J(x) dx of (x, dx)."""
        return vector_function(self.robot, self.frame, self.kernel, (*self.chain, TANGENT))

    @property
    def adjoint(self) -> VectorFunction:
        """The function J(x)^T w of (x, w)."""
        return vector_function(self.robot, self.frame, self.kernel, (*self.chain, ADJOINT))

    @cached_property
    def expressions(self) -> Expressions:
        """The expressions."""
        equations = Equations(self.robot, self.robot.frame(self.frame))
        if not self.chain:
            return _of_kernel(equations, declaration_of(self.kernel))
        *before, last = self.chain
        inner = vector_function(self.robot, self.frame, self.kernel, tuple(before)).expressions
        if last == TANGENT:
            return _tangent(inner)
        special = self.kernel == "forward_dynamics" and not before
        return _dynamics_adjoint(equations, inner) if special else _adjoint(inner)

    def function(self) -> Function:
        """Return it as what modules are emitted from, with the arguments ``x`` and ``out``."""
        graph, _, y = self.expressions
        declaration = Declaration(self.name, "vector", ("x",), lambda n: (len(y),))
        return Function(declaration, graph, (len(y),), [((i,), each) for i, each in enumerate(y)])


@lru_cache(maxsize=256)
def vector_function(
    robot: Robot, frame: str, kernel: str, chain: tuple[str, ...] = ()
) -> VectorFunction:
    """Return a function of one vector: the same one for the same arguments."""
    return VectorFunction(robot, frame, kernel, chain)


def checked_vector_function(robot: Robot, kernel: str, frame: str | None) -> VectorFunction:
    """Return a kernel as a function of one vector.

    Raises:
        ManipDynError: For an unknown kernel or link, or what is no straight line.
    """
    checked_robot(robot)
    if kernel == TAYLOR:
        raise ManipDynError("taylor has no fixed size; expected the name of a kernel")
    selected(robot, [kernel])
    link = robot.tip if frame is None else frame
    robot.frame(link)
    return vector_function(robot, link, kernel)


def arguments_of(made: VectorFunction) -> dict[str, int]:
    """Return the kernel's arguments and their numbers of entries."""
    names = declaration_of(made.kernel).arguments
    return {name: argument_size(name, made.robot.n) for name in names}


def shape_of(made: VectorFunction) -> Shape:
    """Return the shape of the kernel's result."""
    return declaration_of(made.kernel).shape(made.robot.n)


def _of_kernel(equations: Equations, declaration: Declaration) -> Expressions:
    if declaration is GRAVITY:
        function = gravity(equations, "x")
        inputs = [function.graph.input(f"x[{i}]") for i in range(equations.n)]
        return Expressions(function.graph, inputs, function.outputs)
    graph = Graph()
    parts: list[list[Scalar]] = []
    x: list[Scalar] = []
    for name in declaration.arguments:
        size = argument_size(name, equations.n)
        parts.append([graph.input(f"x[{len(x) + i}]") for i in range(size)])
        x += parts[-1]
    result = getattr(equations, declaration.name)(*parts)
    return Expressions(graph, x, [graph.lift(each) for each in _flat(result)])


def _more(inner: Expressions, count: int) -> list[Scalar]:
    return [inner.graph.input(f"x[{len(inner.x) + i}]") for i in range(count)]


def _tangent(inner: Expressions) -> Expressions:
    speeds = _more(inner, len(inner.x))
    return Expressions(inner.graph, [*inner.x, *speeds], rates(inner.y, inner.x, speeds))


def _adjoint(inner: Expressions) -> Expressions:
    weights = _more(inner, len(inner.y))
    slopes = gradient(vectors.dot(weights, inner.y), inner.x)
    return Expressions(inner.graph, [*inner.x, *weights], slopes)


def _dynamics_adjoint(equations: Equations, inner: Expressions) -> Expressions:
    """Return the adjoint of the forward dynamics by way of the inverse dynamics: fewer lines."""
    n, weights = equations.n, _more(inner, equations.n)
    q, v, tau = (inner.x[i : i + n] for i in range(0, 3 * n, n))
    slopes = equations.forward_dynamics_adjoint(q, v, tau, weights)
    flat = [inner.graph.lift(each) for each in _flat(slopes)]
    return Expressions(inner.graph, [*inner.x, *weights], flat)


def _flat(values: Sequence) -> list:
    return [x for each in values for x in (_flat(each) if isinstance(each, list) else [each])]


@lru_cache(maxsize=256)
def rows_module(made: VectorFunction) -> ModuleType:
    """Return the functions of `rows` for a function of one vector, generated at need."""
    source = hashlib.sha256(source_of(Path(__file__).parent)).hexdigest()[:8]
    module = robot_module(
        made.robot,
        made.robot.frame(made.frame),
        f"{made.name}_{source}",
        lambda: module_text(made.robot.name, [made.function()]),
    )
    return specialized(
        rows,
        BATCH=getattr(module, made.name + BATCH),
        INPUTS=made.inputs,
        OUTPUTS=made.outputs,
        LANES=LANES,
        _columns=on_stack(made.inputs, LANES),
        _results=on_stack(made.outputs, LANES),
    )


def write_rows(made: VectorFunction, x: Matrix, out: Matrix) -> None:
    """Write the results (m, outputs) for states x (m, inputs), both C-contiguous float64."""
    function: Any = rows_module(made).rows
    function(x, out)
