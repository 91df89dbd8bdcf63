"""Kernels as functions of PyTorch: values of `customize`, exact derivatives, vmap."""

import numpy as np
import pytest

import manip_dyn as md

torch = pytest.importorskip("torch", reason="pip install 'manip_dyn[torch]'")

ROBOT = md.load_robot("rr")
STATES = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 4, 5, 2))


@pytest.fixture(scope="module")
def dynamics():
    return md.torch_function(ROBOT, "forward_dynamics")


def tensors(states):
    return [torch.tensor(state, requires_grad=True) for state in states]


@pytest.mark.parametrize("kernel", ["forward_dynamics", "forward_kinematics"])
def test_values_equal_those_of_the_kernels(kernel):
    function, kernels = md.torch_function(ROBOT, kernel), md.customize(ROBOT).unchecked
    states = STATES[:1] if kernel == "forward_kinematics" else STATES
    expected = [
        [getattr(kernels, kernel)(*states[:, i, j].copy()) for j in range(5)] for i in range(4)
    ]
    result = function(*states)
    np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-14)
    mapped = torch.func.vmap(torch.func.vmap(function), in_dims=1, out_dims=1)
    np.testing.assert_array_equal(mapped(*map(torch.tensor, states)), result)


def test_first_and_second_derivatives_are_exact_in_both_modes(dynamics):
    states = tensors(STATES[:, 0])
    assert torch.autograd.gradcheck(dynamics, states, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(dynamics, states)
    state = [torch.tensor(array) for array in STATES[:, 0, 0]]
    exact = md.customize(ROBOT).forward_dynamics_derivatives(*STATES[:, 0, 0])
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        slopes = jacobian(dynamics, argnums=(0, 1, 2))(*state)
        np.testing.assert_allclose(torch.stack(slopes), exact, rtol=1e-12, atol=1e-12)


def test_invalid_arguments_raise_an_error(dynamics):
    q, v, tau = STATES[:, 0, 0]
    for message, arguments in (
        ("must be q, v, tau, got 2 argument", (q, v)),
        ("v must have shape \\(..., 2\\), got \\(3,\\)", (q, np.zeros(3), tau)),
        ("q must be numbers \\(..., 2\\), got 'home'", ("home", v, tau)),
        ("must have shapes that broadcast", (np.zeros((2, 2)), np.zeros((3, 2)), tau)),
        ("q must be torch.float64 on cpu, got torch.float32", (torch.zeros(2), v, tau)),
    ):
        with pytest.raises(md.ManipDynError, match=message):
            dynamics(*arguments)
