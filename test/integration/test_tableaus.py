"""Tableaus: order conditions at 50 digits, and the same coefficients in the compiled step."""

from fractions import Fraction

import numpy as np
import pytest
from problems import EMBEDDED, advance_evenly, scripted_engine
from rooted_trees import density, trees

import manip_dyn as md
from manip_dyn.integration import METHODS, RungeKutta, Tableau, euler_trapezoidal, tableaus

ALL = sorted(tableaus())
REGISTERED = [name for name, method in METHODS.items() if isinstance(method, RungeKutta)]
DIGITS = 70
ONE = 10**DIGITS
"""Coefficients are integers in units of 1e-70, which is faster than fractions."""


def whole(row):
    return np.array([number.numerator * ONE // number.denominator for number in row], object)


def worst_condition(a, weights, order):
    """Return the largest |sum_i b_i Phi_i - 1 / density| over the trees of an order."""
    matrix = np.array([whole(row) for row in a])
    values = {(): whole([Fraction(1)] * len(a))}

    def stages(tree):
        """Return prod over branches of sum_j a_ij Phi_j(branch), for each stage i."""
        if tree not in values:
            inner = [matrix.dot(stages(branch)) // ONE for branch in tree]
            product = inner[0]
            for factor in inner[1:]:
                product = product * factor // ONE
            values[tree] = product
        return values[tree]

    b = whole(weights)
    return max(
        abs(int(b.dot(stages(tree))) // ONE - ONE // density(tree)[1]) for tree in trees(order)
    )


def test_the_number_of_rooted_trees_is_complete():
    """Sequence A000081: the number of rooted trees."""
    assert [len(trees(order)) for order in range(1, 11)] == [1, 1, 2, 4, 9, 20, 48, 115, 286, 719]


@pytest.mark.parametrize("key", ALL)
def test_order_conditions_hold_exactly_to_the_nominal_order(key):
    table = tableaus()[key]
    allowed = 10 ** (DIGITS - 50) if key != "rkdp87_printed" else 10 ** (DIGITS - 16)
    for weights, order in ((table.b, table.order), (table.b_hat, table.embedded_order)):
        if weights is not None:
            conditions = [worst_condition(table.a, weights, k) for k in range(1, order + 1)]
            assert max(conditions) < allowed
            if order < 10:
                assert worst_condition(table.a, weights, order + 1) > 10 ** (DIGITS - 9)


@pytest.mark.parametrize("key", ALL)
def test_rows_sum_to_the_abscissas(key):
    table = tableaus()[key]
    allowed = Fraction(1, 10**50) if key != "rkdp87_printed" else Fraction(1, 10**16)
    assert all(abs(sum(row) - c) < allowed for row, c in zip(table.a, table.c, strict=True))


@pytest.mark.parametrize("name", REGISTERED)
def test_the_compiled_step_has_the_coefficients_of_the_tableau(name):
    """A right-hand side that is 1 in one stage and 0 otherwise returns a column."""
    table, engine, step = METHODS[name].tableau, scripted_engine(name), 0.25
    start, s = 0.5, METHODS[name].tableau.stages

    def one_step(*stages, tolerance=1e9):
        rows, log = np.zeros((s, 2)), np.zeros((s, 2))
        rows[list(stages), 0] = 1.0
        y, p = np.zeros(2), (np.zeros(1, dtype=np.int64), rows, log)
        space = advance_evenly(engine, y, start, start + step, 1, p, tolerance)
        assert p[0][0] == s  # every stage is evaluated once
        return y[0] / step, log, space

    for j in range(s):
        weight, log, _ = one_step(j)
        assert weight == pytest.approx(float(table.b[j]), rel=1e-15, abs=1e-300)
        column = [float(row[j]) for row in table.a]
        np.testing.assert_allclose(log[:, 1] / step, column, rtol=1e-15)
        np.testing.assert_allclose(log[:, 0], start + step * np.array(table.c, float), rtol=1e-15)
    if name in EMBEDDED:
        check_error_weights(table, one_step, step)


def check_error_weights(table, one_step, step):
    """Check b - b_hat through the size of the error, which the control remembers as log e."""
    weights, tolerance = np.array(table.error_weights, float), 16.0
    largest = int(np.abs(weights).argmax())
    for j in range(table.stages):
        for stages in {(j,), tuple({j, largest})}:  # alone, and with another for the sign
            _, _, space = one_step(*stages, tolerance=tolerance)
            error = np.exp(space.state.memory) * tolerance / step
            expected = abs(weights[list(stages)].sum())
            assert error == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_the_continuous_extension_of_rkdp54_has_order_4_everywhere():
    """sum_i b_i(theta) Phi_i = theta^order / density at more points than its degree."""
    table = tableaus()["rkdp54"]
    for theta in (Fraction(k, 7) for k in range(8)):
        cubic = theta**2 * (3 - 2 * theta)
        weights = [
            cubic * b + theta**2 * (1 - theta) ** 2 * d
            for b, d in zip(table.b, table.bump, strict=True)
        ]
        weights[0] += theta * (1 - theta) ** 2
        weights[-1] -= theta**2 * (1 - theta)
        assert sum(weights) == theta
        for order in range(1, 5):
            for tree in trees(order):
                phi = sum(w * x for w, x in zip(weights, exact_stages(table.a, tree), strict=True))
                assert phi == theta**order / density(tree)[1]


def exact_stages(a, tree):
    product = [Fraction(1)] * len(a)
    for branch in tree:
        inner = exact_stages(a, branch)
        sums = [sum(x * y for x, y in zip(row, inner, strict=True)) for row in a]
        product = [x * y for x, y in zip(product, sums, strict=True)]
    return product


def test_properties_are_derived_from_the_tableau():
    assert METHODS["rkdp54"].fsal
    assert METHODS["rkdp54"].stages == 7
    assert not METHODS["rkf45"].fsal
    assert METHODS["euler"] is METHODS["rk1"]
    # Galhano (1994), table 1.
    stages = {
        "rk1": 1,
        "rk4": 4,
        "rk5": 6,
        "rk6": 7,
        "rk7": 9,
        "rk8": 11,
        "rk10": 17,
        "rkb12": 2,
        "rkf12": 3,
        "rkf23": 3,
        "rkb24": 4,
        "rkf34": 5,
        "rkb34": 5,
        "rkf45": 6,
        "rkb45": 7,
        "rkf56": 8,
        "rkv56": 8,
        "rkb56": 9,
        "rkv67": 10,
        "rkf78": 13,
        "rkv78": 13,
        "rkdp87": 13,
    }
    assert {name: METHODS[name].stages for name in stages} == stages


def test_stability_intervals_agree_with_the_literature():
    """Hairer, Wanner II, section IV.2, and 3/10 for Bashforth; that of abm4 is our own number."""
    values = {
        "rk1": 2.0,
        "rk2": 2.0,
        "rk3": 2.5127,
        "rk4": 2.7853,
        "rkdp54": 3.3066,
        "ab4": 0.3,
        "abm4": 1.285,
    }
    for name, interval in values.items():
        assert METHODS[name].stability_interval == pytest.approx(interval, abs=1e-3), name


def test_trapezoidal_corrections_have_order_two():
    for corrections in (1, 2, 3):
        table = euler_trapezoidal(corrections)
        assert table.stages == corrections + 1
        assert worst_condition(table.a, table.b, 2) == 0


KEYS = ("key", "order", "embedded_order", "c", "A", "b", "b_hat", "source")


@pytest.mark.parametrize("keys", [(*KEYS, "stages"), KEYS[:-1]], ids=["unknown", "missing"])
def test_entries_with_unknown_or_missing_keys_are_rejected(keys, monkeypatch):
    monkeypatch.setattr("json.loads", lambda _text: [dict.fromkeys(keys)])
    with pytest.raises(md.ManipDynError, match=r"must have the keys A, b, .* got A, b, "):
        tableaus.__wrapped__()


def test_invalid_tableaus_are_rejected():
    half, one, zero = Fraction(1, 2), Fraction(1), Fraction(0)
    valid = {
        "key": "new",
        "c": (zero, half),
        "a": ((zero, zero), (half, zero)),
        "b": (zero, one),
        "b_hat": None,
        "order": 2,
        "embedded_order": None,
        "source": "here",
    }
    assert Tableau(**valid).stages == 2
    for change, fault in (
        ({"b": (one,)}, "not square"),
        ({"a": ((zero, zero), (zero, half))}, "not explicit"),
        ({"c": (zero, one)}, "do not sum to c"),
        ({"b": (one, one)}, "do not sum to 1"),
        ({"embedded_order": 1}, "b_hat and its order"),
    ):
        with pytest.raises(md.ManipDynError, match=fault):
            Tableau(**(valid | change))
