"""Expression graph: scalars with automatic simplification and exact derivatives.

Derivatives are expressions of the same graph, computed by forward and reverse accumulation over
the operations that the results depend on. Derivatives that are zero cost nothing. Griewank,
Walther (2008), Evaluating Derivatives, sections 3.1 and 3.2.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from operator import add, mul, sub, truediv
from typing import NamedTuple, Union


class Operation(NamedTuple):
    """An operation: its kind, operand nodes, and the value of a constant or name of an input."""

    kind: str
    operands: tuple[int, ...] = ()
    value: float | str = 0.0


class Graph:
    """Operations without duplicates in the order of creation, operands before results."""

    def __init__(self) -> None:
        """Initialize an empty graph."""
        self.operations: list[Operation] = []
        self._nodes: dict[Operation, int] = {}

    def input(self, name: str) -> Scalar:
        """Return a run-time input; equal names share a node."""
        return Scalar(self, self.node(Operation("input", (), name)))

    def constant(self, value: float) -> Scalar:
        """Return a constant; its sign is stored in the `Scalar`."""
        node = self.node(Operation("constant", (), abs(float(value))))
        return Scalar(self, node, negative=value < 0.0)

    def lift(self, number: Number) -> Scalar:
        """Convert a number to a constant; a scalar is returned unchanged."""
        return number if isinstance(number, Scalar) else self.constant(float(number))

    def value_of(self, scalar: Scalar) -> float | None:
        """Return the value of a constant, or None for other scalars."""
        operation = self.operations[scalar.node]
        if operation.kind != "constant":
            return None
        return -float(operation.value) if scalar.negative else float(operation.value)

    def result(self, kind: str, *operands: int, negative: bool = False) -> Scalar:
        """Return the result of an operation; equal operations share a node."""
        return Scalar(self, self.node(Operation(kind, operands)), negative)

    def needed_for(self, outputs: list[Scalar]) -> list[int]:
        """Return the nodes on which `outputs` depend, operands before results."""
        needed, waiting = set[int](), [scalar.node for scalar in outputs]
        while waiting:
            node = waiting.pop()
            if node not in needed:
                needed.add(node)
                waiting.extend(self.operations[node].operands)
        return sorted(needed)

    def count(self, outputs: list[Scalar]) -> Counter[str]:
        """Return the number of operations of each kind that `outputs` require."""
        kinds = (self.operations[node].kind for node in self.needed_for(outputs))
        return Counter(kind for kind in kinds if kind not in ("constant", "input"))

    def node(self, operation: Operation) -> int:
        """Return the node of an operation. New operations are appended."""
        node = self._nodes.get(operation)
        if node is None:
            node = self._nodes[operation] = len(self.operations)
            self.operations.append(operation)
        return node


Number = Union["Scalar", float, int]


class Scalar:
    """A reference to an operation's result, or to its negative, with float-like arithmetic."""

    __slots__ = ("graph", "negative", "node")

    def __init__(self, graph: Graph, node: int, negative: bool = False):
        """Initialize a reference to the result of `node`."""
        self.graph = graph
        self.node = node
        self.negative = negative

    def __neg__(self) -> Scalar:
        if self.graph.value_of(self) == 0.0:
            return self
        return Scalar(self.graph, self.node, not self.negative)

    def __pos__(self) -> Scalar:
        return self

    def __add__(self, other: Number) -> Scalar:
        graph, term = self.graph, self.graph.lift(other)
        left, right = graph.value_of(self), graph.value_of(term)
        if left is not None and right is not None:
            return graph.constant(left + right)
        if left is not None:
            return term._shifted(left)
        if right is not None:
            return self._shifted(right)
        return self._sum(term)

    def _sum(self, term: Scalar) -> Scalar:
        """Return the sum as one operation that does not depend on the order of the terms."""
        graph = self.graph
        if self.node == term.node:
            if self.negative != term.negative:
                return graph.constant(0.0)
            return self * 2.0
        first, second = (self, term) if self.node < term.node else (term, self)
        kind = "add" if first.negative == second.negative else "subtract"
        return graph.result(kind, first.node, second.node, negative=first.negative)

    def __sub__(self, other: Number) -> Scalar:
        return self + (-self.graph.lift(other))

    def __mul__(self, other: Number) -> Scalar:
        graph, factor = self.graph, self.graph.lift(other)
        left, right = graph.value_of(self), graph.value_of(factor)
        if left is not None and right is not None:
            return graph.constant(left * right)
        if left is not None:
            return factor._scaled(left)
        if right is not None:
            return self._scaled(right)
        first, second = sorted((self.node, factor.node))
        return graph.result("multiply", first, second, negative=self.negative != factor.negative)

    def __truediv__(self, other: Number) -> Scalar:
        graph, divisor = self.graph, self.graph.lift(other)
        value = graph.value_of(divisor)
        if value is not None:
            return self * (1.0 / value)
        if graph.value_of(self) == 0.0:
            return self
        negative = self.negative != divisor.negative
        return graph.result("divide", self.node, divisor.node, negative=negative)

    def __radd__(self, other: Number) -> Scalar:
        return self + other

    def __rsub__(self, other: Number) -> Scalar:
        return self.graph.lift(other) - self

    def __rmul__(self, other: Number) -> Scalar:
        return self * other

    def __rtruediv__(self, other: Number) -> Scalar:
        return self.graph.lift(other) / self

    def sin(self) -> Scalar:
        """Return the sine."""
        value = self.graph.value_of(self)
        if value is not None:
            return self.graph.constant(math.sin(value))
        return self.graph.result("sin", self.node, negative=self.negative)

    def cos(self) -> Scalar:
        """Return the cosine."""
        value = self.graph.value_of(self)
        if value is not None:
            return self.graph.constant(math.cos(value))
        return self.graph.result("cos", self.node)

    def _shifted(self, constant: float) -> Scalar:
        """Return this scalar plus a constant; consecutive constant terms are combined."""
        graph = self.graph
        operation = graph.operations[self.node]
        if operation.kind in ("add", "subtract"):
            first, second = (Scalar(graph, node, self.negative) for node in operation.operands)
            if operation.kind == "subtract":
                second = -second
            for term, rest in ((first, second), (second, first)):
                value = graph.value_of(term)
                if value is not None:
                    return rest._shifted(value + constant)
        return self if constant == 0.0 else self._sum(graph.constant(constant))

    def _scaled(self, factor: float) -> Scalar:
        """Return this scalar times a constant; consecutive constant factors are combined."""
        if factor == 0.0:
            return self.graph.constant(0.0)
        if factor == 1.0:
            return self
        if factor == -1.0:
            return -self
        operation = self.graph.operations[self.node]
        if operation.kind == "multiply":
            inner = self.graph.operations[operation.operands[0]]
            if inner.kind == "constant":
                rest = Scalar(self.graph, operation.operands[1], self.negative)
                return rest._scaled(factor * float(inner.value))
        constant = self.graph.constant(factor)
        negative = self.negative != constant.negative
        # The constant is first, so that consecutive factors are recognized.
        return self.graph.result("multiply", constant.node, self.node, negative=negative)


def sine(x):
    """Return the sine of a float or of a scalar with a method `sin`."""
    return math.sin(x) if isinstance(x, float) else x.sin()


def cosine(x):
    """Return the cosine of a float or of a scalar with a method `cos`."""
    return math.cos(x) if isinstance(x, float) else x.cos()


Tangents = dict[int, Scalar]
"""Nonzero derivatives by direction."""


def derivatives(outputs: Sequence[Scalar], inputs: Sequence[Scalar]) -> list[list[Scalar]]:
    """Return the forward-mode Jacobian (m, k) of `outputs` (m,) with respect to `inputs` (k,)."""
    graph = inputs[0].graph
    one = graph.constant(1.0)
    tangents = _forward(graph, outputs, {scalar.node: {scalar.node: one} for scalar in inputs})
    zero = graph.constant(0.0)
    rows = []
    for output in outputs:
        row = [tangents[output.node].get(scalar.node, zero) for scalar in inputs]
        rows.append([-value for value in row] if output.negative else row)
    return rows


def rates(
    outputs: Sequence[Scalar], inputs: Sequence[Scalar], speeds: Sequence[Scalar]
) -> list[Scalar]:
    """Return the time derivatives (m,) of expressions, in forward mode.

    Args:
        outputs: Expressions (m,) of `inputs`.
        inputs: Independent variables (k,).
        speeds: Time derivatives (k,) of `inputs`.
    """
    graph = inputs[0].graph
    seeds = {scalar.node: {0: speed} for scalar, speed in zip(inputs, speeds, strict=True)}
    tangents = _forward(graph, outputs, seeds)
    zero = graph.constant(0.0)
    values = [tangents[output.node].get(0, zero) for output in outputs]
    return [
        -value if output.negative else value for output, value in zip(outputs, values, strict=True)
    ]


def gradient(output: Scalar, inputs: Sequence[Scalar]) -> list[Scalar]:
    """Return the gradient (k,) of one output with respect to `inputs` (k,), in reverse mode."""
    graph = inputs[0].graph
    zero = graph.constant(0.0)
    adjoints = {output.node: graph.constant(-1.0 if output.negative else 1.0)}
    for node in reversed(graph.needed_for([output])):
        adjoint = adjoints.get(node)
        if adjoint is None or graph.operations[node].kind in ("constant", "input"):
            continue
        factors = _partial_derivatives(graph, node)
        for operand, factor in zip(graph.operations[node].operands, factors, strict=True):
            adjoints[operand] = adjoints.get(operand, zero) + adjoint * factor
    return [adjoints.get(scalar.node, zero) for scalar in inputs]


def substitute(
    outputs: Sequence[Scalar], inputs: Sequence[Scalar], values: Sequence[Scalar]
) -> list[Scalar]:
    """Return the outputs (m,) with the inputs (k,) replaced by other expressions (k,)."""
    graph = inputs[0].graph
    images = {scalar.node: value for scalar, value in zip(inputs, values, strict=True)}
    for node in graph.needed_for(list(outputs)):
        if node not in images:
            images[node] = _image(graph, node, images)
    values_of = [(images[scalar.node], scalar.negative) for scalar in outputs]
    return [-value if negative else value for value, negative in values_of]


def _image(graph: Graph, node: int, images: dict[int, Scalar]) -> Scalar:
    kind, operands, _ = graph.operations[node]
    if kind in ("constant", "input"):
        return Scalar(graph, node)
    a, *rest = (images[operand] for operand in operands)
    if kind in ("sin", "cos"):
        return a.sin() if kind == "sin" else a.cos()
    operate = {"add": add, "subtract": sub, "multiply": mul, "divide": truediv}[kind]
    return operate(a, rest[0])


def _forward(
    graph: Graph, outputs: Sequence[Scalar], seeds: dict[int, Tangents]
) -> dict[int, Tangents]:
    tangents: dict[int, Tangents] = {}
    for node in graph.needed_for(list(outputs)):
        operation = graph.operations[node]
        if operation.kind in ("constant", "input"):
            tangents[node] = seeds.get(node, {})
            continue
        result: Tangents = {}
        factors = _partial_derivatives(graph, node)
        for operand, factor in zip(operation.operands, factors, strict=True):
            for direction, value in tangents[operand].items():
                term = factor * value
                result[direction] = result[direction] + term if direction in result else term
        tangents[node] = {k: value for k, value in result.items() if graph.value_of(value) != 0.0}
    return tangents


def _partial_derivatives(graph: Graph, node: int) -> list[Scalar]:
    """Return the derivatives of one operation with respect to its operands."""
    operation = graph.operations[node]
    a, *rest = (Scalar(graph, operand) for operand in operation.operands)
    one = graph.constant(1.0)
    if operation.kind == "add":
        return [one, one]
    if operation.kind == "subtract":
        return [one, -one]
    if operation.kind == "multiply":
        return [rest[0], a]
    if operation.kind == "divide":
        return [one / rest[0], -(Scalar(graph, node) / rest[0])]
    return [a.cos()] if operation.kind == "sin" else [-a.sin()]
