"""Kernels as functions of JAX: values of `customize`, exact derivatives, jit and vmap."""

from importlib import import_module

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.export import vector_function

jax = pytest.importorskip("jax", reason="pip install 'manip_dyn[jax]'")
jax.config.update("jax_enable_x64", True)
check_grads = pytest.importorskip("jax.test_util").check_grads

ROBOT = md.load_robot("rr")
STATES = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 4, 5, 2))


@pytest.fixture(scope="module")
def dynamics():
    return md.jax_function(ROBOT, "forward_dynamics")


@pytest.mark.parametrize("kernel", ["forward_dynamics", "forward_kinematics"])
def test_values_equal_those_of_the_kernels(kernel):
    """For one state, for many states, and with vmap and jit."""
    function, kernels = md.jax_function(ROBOT, kernel), md.customize(ROBOT).unchecked
    states = STATES[:1] if kernel == "forward_kinematics" else STATES
    expected = [
        [getattr(kernels, kernel)(*states[:, i, j].copy()) for j in range(5)] for i in range(4)
    ]
    np.testing.assert_allclose(function(*states), expected, rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(function(*states)[1, 2], function(*states[:, 1, 2]))
    mapped = jax.jit(jax.vmap(jax.vmap(function), in_axes=1, out_axes=1))
    np.testing.assert_array_equal(mapped(*states), function(*states))


def test_first_and_second_derivatives_are_exact_in_both_modes(dynamics):
    state = list(STATES[:, 0, 0])
    check_grads(dynamics, state, order=2, modes=("fwd", "rev"))
    exact = md.customize(ROBOT).forward_dynamics_derivatives(*state)
    for jacobian in (jax.jacfwd, jax.jacrev):
        slopes = jax.jit(jacobian(dynamics, argnums=(0, 1, 2)))(*state)
        np.testing.assert_allclose(slopes, exact, rtol=1e-12, atol=1e-12)


def test_gradients_of_many_states_equal_those_of_single_states(dynamics):
    def cost(q, v, tau):
        return (dynamics(q, v, tau) ** 2).sum()

    states = list(STATES[:, 0])
    slopes = jax.jit(jax.vmap(jax.grad(cost, argnums=(0, 1, 2))))(*states)
    expected = jax.grad(cost, argnums=(0, 1, 2))(*states)
    np.testing.assert_allclose(slopes, expected, rtol=1e-13, atol=1e-13)
    mapped = jax.jit(jax.vmap(jax.grad(cost), in_axes=(0, None, None)))
    partial = mapped(states[0], states[1][0], states[2][0])
    np.testing.assert_allclose(partial[0], slopes[0][0], rtol=1e-13)


def test_calls_through_python_have_the_same_result(dynamics):
    """XLA calls Python on devices other than the CPU."""
    primitives = import_module("manip_dyn.export.jax_primitives")
    x = np.concatenate(STATES, axis=-1)
    function = vector_function(ROBOT, ROBOT.tip, "forward_dynamics")
    by_python = jax.jit(lambda x: primitives.by_python(x, function=function))
    np.testing.assert_array_equal(by_python(x), dynamics(*STATES))


def test_invalid_arguments_raise_an_error(dynamics):
    q, v, tau = STATES[:, 0, 0]
    for message, arguments in (
        ("must be q, v, tau, got 2 argument", (q, v)),
        ("v must have shape \\(..., 2\\), got \\(3,\\)", (q, np.zeros(3), tau)),
        ("q must be numbers \\(..., 2\\), got 'home'", ("home", v, tau)),
        ("must have shapes that broadcast", (np.zeros((2, 2)), np.zeros((3, 2)), tau)),
    ):
        with pytest.raises(md.ManipDynError, match=message):
            dynamics(*arguments)
    with pytest.raises(md.ManipDynError, match="did you mean 'forward_dynamics'"):
        md.jax_function(ROBOT, "forward_dynamic")
    with pytest.raises(md.ManipDynError, match="result of fixed size, got 'taylor'"):
        md.jax_function(ROBOT, "taylor")
    off = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
    with (
        off(False),
        pytest.raises(md.ManipDynError, match="requires double precision"),
    ):
        dynamics(q, v, tau)
