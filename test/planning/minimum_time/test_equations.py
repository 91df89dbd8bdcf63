"""Rates of the switching functions along the canonical equations."""

import numpy as np
import pytest

import manip_dyn as md


@pytest.mark.parametrize("name", ["ibm7535", "rr"])
def test_switching_rates_are_those_of_the_flow(name):
    """Rates and gradients of S = M^-1 p_v agree with central differences."""
    robot, rng, h = md.load_robot(name), np.random.default_rng(5), 1e-6
    n, kernels = robot.n, md.customize(robot)
    z, tau = rng.normal(size=4 * n), rng.normal(size=n)

    def switching(z):
        return np.linalg.solve(kernels.mass_matrix(z[:n]), z[3 * n :])

    q, v, p_q, p_v = z.reshape(4, n)
    by_q, by_v, _ = kernels.forward_dynamics_adjoint(q, v, tau, p_v)
    flow = np.concatenate([v, kernels.forward_dynamics(q, v, tau), -by_q, -p_q - by_v])
    rows = kernels.switching_rates(q, v, p_q, p_v)
    along = (switching(z + h * flow) - switching(z - h * flow)) / (2 * h)
    assert rows[:, 0] == pytest.approx(along, abs=1e-7)
    for i, e in enumerate(np.eye(4 * n)):
        ends = [kernels.switching_rates(*(z + k * h * e).reshape(4, n))[:, 0] for k in (1, -1)]
        assert rows[:, 1 + i] == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-7)
