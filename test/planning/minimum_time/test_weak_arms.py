"""Arms that cannot hold themselves in all postures: swing-ups and motions that use momentum."""

from itertools import islice

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

import manip_dyn as md
from manip_dyn.bench import collocation, random_arms, random_goals

UPRIGHT = 0.5 * np.pi
INERTIA, WEIGHT = 1.0 / 3.0, 0.5 * 9.81
"""Inertia, kg m^2, and largest static effort, N m, of a rod of 1 kg and 1 m."""


def rod(mass, length, effort, speed=50.0):
    inertia = (0.0, mass * length**2 / 12.0, mass * length**2 / 12.0)
    return random_arms.Joint(
        "revolute", "0 -1 0", -50.0, 50.0, 0.0, length, mass, 0.5 * length, inertia, effort, speed
    )


def one_joint(effort):
    return md.load_robot(random_arms.urdf("pendulum", [rod(1.0, 1.0, effort)]))


def two_joints(first, second):
    joints = [rod(2.5, 0.5, first), rod(1.5, 0.4, second)]
    return md.load_robot(random_arms.urdf("two", joints))


def bang_bang(effort, backswing, start=-UPRIGHT):
    """Return the time from `start` to upright with the efforts -, +, -; inf if there is none.

    The first effort lasts `backswing` s. The second one ends when the energy of the arm is that of
    a brake that ends upright.
    """

    def moved(q, v, tau, until, longest=10.0):
        until.terminal = True
        return solve_ivp(
            lambda _, x: [x[1], (tau - WEIGHT * np.cos(x[0])) / INERTIA],
            (0.0, longest),
            [q, v],
            "DOP853",
            events=until,
            rtol=1e-12,
            atol=1e-13,
        )

    def missing(_, x):
        energy = 0.5 * INERTIA * x[1] ** 2 + WEIGHT * np.sin(x[0])
        return WEIGHT + effort * (UPRIGHT - x[0]) - energy

    state = moved(start, 0.0, -effort, lambda _, x: 1.0, backswing).y[:, -1]
    forward = moved(*state, effort, missing)
    if forward.status != 1:
        return np.inf
    switch = forward.y[0, -1]
    brake = moved(UPRIGHT, 0.0, -effort, lambda t, x: x[0] - switch)  # backward in time
    return backswing + forward.t[-1] + brake.t[-1]


def fastest(effort, start=-UPRIGHT):
    """Return the shortest time with at most one backswing."""
    times = np.linspace(1e-9, 1.0, 41)
    durations = [bang_bang(effort, t, start) for t in times]
    i = int(np.argmin(durations))
    best = minimize_scalar(
        lambda t: bang_bang(effort, t, start),
        bounds=(times[max(i - 1, 0)], times[min(i + 1, 40)]),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return min(best.fun, durations[0])


@pytest.mark.parametrize("effort", [3.0, 3.6, 4.0, 4.9])
def test_a_weak_pendulum_swings_up_as_fast_as_its_best_bang_bang_motion(effort):
    plan = md.plan_minimum_time(one_joint(effort), [-UPRIGHT], [UPRIGHT], budget=None)
    assert plan.status == "solved"
    assert plan.t_final == pytest.approx(fastest(effort), rel=1e-6)


def test_a_very_weak_pendulum_requires_several_swings():
    plan = md.plan_minimum_time(one_joint(2.0), [-UPRIGHT], [UPRIGHT], budget=None)
    assert plan.status == "solved"
    assert not np.isfinite(fastest(2.0))
    assert len(plan.switch_times[0]) == 3


def test_an_arm_with_a_small_margin_swings_back_first():
    plan = md.plan_minimum_time(one_joint(4.95), [0.0], [UPRIGHT], budget=None)
    assert plan.status == "solved"
    assert plan.t_final == pytest.approx(fastest(4.95, 0.0), rel=1e-6)


@pytest.mark.parametrize(("first", "second"), [(15.0, 2.8), (10.0, 2.0)])
def test_two_weak_joints_swing_up_as_fast_as_with_collocation(first, second):
    pytest.importorskip("casadi")
    robot = two_joints(first, second)
    start, goal = np.array([-UPRIGHT, 0.0]), np.array([UPRIGHT, 0.0])
    plan = md.plan_minimum_time(robot, start, goal, budget=None)
    assert plan.status == "solved"
    solver, guesses = collocation.Collocation(robot), collocation.guesses(robot, start, goal)
    durations = [solver.solve(start, goal, guess).duration for guess in islice(guesses, 3)]
    assert plan.t_final <= min(durations) * (1.0 + 1e-4) < np.inf


@pytest.mark.parametrize(("arm", "goal"), [(5, 2), (3, 1)])
def test_finer_grids_are_solved_for_weak_arms(arm, goal):
    """Motions of weak arms cannot be slowed down to satisfy their limits on the next grid."""
    robot = md.load_robot(random_arms.random_urdf(1, arm, weak=True))
    *_, (start, end) = random_goals.random_pairs(robot, goal + 1, seed=1)
    assert md.plan_minimum_time(robot, start, end, budget=None).status == "solved"
