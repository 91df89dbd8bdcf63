"""Short forces between the stages of long steps are found."""

import numpy as np
import pytest

import manip_dyn as md

DURATION, TOLERANCE = 10.0, 1e-6
STILL, MOVING = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]


def pushed(t, y, p, out):
    """A unit mass on a spring of stiffness p[3], with a force p[2] around the time p[0].

    The third state is the time, so that the condition does not depend on the argument `t`.
    """
    out[0] = y[1]
    out[1] = -p[3] * y[0]
    if abs(y[2] - p[0]) < p[1]:
        out[1] += p[2]
    out[2] = 1.0


def free(t, y, p, out):
    """The same mass without force."""
    out[0], out[1], out[2] = y[1], -p[3] * y[0], 1.0


def end(p, method, control=None, y0=STILL, tolerance=TOLERANCE, rhs=pushed, **options):
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


def is_missed(p, method, control=None, y0=STILL, tolerance=TOLERANCE):
    """Return whether a force changes the end state by more than 10 tolerances, unnoticed."""
    edges = [max(p[0] - p[1], 1e-9), min(p[0] + p[1], DURATION - 1e-9)]
    exact = end(p, "rkdp87", y0=y0, tolerance=1e-11, t_switch=edges).y_last
    effect = np.abs(
        exact - end([*p[:2], 0.0, p[3]], "rkdp87", y0=y0, tolerance=1e-11).y_last
    ).max()
    error = np.abs(end(p, method, control, y0, tolerance).y_last - exact).max()
    return error > 10.0 * tolerance and error > 0.7 * effect


def pulses(count, stiffness):
    """Yield pulses with random times, widths from 10 ms to 1 s, and forces from 1 mN to 100 N."""
    generator = np.random.default_rng(5)
    for _ in range(count):
        time, width = generator.uniform(0.2, 9.8), 10.0 ** generator.uniform(-2, 0)
        yield [time, 0.5 * width, 10.0 ** generator.uniform(-3, 2), stiffness]


@pytest.mark.parametrize("method", ["rkdp54", "rkdp87", "rodas5p", "rosenbrock_nystrom"])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
def test_no_pulse_from_rest_is_stepped_over(method, tolerance):
    assert [p for p in pulses(100, 0.0) if is_missed(p, method, tolerance=tolerance)] == []


@pytest.mark.parametrize("method", ["rkdp54", "rkdp87", "rodas5p"])
def test_no_pulse_during_a_motion_is_stepped_over_if_all_steps_are_inspected(method):
    control = md.StepControl(inspection="all")
    assert [p for p in pulses(50, 4.0) if is_missed(p, method, control, MOVING)] == []


def peaked(t, y, p, out):
    """A unit mass on a spring of stiffness p[3], with a smooth peak of the force at time p[0]."""
    out[0] = y[1]
    out[1] = -p[3] * y[0] + p[2] * np.exp(-(((t - p[0]) / p[1]) ** 2))


@pytest.mark.parametrize("method", ["rkdp54", "rkdp87", "rodas5p"])
def test_smooth_peaks_of_the_force_are_found_during_a_motion(method):
    """Of effects above a hundred tolerances, at least 70 % are found."""
    count = 0
    for p in pulses(100, 4.0):
        edges = p[0] + p[1] * np.arange(-6.0, 6.1)
        edges = edges[(edges > 0.0) & (edges < DURATION)]
        exact = end(p, "rkdp87", y0=[1.0, 0.0], tolerance=1e-11, rhs=peaked, t_switch=edges).y_last
        free = end([*p[:2], 0.0, 4.0], "rkdp87", y0=[1.0, 0.0], tolerance=1e-11, rhs=peaked).y_last
        effect = np.abs(exact - free).max()
        if effect > 100.0 * TOLERANCE:
            count += 1
            error = np.abs(end(p, method, y0=[1.0, 0.0], rhs=peaked).y_last - exact).max()
            assert error < 0.3 * effect, p
    assert count > 50


def test_a_pulse_is_stepped_over_without_inspection():
    control, p = md.StepControl(inspection="none"), [5.0, 0.05, 1.0, 0.0]
    assert is_missed(p, "rkdp87", control)
    assert not is_missed(p, "rkdp87")


def test_ordinary_steps_are_not_inspected():
    """A motion whose errors determine the steps costs at most a quarter more."""
    p = [5.0, 1e-9, 0.0, 4.0]
    counts = [
        end(p, "rkdp54", md.StepControl(inspection=name), MOVING).statistics.evaluations
        for name in ("none", "quiet")
    ]
    assert counts[0] <= counts[1] <= 1.25 * counts[0]


def test_the_reason_states_which_forces_may_be_missed():
    assert "forces shorter than 0.005 s may be missed" in end([5.0, 1e-9, 0, 0], "rkdp87").reason
    moving = end([5.0, 1e-9, 0.0, 4.0], "rkdp54", y0=MOVING)
    longest = np.diff(moving.t).max()
    assert f"of {longest:.3g} s; shorter forces may be missed" in moving.reason
    control = md.StepControl(inspection="all")
    assert "missed" not in end([5.0, 1e-9, 0.0, 4.0], "rkdp54", control, MOVING).reason


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
