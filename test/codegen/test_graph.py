"""Expressions simplify themselves and preserve their value."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manip_dyn.codegen import Graph, Scalar, cosine, sine


@pytest.fixture
def graph():
    return Graph()


EVALUATE = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "sin": math.sin,
    "cos": math.cos,
}


def value(scalar, inputs):
    """Evaluate an expression operation by operation."""
    results = []
    for kind, operands, content in scalar.graph.operations:
        if kind in ("constant", "input"):
            results.append(inputs[content] if kind == "input" else float(content))
        else:
            results.append(EVALUATE[kind](*(results[node] for node in operands)))
    return -results[scalar.node] if scalar.negative else results[scalar.node]


def same(a, b):
    return a.node == b.node and a.negative == b.negative


def test_zeros_and_ones_are_removed(graph):
    x = graph.input("x")
    assert same(x + 0.0, x)
    assert same(x - 0.0, x)
    assert same(0.0 + x, x)
    assert same(x * 1.0, x)
    assert same(x / 1.0, x)
    assert same(-1.0 * x, -x)
    for zero in (x * 0.0, x - x, 0.0 / x, -(x * 0.0)):
        assert graph.value_of(zero) == 0.0
    assert graph.count([x]) == {}


def test_constants_are_folded(graph):
    two, three = graph.constant(2.0), graph.constant(-3.0)
    for scalar, expected in (
        (two + three, -1.0),
        (two * three, -6.0),
        (two / three, -2.0 / 3.0),
        (1.0 - three, 4.0),
        (sine(three), math.sin(-3.0)),
        (cosine(three), math.cos(-3.0)),
    ):
        assert graph.value_of(scalar) == pytest.approx(expected, abs=1e-16)


def test_equal_subexpressions_share_an_operation(graph):
    x, y = graph.input("x"), graph.input("y")
    assert same(x + y, y + x)
    assert same(x * y, y * x)
    assert same(x - y, -(y - x))
    assert same((-x) * y, -(x * y))
    assert same(sine(-x), -sine(x))
    assert same(cosine(-x), cosine(x))
    assert same(2.0 * (3.0 * x), 6.0 * x)
    assert same(x + x, 2.0 * x)
    assert graph.count([x * y + sine(x), x * y - sine(x)]) == {
        "multiply": 1,
        "sin": 1,
        "add": 1,
        "subtract": 1,
    }


OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / (b * b + 1.0),
    "sin": lambda a, _b: sine(a),
    "cos": lambda a, _b: cosine(a),
    "neg": lambda a, _b: -a,
}


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 40), st.integers(0, 40)),
        min_size=1,
        max_size=30,
    )
)
def test_expressions_have_the_values_of_floats(steps):
    inputs = {"x": 0.7, "y": -1.3}
    graph = Graph()
    floats: list[float] = [0.7, -1.3, 0.0, 1.0, -2.5]
    scalars: list[Scalar] = [graph.input("x"), graph.input("y")]
    scalars += [graph.constant(number) for number in floats[2:]]
    for kind, i, j in steps:
        i, j = i % len(floats), j % len(floats)
        floats.append(OPERATIONS[kind](floats[i], floats[j]))
        scalars.append(OPERATIONS[kind](scalars[i], scalars[j]))
    size = max(1.0, *map(abs, floats))
    assert value(scalars[-1], inputs) == pytest.approx(floats[-1], rel=1e-9, abs=1e-12 * size)
