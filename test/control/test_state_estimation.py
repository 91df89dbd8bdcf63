"""Measured states from incomplete and noisy measurements."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.control import HISTORY, SIGMAS, MeasuredState, StateEstimator, reset_reason

RR = md.load_robot("rr")
ALL = (0, 1)
MS = 1_000_000


def fed(estimator, times, motion, rng=None, noise=(0.0, 0.0), velocities=True):
    """Add measurements of both joints; return the complete states."""
    states = []
    for t in times:
        q, v = motion(t)
        if rng is not None:
            q, v = q + noise[0] * rng.standard_normal(2), v + noise[1] * rng.standard_normal(2)
        states.append(estimator.add(round(1e9 * t), ALL, q, v if velocities else None))
    return states


def at_rest(_t):
    return np.array([0.3, -0.2]), np.zeros(2)


def accelerating(t):
    return np.array([t * t, -0.5 * t * t]), np.array([2.0 * t, -t])


def test_a_full_measurement_is_a_state_without_changes():
    q, v = np.array([0.1, 0.2]), np.array([0.3, 0.4])
    state = StateEstimator(RR).add(7, ALL, q, v)
    assert (state.stamp_ns, state.q is q, state.v is v) == (7, True, True)


@pytest.mark.parametrize(("period", "window"), [(0.001, 0.01), (0.01, 0.01), (0.01, 0.0)])
def test_estimated_velocities_are_late_by_the_reported_delay(period, window):
    estimator = StateEstimator(RR, window)
    times = period * np.arange(1, 101)
    state = fed(estimator, times, accelerating, velocities=False)[-1]
    assert estimator.velocity_delay == pytest.approx(max(0.5 * window, 0.5 * period))
    expected = accelerating(times[-1] - estimator.velocity_delay)[1]
    np.testing.assert_allclose(state.v, expected, rtol=1e-9)


def test_the_first_velocity_needs_two_positions_unless_time_stands_still():
    estimator = StateEstimator(RR)
    q = np.array([0.1, 0.2])
    assert estimator.add(5, ALL, q) is None
    np.testing.assert_array_equal(estimator.add(5, ALL, q).v, 0.0)
    np.testing.assert_allclose(estimator.add(5 + MS, ALL, q + 1e-3).v, 1.0)
    np.testing.assert_allclose(estimator.add(5 + MS, ALL, q + 1e-3).v, 1.0)
    assert estimator.add(5 + 2000 * MS, ALL, q) is None  # after a gap


def test_a_jump_without_velocities_is_a_reset():
    """The slope across a jump would excuse it."""
    estimator = StateEstimator(RR)
    before = fed(estimator, 0.01 * np.arange(1, 9), at_rest, velocities=False)[-1]
    moved = before.q + 1.0
    assert estimator.add(before.stamp_ns + 10 * MS, ALL, moved) is None
    after = estimator.add(before.stamp_ns + 20 * MS, ALL, moved)
    np.testing.assert_array_equal(after.v, 0.0)
    assert "jumped" in reset_reason(RR, before, after)


def test_joints_are_merged_and_extrapolated_to_the_latest_stamp():
    estimator = StateEstimator(RR)
    one, two = np.array([1.0]), np.array([2.0])
    assert estimator.add(10 * MS, (0,), one, two) is None
    assert estimator.missing == (RR.joint_names[1],)
    assert estimator.add(11 * MS, (0,), one, two) is None
    state = estimator.add(13 * MS, (1,), two, one)
    assert state.stamp_ns == 13 * MS
    np.testing.assert_allclose(state.q, [1.0 + 2.0 * 2e-3, 2.0])
    np.testing.assert_array_equal(state.v, [2.0, 1.0])
    assert estimator.add(14 * MS, (1,), two, one) is None  # joint 0 has no newer value
    assert estimator.incomplete == 1


def test_values_from_before_a_reset_are_not_merged():
    estimator = StateEstimator(RR)
    q, v = np.array([1.0]), np.array([0.0])
    for stamp in (10, 11):
        estimator.add(stamp * MS, (0,), q, v)
        estimator.add(stamp * MS, (1,), q, v)
    estimator.add(12 * MS, (0,), q, v)
    assert estimator.add(0, (1,), 0.0 * q, v) is None
    state = estimator.add(0, (0,), 0.0 * q, v)
    assert state.stamp_ns == 0
    np.testing.assert_array_equal(state.q, 0.0)


@pytest.mark.parametrize("motion", [at_rest, accelerating])
@pytest.mark.parametrize("jitter", [0.0, 3e-4])
def test_the_noise_is_measured_at_rest_and_in_motion(motion, jitter):
    rng = np.random.default_rng(3)
    estimates = []
    for _ in range(20):
        estimator = StateEstimator(RR)
        times = 1.0 + 0.001 * np.arange(HISTORY) + jitter * rng.uniform(size=HISTORY)
        fed(estimator, times, motion, rng, (1e-3, 0.02))
        estimates.append(estimator.noise())
    np.testing.assert_allclose(np.mean([e.position for e in estimates], axis=0), 1e-3, rtol=0.2)
    np.testing.assert_allclose(np.mean([e.velocity for e in estimates], axis=0), 0.02, rtol=0.2)


@pytest.mark.parametrize("jitter", [0.0, 3e-4])
def test_smooth_motions_and_impacts_have_no_noise(jitter):
    rng = np.random.default_rng(3)

    def braked(t):
        v = np.exp(-20.0 * t) * np.array([3.0, -2.0])
        return -v / 20.0, v + (t > 0.03) * np.array([1.0, -1.0])

    for motion in (at_rest, accelerating, braked):
        estimator = StateEstimator(RR)
        times = 0.001 * np.arange(HISTORY) + jitter * rng.uniform(size=HISTORY)
        fed(estimator, times, motion)
        assert max(map(np.max, estimator.noise())) < 1e-8, motion  # the stamps are rounded


def test_the_noise_of_estimated_velocities_follows_from_that_of_the_positions():
    rng = np.random.default_rng(5)
    estimator = StateEstimator(RR)
    times = 0.001 * np.arange(1, 1001)
    states = fed(estimator, times, at_rest, rng, (1e-4, 0.0), velocities=False)
    spread = np.std([s.v for s in states[20:]], axis=0)
    np.testing.assert_allclose(estimator.noise().velocity, spread, rtol=0.4)


def test_an_arm_with_noise_is_at_rest_and_a_slow_arm_is_not():
    rng = np.random.default_rng(7)
    rests = {}
    for speed in (0.0, 0.04):

        def motion(t, speed=speed):
            return np.array([speed * t, 0.0]), np.array([speed, 0.0])

        estimator = StateEstimator(RR)
        times = 0.001 * np.arange(1, 1001)
        states = [s for t in times for s in fed(estimator, [t], motion, rng, (1e-3, 0.02))]
        rests[speed] = [estimator.at_rest(s.v, 1e-3) for s in states[-1:]]
    assert rests == {0.0: [True], 0.04: [False]}


def test_an_oscillation_is_not_mistaken_for_noise():
    estimator = StateEstimator(RR)
    for k in range(2 * HISTORY):
        state = MeasuredState(k * MS, np.zeros(2), np.array([(-1.0) ** k, 0.0]))
        estimator.add(state.stamp_ns, ALL, state.q, state.v)
    assert SIGMAS * estimator.noise().velocity[0] > 1.0
    assert not estimator.at_rest(state.v, 1e-3)
