"""Checked calls: the compiled and the Python checks return the same results and errors."""

import threading
import warnings

import numpy as np
import pytest
from arms import load, random_state

import manip_dyn as md
from manip_dyn.core import finite_array

PAYLOAD = [1.0, 0.0, 0.1, 0.0, 0.02, 0.02, 0.02, 0.0, 0.0, 0.0]
METHODS = {
    "forward_kinematics": 1,
    "jacobian": 1,
    "jacobian_rate": 2,
    "jacobian_derivatives": 1,
    "forward_dynamics": 3,
    "inverse_dynamics": 3,
    "mass_matrix": 1,
    "energy": 2,
    "forward_dynamics_derivatives": 3,
    "inverse_dynamics_derivatives": 3,
    "forward_dynamics_adjoint": 4,
    "forward_dynamics_second_derivatives": 4,
    "switching_rates": 4,
}


def read_only(x):
    x = x.copy()
    x.setflags(write=False)
    return x


def strided(x):
    return np.repeat(x, 2)[::2]


def unaligned(x):
    memory = np.zeros(x.nbytes + 1, np.uint8)
    array = memory[1:].view(np.float64)
    array[:] = x
    return array


def swapped(x):
    return x.astype(x.dtype.newbyteorder())


class Subclass(np.ndarray):
    """A subclass of ndarray."""


FORMS = {
    "read-only": read_only,
    "strided": strided,
    "unaligned": unaligned,
    "bytes swapped": swapped,
    "list": np.ndarray.tolist,
    "tuple": tuple,
    "objects": lambda x: x.astype(object),
    "subclass": lambda x: x.view(Subclass),
    "masked array without masked entries": np.ma.asarray,
}


@pytest.fixture(scope="module")
def kernels():
    return md.customize(md.load_robot("rr"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", METHODS)
def test_results_do_not_depend_on_the_form_of_the_arguments(kernels, method, form):
    arguments = np.random.default_rng(0).normal(size=(METHODS[method], 2))
    expected = getattr(kernels, method)(*arguments)
    converted = [FORMS[form](argument) for argument in arguments]
    np.testing.assert_array_equal(getattr(kernels, method)(*converted), expected)
    mixed = (*arguments[:-1], converted[-1])
    np.testing.assert_array_equal(getattr(kernels, method)(*mixed), expected)


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.int8, np.uint16])
def test_other_types_of_numbers_are_converted(kernels, kind):
    numbers = np.array([[3, 1], [2, 4], [1, 5]], kind)
    expected = kernels.forward_dynamics(*numbers.astype(np.float64))
    np.testing.assert_array_equal(kernels.forward_dynamics(*numbers), expected)


@pytest.mark.parametrize("method", METHODS)
def test_checked_and_unchecked_calls_agree(kernels, method):
    arguments = np.random.default_rng(1).normal(size=(METHODS[method], 2))
    expected = getattr(kernels.unchecked, method)(*arguments)
    np.testing.assert_array_equal(getattr(kernels, method)(*arguments), expected)


@pytest.mark.parametrize("form", [np.copy, *FORMS.values()], ids=["array", *FORMS])
@pytest.mark.parametrize("index", range(4))
def test_numbers_that_are_not_finite_raise_the_same_error_in_every_form(kernels, form, index):
    arguments = list(np.zeros((4, 2)))
    arguments[index] = form(np.array([0.5, np.inf]))
    name = ("q", "v", "tau", "adjoint")[index]
    with pytest.raises(md.ManipDynError) as raised:
        kernels.forward_dynamics_adjoint(*arguments)
    assert str(raised.value) == f"{name} must be finite numbers, got [0.5, inf]."


def test_large_finite_numbers_do_not_warn_of_an_overflow():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert finite_array("v", np.array([1e200, -1e200]), (2,)).max() == 1e200


@pytest.mark.parametrize("form", [list, tuple, np.array])
def test_the_error_for_none_names_the_entry(kernels, form):
    with pytest.raises(md.ManipDynError) as caught:
        kernels.mass_matrix(form([0.0] * (kernels.robot.n - 1) + [None]))
    message, n = str(caught.value), kernels.robot.n
    assert f" must be {n} numbers, got " in message
    assert message.endswith(f" with None at {n - 1}.")
    with pytest.raises(md.ManipDynError, match=r"of shape \(2, 2\), got .* with None at \(1, 0\)"):
        finite_array("states", [[0.0, np.nan], [None, 0.0]], (2, 2))


@pytest.mark.parametrize("shape", [(3,), (1,), (0,), (2, 1), (1, 2)])
def test_wrong_shapes_raise_the_same_error_in_every_form(kernels, shape):
    for array in (np.zeros(shape), np.zeros(shape).tolist(), np.zeros(shape, np.float32)):
        with pytest.raises(md.ManipDynError) as raised:
            kernels.forward_dynamics(np.zeros(2), array, np.zeros(2))
        assert str(raised.value) == f"v must have shape (2,), got {shape}."


def test_a_single_number_raises_the_same_error_in_every_form(kernels):
    for number in (0.5, 2, np.float32(0.5), np.zeros(())):
        with pytest.raises(md.ManipDynError) as raised:
            kernels.forward_dynamics(np.zeros(2), number, np.zeros(2))
        assert str(raised.value) == f"v must be 2 numbers, got {number!r}."


def test_the_error_names_the_first_invalid_argument(kernels):
    with pytest.raises(md.ManipDynError, match=r"^v must be finite numbers, got \[nan, 0\.0\]"):
        kernels.forward_dynamics(np.zeros(2), np.array([np.nan, 0.0]), np.zeros(3))


def test_loads_are_checked_in_every_form():
    kernels = md.customize(md.load_robot("pa10"))
    q, v, tau = random_state(kernels.robot, np.random.default_rng(0))
    wrench = np.arange(6.0)
    for method in (kernels.forward_dynamics, kernels.inverse_dynamics):
        expected = method(q, v, tau, payload=np.array(PAYLOAD), wrench=wrench)
        converted = method(q.tolist(), v, tau, payload=PAYLOAD, wrench=strided(wrench))
        np.testing.assert_array_equal(converted, expected)
    expected = kernels.mass_matrix(q, payload=np.array(PAYLOAD))
    np.testing.assert_array_equal(kernels.mass_matrix(list(q), payload=PAYLOAD), expected)
    for invalid in (np.zeros(7), np.zeros(7).tolist()):
        with pytest.raises(md.ManipDynError, match=r"wrench must have shape \(6,\), got \(7,\)"):
            kernels.forward_dynamics(q, v, tau, wrench=invalid)
    with pytest.raises(md.ManipDynError, match=r"wrench must be finite numbers"):
        kernels.forward_dynamics(q, v, tau, wrench=np.full(6, np.nan))


def test_results_are_new_writable_arrays(kernels):
    q, v, tau = np.random.default_rng(2).normal(size=(3, 2))
    first, second = kernels.forward_dynamics(q, v, tau), kernels.forward_dynamics(q, v, tau)
    assert not np.shares_memory(first, second)
    assert type(first) is np.ndarray
    first[:] = 0.0
    assert np.all(second != 0.0)


def test_the_first_call_may_come_from_several_threads(tmp_path):
    kernels = md.customize(load("tree5", tmp_path))
    state = random_state(kernels.robot, np.random.default_rng(0))
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(kernels.forward_dynamics(*state)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = kernels.unchecked.forward_dynamics(*state)
    for result in results:
        np.testing.assert_array_equal(result, expected)
    assert len(results) == 4
