"""Long chains and large trees, whose kernels are in loops: against pinocchio and each other."""

import numpy as np
import pytest
from arms import random_chain, random_state, random_tree
from fresh import output_of
from numba.core.errors import TypingError

import manip_dyn as md
from manip_dyn.codegen.generation import long_chain_dynamics as dynamics
from manip_dyn.codegen.rigid_body.catalogue import BY_NAME, LONGEST, LONGEST_MASS
from manip_dyn.robot import Oracle

ROBOTS = {
    "chain13": lambda folder: random_chain(folder, 1, joints=LONGEST + 1),
    "tree31": lambda folder: random_tree(folder, 4, joints=LONGEST_MASS + 1),
}


@pytest.fixture(scope="module", params=ROBOTS)
def kernels(request, tmp_path_factory):
    return md.customize(md.load_robot(ROBOTS[request.param](tmp_path_factory.mktemp("robot"))))


def states(kernels, count):
    rng = np.random.default_rng(kernels.robot.n)
    reference = Oracle(kernels.robot)
    for _ in range(count):
        q, v, a = random_state(kernels.robot, rng)
        # Efforts of a real motion: any others make huge accelerations in light tips.
        yield q, v, a, reference.inverse_dynamics(q, v, a)


def relative(actual, expected):
    """Return the largest error relative to the largest entry."""
    expected = np.asarray(expected)
    return np.abs(np.subtract(actual, expected)).max() / np.abs(expected).max()


def test_the_mass_matrix_is_pinocchios(kernels):
    for q, *_ in states(kernels, 5):
        mass = kernels.mass_matrix(q)
        assert relative(mass, Oracle(kernels.robot).mass_matrix(q)) < 1e-12
        np.testing.assert_array_equal(mass, mass.T)


def test_the_energy_is_pinocchios(kernels):
    for q, v, *_ in states(kernels, 5):
        assert relative(kernels.energy(q, v), Oracle(kernels.robot).energy(q, v)) < 1e-12


def test_derivatives_of_the_inverse_dynamics_are_pinocchios(kernels):
    reference = Oracle(kernels.robot)
    for q, v, a, _ in states(kernels, 5):
        ours = kernels.inverse_dynamics_derivatives(q, v, a)
        for one, expected in zip(
            ours, reference.inverse_dynamics_derivatives(q, v, a), strict=True
        ):
            assert relative(one, expected) < 1e-12


def test_derivatives_of_the_forward_dynamics_are_pinocchios(kernels):
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
    by_q, by_v, _ = (mass @ each for each in kernels.forward_dynamics_derivatives(q, v, tau))
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


def test_a_batch_is_one_state_many_times(kernels):
    straight = kernels.robot.n <= LONGEST_MASS  # the mass matrix, as in `test_straight_line`
    for name in LOOPED if straight else ("mass_matrix", *LOOPED):
        arguments = BY_NAME[name].arguments
        many = [state[:3] for state in states(kernels, 3)]
        if arguments[0] == "y":
            many = [(np.concatenate([q, v]), a) for q, v, a in many]
        columns = [np.stack(each, axis=1) for each in zip(*many, strict=True)][: len(arguments)]
        together = getattr(kernels.batch, name)(*columns)
        for k, state in enumerate(many):
            alone = getattr(kernels.unchecked, name)(*state[: len(arguments)])
            assert relative(together[..., k], alone) < 1e-12, name


def test_in_place_kernels_refuse_what_they_would_misread(kernels):
    n, kernel = kernels.robot.n, kernels.in_place.forward_dynamics_derivatives
    good, out = np.zeros(n), np.zeros((3, n, n))
    compiled = len(dynamics.forward_dynamics_derivatives.overloads)
    for bad in (np.zeros(n, np.float32), np.zeros(2 * n)[::2], np.zeros((n, 1))):
        with pytest.raises(TypingError, match="expected"):
            kernel(bad, good, good, out)
    with pytest.raises(TypingError, match="expected"):
        kernel(good, good, good, np.zeros((3, n, 2 * n))[..., ::2])
    read_only = np.frombuffer(out.tobytes()).reshape(out.shape)
    with pytest.raises(TypingError, match="expected"):
        kernel(good, good, good, read_only)
    assert len(dynamics.forward_dynamics_derivatives.overloads) == compiled


def test_nothing_finite_comes_of_what_is_not(kernels):
    n, out = kernels.robot.n, np.zeros((3, kernels.robot.n, kernels.robot.n))
    tau = np.zeros(n)
    tau[0] = np.nan
    kernels.in_place.forward_dynamics_derivatives(np.zeros(n), np.zeros(n), tau, out)
    assert np.isnan(out[0]).any()
    kernels.in_place.forward_dynamics_derivatives(np.zeros(n), np.zeros(n), np.zeros(n), out)
    assert np.isfinite(out).all()


def test_the_report_counts_straight_lines_only(kernels):
    counted = {row.kernel for row in kernels.report().rows}
    assert "forward_dynamics" in counted
    assert not counted & {"forward_dynamics_derivatives", "linear_motion"}
    assert ("mass_matrix" in counted) == (kernels.robot.n <= LONGEST_MASS)


PLAIN = """
import sys
import numpy as np
import manip_dyn as md
from manip_dyn.codegen.generation import long_chain_dynamics as dynamics
from manip_dyn.codegen.generation.long_chain_workspace import tree_of, workspace_size
from manip_dyn.robot import Oracle
robot = md.load_robot(sys.argv[1])
q, v, tau = np.random.default_rng(0).normal(size=(3, robot.n))
memory, out = np.empty(workspace_size(robot.n)), np.empty((3, robot.n, robot.n))
dynamics.forward_dynamics_derivatives(tree_of(robot), memory, q, v, tau, out)
expected = np.array(Oracle(robot).forward_dynamics_derivatives(q, v, tau))
print(np.abs(out - expected).max() / np.abs(expected).max())
"""


def test_the_loops_run_without_the_compiler(tmp_path):
    path = random_tree(tmp_path, 6, joints=7)
    assert float(output_of(PLAIN, path, NUMBA_DISABLE_JIT="1")) < 1e-11
