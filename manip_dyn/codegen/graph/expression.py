"""Scalar expressions that simplify themselves while they are built.

A `Graph` holds every distinct operation once. Run over its scalars, an algorithm leaves only
the arithmetic that its inputs really need: constants are folded, additions of zero and
multiplications by zero or one vanish, equal subexpressions are shared. That is the customized
computing of Galhano, Machado (1994), section 2.

A negative sign belongs to the reference and not to the graph, so x, -x, a - b and b - a share
one operation and negation costs nothing.
"""

from __future__ import annotations

import math
from collections import Counter
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
