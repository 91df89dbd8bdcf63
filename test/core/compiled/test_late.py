"""Functions that are compiled when they are first needed."""

import numpy as np
import pytest

from manip_dyn import compiled
from manip_dyn.core import compile_late, late


@late
def deepest(x):
    """Subtract one."""
    x[0] -= 1.0


@late
def deep(x, factor):
    """Multiply, and recurse if the product is large."""
    x[0] *= factor
    if x[0] > 100.0:
        deepest(x)


@compiled
def usual(x):
    """Double numbers above one."""
    if x[0] > 1.0:
        deep(x, 2)
    return x[0]


@late
def wrong(x):
    """Call a function that does not exist."""
    x.missing(1)


@compiled
def leading_astray(x):
    """Call a function that cannot be compiled if x is above one."""
    if x[0] > 1.0:
        wrong(x)
    return x[0]


def test_lazy_functions_are_compiled_at_the_first_call_by_compiled_code():
    assert usual(np.array([1.0])) == 1.0
    assert not deep.overloads
    assert usual(np.array([3.0])) == 6.0
    assert deep.overloads
    assert not deepest.overloads
    assert usual(np.array([60.0])) == 119.0
    assert deepest.overloads


def test_it_can_be_compiled_ahead():
    usual(np.array([1.0]))
    compile_late(usual)
    assert deep.overloads
    assert deepest.overloads


def test_python_can_call_it():
    x = np.array([51.0])
    deep(x, 2)
    assert x[0] == 101.0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_failed_lazy_compilation_raises_an_error():
    assert leading_astray(np.array([1.0])) == 1.0
    for _ in range(2):
        with pytest.raises(SystemError):
            leading_astray(np.array([3.0]))
