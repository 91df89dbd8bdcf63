"""Exact derivatives of expressions, as expressions of the same graph."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add, mul, sub, truediv

from manip_dyn.codegen.expression import Graph, Scalar

Gradient = dict[int, Scalar]
"""Derivatives that are not zero, by the place of the input."""


def jacobian(
    graph: Graph, outputs: Sequence[Scalar], inputs: Sequence[Scalar]
) -> list[list[Scalar]]:
    """Return the derivatives (m, k) of `outputs` (m,) by the inputs (k,).

    Forward accumulation over the operations that the outputs need, each once; derivatives
    that are zero cost nothing, and the results share whatever the graph already has
    (Griewank, Walther 2008, section 3.1).
    """
    chosen = {scalar.place for scalar in inputs}
    gradients: dict[int, Gradient] = {}
    for place in graph.needed_for(list(outputs)):
        gradients[place] = _gradient(graph, place, gradients, chosen)
    zero = graph.constant(0.0)
    rows = []
    for output in outputs:
        gradient = gradients[output.place]
        row = [gradient.get(each.place, zero) for each in inputs]
        rows.append([-value for value in row] if output.negative else row)
    return rows


def substitute(
    graph: Graph, rows: Sequence[Sequence[Scalar]], known: dict[int, Scalar]
) -> list[list[Scalar]]:
    """Return the expressions with inputs replaced, by place, by other expressions."""
    images = dict(known)
    flat = [scalar for row in rows for scalar in row]
    for place in graph.needed_for(flat):
        if place not in images:
            images[place] = _image(graph, place, images)

    def image(scalar: Scalar) -> Scalar:
        return -images[scalar.place] if scalar.negative else images[scalar.place]

    return [[image(scalar) for scalar in row] for row in rows]


def _image(graph: Graph, place: int, images: dict[int, Scalar]) -> Scalar:
    kind, operands, _ = graph.operations[place]
    if kind in ("constant", "input"):
        return Scalar(graph, place)
    a, *rest = (images[operand] for operand in operands)
    if kind in ("sin", "cos"):
        return a.sin() if kind == "sin" else a.cos()
    operate = {"add": add, "subtract": sub, "multiply": mul, "divide": truediv}[kind]
    return operate(a, rest[0])


def _gradient(
    graph: Graph, place: int, gradients: dict[int, Gradient], chosen: set[int]
) -> Gradient:
    operation = graph.operations[place]
    if operation.kind in ("constant", "input"):
        return {place: graph.constant(1.0)} if place in chosen else {}
    factors = _partial_derivatives(graph, place)
    result: Gradient = {}
    for operand, factor in zip(operation.operands, factors, strict=True):
        for key, value in gradients[operand].items():
            term = factor * value
            result[key] = result[key] + term if key in result else term
    return {key: value for key, value in result.items() if graph.value_of(value) != 0.0}


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
