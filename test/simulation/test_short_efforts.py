"""Short efforts of laws are found, and smooth laws do not cost more for it."""

import numpy as np
import pytest

import manip_dyn as md

DURATION, TOLERANCE = 10.0, 1e-6
FREQUENCY = 2.0
ROBOT = md.load_robot("ibm7535")
REST = np.zeros(2)


@md.compiled
def window(t, p):
    return p[2] if abs(t - p[0]) < p[1] else 0.0


def smooth(t, q, v, p):
    """Springs that swing both joints, p[3] = 1, or no efforts, p[3] = 0."""
    return -p[3] * q * np.array([8.0, 2.0]) + 0.0 * t


def in_window(t, q, v, p):
    tau = -p[3] * q * np.array([8.0, 2.0])
    if p[0] - p[1] < t < p[0] + p[1]:
        tau[1] += p[2]
    return tau


def in_compiled_window(t, q, v, p):
    return -p[3] * q * np.array([8.0, 2.0]) + np.array([0.0, window(t, p)])


def in_peak(t, q, v, p):
    x = (t - p[0]) / p[1]
    return -p[3] * q * np.array([8.0, 2.0]) + np.array([0.0, p[2] * np.exp(-4.0 * x * x)])


def in_zone(t, q, v, p):
    """An effort in an interval of positions of the second joint."""
    tau = -p[3] * q * np.array([8.0, 2.0])
    if abs(q[1] - (p[0] / DURATION - 0.5)) < 0.5 * p[1]:
        tau[1] += p[2]
    return tau


def pulses(moving, count=25):
    """Yield pulses with random times, widths from 10 ms to 1 s, and efforts from 1 mNm to 3 Nm."""
    generator = np.random.default_rng(5)
    for _ in range(count):
        time, width = generator.uniform(0.6, 9.4), 10.0 ** generator.uniform(-2, 0)
        yield [time, 0.5 * width, 10.0 ** generator.uniform(-3, 0.5), moving]


def final(law, p, method="rkdp87", tolerance=TOLERANCE, **options):
    q0 = [0.6, 0.6] if p[3] else REST
    limits = {"method": method, "rtol": tolerance, "atol": tolerance}
    options = {"sample_period": DURATION} | limits | options
    motion = md.simulate(ROBOT, q0, REST, law, DURATION, parameters=p, **options)
    assert motion.success
    return np.concatenate([motion.q[-1], motion.v[-1]])


@pytest.mark.parametrize("method", ["rkdp54", "rkdp87"])
@pytest.mark.parametrize(
    ("law", "moving"),
    [
        *((law, moving) for law in (in_window, in_compiled_window) for moving in (0.0, 1.0)),
        *((in_peak, 0.0), (in_peak, 1.0), (in_zone, 1.0)),
    ],
)
def test_no_pulse_is_stepped_over(law, moving, method):
    """The result is never that of the motion without the pulse."""
    fine = {"control": md.StepControl(max_step=2e-3, inspection="none"), "tolerance": 1e-9}
    without = final(smooth, [0.0, 0.0, 0.0, moving], tolerance=1e-11)
    effects = []
    for p in pulses(moving):
        exact = final(law, p, **fine)
        effects.append(np.abs(exact - without).max())
        if effects[-1] > 10.0 * TOLERANCE:
            difference = np.abs(final(law, p, method) - without).max()
            assert difference > 0.3 * effects[-1], p
    assert np.median(effects) > 100.0 * TOLERANCE


@pytest.mark.parametrize("law", [in_window, in_compiled_window])
def test_steps_end_at_conditions_on_time(law):
    p = [5.123456789, 0.0123, 1.0, 1.0]
    for moving in (0.0, 1.0):
        p[3] = moving
        exact, default = final(law, p, tolerance=1e-11), final(law, p)
        np.testing.assert_allclose(default, exact, atol=10.0 * TOLERANCE)


def test_a_smooth_law_is_not_inspected():
    counts = []
    for inspection in ("none", "quiet", "all"):
        control, p = md.StepControl(inspection=inspection), [0.0, 0.0, 0.0, 1.0]
        options = {"method": "rkdp87", "rtol": 1e-6, "control": control, "parameters": p}
        motion = md.simulate(ROBOT, [0.6, 0.6], REST, smooth, DURATION, **options)
        counts.append(motion.statistics.evaluations)
    assert counts[0] == counts[1] < counts[2]


def test_a_short_effort_overcomes_dry_friction():
    inertia, friction, push, time = 10.0, 0.5, 5.0, 0.05  # kg m^2, N m, N m, s
    robot = md.load_robot("one_link_horizontal", coulomb_friction=[friction])

    def law(t, q, v):
        return np.array([push if 5.0 < t < 5.0 + time else 0.0])

    speed = (push - friction) / inertia * time
    distance = 0.5 * speed * time + 0.5 * speed**2 * inertia / friction
    motion = md.simulate(robot, [0.0], [0.0], law, DURATION, method="rkdp87", rtol=1e-6)
    assert motion.q[-1, 0] == pytest.approx(distance, abs=1e-5)
    assert motion.v[-1, 0] == 0.0
