"""Interior-point search on a grid: derivatives, banded solver, closed form."""

from itertools import islice

import numpy as np
import pytest
from called import called
from numba import njit, types

import manip_dyn as md
from manip_dyn.bench import random_arms
from manip_dyn.core import address_for, by_reference
from manip_dyn.planning import (
    Budget,
    CoarseSearch,
    Ends,
    NodeLimits,
    cholesky,
    cholesky_solve,
    cubic_spline,
    effort_jacobians,
    empty_node_motion,
    empty_node_work,
    gauss_newton_steps,
    inverse_kernels_of,
    measure_slacks,
    newton_steps,
    random_swings,
    swings,
)


@pytest.mark.parametrize("moving", [False, True])
def test_derivatives_of_node_efforts_agree_with_differences(moving):
    robot, nodes, n = md.load_robot("rr"), 6, 2
    motion, work = (
        by_reference(empty_node_motion(n, nodes)),
        by_reference(empty_node_work(n, nodes)),
    )
    motion.q[:] = np.random.default_rng(0).normal(size=(nodes, n))
    limits = robot.tau_max, robot.q_min, robot.q_max, robot.v_max, np.ones(n)
    speeds = np.array([[0.7, -0.4], [0.2, 0.9]]) * moving
    room, scheme = np.zeros((nodes, 2 * n)), cubic_spline(*speeds, nodes, np.zeros(2))
    limits = by_reference(NodeLimits(*(np.array(limit) for limit in limits), room, scheme))
    kernels = inverse_kernels_of(robot)

    def efforts():
        measure_slacks(kernels, limits, motion, work)
        return motion.tau.copy()

    effort_jacobians(kernels, limits, motion, work)
    lever = work.lever.copy()
    for k in range(1, nodes - 1):
        for j in range(n):
            step = 1e-6
            motion.q[k, j] += step
            after = efforts()
            motion.q[k, j] -= 2.0 * step
            slope = (after - efforts()) / (2.0 * step)
            motion.q[k, j] += step
            for row in range(nodes):
                column = (k - row + 1) * n + j
                expected = lever[row, :, column] if abs(k - row) <= 1 else 0.0
                assert slope[row] == pytest.approx(expected, rel=1e-5, abs=1e-4)
    motion.log_duration[0] = 1e-6
    after = efforts()
    motion.log_duration[0] = -1e-6
    slope = (after - efforts()) / 2e-6
    assert slope == pytest.approx(lever[:, :, 3 * n], rel=1e-5, abs=1e-4)


def test_the_banded_solver_solves_a_banded_system():
    rng, size, wide = np.random.default_rng(1), 12, 4
    root = np.tril(rng.normal(size=(size, size))) * (
        np.subtract.outer(range(size), range(size)) < wide
    )
    matrix = root @ root.T + np.eye(size)
    band = np.array(
        [[matrix[r, r - c] if c <= r else 0.0 for c in range(wide)] for r in range(size)]
    )
    right = rng.normal(size=(2, size))
    x, y = right.copy()
    assert called(cholesky)(band)
    called(cholesky_solve)(band, x, y)
    assert matrix @ x == pytest.approx(right[0])
    assert matrix @ y == pytest.approx(right[1])
    assert not called(cholesky)(-band)


def coarse_motions(robot, start, goal, count=None):
    rest = np.zeros(robot.n)
    search = CoarseSearch(robot, Ends(np.array(start), rest, np.array(goal), rest), Budget(None))
    search.search(islice(swings(robot, 4.0), count))
    return search.motions


def test_a_double_integrator_has_its_closed_form_duration():
    """Fan (2003), eq. 3.46: 2 s, up to the errors of the grid and the barrier."""
    (motion,) = coarse_motions(md.load_robot("one_link_horizontal"), [1.0], [0.0])
    assert motion.duration == pytest.approx(2.0, rel=2e-2)
    _, _, accelerations = motion.joints(motion.duration * np.array([0.1, 0.9]))
    assert accelerations[:, 0] == pytest.approx([-1.0, 1.0], abs=1e-2)


def test_motions_are_sorted_and_within_the_limits():
    robot = md.load_robot("rr")
    motions = coarse_motions(robot, [-2.0, 1.5], [2.0, 1.0])
    durations = [motion.duration for motion in motions]
    assert durations == sorted(durations)
    for motion in motions:
        q, v, _ = motion.joints(np.linspace(0.0, motion.duration, 200))
        assert np.all(np.abs(v) < robot.v_max)
        assert np.all((robot.q_min < q) & (q < robot.q_max))
        assert np.abs(v).max() > 0.99 * robot.v_max[0]


def test_the_coarse_search_converges_for_a_light_fast_wrist():
    """Collocation with CasADi and IPOPT takes 0.9227 s; unconverged motions took 1.05 s."""
    robot = md.load_robot(random_arms.random_urdf(2811, 9))
    start, goal = [-0.490891, -0.046731, -0.445232], [-0.156509, 2.414109, -0.048576]
    assert coarse_motions(robot, start, goal, 3)[0].duration <= 1.02 * 0.9227


def test_detours_are_symmetric_and_deterministic():
    robot = md.load_robot("rr")
    displacements = np.array(list(swings(robot, 1.0)))
    assert len(displacements) == 13
    assert np.sum(displacements, axis=0) == pytest.approx([0.0, 0.0])
    assert len(list(swings(md.load_robot("one_link_vertical"), 1.0))) == 5
    first, second = random_swings(robot, 1.0), random_swings(robot, 1.0)
    assert all(np.array_equal(next(first), next(second)) for _ in range(3))
    assert np.abs(np.array(list(swings(robot, 1e-3)))).max() < 1e-2


@pytest.mark.parametrize("steps", [gauss_newton_steps, newton_steps])
def test_a_search_whose_steps_all_fail_has_not_converged(steps):
    """The predicted decrease was 0 if no step was possible, as after convergence."""
    robot, nodes, n = md.load_robot("rr"), 6, 2
    here, there, work = (
        empty_node_motion(n, nodes),
        empty_node_motion(n, nodes),
        empty_node_work(n, nodes),
    )
    here.q[:], here.log_duration[0], here.slack[:], work.force[:] = np.nan, 0.0, 1.0, 1.0
    limits = robot.tau_max, robot.q_min, robot.q_max, robot.v_max, np.ones(n)
    scheme = cubic_spline(np.zeros(n), np.zeros(n), nodes, np.zeros(n))
    limits = NodeLimits(*map(np.array, limits), np.zeros((nodes, 2 * n)), scheme)
    kernels, arguments = inverse_kernels_of(robot), map(by_reference, (limits, here, there, work))
    *_, decrease = steps(kernels, *arguments, 1e-3, 1e-3, 1, 4, 1e-3)
    assert decrease == np.inf


def test_a_search_whose_last_steps_are_impossible_has_not_converged():
    """It returned the predicted decrease of an earlier step."""
    robot, nodes, n = md.load_robot("one_link_horizontal"), 6, 1
    here, there, work = (
        empty_node_motion(n, nodes),
        empty_node_motion(n, nodes),
        empty_node_work(n, nodes),
    )
    here.q[:] = there.q[:] = np.linspace(0.0, 1.0, nodes)[:, None]
    here.log_duration[0] = np.log(10.0)
    limits = robot.tau_max, robot.q_min, robot.q_max, robot.v_max, np.ones(n)
    scheme = cubic_spline(np.zeros(n), np.zeros(n), nodes, np.zeros(n))
    limits = NodeLimits(*map(np.array, limits), np.zeros((nodes, 2 * n)), scheme)
    pointer = types.CPointer(types.float64)
    kernels = inverse_kernels_of(robot)._replace(
        inverse_dynamics_derivatives=address_for(njit(slow_link), (pointer,) * 4)
    )
    arguments = [by_reference(fields) for fields in (limits, here, there, work)]
    *_, first = gauss_newton_steps(kernels, *arguments, 1e-3, 1e-3, 0, 1, 1e-9)
    assert 0.0 < first < np.inf
    here.q[:], here.log_duration[0] = np.linspace(0.0, 1.0, nodes)[:, None], np.log(10.0)
    *_, decrease = gauss_newton_steps(kernels, *arguments, 1e-3, 1e-3, 0, 3, 1e-9)
    assert decrease == np.inf


def slow_link(q, v, a, out):
    """Write the derivatives of the effort of a link (inertia 10), which are NaN above 0.15 rad/s.

    The speed of the initial motion is 0.1 rad/s.
    """
    out[0] = out[1] = 0.0
    out[2] = 10.0 if v[0] < 0.15 else np.nan
