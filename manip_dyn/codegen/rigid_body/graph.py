"""Expression graph: scalars that simplify themselves, and their exact derivatives.

Derivatives are expressions of the same graph, by forward and reverse accumulation over the
operations that the results need. Derivatives that are zero cost nothing.
Griewank, Walther (2008), Evaluating Derivatives, sections 3.1 and 3.2.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from operator import add, mul, sub, truediv
from typing import NamedTuple, Union


class Operation(NamedTuple):
    """One operation: its kind, the operands' places in the graph, a constant or input name."""

    kind: str
    operands: tuple[int, ...] = ()
    value: float | str = 0.0


class Graph:
    """Distinct operations in the order of their creation: operands come before results."""

    def __init__(self) -> None:
        """Begin with no operation."""
        self.operations: list[Operation] = []
        self._places: dict[Operation, int] = {}

    def input(self, name: str) -> Scalar:
        """Return the run-time input called `name`."""
        return Scalar(self, self.place(Operation("input", (), name)))

    def constant(self, value: float) -> Scalar:
        """Return a constant; its sign is the reference's."""
        place = self.place(Operation("constant", (), abs(float(value))))
        return Scalar(self, place, negative=value < 0.0)

    def lift(self, number: Number) -> Scalar:
        """Return a number as a constant, a scalar as it is."""
        return number if isinstance(number, Scalar) else self.constant(float(number))

    def value_of(self, scalar: Scalar) -> float | None:
        """Return the value of a constant, else None."""
        operation = self.operations[scalar.place]
        if operation.kind != "constant":
            return None
        return -float(operation.value) if scalar.negative else float(operation.value)

    def result(self, kind: str, *operands: int, negative: bool = False) -> Scalar:
        """Return the (shared) result of an operation."""
        return Scalar(self, self.place(Operation(kind, operands)), negative)

    def needed_for(self, outputs: list[Scalar]) -> list[int]:
        """Return the places that `outputs` depend on, operands before results."""
        needed, waiting = set[int](), [scalar.place for scalar in outputs]
        while waiting:
            place = waiting.pop()
            if place not in needed:
                needed.add(place)
                waiting.extend(self.operations[place].operands)
        return sorted(needed)

    def count(self, outputs: list[Scalar]) -> Counter[str]:
        """Return how many operations of each kind `outputs` need."""
        kinds = (self.operations[place].kind for place in self.needed_for(outputs))
        return Counter(kind for kind in kinds if kind not in ("constant", "input"))

    def place(self, operation: Operation) -> int:
        """Return the place of an operation, added now if it is new."""
        place = self._places.get(operation)
        if place is None:
            place = self._places[operation] = len(self.operations)
            self.operations.append(operation)
        return place


Number = Union["Scalar", float, int]


class Scalar:
    """A reference to an operation's result, or to its negative; behaves like a float."""

    __slots__ = ("graph", "negative", "place")

    def __init__(self, graph: Graph, place: int, negative: bool = False):
        """Refer to the result at `place`."""
        self.graph = graph
        self.place = place
        self.negative = negative

    def __neg__(self) -> Scalar:
        if self.graph.value_of(self) == 0.0:
            return self
        return Scalar(self.graph, self.place, not self.negative)

    def __pos__(self) -> Scalar:
        return self

    def __add__(self, other: Number) -> Scalar:
        graph, other = self.graph, self.graph.lift(other)
        mine, its = graph.value_of(self), graph.value_of(other)
        if mine is not None and its is not None:
            return graph.constant(mine + its)
        if mine is not None:
            return other._shifted(mine)
        if its is not None:
            return self._shifted(its)
        return self._sum(other)

    def _sum(self, other: Scalar) -> Scalar:
        """Return the sum by one operation, the same for both orders."""
        graph = self.graph
        if self.place == other.place:
            if self.negative != other.negative:
                return graph.constant(0.0)
            return self * 2.0
        first, second = (self, other) if self.place < other.place else (other, self)
        kind = "add" if first.negative == second.negative else "subtract"
        return graph.result(kind, first.place, second.place, negative=first.negative)

    def __sub__(self, other: Number) -> Scalar:
        return self + (-self.graph.lift(other))

    def __mul__(self, other: Number) -> Scalar:
        graph, other = self.graph, self.graph.lift(other)
        mine, its = graph.value_of(self), graph.value_of(other)
        if mine is not None and its is not None:
            return graph.constant(mine * its)
        if mine is not None:
            return other._scaled(mine)
        if its is not None:
            return self._scaled(its)
        first, second = sorted((self.place, other.place))
        return graph.result("multiply", first, second, negative=self.negative != other.negative)

    def __truediv__(self, other: Number) -> Scalar:
        graph, other = self.graph, self.graph.lift(other)
        mine, its = graph.value_of(self), graph.value_of(other)
        if its is not None:
            return self * (1.0 / its)
        if mine == 0.0:
            return self
        negative = self.negative != other.negative
        return graph.result("divide", self.place, other.place, negative=negative)

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
        return self.graph.result("sin", self.place, negative=self.negative)

    def cos(self) -> Scalar:
        """Return the cosine."""
        value = self.graph.value_of(self)
        if value is not None:
            return self.graph.constant(math.cos(value))
        return self.graph.result("cos", self.place)

    def _shifted(self, constant: float) -> Scalar:
        """Return the sum with a constant; constant terms in a row become one."""
        graph = self.graph
        operation = graph.operations[self.place]
        if operation.kind in ("add", "subtract"):
            first, second = (Scalar(graph, place, self.negative) for place in operation.operands)
            if operation.kind == "subtract":
                second = -second
            for term, rest in ((first, second), (second, first)):
                value = graph.value_of(term)
                if value is not None:
                    return rest._shifted(value + constant)
        return self if constant == 0.0 else self._sum(graph.constant(constant))

    def _scaled(self, factor: float) -> Scalar:
        """Return the product with a constant; constant factors in a row become one."""
        if factor == 0.0:
            return self.graph.constant(0.0)
        if factor == 1.0:
            return self
        if factor == -1.0:
            return -self
        operation = self.graph.operations[self.place]
        if operation.kind == "multiply":
            inner = self.graph.operations[operation.operands[0]]
            if inner.kind == "constant":
                rest = Scalar(self.graph, operation.operands[1], self.negative)
                return rest._scaled(factor * float(inner.value))
        constant = self.graph.constant(factor)
        negative = self.negative != constant.negative
        # Constants come first, so that a chain of factors is recognized.
        return self.graph.result("multiply", constant.place, self.place, negative=negative)


def sine(x):
    """Return the sine of a float or of any scalar that has one."""
    return math.sin(x) if isinstance(x, float) else x.sin()


def cosine(x):
    """Return the cosine of a float or of any scalar that has one."""
    return math.cos(x) if isinstance(x, float) else x.cos()


Tangents = dict[int, Scalar]
"""Derivatives that are not zero, by direction."""


def derivatives(outputs: Sequence[Scalar], inputs: Sequence[Scalar]) -> list[list[Scalar]]:
    """Return the derivatives (m, k) of `outputs` (m,) by `inputs` (k,), forward."""
    graph = inputs[0].graph
    one = graph.constant(1.0)
    tangents = _forward(graph, outputs, {each.place: {each.place: one} for each in inputs})
    zero = graph.constant(0.0)
    rows = []
    for output in outputs:
        row = [tangents[output.place].get(each.place, zero) for each in inputs]
        rows.append([-value for value in row] if output.negative else row)
    return rows


def rates(
    outputs: Sequence[Scalar], inputs: Sequence[Scalar], speeds: Sequence[Scalar]
) -> list[Scalar]:
    """Return the rates (m,) of `outputs` while the inputs (k,) change at `speeds` (k,)."""
    graph = inputs[0].graph
    seeds = {each.place: {0: speed} for each, speed in zip(inputs, speeds, strict=True)}
    tangents = _forward(graph, outputs, seeds)
    zero = graph.constant(0.0)
    values = [tangents[output.place].get(0, zero) for output in outputs]
    return [
        -value if output.negative else value for output, value in zip(outputs, values, strict=True)
    ]


def gradient(output: Scalar, inputs: Sequence[Scalar]) -> list[Scalar]:
    """Return the derivatives (k,) of one output by `inputs` (k,), in reverse."""
    graph = inputs[0].graph
    zero = graph.constant(0.0)
    adjoints = {output.place: graph.constant(-1.0 if output.negative else 1.0)}
    for place in reversed(graph.needed_for([output])):
        adjoint = adjoints.get(place)
        if adjoint is None or graph.operations[place].kind in ("constant", "input"):
            continue
        factors = _partial_derivatives(graph, place)
        for operand, factor in zip(graph.operations[place].operands, factors, strict=True):
            adjoints[operand] = adjoints.get(operand, zero) + adjoint * factor
    return [adjoints.get(each.place, zero) for each in inputs]


def substitute(
    outputs: Sequence[Scalar], inputs: Sequence[Scalar], values: Sequence[Scalar]
) -> list[Scalar]:
    """Return the outputs (m,) with the inputs (k,) replaced by other expressions (k,)."""
    graph = inputs[0].graph
    images = {each.place: value for each, value in zip(inputs, values, strict=True)}
    for place in graph.needed_for(list(outputs)):
        if place not in images:
            images[place] = _image(graph, place, images)
    return [-images[each.place] if each.negative else images[each.place] for each in outputs]


def _image(graph: Graph, place: int, images: dict[int, Scalar]) -> Scalar:
    kind, operands, _ = graph.operations[place]
    if kind in ("constant", "input"):
        return Scalar(graph, place)
    a, *rest = (images[operand] for operand in operands)
    if kind in ("sin", "cos"):
        return a.sin() if kind == "sin" else a.cos()
    operate = {"add": add, "subtract": sub, "multiply": mul, "divide": truediv}[kind]
    return operate(a, rest[0])


def _forward(
    graph: Graph, outputs: Sequence[Scalar], seeds: dict[int, Tangents]
) -> dict[int, Tangents]:
    tangents: dict[int, Tangents] = {}
    for place in graph.needed_for(list(outputs)):
        operation = graph.operations[place]
        if operation.kind in ("constant", "input"):
            tangents[place] = seeds.get(place, {})
            continue
        result: Tangents = {}
        factors = _partial_derivatives(graph, place)
        for operand, factor in zip(operation.operands, factors, strict=True):
            for direction, value in tangents[operand].items():
                term = factor * value
                result[direction] = result[direction] + term if direction in result else term
        tangents[place] = {k: value for k, value in result.items() if graph.value_of(value) != 0.0}
    return tangents


def _partial_derivatives(graph: Graph, place: int) -> list[Scalar]:
    """Return the derivatives of one operation by its operands."""
    operation = graph.operations[place]
    a, *rest = (Scalar(graph, operand) for operand in operation.operands)
    one = graph.constant(1.0)
    if operation.kind == "add":
        return [one, one]
    if operation.kind == "subtract":
        return [one, -one]
    if operation.kind == "multiply":
        return [rest[0], a]
    if operation.kind == "divide":
        return [one / rest[0], -(Scalar(graph, place) / rest[0])]
    return [a.cos()] if operation.kind == "sin" else [-a.sin()]
