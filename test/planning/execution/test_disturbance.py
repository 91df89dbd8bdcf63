"""Disturbance observer: zero for an exact model, and the disturbance otherwise."""

import itertools

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.planning import DisturbanceObserver, EffortModel, MotionRecord, Segment, Tuning
from manip_dyn.robot import Oracle

PERIOD = 1e-3


def estimates(disturbance, lead, count=100):
    """Return the estimates (k, n) of an arm with a constant disturbance (n,) from rest.

    Commands change in every period and within it, and act `lead` seconds after the measurement.
    """
    robot, rng = md.load_robot("rr"), np.random.default_rng(2)
    record, model = MotionRecord(robot, np.zeros(2)), EffortModel.exact(2)
    observer = DisturbanceObserver(robot, Tuning())
    accelerations = Oracle(robot).forward_dynamics
    q, v, rows, switches = np.array([0.3, -0.4]), np.zeros(2), [], []
    for number in range(count):
        t = number * PERIOD
        record.state(t, q, v)
        observer.observe(record, lead, model)
        rows.append(observer.effort)
        efforts = 0.5 * robot.tau_max * rng.uniform(-1.0, 1.0, (2, 2))
        offsets = (0.0, lead + 0.4e-3)
        record.command([Segment(o, effort) for o, effort in zip(offsets, efforts, strict=True)])
        switches += [(t + lead, efforts[0]), (t + lead + 0.4e-3, efforts[1])]
        times = sorted({t, t + PERIOD, *(s for s, _ in switches if t < s < t + PERIOD)})
        for begin, end in itertools.pairwise(times):
            acting = [effort for s, effort in switches if s <= begin + 1e-9]
            tau = (acting[-1] if acting else 0.0 * q) + disturbance

            def rates(y, tau=tau):
                return np.concatenate([y[2:], accelerations(y[:2], y[2:], tau)])

            y, h = np.concatenate([q, v]), end - begin
            k1 = rates(y)
            k2 = rates(y + 0.5 * h * k1)
            k3 = rates(y + 0.5 * h * k2)
            y = y + h / 6.0 * (k1 + 2.0 * (k2 + k3) + rates(y + h * k3))
            q, v = y[:2], y[2:]
    return np.array(rows), robot


@pytest.mark.parametrize("lead", [0.0, 2e-3, 2.5e-3])
def test_an_exact_model_has_no_disturbance(lead):
    rows, robot = estimates(np.zeros(2), lead)
    assert np.abs(rows).max() < 1e-9 * robot.tau_max.max()


@pytest.mark.parametrize("lead", [0.0, 2e-3, 2.5e-3])
def test_a_constant_disturbance_is_estimated_with_the_bandwidth(lead):
    disturbance = np.array([8.0, -3.0])
    rows, _ = estimates(disturbance, lead)
    np.testing.assert_allclose(rows[-1], disturbance, rtol=1e-3)
    elapsed = 20 * PERIOD
    expected = 1.0 - np.exp(-Tuning.observer_bandwidth * elapsed)
    np.testing.assert_allclose(rows[21] / disturbance, expected, atol=0.05)


def test_noise_is_not_compensated():
    """Regression: estimates beyond the effort limits of a heavy arm at rest."""
    robot, rng, largest = md.load_robot("ibm7535"), np.random.default_rng(3), 0.0
    record, observer = MotionRecord(robot, np.zeros(2)), DisturbanceObserver(robot, Tuning())
    for number in range(1000):
        record.state(number * PERIOD, np.zeros(2), 0.02 * rng.standard_normal(2))
        observer.observe(record, 0.0, EffortModel.exact(2))
        record.command([Segment(0.0, np.zeros(2))])
        largest = max(largest, float((np.abs(observer.effort) / robot.tau_max).max()))
    assert largest < 0.6


@pytest.mark.parametrize("friction", [0.0, 5.0])
def test_friction_explains_the_efforts_of_an_arm_at_rest(friction):
    robot = md.load_robot("ibm7535")
    record, observer = MotionRecord(robot, np.zeros(2)), DisturbanceObserver(robot, Tuning())
    for number in range(50):
        record.state(number * PERIOD, np.zeros(2), np.zeros(2))
        observer.observe(record, 0.0, EffortModel(1.0, np.full(2, friction)))
        record.command([Segment(0.0, np.full(2, 3.0))])
    expected = 0.0 if friction else -3.0
    np.testing.assert_allclose(observer.effort, expected, atol=0.05)


def test_efforts_of_a_new_model_are_compensated_once():
    """Regression: a joint was pushed with twice the friction that had held it."""
    observer = DisturbanceObserver(md.load_robot("rr"), Tuning())
    observer.effort = np.array([-6.0, 4.0])
    observer.explain(np.array([-5.0, 9.0]))
    np.testing.assert_allclose(observer.effort, [-1.0, 0.0])
    observer.explain(np.array([3.0, 3.0]))
    np.testing.assert_allclose(observer.effort, [-1.0, 0.0])
