"""Kernels as functions of one vector, with exact derivatives, compiled for states in rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from manip_dyn.codegen.backend.vectors import LANES, on_stack
from manip_dyn.codegen.generation.kernel_modules import robot_module
from manip_dyn.codegen.generation.kernel_source import Function, module_text
from manip_dyn.codegen.rigid_body import vectors
from manip_dyn.codegen.rigid_body.catalogue import BATCH, Declaration, Shape, argument_size
from manip_dyn.codegen.rigid_body.equations import Equations
from manip_dyn.codegen.rigid_body.graph import Graph, Scalar, gradient, rates
from manip_dyn.core.cache import source_of
from manip_dyn.core.checks import Matrix
from manip_dyn.core.compiled import compiled
from manip_dyn.core.errors import ManipDynError
from manip_dyn.export.selection import GRAVITY, TAYLOR, declaration_of, gravity, selected
from manip_dyn.robot import Robot
from manip_dyn.robot.model import checked_robot

TANGENT, ADJOINT = "tangent", "adjoint"


class Expressions(NamedTuple):
    """Inputs x (k,) and outputs y (m,) of an expression graph."""

    graph: Graph
    x: list[Scalar]
    y: list[Scalar]


class VectorFunction:
    """A function y (m,) of x (k,): a kernel or one of its derivatives.

    Attributes:
        robot: The robot.
        frame: Name of the link for the kinematics.
        kernel: Name of the kernel.
        chain: Sequence of `TANGENT` and `ADJOINT` operations that are applied to the kernel.
    """

    def __init__(self, robot: Robot, frame: str, kernel: str, chain: tuple[str, ...] = ()):
        """Initialize the function; its expressions are computed on first use."""
        self.robot, self.frame, self.kernel, self.chain = robot, frame, kernel, chain

    def __repr__(self) -> str:
        """Return the class, the robot and the name of the function."""
        return f"VectorFunction('{self.robot.name}', {self.name})"

    @property
    def name(self) -> str:
        """Name of the function."""
        return "_".join((self.kernel, *self.chain))

    @property
    def inputs(self) -> int:
        """Number k of inputs."""
        return len(self.expressions.x)

    @property
    def outputs(self) -> int:
        """Number m of outputs."""
        return len(self.expressions.y)

    @property
    def tangent(self) -> VectorFunction:
        """The function J(x) dx of (x, dx), with the Jacobian J = dy/dx."""
        return vector_function(self.robot, self.frame, self.kernel, (*self.chain, TANGENT))

    @property
    def adjoint(self) -> VectorFunction:
        """The function J(x)^T w of (x, w), with the Jacobian J = dy/dx."""
        return vector_function(self.robot, self.frame, self.kernel, (*self.chain, ADJOINT))

    @cached_property
    def expressions(self) -> Expressions:
        """Expression graph of the function."""
        equations = Equations(self.robot, self.robot.frame(self.frame))
        if not self.chain:
            return _of_kernel(equations, declaration_of(self.kernel))
        *previous, last = self.chain
        inner = vector_function(self.robot, self.frame, self.kernel, tuple(previous)).expressions
        if last == TANGENT:
            return _tangent(inner)
        is_dynamics = self.kernel == "forward_dynamics" and not previous
        return _dynamics_adjoint(equations, inner) if is_dynamics else _adjoint(inner)

    def function(self) -> Function:
        """Return the function as a kernel of the argument ``x`` for code generation."""
        graph, _, y = self.expressions
        declaration = Declaration(self.name, "vector", ("x",), lambda n: (len(y),))
        return Function(declaration, graph, (len(y),), [((i,), x) for i, x in enumerate(y)])


@lru_cache(maxsize=256)
def vector_function(
    robot: Robot, frame: str, kernel: str, chain: tuple[str, ...] = ()
) -> VectorFunction:
    """Return a function of one vector; equal arguments return the same object."""
    return VectorFunction(robot, frame, kernel, chain)


def checked_vector_function(robot: Robot, kernel: str, frame: str | None) -> VectorFunction:
    """Return a kernel as a function of one vector.

    Raises:
        ManipDynError: If the kernel or the link is unknown, the kernel is the Taylor series, or
            the robot has too many joints for the kernel.
    """
    checked_robot(robot)
    if kernel == TAYLOR:
        raise ManipDynError("kernel must have a result of fixed size, got 'taylor'.")
    selected(robot, [kernel])
    link = robot.tip if frame is None else frame
    robot.frame(link)
    return vector_function(robot, link, kernel)


def arguments_of(function: VectorFunction) -> dict[str, int]:
    """Return the names and sizes of the arguments of a kernel."""
    names = declaration_of(function.kernel).arguments
    return {name: argument_size(name, function.robot.n) for name in names}


def shape_of(function: VectorFunction) -> Shape:
    """Return the shape of the result of a kernel."""
    return declaration_of(function.kernel).shape(function.robot.n)


def _of_kernel(equations: Equations, declaration: Declaration) -> Expressions:
    if declaration is GRAVITY:
        function = gravity(equations, "x")
        inputs = [function.graph.input(f"x[{i}]") for i in range(equations.n)]
        return Expressions(function.graph, inputs, function.outputs)
    graph = Graph()
    arrays: list[list[Scalar]] = []
    x: list[Scalar] = []
    for name in declaration.arguments:
        size = argument_size(name, equations.n)
        arrays.append([graph.input(f"x[{len(x) + i}]") for i in range(size)])
        x += arrays[-1]
    result = getattr(equations, declaration.name)(*arrays)
    return Expressions(graph, x, [graph.lift(value) for value in _flat(result)])


def _new_inputs(inner: Expressions, count: int) -> list[Scalar]:
    return [inner.graph.input(f"x[{len(inner.x) + i}]") for i in range(count)]


def _tangent(inner: Expressions) -> Expressions:
    speeds = _new_inputs(inner, len(inner.x))
    return Expressions(inner.graph, [*inner.x, *speeds], rates(inner.y, inner.x, speeds))


def _adjoint(inner: Expressions) -> Expressions:
    weights = _new_inputs(inner, len(inner.y))
    slopes = gradient(vectors.dot(weights, inner.y), inner.x)
    return Expressions(inner.graph, [*inner.x, *weights], slopes)


def _dynamics_adjoint(equations: Equations, inner: Expressions) -> Expressions:
    """Return the adjoint of the forward dynamics, computed from the inverse dynamics.

    The code is shorter than that of the gradient of the forward dynamics.
    """
    n, weights = equations.n, _new_inputs(inner, equations.n)
    q, v, tau = (inner.x[i : i + n] for i in range(0, 3 * n, n))
    slopes = equations.forward_dynamics_adjoint(q, v, tau, weights)
    flat = [inner.graph.lift(value) for value in _flat(slopes)]
    return Expressions(inner.graph, [*inner.x, *weights], flat)


def _flat(values: Sequence) -> list:
    return [x for item in values for x in (_flat(item) if isinstance(item, list) else [item])]


@lru_cache(maxsize=256)
def rows_function(function: VectorFunction) -> Any:
    """Return the compiled ``rows(x, out)`` of a function of one vector.

    The compiled function writes the results (m, outputs) for states x (m, inputs) in rows, the
    layout of PyTorch and JAX. `LANES` states at a time are copied from rows to the columns of the
    batched kernel.
    """
    source = hashlib.sha256(source_of(Path(__file__).parent)).hexdigest()[:8]
    module = robot_module(
        function.robot,
        function.robot.frame(function.frame),
        f"{function.name}_{source}",
        lambda: module_text(function.robot.name, [function.function()]),
    )
    batch = getattr(module, function.name + BATCH)
    inputs, outputs = function.inputs, function.outputs
    new_columns, new_results = on_stack(inputs, LANES), on_stack(outputs, LANES)

    @compiled(counted=False)
    def rows(x, out):
        columns, results = new_columns(), new_results()
        states = x.shape[0]
        for first in range(0, states, LANES):
            count = min(LANES, states - first)
            for i in range(inputs):
                for lane in range(count):
                    columns[i, lane] = x[first + lane, i]
            batch(columns, results, 0, count)
            for i in range(outputs):
                for lane in range(count):
                    out[first + lane, i] = results[i, lane]

    return rows


def write_rows(function: VectorFunction, x: Matrix, out: Matrix) -> None:
    """Write the results for states `x` (m, inputs) into `out` (m, outputs).

    Both arrays must be C-contiguous float64.
    """
    rows_function(function)(x, out)
