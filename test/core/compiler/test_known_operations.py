"""What compiled functions leave out of numba's work changes nothing that they compute."""

from functools import reduce

import numba.core.event as event
import numpy as np
import pytest
from llvmlite import ir
from numba.core import types
from numba.core.registry import cpu_target
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin

from manip_dyn.core.compiled import compiled
from manip_dyn.core.compiler.known_operations import known_operations

NAN = float("nan")


@compiled
def extremes(a, b, k):
    return max(a, b), min(a, b), max(a, b, 0.5), min(k, a), max(k, 3), min(2, k)


@compiled
def elements(matrix, counts, marks, i, j):
    matrix[i, j] = matrix[j, -1] + counts[i]
    matrix[-1, 0] = marks[j]
    counts[-1] = matrix[0, 0]
    counts[0] += i
    marks[i] = not marks[j]
    return matrix[i, j], counts[0], marks[-1], matrix[i][j]


@compiled
def whole_arrays(x):
    total = reduce(lambda a, b: a + b, x)
    doubled = np.array([2.0 * each for each in x])
    return total + (doubled * doubled - x).sum() + np.array([1.0, x[0]])[-1]


class Names(event.Listener):
    """The names of what numba compiles."""

    def __init__(self):
        self.names = []

    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event):
        pass


def test_extremes_are_pythons_and_take_no_function_of_their_own():
    listener = Names()
    with event.install_listener("numba:compile", listener):
        for a, b, k in [
            (1.0, 2.0, 3),
            (2.5, -1.0, -4),
            (NAN, 1.0, 2),
            (1.0, NAN, 2),
            (0.0, -0.0, 0),
        ]:
            expected = extremes.py_func(a, b, k)
            assert repr(tuple(map(float, extremes(a, b, k)))) == repr(tuple(map(float, expected)))
    assert set(listener.names) <= {"extremes"}


def test_types_of_one_name_have_sizes_of_their_own():
    """Those of the first were taken for those of the next."""
    context = cpu_target.target_context
    with known_operations(cpu_target.typing_context, context):
        for _ in range(2):
            assert context.get_abi_sizeof(ir.LiteralStructType([ir.DoubleType()] * 3)) == 24
        first, second = (ir.Context().get_identified_type("pair") for _ in range(2))
        first.set_body(ir.DoubleType())
        second.set_body(ir.DoubleType(), ir.DoubleType())
        assert [size_of(context, each) for each in (first, second)] == [8, 16]


def size_of(context, kind):
    """Return the size of a type with a name, which LLVM asks for in its own words."""
    kind.get_abi_size = lambda data: ir.LiteralStructType(kind.elements).get_abi_size(data)
    return context.get_abi_sizeof(kind)


@pytest.mark.parametrize("order", ["C", "F"])
def test_elements_are_numpys(order):
    def arrays():
        matrix = np.array(np.arange(12.0).reshape(4, 3), order=order)
        return matrix, np.array([5, 6, 7]), np.array([True, False, True])

    mine, theirs = arrays(), arrays()
    for i, j in [(1, 2), (-1, 0), (0, -2)]:
        assert elements(*mine, i, j) == pytest.approx(elements.py_func(*theirs, i, j))
        for one, other in zip(mine, theirs, strict=True):
            assert np.array_equal(one, other)


def test_whole_arrays_lists_and_functions_inside_are_still_compiled():
    x = np.array([1.0, -2.0, 0.5])
    assert whole_arrays(x) == pytest.approx(whole_arrays.py_func(x))


def later(x):
    raise NotImplementedError


def test_what_is_declared_after_a_compilation_is_known_to_the_next_one():
    def emit(_context, _builder, _signature, values):
        return values[0]

    @compiled(keep=False)
    def before(x):
        return x + 1.0

    assert before(2.0) == 3.0

    @infer_global(later)
    class _Later(AbstractTemplate):
        def generic(self, args, kws):
            return signature(args[0], *args)

    lower_builtin(later, types.Any)(emit)

    @compiled(keep=False)
    def after(x):
        return later(x) + 1.0

    assert after(2.0) == 3.0


@compiled(keep=False)
def counted_down(n):
    while n > 0:
        n -= 1
        yield n


def test_generators_are_compiled_as_numba_has_them():
    assert list(counted_down(3)) == [2, 1, 0]


def test_who_listens_to_numbas_passes_hears_them():
    @compiled(keep=False)
    def function(x):
        return 2.0 * x

    with event.install_recorder("numba:run_pass") as heard:
        function(1.0)
    names = {each.data["name"].split()[0] for _, each in heard.buffer}
    assert {"nopython_type_inference", "native_lowering_with_shared_calls"} <= names
