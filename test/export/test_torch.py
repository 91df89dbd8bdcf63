"""Kernels as functions of PyTorch: the values of `customize`, exact derivatives, vmap."""

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
    return [torch.tensor(each, requires_grad=True) for each in states]


@pytest.mark.parametrize("kernel", ["forward_dynamics", "forward_kinematics"])
def test_values_are_those_of_the_kernels(kernel):
    function, own = md.torch_function(ROBOT, kernel), md.customize(ROBOT).unchecked
    states = STATES[:1] if kernel == "forward_kinematics" else STATES
    expected = [
        [getattr(own, kernel)(*states[:, i, j].copy()) for j in range(5)] for i in range(4)
    ]
    result = function(*states)
    np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-14)
    mapped = torch.func.vmap(torch.func.vmap(function), in_dims=1, out_dims=1)
    np.testing.assert_array_equal(mapped(*map(torch.tensor, states)), result)


def test_derivatives_are_exact_both_ways_and_twice(dynamics):
    states = tensors(STATES[:, 0])
    assert torch.autograd.gradcheck(dynamics, states, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(dynamics, states)
    state = [torch.tensor(each) for each in STATES[:, 0, 0]]
    exact = md.customize(ROBOT).forward_dynamics_derivatives(*STATES[:, 0, 0])
    for each in (torch.func.jacrev, torch.func.jacfwd):
        slopes = each(dynamics, argnums=(0, 1, 2))(*state)
        np.testing.assert_allclose(torch.stack(slopes), exact, rtol=1e-12, atol=1e-12)


def test_bad_input_is_told(dynamics):
    q, v, tau = STATES[:, 0, 0]
    for words, arguments in (
        ("forward_dynamics got 2 arguments; expected q, v, tau", (q, v)),
        ("v has shape \\(3,\\); expected \\(..., 2\\)", (q, np.zeros(3), tau)),
        ("q is 'home'; expected numbers \\(..., 2\\)", ("home", v, tau)),
        ("do not fit together", (np.zeros((2, 2)), np.zeros((3, 2)), tau)),
        ("q is torch.float32 on cpu; expected torch.float64", (torch.zeros(2), v, tau)),
    ):
        with pytest.raises(md.ManipDynError, match=words):
            dynamics(*arguments)
