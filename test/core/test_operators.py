"""Built-in functions in compiled code give what numba gives."""

import numpy as np
import pytest
from numba import njit

from manip_dyn import compiled

NUMBERS = (2, -3, 2.5, float("nan"), float("inf"), -0.0, 0.0)


def extremes(a, b, c):
    return max(a, b), min(a, b), max(a, b, c), min(a, b, c)


def elements(matrix, vector, i, j):
    matrix[i, j] += vector[j]
    vector[i] = matrix[-1, j] - vector[-2]
    return matrix[i, j], vector[i]


@pytest.mark.parametrize("a", NUMBERS)
@pytest.mark.parametrize("b", NUMBERS)
def test_extremes_are_those_of_numba(a, b):
    ours, numbas = compiled(keep=False)(extremes), njit(extremes)
    assert repr(ours(a, b, 1)) == repr(numbas(a, b, 1))


def test_extremes_of_a_tuple_and_of_unsupported_types():
    assert compiled(keep=False)(lambda values: max(values))((1.0, 3.0, 2.0)) == 3.0
    assert compiled(keep=False)(lambda: (max(1, 1), min(0, 2.5)))() == (1, 0.0)
    with pytest.raises(Exception, match="max"):
        compiled(keep=False)(lambda: max("a", 1.0))()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint8, np.bool_])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("index", [(1, 2), (-1, -3), (np.uint64(1), np.int8(2))])
def test_elements_are_those_of_numba(dtype, order, index):
    def arrays():
        numbers = np.arange(6).reshape(2, 3)
        return np.array(numbers, dtype, order=order), np.array([1, 0, 1], dtype)

    if dtype == np.bool_:

        def function(matrix, vector, i, j):
            matrix[i, j] = vector[j]
            return matrix[i, j], vector[i]
    else:
        function = elements
    ours, numbas = arrays(), arrays()
    result = compiled(short=True, keep=False)(function)(*ours, *index)
    expected = njit(function)(*numbas, *index)
    assert repr(result) == repr(expected)
    for a, b in zip(ours, numbas, strict=True):
        assert np.array_equal(a, b)


def test_slices_and_arrays_of_indices_stay_numbas():
    @compiled(short=True, keep=False)
    def function(vector, indices):
        vector[1:] = vector[:-1].copy()
        return vector[indices].sum() + vector[1:].sum()

    assert function(np.arange(4.0), np.array([0, 3])) == 5.0


def test_functions_of_numba_alone_are_not_changed():
    compiled(short=True, keep=False)(extremes)(1, 2, 3)
    assert njit(extremes)(1.0, 2, 3) == (2.0, 1.0, 3.0, 1.0)
