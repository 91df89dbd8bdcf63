"""Exact derivatives of expressions, as expressions of the same graph.

Forward and reverse accumulation over the operations that the results need, each once;
derivatives that are zero cost nothing, and all share what the graph already has.
Griewank, Walther (2008), Evaluating Derivatives, sections 3.1 and 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add, mul, sub, truediv

from manip_dyn.codegen.graph.expression import Graph, Scalar

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
