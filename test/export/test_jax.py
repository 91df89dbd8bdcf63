"""Kernels as functions of JAX: the values of `customize`, exact derivatives, jit and vmap."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.export.vector_functions import vector_function

jax = pytest.importorskip("jax", reason="pip install 'manip_dyn[jax]'")
jax.config.update("jax_enable_x64", True)

from jax.test_util import check_grads  # noqa: E402

ROBOT = md.load_robot("rr")
STATES = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 4, 5, 2))


@pytest.fixture(scope="module")
def dynamics():
    return md.jax_function(ROBOT, "forward_dynamics")


@pytest.mark.parametrize("kernel", ["forward_dynamics", "forward_kinematics"])
def test_values_are_those_of_the_kernels(kernel):
    """One state, many, and many by vmap and jit: one and the same."""
    function, own = md.jax_function(ROBOT, kernel), md.customize(ROBOT).unchecked
    states = STATES[:1] if kernel == "forward_kinematics" else STATES
    expected = [
        [getattr(own, kernel)(*states[:, i, j].copy()) for j in range(5)] for i in range(4)
    ]
    np.testing.assert_allclose(function(*states), expected, rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(function(*states)[1, 2], function(*states[:, 1, 2]))
    mapped = jax.jit(jax.vmap(jax.vmap(function), in_axes=1, out_axes=1))
    np.testing.assert_array_equal(mapped(*states), function(*states))


def test_derivatives_are_exact_both_ways_and_twice(dynamics):
    state = list(STATES[:, 0, 0])
    check_grads(dynamics, state, order=2, modes=("fwd", "rev"))
    exact = md.customize(ROBOT).forward_dynamics_derivatives(*state)
    for each in (jax.jacfwd, jax.jacrev):
        slopes = jax.jit(each(dynamics, argnums=(0, 1, 2)))(*state)
        np.testing.assert_allclose(slopes, exact, rtol=1e-12, atol=1e-12)


def test_gradients_of_many_states_at_once(dynamics):
    def cost(q, v, tau):
        return (dynamics(q, v, tau) ** 2).sum()

    states = list(STATES[:, 0])
    slopes = jax.jit(jax.vmap(jax.grad(cost, argnums=(0, 1, 2))))(*states)
    whole = jax.grad(cost, argnums=(0, 1, 2))(*states)
    np.testing.assert_allclose(slopes, whole, rtol=1e-13, atol=1e-13)
    one = jax.jit(jax.vmap(jax.grad(cost), in_axes=(0, None, None)))
    some = one(states[0], states[1][0], states[2][0])
    np.testing.assert_allclose(some[0], slopes[0][0], rtol=1e-13)


def test_by_way_of_python_it_is_the_same(dynamics):
    """As where XLA cannot call machine code of the CPU."""
    from manip_dyn.export import jax_primitives

    x = np.concatenate(STATES, axis=-1)
    made = vector_function(ROBOT, ROBOT.tip, "forward_dynamics")
    by_python = jax.jit(lambda x: jax_primitives.by_python(x, made=made))
    np.testing.assert_array_equal(by_python(x), dynamics(*STATES))


def test_bad_input_is_told(dynamics):
    q, v, tau = STATES[:, 0, 0]
    for words, arguments in (
        ("forward_dynamics got 2 arguments; expected q, v, tau", (q, v)),
        ("v has shape \\(3,\\); expected \\(..., 2\\)", (q, np.zeros(3), tau)),
        ("q is 'home'; expected numbers \\(..., 2\\)", ("home", v, tau)),
        ("do not fit together", (np.zeros((2, 2)), np.zeros((3, 2)), tau)),
    ):
        with pytest.raises(md.ManipDynError, match=words):
            dynamics(*arguments)
    with pytest.raises(md.ManipDynError, match="did you mean 'forward_dynamics'"):
        md.jax_function(ROBOT, "forward_dynamic")
    with pytest.raises(md.ManipDynError, match="taylor has no fixed size"):
        md.jax_function(ROBOT, "taylor")
    off = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
    with off(False), pytest.raises(md.ManipDynError, match="JAX computes forward_dynamics in sin"):
        dynamics(q, v, tau)
