"""Mechanisms as f(t, y) for any solver, and Adams methods of variable order."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import manip_dyn as md
from manip_dyn.multibody import (
    FirstOrder,
    Joint,
    Mechanism,
    MovingBody,
    Tyre,
    linearize,
    load_mechanism,
    simulate_by_adams,
    simulate_mechanism,
)


@pytest.mark.parametrize("name", ["slider_crank", "four_bar"])
def test_adams_methods_agree_with_the_implicit_method(name):
    mechanism = load_mechanism(name)
    explicit = simulate_by_adams(mechanism, 1.5, rtol=1e-9)
    implicit = simulate_mechanism(mechanism, 1.5, rtol=1e-9)
    assert explicit.success, explicit.reason
    assert explicit.t[-1] == 1.5
    assert explicit.violation < 1e-10
    assert explicit.partitions > 1
    assert explicit.statistics.evaluations < 4 * explicit.statistics.steps
    np.testing.assert_allclose(explicit.q[-1], implicit.q[-1], atol=1e-6)
    np.testing.assert_allclose(explicit.v[-1], implicit.v[-1], atol=1e-5)


def test_any_solver_can_use_the_right_hand_side():
    mechanism = load_mechanism("slider_crank")
    rhs = FirstOrder(mechanism)
    solution = solve_ivp(rhs, (0.0, 0.2), rhs.y0, "DOP853", rtol=1e-10, atol=1e-12)
    q, _, violation = rhs.expanded(solution.y[:, -1])
    assert violation < 1e-12
    assert rhs.evaluations >= solution.nfev
    np.testing.assert_allclose(q, simulate_mechanism(mechanism, 0.2, rtol=1e-9).q[-1], atol=1e-7)


def test_the_derivatives_of_the_right_hand_side_are_j1_and_j2():
    mechanism = load_mechanism("slider_crank")
    rhs, exact, d = FirstOrder(mechanism), linearize(mechanism), 1e-5
    slopes = [(rhs(0.0, rhs.y0 + s) - rhs(0.0, rhs.y0 - s))[1] / (2 * d) for s in d * np.eye(2)]
    np.testing.assert_allclose(
        slopes, [exact.by_position[0, 0], exact.by_velocity[0, 0]], rtol=1e-7, atol=1e-7
    )


def test_a_new_partition_is_due_when_the_condition_number_has_grown_by_a_quarter():
    """The 1-norm condition number of the dependent gradients along a motion, from NumPy."""
    mechanism = load_mechanism("slider_crank")
    rhs = FirstOrder(mechanism)
    motion = solve_ivp(FirstOrder(mechanism), (0.0, 0.4), rhs.y0, rtol=1e-8, max_step=5e-3)
    dependent, flags = rhs.partition.dependent, []
    first = np.linalg.cond(mechanism.gradients(mechanism.q0)[:, dependent], 1)
    for t, y in zip(motion.t, motion.y.T, strict=True):
        growth = np.linalg.cond(mechanism.gradients(rhs.expanded(y)[0])[:, dependent], 1) / first
        if abs(growth - 1.25) > 0.01:
            flags.append(rhs.needs_repartition(t, y))
            assert flags[-1] == (growth > 1.25)
    assert {True, False} == set(flags)


def test_steps_end_at_kinks_of_forces():
    body = MovingBody("wheel", 20.0, (0.5, 0.9, 0.5), (0, 0, 0.38))
    joints = [Joint("translational", ("ground", "wheel"), (0, 0, 0.38), (0, 0, 1))]
    tyre = Tyre("wheel", (0, 0, 0.38), 0.4, 1e4, 200.0, bump=0.05, speed=4.0, hit=0.1)
    mechanism = Mechanism([body], joints, [tyre])
    motions = [
        solve(mechanism, 0.3, rtol=1e-9) for solve in (simulate_by_adams, simulate_mechanism)
    ]
    assert set(mechanism.switches) <= set(motions[0].t)
    np.testing.assert_allclose(motions[0].q[-1], motions[1].q[-1], atol=1e-7)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("car", 1.0), {}, "mechanism must be a Mechanism"),
        ((load_mechanism("four_bar"), -1.0), {}, "duration"),
        ((load_mechanism("four_bar"), 1.0), {"rtol": np.nan}, "rtol"),
    ],
)
def test_invalid_arguments_are_rejected(arguments, options, message):
    with pytest.raises(md.ManipDynError, match=message):
        simulate_by_adams(*arguments, **options)
