"""Numerical failures are statuses with a reason, invalid arguments are errors."""

from functools import partial

import numpy as np
import pytest
from numba import njit
from problems import NO_SCRIPT, curve, oscillator, scripted

import manip_dyn as md
from manip_dyn.integration import METHODS, RungeKutta, Series, Statistics, right_hand_side


@njit
def troubled(t, y, p, out):
    """Without p y' = y^2: y = 1 / (1 - t) is infinite at 1 s.

    With p[0] a derivative that is NaN after it; with p[1], too, a stiff one.
    """
    if p.size == 0:
        out[0] = y[0] * y[0]
    elif p.size == 1:
        out[0] = np.sqrt(p[0] - t)
    else:
        out[0] = -p[1] * (y[0] - np.cos(t))


HOW = {
    "rk4": {"method": "rk4", "step": 0.01},
    "rkdp54": {"method": "rkdp54", "rtol": 1e-8},
}


@pytest.mark.parametrize("options", HOW.values(), ids=HOW)
def test_a_nan_at_the_start_ends_the_integration_there(options):
    solution = md.integrate(troubled, (0.0, 1.0), [0.0], p=np.array([-1.0]), **options)
    assert solution.status is md.Status.NON_FINITE
    assert not solution.success
    assert solution.t_last == 0.0
    assert solution.statistics.steps == 0
    assert solution.reason.startswith("the derivative is not finite at t = 0 s: [nan]")


@pytest.mark.parametrize("options", HOW.values(), ids=HOW)
def test_a_nan_during_the_integration_returns_the_last_finite_state(options):
    solution = md.integrate(troubled, (0.0, 1.0), [0.0], p=np.array([0.505]), **options)
    assert solution.status is md.Status.NON_FINITE
    assert 0.49 < solution.t_last <= 0.505
    assert np.isfinite(solution.y).all()
    assert solution.y_last[0] == pytest.approx(2.0 / 3.0 * 0.505**1.5, abs=1e-3)
    assert "finite" in solution.reason


def test_a_blow_up_in_finite_time_is_a_step_underflow():
    solution = md.integrate(troubled, (0.0, 2.0), [1.0], method="rkdp54", rtol=1e-8)
    assert solution.status is md.Status.STEP_UNDERFLOW
    assert solution.t_last == pytest.approx(1.0, abs=1e-6)
    assert "step below" in solution.reason
    assert "t = " in solution.reason


def test_a_blow_up_with_fixed_steps_is_reported_as_not_finite():
    solution = md.integrate(troubled, (0.0, 2.0), [1.0], method="rk4", step=0.01)
    assert solution.status is md.Status.NON_FINITE
    assert 1.0 < solution.t_last < 1.2


def test_a_min_step_that_is_too_large_is_a_step_underflow():
    solution = md.integrate(
        troubled,
        (0.0, 2.0),
        [1.0],
        method="rkdp54",
        rtol=1e-8,
        control=md.StepControl(min_step=1e-3),
    )
    assert solution.status is md.Status.STEP_UNDERFLOW
    assert solution.t_last < 0.999


@pytest.mark.parametrize("options", HOW.values(), ids=HOW)
def test_max_steps_ends_the_integration(options):
    p, control = np.array([0.0, 1e6]), md.StepControl(max_steps=17)
    solution = md.integrate(troubled, (0.0, 10.0), [1.0], p=p, control=control, **options)
    assert solution.status in (md.Status.TOO_MANY_STEPS, md.Status.NON_FINITE)
    if options["method"] == "rkdp54":
        assert solution.status is md.Status.TOO_MANY_STEPS
        assert solution.statistics.steps + solution.statistics.failures == 17
        assert "max_steps = 17" in solution.reason


def test_max_step_bounds_the_steps_and_max_steps_may_be_reached():
    solution = md.integrate(
        oscillator,
        (0.0, 1.0),
        [1.0, 0.0],
        method="rkdp54",
        rtol=1e-3,
        control=md.StepControl(max_step=0.0625),
    )
    assert np.diff(solution.t).max() <= 0.0625 * 1.011
    again = md.integrate(
        oscillator,
        (0.0, 1.0),
        [1.0, 0.0],
        method="rk4",
        step=0.1,
        control=md.StepControl(max_steps=10),
    )
    assert again.success


def test_zero_components_with_a_relative_tolerance_alone_are_integrated():
    problem = oscillator, (0.0, 1.0), [0.0, 0.0]
    solution = md.integrate(*problem, method="rkdp54", rtol=1e-6, atol=0.0)
    assert solution.success


def decay(t, y):
    return -y


def too_long(t, y):
    return np.zeros(3)


def opaque(t, y):
    return object()


def test_plain_functions_are_compiled():
    solution = md.integrate(decay, (0.0, 1.0), [1.0], rtol=1e-10)
    assert solution.y_last[0] == pytest.approx(np.exp(-1.0), rel=1e-9)
    assert right_hand_side(decay, 0.0, np.ones(1)) is right_hand_side(decay, 1.0, np.zeros(1))
    rate = 2.0
    solution = md.integrate(
        lambda t, y: np.array([-rate * y[0]]), (0.0, 1.0), [1.0], method="rk4", step=0.01
    )
    assert solution.y_last[0] == pytest.approx(np.exp(-2.0), rel=1e-7)


def test_elements_of_an_array_that_a_function_refers_to_may_change_between_calls():
    rates = np.array([2.0])
    for value in (2.0, 4.0):
        rates[0] = value
        solution = md.integrate(falling(rates), (0.0, 1.0), [1.0], rtol=1e-8)
        again = md.integrate(FALLING, (0.0, 1.0), [1.0], rtol=1e-8)
        RATES[0] = 2.0 * value
        later = md.integrate(FALLING, (0.0, 1.0), [1.0], rtol=1e-8)
        RATES[0] = 1.0
        for one, rate in ((solution, value), (again, 1.0), (later, 2.0 * value)):
            assert one.y_last[0] == pytest.approx(np.exp(-rate), rel=1e-6)


def test_two_names_of_one_array_are_different_variables():
    names = {"first": np.array([1.0]), "second": np.array([3.0])}
    names["used"] = names["first"]
    exec("def rate(t, y):\n    return -y * (0.0 * (first[0] + second[0]) + used[0])", names)
    for name, value in (("first", 1.0), ("second", 3.0)):
        names["used"] = names[name]
        solution = md.integrate(names["rate"], (0.0, 1.0), [1.0], rtol=1e-8)
        assert solution.y_last[0] == pytest.approx(np.exp(-value), rel=1e-6)


def test_variables_with_the_names_of_attributes_have_no_effect():
    names = {"np": np, "dot": object(), "size": {1, "a"}, "value": 1.0}
    exec("def rate(t, y):\n    return -value * np.ones(y.size) * np.dot(y, y) / y[0]", names)
    for value in (1.0, 3.0):
        names["value"] = value
        solution = md.integrate(names["rate"], (0.0, 1.0), [1.0], rtol=1e-8)
        assert solution.y_last[0] == pytest.approx(np.exp(-value), rel=1e-6)


def falling(rates):
    return lambda t, y: -rates[0] * y


RATES = np.array([1.0])
FALLING = falling(RATES)


@pytest.mark.parametrize("name", ["rhs", "events", "jacobian"])
def test_values_that_a_function_refers_to_may_change_between_calls(name):
    value = 2.0

    def rate(t, y, p, out):
        out[0] = -value * y[0]

    def crossing(t, y, p, out):
        out[0] = y[0] - 1.0 / value

    def slope(t, y, p, out, by_time):
        out[0, 0], by_time[0] = -value, 0.0

    options = {
        "rhs": {},
        "events": {"events": crossing},
        "jacobian": {"method": "rosenbrock_w", "jacobian": slope},
    }[name]
    for value in (2.0, 4.0, 2.0):
        solution = md.integrate(rate, (0.0, 1.0), [1.0], rtol=1e-8, **options)
        expected = 1.0 / value if name == "events" else np.exp(-value)
        assert solution.y_last[0] == pytest.approx(expected, rel=1e-5)


BAD = [
    (
        {"method": "rkdp78"},
        r"method must be one of md.METHODS, got 'rkdp78'.*did you mean 'rkdp87'\?",
    ),
    ({"method": "rk4"}, "step must be given for method 'rk4', which has no error estimate"),
    ({"method": "rk4", "rtol": 1e-6}, "rtol and atol must be None for method 'rk4'"),
    ({"method": "rk4", "step": -1.0}, "step"),
    ({"step": 0.1, "rtol": 1e-6}, "step must be None with rtol or atol, got 0.1 s"),
    ({"y0": [1.0, np.nan]}, "y0"),
    ({"y0": [[1.0, 0.0]]}, "y0"),
    ({"y0": []}, "y0 must have at least one number"),
    ({"y0": 1.0}, r"y0 must be an array \(1,\) of one number, got 1.0"),
    ({"y0": [1.0, 1j]}, r"y0 must be real numbers, got \[1.0, 1j\]"),
    ({"t_span": (0.0, 0.0)}, "t_span must be two different times"),
    ({"t_span": 1.0}, "t_span"),
    ({"rtol": -1.0}, "rtol"),
    ({"rtol": [1e-6, 1e-6, 1e-6]}, "rtol"),
    ({"rtol": 0.0, "atol": 0.0}, "rtol or atol must be above 0"),
    ({"control": "pid"}, "control must be an md.StepControl, got 'pid'"),
    ({"order": 5}, "order must be None for method 'rkdp87', got 5"),
    ({"sampling": [0.0, 2.0]}, "sampling.times must be inside .* got 2 s"),
    ({"sampling": [0.5, 0.2]}, "sampling.times must be ordered"),
    ({"p": ["a"]}, r"p must be numbers, .* got \['a'\]"),
    ({"p": {"k": 1.0}}, "p must be numbers, a float64 array"),
    ({"p": "x"}, "p must be numbers, a float64 array, .* got 'x'"),
    ({"p": object()}, "that numba can type"),
    ({"events": 3}, "events.function must be a function, got 3"),
    ({"rhs": 3}, "rhs must be a Python function .* got 3"),
    (
        {"rhs": lambda t: t},
        r"rhs must be a function rhs\(t, y, p, out\) or f\(t, y\), got <lambda>\(t\)",
    ),
    ({"rhs": too_long}, r"rhs must return an array of shape \(2,\), got \(3,\)"),
    ({"rhs": opaque}, "rhs cannot be compiled by numba: .*object"),
    ({"method": "taylor"}, "rhs must be an md.Series"),
    ({"rhs": Series(decay)}, "rhs must be a function .* got a Series"),
    (
        {"rhs": Series(decay), "method": "taylor"},
        r"series.function must be a function .* got decay\(t, y\)",
    ),
    (
        {"method": "rk4", "step": 0.1, "control": md.StepControl(first_step=0.1)},
        "control.first_step must be None with fixed steps, got 0.1 s",
    ),
    (
        {"method": "rk4", "step": 0.1, "control": md.StepControl(max_step=0.01)},
        "control.max_step must be inf with fixed steps, got 0.01 s",
    ),
    (
        {"method": "rk4", "step": 0.1, "control": md.StepControl(min_step=0.01)},
        "control.min_step must be 0.0 with fixed steps, got 0.01 s",
    ),
]
BAD_CONTROL = [
    ({"controller": "pid"}, "controller must be pi or paper, got 'pid'"),
    ({"norm": "mean"}, "norm must be max or rms, got 'mean'"),
    (
        {"estimate": "sacled"},
        "estimate must be plain or scaled, got 'sacled'.*did you mean 'scaled'",
    ),
    ({"first_step": 0.0}, "first_step"),
    ({"fac": 1.2}, "fac must be 1 or less, .* got 1.2, 0.1 and 5"),
    ({"facmin": 1.0}, "facmin less than 1 .* got 0.9, 1 and 5"),
    (
        {"max_step": 1e-3, "min_step": 1e-2},
        "max_step must be min_step .* got 0.001 s",
    ),
    ({"min_step": -1.0}, "min_step"),
    ({"max_steps": 0}, "max_steps"),
    ({"fac": 0.0}, "fac"),
    (
        {"facmax": 0.9},
        "facmax greater than 1, got 0.9, 0.1 and 0.9",
    ),
]


@pytest.mark.parametrize(("values", "message"), BAD_CONTROL)
def test_invalid_step_controls_are_rejected(values, message):
    with pytest.raises(md.ManipDynError, match=message):
        md.StepControl(**values)


@pytest.mark.parametrize(
    ("change", "message"), BAD, ids=lambda x: "-".join(x) if type(x) is dict else ""
)
def test_invalid_arguments_are_rejected_in_one_line(change, message):
    arguments = {"rhs": oscillator, "t_span": (0.0, 1.0), "y0": [1.0, 0.0]} | change
    with pytest.raises(md.ManipDynError, match=message) as caught:
        md.integrate(
            arguments.pop("rhs"), arguments.pop("t_span"), arguments.pop("y0"), **arguments
        )
    assert "\n" not in str(caught.value)


def test_invalid_events_are_rejected():
    for change, message in (
        ({"direction": 2}, "events.direction must be one or 1 of .*, got 2"),
        ({"terminal": (True, False)}, "events.terminal must be"),
        ({"count": 0}, "events.count must be .* got 0"),
        ({"tolerance": -1.0}, "events.tolerance"),
        ({"action": 1}, "events.action must be .* got 1"),
    ):
        with pytest.raises(md.ManipDynError, match=message):
            md.Events(decay, **change)


def test_dense_output_is_limited_to_the_integrated_span():
    solution = md.integrate(
        scripted,
        (0.0, 1.0),
        curve(0.0),
        p=NO_SCRIPT,
        method="rk4",
        step=0.1,
        sampling=md.Sampling(dense=True),
    )
    np.testing.assert_allclose(solution(0.55), curve(0.55), atol=1e-5)
    with pytest.raises(md.ManipDynError, match="t must be from 0 to 1 s"):
        solution(1.5)
    with pytest.raises(md.ManipDynError, match="dense must be True"):
        md.integrate(oscillator, (0.0, 1.0), [1.0, 0.0], method="rk4", step=0.1)(0.5)


def test_the_registry_is_immutable():
    with pytest.raises(TypeError):
        METHODS["new"] = METHODS["rk4"]
    with pytest.raises(AttributeError):
        METHODS["rk4"].name = "new"


def test_indices_out_of_range_are_rejected():
    """Compiled code does not check indices."""

    def decay(t, y, p, out):
        out[0] = -p[0] * y[0]

    def too_long(t, y):
        return np.array([y[1], -y[2]])

    with pytest.raises(md.ManipDynError, match=r"rhs uses an index out of range: .* p 0"):
        md.integrate(decay, (0.0, 1.0), [1.0], rtol=1e-8)
    with pytest.raises(md.ManipDynError, match=r"rhs uses an index out of range: .* y has 2"):
        md.integrate(too_long, (0.0, 1.0), [1.0, 0.0], method="rk4", step=0.1)


@pytest.mark.parametrize("method", ["rkdp87", "taylor"])
def test_kernels_are_called_with_states_and_efforts_of_their_size(method):
    kernels = md.customize(md.load_robot("rr"))
    rhs = kernels.series if method == "taylor" else kernels.right_hand_side
    options = {"method": method, "rtol": 1e-9}
    for size in (2, 3, 6):
        with pytest.raises(md.ManipDynError, match="y0 must be 4 numbers for this kernel"):
            md.integrate(rhs, (0.0, 0.1), np.zeros(size), p=np.zeros(2), **options)
    with pytest.raises(md.ManipDynError, match="p must begin with 2 efforts for this kernel"):
        md.integrate(rhs, (0.0, 0.1), np.zeros(4), **options)
    problem = md.problem(rhs, (0.0, 0.1), np.zeros(4), p=np.zeros(2), **options)
    with pytest.raises(md.ManipDynError, match=r"p must begin with 2 efforts .* got shape \(1,\)"):
        problem.solve(p=[1.0])
    assert problem.solve(p=[1.0, 2.0]).success


def test_unknown_tableaus_are_rejected():
    with pytest.raises(md.ManipDynError, match="got 'rk99'"):
        RungeKutta.of("rk99")


def test_the_counts_of_a_solution_are_deprecated_outside_of_its_statistics():
    solution = md.integrate(oscillator, (0.0, 1.0), [1.0, 0.0], method="rk4", step=0.1)
    assert solution.statistics == Statistics(steps=10, failures=0, evaluations=40)
    with pytest.warns(DeprecationWarning, match="use statistics.steps instead"):
        assert solution.steps == 10
    with pytest.warns(DeprecationWarning, match="use statistics.evaluations instead"):
        assert solution.statistics["evaluations"] == 40


class Unhashable:
    """A callable object that compares by value and has no hash."""

    def __eq__(self, other):
        return self is other

    def __call__(self, t, y, p, out):
        out[0] = 0.0


@pytest.mark.parametrize("function", [Unhashable(), partial(Unhashable(), [0.0])])
@pytest.mark.parametrize("name", ["rhs", "events.function", "jacobian"])
def test_callable_objects_are_rejected(name, function):
    def rhs(t, y, p, out):
        out[0] = 0.0

    options = {
        "rhs": {"rhs": function},
        "events.function": {"rhs": rhs, "events": function},
        "jacobian": {"rhs": rhs, "method": "rodas5p", "jacobian": function},
    }
    with pytest.raises(md.ManipDynError, match=f"{name} must be a Python function or"):
        md.integrate(t_span=(0.0, 1.0), y0=[1.0], **options[name])
