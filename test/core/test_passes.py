"""Passes that end early leave all that they are for to numba."""

from functools import reduce

import numpy as np
import pytest
from numba import njit

from manip_dyn import compiled

VALUES = np.array([1.0, -2.0, 3.0])


def inner_function(values):
    def shifted(x):
        return x + len(values)

    return shifted(values[0])


def array_of_numbers(values):
    return np.array([values[0], 2.0, values[1]])


def comprehension(values):
    return np.array([x * x for x in values])


def reduction(values):
    return reduce(lambda a, b: a + b, [values[0], values[1], values[2]])


def fused(values):
    return 2.0 * values + values * values - np.abs(values)


def optional(values, scale=None):
    if scale is None:
        return values[0]
    return scale * values[1]


@pytest.mark.parametrize(
    "function", [inner_function, array_of_numbers, comprehension, reduction, fused, optional]
)
def test_results_are_those_of_numba(function):
    assert np.array_equal(compiled(keep=False)(function)(VALUES), njit(function)(VALUES))


def test_fields_of_records_are_read_by_name():
    def total(records):
        return records[0]["a"] + records[1]["b"]

    records = np.array([(1.0, 2), (3.0, 4)], dtype=[("a", float), ("b", int)])
    assert compiled(keep=False)(total)(records) == 5.0
