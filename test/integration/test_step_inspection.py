"""Short forces between the stages of long steps are found."""

from functools import lru_cache

import numpy as np
import pytest

import manip_dyn as md

DURATION, TOLERANCE = 10.0, 1e-6
STILL, MOVING = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]


def stepwise(t, y, p, out):
    """A unit mass on a spring of stiffness p[3], with a force p[2] around the time p[0].

    The third state is the time, so that the condition does not depend on the argument `t`.
    """
    out[0] = y[1]
    out[1] = -p[3] * y[0]
    if abs(y[2] - p[0]) < p[1]:
        out[1] += p[2]
    out[2] = 1.0


def peaked(t, y, p, out):
    """The same mass with a smooth peak of the force at time p[0]."""
    out[0], out[2] = y[1], 1.0
    out[1] = -p[3] * y[0] + p[2] * np.exp(-(((t - p[0]) / p[1]) ** 2))


def rational(t, y, p, out):
    """The same mass with a peak that has no exponential function."""
    out[0], out[2] = y[1], 1.0
    out[1] = -p[3] * y[0] + p[2] / (1.0 + ((t - p[0]) / p[1]) ** 4)


def plateau(t, y, p, out):
    """The same mass with a force that rises and falls smoothly in a tenth of its duration."""
    x, width = (t - p[0]) / p[1], 0.1
    out[0], out[2] = y[1], 1.0
    rise, fall = np.tanh((x + 1.0) / width), np.tanh((x - 1.0) / width)
    out[1] = -p[3] * y[0] + 0.5 * p[2] * (rise - fall)


def zone(t, y, p, out):
    """The same mass with a force in an interval of positions."""
    out[0], out[2] = y[1], 1.0
    out[1] = -p[3] * y[0]
    if abs(y[0] - (0.2 * p[0] - 1.0)) < p[1]:
        out[1] += p[2]


def free(t, y, p, out):
    """The same mass without force."""
    out[0], out[1], out[2] = y[1], -p[3] * y[0], 1.0


def attracted(t, y, p, out):
    """A mass with a force that may have peaks, without conditions and the time."""
    out[0], out[1], out[2] = y[1], -p[3] * y[0] / (1.0 + y[0] * y[0]), 1.0


def end(p, method, control=None, y0=STILL, tolerance=TOLERANCE, rhs=stepwise, **options):
    solution = md.integrate(
        rhs,
        (0.0, DURATION),
        y0,
        method=method,
        rtol=tolerance,
        atol=tolerance,
        p=np.array(p),
        control=control,
        **options,
    )
    assert solution.success
    return solution


def pulses(count, stiffness, seed=5):
    """Yield pulses with random times, widths from 10 ms to 1 s, and forces from 1 mN to 100 N."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        time, width = generator.uniform(0.2, 9.8), 10.0 ** generator.uniform(-2, 0)
        yield [time, 0.5 * width, 10.0 ** generator.uniform(-3, 2), stiffness]


FINE = md.StepControl(inspection="none", max_step=4e-3)


@lru_cache
def exact_ends(rhs, stiffness, count):
    """Return pulses, and the end states with and without them."""
    y0 = MOVING if stiffness else STILL
    planted = list(pulses(count, stiffness))
    ends = [end(p, "rkdp54", FINE, y0, 1e-9, rhs).y_last for p in planted]
    without = end([5.0, 1.0, 0.0, stiffness], "rkdp87", None, y0, 1e-11, free).y_last
    return planted, ends, without


def stepped_over(rhs, stiffness, method, tolerance, count=50, control=None):
    """Return the pulses after which the state is that of the motion without the pulse.

    Their effect exceeds ten tolerances.
    """
    planted, ends, without = exact_ends(rhs, stiffness, count)
    missed = []
    for p, exact in zip(planted, ends, strict=True):
        effect = np.abs(exact - without).max()
        y0 = MOVING if stiffness else STILL
        state = end(p, method, control, y0, tolerance, rhs).y_last
        if effect > 10.0 * tolerance and np.abs(state - without).max() < 0.3 * effect:
            missed.append(p)
    return missed


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
@pytest.mark.parametrize("method", ["rkdp54", "rkdp87", "rodas5p"])
@pytest.mark.parametrize(
    ("rhs", "stiffness"),
    [(stepwise, 0.0), (peaked, 0.0)]
    + [(rhs, 4.0) for rhs in (stepwise, peaked, rational, plateau, zone)],
)
def test_no_force_is_stepped_over(rhs, stiffness, method, tolerance):
    assert stepped_over(rhs, stiffness, method, tolerance) == []


def test_a_force_is_stepped_over_without_inspection():
    control = md.StepControl(inspection="none")
    assert stepped_over(stepwise, 0.0, "rkdp87", TOLERANCE, control=control)


def test_ordinary_steps_are_not_inspected():
    """A motion whose errors determine the steps costs at most a quarter more."""
    counts = [
        end(
            [0.0, 0.0, 0.0, 4.0], "rkdp54", md.StepControl(inspection=name), MOVING, rhs=attracted
        ).statistics.evaluations
        for name in ("none", "quiet")
    ]
    assert counts[0] <= counts[1] <= 1.25 * counts[0]


@pytest.mark.parametrize("sampling", [None, [DURATION]])
def test_the_reason_states_which_forces_may_be_missed(sampling):
    p = [5.0, 1e-9, 0.0, 4.0]
    inspected = end(p, "rkdp54", y0=MOVING, sampling=sampling)
    assert "forces shorter than 0.005 s may be missed" in inspected.reason
    longest = np.diff(end(p, "rkdp54", y0=MOVING, rhs=attracted).t).max()
    motion = end(p, "rkdp54", y0=MOVING, rhs=attracted, sampling=sampling)
    assert f"forces shorter than {longest:.2g} s may be missed" in motion.reason
    assert "missed" not in end(p, "rkdp54", y0=MOVING, rhs=free, sampling=sampling).reason


@pytest.mark.parametrize("y0", [STILL, MOVING])
def test_smooth_functions_are_not_inspected(y0):
    p = [5.0, 0.0, 0.0, 4.0]
    default = end(p, "rkdp87", y0=y0, rhs=free)
    none, every = (
        end(p, "rkdp87", md.StepControl(inspection=name), y0, rhs=free) for name in ("none", "all")
    )
    assert default.statistics == none.statistics
    assert "missed" not in default.reason
    assert every.statistics.evaluations > 1000 + none.statistics.evaluations


def test_a_bump_is_found_if_its_time_is_not_announced():
    heights = []
    for announced in (True, False):
        car = md.load_mechanism("hmmwv")
        if not announced:
            car.switches = []
        motion = md.simulate_mechanism(car, 0.7, rtol=1e-3)
        heights.append(np.ptp(motion.q[:, 2]))
    assert heights[0] > 0.03
    assert heights[1] == pytest.approx(heights[0], rel=0.02)


def test_mechanisms_without_short_forces_are_not_inspected():
    counts = []
    for inspection in ("none", "quiet"):
        control = md.StepControl(inspection=inspection)
        motion = md.simulate_mechanism(md.load_mechanism("hmmwv"), 0.2, rtol=1e-2, control=control)
        counts.append(motion.statistics.evaluations)
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inspection": "some"}, "inspection must be quiet or all or none, got 'some'"),
        ({"inspection_interval": 0.0}, "inspection_interval must be above 0, got 0"),
    ],
)
def test_bad_settings_are_rejected(options, message):
    with pytest.raises(md.ManipDynError, match=message):
        md.StepControl(**options)
