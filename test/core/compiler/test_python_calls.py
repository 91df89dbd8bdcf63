"""How Python calls machine code: what tells the wrappers of types apart, and which are kept."""

from collections import namedtuple

import numpy as np
from numba.core import types

from manip_dyn.core.compiled import compiled, symbol_of
from manip_dyn.core.compiler.python_calls import PythonCall, wrapper_name


def named(module, fields):
    """Return the type of a named tuple of numbers."""
    made = namedtuple("Pair", fields, module=module)
    return types.NamedUniTuple(types.float64, 2, made)


def test_a_class_inside_a_function_is_compiled_though_it_cannot_be_kept():
    local = namedtuple("local", "x y")

    @compiled
    def difference(pair, values):
        return pair.x - pair.y + values[0]

    assert difference(local(3.0, 1.0), np.ones(1)) == 3.0
    assert difference(namedtuple("local", "y x")(3.0, 1.0), np.ones(1)) == -1.0


def test_named_tuples_of_one_name_are_told_apart():
    @compiled
    def difference(pair):
        return pair.x - pair.y

    pairs = [named("a", "x y"), named("b", "x y"), named("a", "y x")]
    nested = [types.Tuple((each, types.int64)) for each in pairs]
    context, number = difference.targetctx, types.float64
    arguments = [(each,) for each in pairs + nested]
    assert len({symbol_of(difference, each) for each in arguments}) == 6
    assert len({wrapper_name(context, PythonCall(False, each, number)) for each in arguments}) == 6


def test_what_counts_references_has_a_wrapper_of_its_own():
    @compiled
    def nothing():
        return 0

    arguments = (types.float64[::1],)
    calls = [PythonCall(each, arguments, types.float64) for each in (True, False)]
    assert len({wrapper_name(nothing.targetctx, each) for each in calls}) == 2
