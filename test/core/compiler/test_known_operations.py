"""What compiled functions leave out of numba's work changes nothing that they compute."""

import sys
from functools import reduce

import numba.core.event as event
import numpy as np
import pytest
from llvmlite import ir
from numba.core import postproc, typed_passes, types
from numba.core.compiler_machinery import PassManager
from numba.core.errors import TypingError
from numba.core.registry import cpu_target
from numba.core.rewrites import Rewrite, rewrite_registry
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin

from manip_dyn.core.compiled import compiled
from manip_dyn.core.compiler import compilers, passes
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


def test_what_fits_no_operation_is_said_whenever_it_is_asked_for():
    """Seen: 'str' object has no attribute 'return_type'."""

    def masked(x):
        return x & 1.5

    sentence = r"No implementation of function Function\(<built-in function and_>\)"
    for _ in range(2):
        with pytest.raises(TypingError, match=sentence):
            compiled(keep=False)(masked)(1.0)


def passes_of_doubling():
    """Return the names of the passes that compile a function, which does what it shall."""
    doubled = compiled(keep=False)(lambda x: 2.0 * x)
    with event.install_recorder("numba:run_pass") as heard:
        assert doubled(1.5) == 3.0
    return {each.data["name"].split()[0] for _, each in heard.buffer}


def test_who_listens_to_numbas_passes_hears_them():
    names = passes_of_doubling()
    assert {"nopython_type_inference", "native_lowering_with_shared_calls"} <= names


def other_arguments(self, emit_dels=False, extend_lifetimes=False, more=None):
    """Stand for numba's processing after a pass, of a version to come."""


@pytest.mark.parametrize(
    ("owner", "name", "other"),
    [
        (typed_passes, "IRLegalization", None),
        (event, "_registered", None),
        (PassManager, "_runPass", None),
        (PassManager, "finalize", lambda self: None),
        (postproc.PostProcessor, "_insert_var_dels", None),
        (postproc.PostProcessor, "run", other_arguments),
    ],
)
def test_another_numba_compiles_by_passes_of_its_own(monkeypatch, owner, name, other):
    """Where something is missing, or is not what it was, nothing is replaced."""
    assert compilers.lean() == (passes.Passes, passes.LEAN)
    monkeypatch.delitem(sys.modules, passes.__name__)
    with monkeypatch.context() as another:
        another.delattr(owner, name)
        if other:
            another.setattr(owner, name, other, raising=False)
        assert compilers.lean() == (PassManager, {})


def test_numbas_own_passes_compile_all_the_same(monkeypatch):
    monkeypatch.setattr(compilers, "_Passes", PassManager)
    for each in passes.LEAN:
        monkeypatch.delitem(compilers._OUR_OWN, each)
    names = passes_of_doubling()
    assert {"ir_legalization", "nopython_rewrites", "inline_closure_likes"} <= names


def test_contexts_of_another_numba_are_asked_for_new_declarations_as_they_are():
    class Typing:
        def resolve_value_type(self, value):
            return f"type of {value}"

        def resolve_function_type(self, function, arguments, keywords):
            return f"type of {function}()"

    class Target:
        def get_abi_sizeof(self, kind):
            return 8

    typing, target = Typing(), Target()
    with known_operations(typing, target):
        assert typing.resolve_value_type("x") == "type of x"
        assert typing.resolve_function_type("f", (), {}) == "type of f()"
        assert target.get_abi_sizeof("a type") == 8
    assert not vars(typing)
    assert not vars(target)


def test_who_rewrites_what_numba_does_not_is_asked(monkeypatch):
    asked = []

    class Rewriter(Rewrite):
        def match(self, *arguments):
            asked.append(arguments)
            return False

    kinds = rewrite_registry.rewrites
    monkeypatch.setitem(kinds, "after-inference", [*kinds["after-inference"], Rewriter])
    compiled(keep=False)(lambda x: 2.0 * x)(1.0)
    assert asked
