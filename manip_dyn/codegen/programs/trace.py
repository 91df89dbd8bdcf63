"""The expression graphs of a robot's kernels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from manip_dyn.codegen.graph.expression import Graph, Scalar
from manip_dyn.codegen.rigid_body.catalogue import Declaration, Shape, argument_size
from manip_dyn.codegen.rigid_body.equations import Equations

Entry = tuple[tuple[int, ...], Scalar]
"""Where a value goes in the output array, and the value."""


class Function(NamedTuple):
    """A kernel's graph: its declaration, the arrays it reads, the output's shape and entries."""

    declaration: Declaration
    graph: Graph
    shape: Shape
    entries: list[Entry]

    @property
    def name(self) -> str:
        """The function's name."""
        return self.declaration.name

    @property
    def outputs(self) -> list[Scalar]:
        """The values alone."""
        return [value for _, value in self.entries]


def trace(equations: Equations, declaration: Declaration) -> Function:
    """Run a kernel's equations over expressions."""
    graph, n = Graph(), equations.n
    inputs = [
        [graph.input(f"{name}[{i}]") for i in range(argument_size(name, n))]
        for name in declaration.arguments
    ]
    result = getattr(equations, declaration.name)(*inputs)
    shape = declaration.shape(n)
    places = itertools.product(*map(range, shape))
    values = [graph.lift(value) for value in _flat(result)]
    return Function(declaration, graph, shape, list(zip(places, values, strict=True)))


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list):
            yield from _flat(value)
        else:
            yield value
