"""Long chains and large trees, with kernels in compiled loops, compared with pinocchio."""

import numpy as np
import pytest
from arms import random_chain, random_state, random_tree
from fresh import output_of
from numba.core.errors import TypingError

import manip_dyn as md
from manip_dyn.codegen import BY_NAME
from manip_dyn.robot import Oracle

LONGEST, LONGEST_MASS = 14, 30
"""Joints of a chain up to which derivatives and the mass matrix are straight-line code."""
ROBOTS = {
    "chain15": lambda folder: random_chain(folder, 1, joints=LONGEST + 1),
    "tree48": lambda folder: random_tree(folder, 4, joints=48, branches=2),
}


@pytest.fixture(scope="module", params=ROBOTS)
def kernels(request, tmp_path_factory):
    return md.customize(md.load_robot(ROBOTS[request.param](tmp_path_factory.mktemp("robot"))))


def states(kernels, count):
    rng = np.random.default_rng(kernels.robot.n)
    reference = Oracle(kernels.robot)
    for _ in range(count):
        q, v, a = random_state(kernels.robot, rng)
        # Random efforts would cause huge accelerations of light links.
        yield q, v, a, reference.inverse_dynamics(q, v, a)


def relative(actual, expected):
    """Return the largest error relative to the largest entry."""
    expected = np.asarray(expected)
    return np.abs(np.subtract(actual, expected)).max() / np.abs(expected).max()


def test_the_mass_matrix_equals_that_of_pinocchio(kernels):
    for q, *_ in states(kernels, 5):
        mass = kernels.mass_matrix(q)
        assert relative(mass, Oracle(kernels.robot).mass_matrix(q)) < 1e-12
        np.testing.assert_array_equal(mass, mass.T)


def test_the_energy_equals_that_of_pinocchio(kernels):
    for q, v, *_ in states(kernels, 5):
        assert relative(kernels.energy(q, v), Oracle(kernels.robot).energy(q, v)) < 1e-12


def test_derivatives_of_the_inverse_dynamics_equal_those_of_pinocchio(kernels):
    reference = Oracle(kernels.robot)
    for q, v, a, _ in states(kernels, 5):
        ours = kernels.inverse_dynamics_derivatives(q, v, a)
        for one, expected in zip(
            ours, reference.inverse_dynamics_derivatives(q, v, a), strict=True
        ):
            assert relative(one, expected) < 1e-12


def test_derivatives_of_the_forward_dynamics_equal_those_of_pinocchio(kernels):
    reference = Oracle(kernels.robot)
    for q, v, _, tau in states(kernels, 5):
        conditioned = np.finfo(float).eps * np.linalg.cond(reference.mass_matrix(q))
        ours = kernels.forward_dynamics_derivatives(q, v, tau)
        for one, expected in zip(
            ours, reference.forward_dynamics_derivatives(q, v, tau), strict=True
        ):
            assert relative(one, expected) < max(1e-12, conditioned)


def test_the_linearization_is_the_mass_matrix_times_the_derivatives(kernels):
    n, t = kernels.robot.n, 0.0
    q, v, _, tau = next(states(kernels, 1))
    y, by_time = np.concatenate([q, v, [0.3]]), np.ones(n + 1)
    mass = kernels.mass_matrix(q)
    by_q, by_v, _ = (mass @ matrix for matrix in kernels.forward_dynamics_derivatives(q, v, tau))
    out = np.full((n, 3 * n), np.nan)
    kernels.linearization(t, y[:-1], tau, out, by_time[:-1])
    for one, expected in zip(np.split(out, 3, axis=1), (by_q, by_v, mass), strict=True):
        assert relative(one, expected) < 1e-9
    assert np.all(by_time[:-1] == 0.0)
    with_work = np.full((n + 1, 3 * n + 1), np.nan)
    kernels.linearization_with_work(t, y, tau, with_work, by_time)
    np.testing.assert_array_equal(np.delete(with_work[:n], 2 * n, axis=1), out)
    assert np.all(with_work[:, 2 * n] == 0.0)
    assert np.all(by_time == 0.0)
    # The power of the efforts and of damping is v . (tau - D v).
    by_state = np.zeros(3 * n + 1)
    by_state[n : 2 * n] = tau - 2.0 * kernels.robot.damping * v
    np.testing.assert_allclose(with_work[n], by_state, rtol=1e-15)


LOOPED = (
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    "linear_motion",
    "linear_motion_and_work",
)


def test_a_batch_equals_its_states_one_by_one(kernels):
    names = LOOPED if kernels.robot.n <= LONGEST_MASS else ("mass_matrix", *LOOPED)
    for name in names:
        arguments = BY_NAME[name].arguments
        many = [state[:3] for state in states(kernels, 3)]
        if arguments[0] == "y":
            many = [(np.concatenate([q, v]), a) for q, v, a in many]
        columns = [np.stack(x, axis=1) for x in zip(*many, strict=True)][: len(arguments)]
        batch = getattr(kernels.batch, name)(*columns)
        for k, state in enumerate(many):
            single = getattr(kernels.unchecked, name)(*state[: len(arguments)])
            assert relative(batch[..., k], single) < 1e-12, name
        columns[-1][2, 1] = np.inf
        with pytest.raises(md.ManipDynError, match="must be finite"):
            getattr(kernels.batch, name)(*columns)


def test_in_place_kernels_raise_a_typing_error_for_unsupported_arrays(kernels):
    n, kernel = kernels.robot.n, kernels.in_place.forward_dynamics_derivatives
    good, out = np.zeros(n), np.zeros((3, n, n))
    for bad in (np.zeros(n, np.float32), np.zeros(2 * n)[::2], np.zeros((n, 1))):
        with pytest.raises(TypingError, match="must be"):
            kernel(bad, good, good, out)
    with pytest.raises(TypingError, match="must be"):
        kernel(good, good, good, np.zeros((3, n, 2 * n))[..., ::2])
    read_only = np.frombuffer(out.tobytes()).reshape(out.shape)
    with pytest.raises(TypingError, match="must be"):
        kernel(good, good, good, read_only)


def test_efforts_that_are_not_finite_do_not_affect_the_next_call(kernels):
    n, out = kernels.robot.n, np.zeros((3, kernels.robot.n, kernels.robot.n))
    tau = np.zeros(n)
    tau[0] = np.nan
    kernels.in_place.forward_dynamics_derivatives(np.zeros(n), np.zeros(n), tau, out)
    assert np.isnan(out[0]).any()
    kernels.in_place.forward_dynamics_derivatives(np.zeros(n), np.zeros(n), np.zeros(n), out)
    assert np.isfinite(out).all()


def test_the_report_contains_straight_line_kernels_only(kernels):
    names = {row.kernel for row in kernels.report().rows}
    assert "forward_dynamics" in names
    assert not names & {"forward_dynamics_derivatives", "linear_motion"}
    assert ("mass_matrix" in names) == (kernels.robot.n <= LONGEST_MASS)


def test_a_tree_with_short_branches_has_straight_line_derivatives(tmp_path):
    robot = md.load_robot(random_tree(tmp_path, 5, joints=LONGEST + 4, branches=6))
    kernels, reference = md.customize(robot), Oracle(robot)
    assert {"forward_dynamics_derivatives", "linear_motion"} < {
        row.kernel for row in kernels.report().rows
    }
    many = [state[:3] for state in states(kernels, 11)]
    batch = kernels.batch.inverse_dynamics_derivatives(*np.moveaxis(many, 0, -1))
    for k, state in enumerate(many):
        single = kernels.inverse_dynamics_derivatives(*state)
        expected = reference.inverse_dynamics_derivatives(*state)
        assert relative(single, expected) < 1e-12
        assert relative(batch[..., k], single) < 1e-12


PLAIN = """
import sys
import numpy as np
import manip_dyn as md
from manip_dyn.robot import Oracle
robot = md.load_robot(sys.argv[1])
q, v, tau = np.random.default_rng(0).normal(size=(3, robot.n))
out = np.array(md.customize(robot).forward_dynamics_derivatives(q, v, tau))
expected = np.array(Oracle(robot).forward_dynamics_derivatives(q, v, tau))
print(np.abs(out - expected).max() / np.abs(expected).max())
"""


def test_the_loops_run_without_the_compiler(tmp_path):
    path = random_chain(tmp_path, 6, joints=LONGEST + 1)
    assert float(output_of(PLAIN, path, NUMBA_DISABLE_JIT="1")) < 1e-11
