"""Kernels called by address: one compiled caller for several robots, and supported types."""

import numba
import numpy as np
import pytest
from arms import random_state
from numba.core.errors import TypingError

import manip_dyn as md
from manip_dyn.codegen import addresses, call_kernel
from manip_dyn.core import address_of, call_returning

NAMES = ("forward_dynamics", "forward_dynamics_derivatives", "energy")


@numba.njit
def three(kernels, q, v, tau, a, slopes, energies):
    call_kernel(kernels[0], (q, v, tau, a))
    call_kernel(kernels[1], (q, v, tau, slopes))
    call_kernel(kernels[2], (q, v, energies))


def test_one_caller_serves_every_robot():
    rng = np.random.default_rng(2)
    for name in ("ibm7535", "cylindrical", "one_link_vertical"):
        robot = md.load_robot(name)
        kernels, n = md.customize(robot).unchecked, robot.n
        q, v, tau = random_state(robot, rng)
        a, slopes, energies = np.empty(n), np.empty((3, n, n)), np.empty(2)
        three(addresses(robot, *NAMES), q, v, tau, a, slopes, energies)
        np.testing.assert_array_equal(a, kernels.forward_dynamics(q, v, tau))
        np.testing.assert_array_equal(slopes, kernels.forward_dynamics_derivatives(q, v, tau))
        np.testing.assert_array_equal(energies, kernels.energy(q, v))
    assert len(three.signatures) == 1


@numba.njit
def count(x, step):
    x += step
    return x.shape[0]


@numba.njit
def through(address, x):
    return call_returning(address, (x, 2.0))


def test_a_jitted_function_is_called_by_its_address():
    x = np.zeros(5)
    assert through(address_of(count, x, 1.0), x) == 5
    np.testing.assert_array_equal(x, np.full(5, 2.0))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((np.zeros((3, 4))[:, 0],), "C-contiguous"),
        ((np.zeros(3, dtype=np.float32),), "float64"),
        (np.zeros(3), "a tuple"),
    ],
)
def test_unsupported_arrays_raise_a_typing_error(arrays, message):
    @numba.njit
    def caller(address, arrays):
        call_kernel(address, arrays)

    with pytest.raises(TypingError, match=message):
        caller(1, arrays)


def test_calls_from_python_compile_no_second_form_of_a_kernel():
    kernels = md.customize(md.load_robot("ibm7535", mass_scale=1.03))
    for mass_matrix in (kernels.mass_matrix, kernels.unchecked.mass_matrix):
        np.testing.assert_array_equal(mass_matrix(np.zeros(2)), kernels.mass_matrix([0.0, 0.0]))
    assert not kernels.in_place.mass_matrix.signatures
