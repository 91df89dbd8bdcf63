"""C functions that match arrays: accepted shapes, layouts and types; no references are lost."""

import os
import pickle
import sys

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.codegen import MISMATCH, STATES, array_function

pytestmark = pytest.mark.skipif(
    any(os.environ.get(name) == "1" for name in ("NUMBA_DISABLE_JIT", "MANIP_DYN_STOCK_NUMBA")),
    reason="arrays are matched by machine code only",
)
match = array_function([(2, STATES), (STATES,), (3, 2)])


def arrays(states=5):
    return [np.zeros((2, states)), np.zeros(states), np.zeros((3, 2))]


@pytest.mark.parametrize("states", [0, 1, 5])
def test_the_result_is_the_number_of_states(states):
    assert match(*arrays(states)) == states
    assert array_function([(2,)])(np.zeros(2)) == 0


def test_arrays_in_single_precision_match_on_request():
    match_single = array_function([(-1,)], dtype=np.float32)
    assert match_single(np.zeros(5, np.float32)) == 5
    assert match_single(np.zeros(5)) == MISMATCH


def test_arrays_from_other_processes_match():
    """Regression: the dtype of an unpickled array is another object than NumPy's."""
    assert match(*pickle.loads(pickle.dumps(arrays()))) == 5


def read_only():
    array = np.zeros(5)
    array.setflags(write=False)
    return array


OTHERS = {
    "shape": np.zeros(4),
    "axes": np.zeros((5, 1)),
    "no axis": np.zeros(()),
    "type": np.zeros(5, np.float32),
    "integers": np.zeros(5, np.int64),
    "byte order": np.zeros(5, ">f8"),
    "strides": np.zeros(10)[::2],
    "read-only": read_only(),
    "subclass": np.zeros(5).view(np.recarray),
    "list": [0.0] * 5,
    "number": 5.0,
    "none": None,
}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_arguments_do_not_match(kind):
    first, _, last = arrays()
    assert match(first, OTHERS[kind], last) == MISMATCH


def test_other_numbers_of_arguments_do_not_match():
    assert match() == match(*arrays()[:2]) == match(*arrays(), np.zeros(5)) == MISMATCH
    with pytest.raises(TypeError):
        match(*arrays(), out=None)


def test_references_to_arguments_are_neither_added_nor_lost():
    kernels, q = md.customize(md.load_robot("rr")), np.zeros(2)
    before = sys.getrefcount(q)
    for _ in range(100):
        kernels.mass_matrix(q)
    assert sys.getrefcount(q) == before
