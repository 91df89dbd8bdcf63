"""Taylor coefficients of the motion, to any order."""

import numpy as np
import pytest
from arms import load, random_state, random_tree
from numba.core.runtime import _nrt_python, rtsys
from scipy.integrate import solve_ivp

import manip_dyn as md
from manip_dyn.core import is_cacheable

ROBOTS = ("rr", "pa10", "tree", "one_link_vertical")


def arm(name, folder):
    """Return a robot; the tree has all types of joints, and branches."""
    return md.load_robot(random_tree(folder, 1, 5)) if name == "tree" else load(name, folder)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("degree", [0, 2])
def test_the_series_equals_the_integrated_motion(tmp_path, name, degree):
    """Order 24 over 30 ms, compared with a general integrator, for polynomial efforts."""
    robot = arm(name, tmp_path)
    kernels, n, step = md.customize(robot), robot.n, 0.03
    q, v, _ = random_state(robot, np.random.default_rng(3))
    efforts = np.random.default_rng(4).normal(size=(degree + 1, n))

    def motion(t, y):
        tau = sum(row * t**k for k, row in enumerate(efforts))
        return np.concatenate([y[n:], kernels.unchecked.forward_dynamics(y[:n], y[n:], tau)])

    start = np.concatenate([q, v])
    exact = solve_ivp(motion, (0, step), start, method="DOP853", rtol=3e-14, atol=1e-14)
    series = kernels.taylor(q, v, efforts if degree else efforts[0], order=24)
    final = sum(row * step**k for k, row in enumerate(series))
    np.testing.assert_allclose(final, exact.y[:n, -1], rtol=2e-13, atol=2e-13)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_remainder_of_order_p_is_proportional_to_the_power_p_plus_one(tmp_path, name):
    robot = arm(name, tmp_path)
    kernels = md.customize(robot)
    q, v, tau = random_state(robot, np.random.default_rng(3))
    series = kernels.taylor(q, v, tau, order=30)
    for order in (3, 6):
        errors = [
            np.abs(sum(series[k] * h**k for k in range(order + 1, 31))).max() for h in (2e-3, 1e-3)
        ]
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order + 1, abs=0.2)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_machine_code_is_cached(tmp_path, name):
    series = md.customize(arm(name, tmp_path)).series
    assert is_cacheable(series.in_place)
    assert is_cacheable(series.of_state)


def test_the_first_coefficients_are_the_state_and_half_the_acceleration():
    kernels = md.customize(md.load_robot("pa10"))
    q, v, tau = random_state(kernels.robot, np.random.default_rng(0))
    series = kernels.taylor(q, v, tau, order=2)
    np.testing.assert_array_equal(series[:2], [q, v])
    acceleration = kernels.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(series[2], 0.5 * acceleration, rtol=1e-14)
    np.testing.assert_array_equal(kernels.taylor(q, v, tau, order=0), [q])
    np.testing.assert_array_equal(kernels.taylor(q, v, tau, order=1), [q, v])


def test_coefficients_do_not_depend_on_the_highest_order():
    kernels = md.customize(md.load_robot("pa10"))
    state = random_state(kernels.robot, np.random.default_rng(5))
    np.testing.assert_array_equal(kernels.taylor(*state, 9), kernels.taylor(*state, 20)[:10])


def test_series_allocate_no_memory():
    series = md.customize(md.load_robot("rr")).series
    q, v, tau = np.ones(2), np.ones(2), np.ones((1, 2))
    work, out = series.workspace(20), np.empty((21, 2))
    series.in_place(q, v, tau, work, out)
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats().alloc
    series.in_place(q, v, tau, work, out)
    assert rtsys.get_allocation_stats().alloc - before <= 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (np.zeros(7), np.zeros(7), np.zeros(7), -1),
            "integer from 0 to 200, got -1",
        ),
        ((np.zeros(7), np.zeros(7), np.zeros(7), 2.5), "got 2.5"),
        ((np.zeros(7), np.zeros(7), np.zeros(7), 10**12), "from 0 to 200"),
        ((np.zeros(7), np.zeros(7), np.zeros(7), True), "got True"),
        ((np.zeros(7), np.zeros(7), np.zeros((2, 6)), 3), "tau .*shape"),
        ((np.zeros(7), np.zeros(7), np.zeros((0, 7)), 3), r"must have shape \(7,\) or \(m, 7\)"),
        ((np.zeros(7), np.full(7, np.nan), np.zeros(7), 3), "v must be finite"),
    ],
)
def test_invalid_arguments_raise_an_error_that_names_them(arguments, message):
    with pytest.raises(md.ManipDynError, match=message):
        md.customize(md.load_robot("pa10")).taylor(*arguments)
