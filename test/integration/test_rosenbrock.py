"""Rosenbrock-Nystrom and W-methods: coefficients, order, stability, forms and errors."""

from fractions import Fraction

import numpy as np
import pytest
from impacts import height
from problems import allocations
from rooted_trees import density, trees
from swings import WAYS, slopes, swing

import manip_dyn as md
from manip_dyn.core import factorize, solve
from manip_dyn.integration import (
    METHODS,
    Options,
    Rosenbrock,
    RosenbrockTableau,
    compile_engine,
    order_four,
    w_method,
)

ORDER_FOUR = order_four()
START, END = np.array([1.0, 0.5, 0.0]), 3.0


@pytest.fixture(scope="module")
def exact():
    """Return the final state by an explicit method at 1e-13."""
    return md.integrate(swing, (0.0, END), START, rtol=1e-13, atol=1e-13).y_last


def solved(method, jacobian, count, p=None):
    return md.integrate(
        swing, (0.0, END), START, method=method, step=END / count, jacobian=jacobian, p=p
    )


# -------------------------------------------------------------------- coefficients
def conditions(table, b, order):
    """Return the residuals of the order conditions of Rosenbrock methods, exactly.

    Hairer, Wanner, Solving ODEs II, theorem IV.7.4: a node with one branch takes beta = alpha +
    gamma, one with several takes alpha.
    """
    s = range(table.stages)
    beta = [[table.alpha[i][j] + table.gamma[i][j] for j in s] for i in s]

    def phi(tree):
        values, matrix = [Fraction(1)] * table.stages, beta if len(tree) == 1 else table.alpha
        for branch in tree:
            inner = phi(branch)
            values = [values[i] * sum(matrix[i][j] * inner[j] for j in s) for i in s]
        return values

    return [
        sum(weight * value for weight, value in zip(b, phi(tree), strict=True))
        - Fraction(1, density(tree)[1])
        for k in range(1, order + 1)
        for tree in trees(k)
    ]


def test_all_order_conditions_hold_exactly_for_any_gamma():
    for gamma in (Fraction("0.57281606"), Fraction(3, 5), Fraction(1, 4)):
        table = order_four(gamma)
        assert conditions(table, table.b, 4) == [0] * 8
        assert conditions(table, table.b_hat, 3) == [0] * 4
        assert any(conditions(table, table.b_hat, 4))


def test_order_five_holds_to_the_printed_digits():
    table = METHODS["rodas5p"].tableau
    assert len(conditions(table, table.b, 5)) == 17
    assert max(map(abs, conditions(table, table.b, 5))) < 1e-12
    assert max(map(abs, conditions(table, table.b_hat, 4))) < 1e-12
    assert max(map(abs, conditions(table, table.b_hat, 5))) > 1e-5


def test_the_w_method_has_order_two_for_any_gamma_matrix():
    """Order 2 for any gamma also requires sum b_i gamma_i = 0."""
    table = w_method()
    assert sum(b * g for b, g in zip(table.b, table.gamma_sums, strict=True)) == 0
    assert sum(b * a for b, a in zip(table.b, table.alpha_sums, strict=True)) == Fraction(1, 2)
    assert sum(table.b_hat) == 1


def test_coefficients_agree_with_the_printed_ones():
    """Sandu et al. (2001), with the sign of gamma_21 and a_21 corrected."""
    t = ORDER_FOUR
    printed = {
        "gamma_21": (t.gamma[1][0], "-2.341993127112013949170520"),
        "a_21": (t.a[1][0], "2"),
        "gamma_42": (t.gamma[3][1], "-0.190595807732311751616358"),
        "b_4": (t.b[3], "0.626378747320742177841171"),
        "b_hat_2": (t.b_hat[1], "0.144549714665364599584681"),
        "c_21": (t.c[1][0], "-7.137649943349979830369260"),
        "c_43": (t.c[3][2], "-0.694966049282445225157329"),
        "delta_31": (t.delta[2][0], "1.470280254409780714633870"),
        "theta_31": (t.theta[2][0], "0.789509162815638629626980"),
        "m_3": (t.weights(t.b)[2], "0.435311963379983213402707"),
        "m_hat_4": (t.weights(t.b_hat)[3], "0.366557127936155144309163"),
        "mu_1": (t.position_weights(t.b)[0], "1.592750819409585342074900"),
        "mu_hat_2": (t.position_weights(t.b_hat)[1], "0.222978672588698369045153"),
    }
    for name, (value, text) in printed.items():
        assert abs(value - Fraction(text)) < Fraction(1, 10**20), name
    assert t.repeats(3)
    assert METHODS["rosenbrock_nystrom"].stages == 3


def test_invalid_rosenbrock_tableaus_are_rejected():
    good = vars(w_method()) | {}
    for change in (
        {"b": (Fraction(1), Fraction(1))},
        {"alpha": good["gamma"]},
        {"gamma": ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(2)))},
        {"gamma": ((Fraction(1), Fraction(1)), (Fraction(0), Fraction(1)))},
    ):
        names = ("alpha", "gamma", "b", "b_hat", "order", "embedded_order", "source")
        with pytest.raises(md.ManipDynError, match="Rosenbrock tableau"):
            RosenbrockTableau(**{name: good[name] for name in names} | change)


# -------------------------------------------------------------------------- orders
@pytest.mark.parametrize(
    ("method", "order", "way"),
    [
        *(("rosenbrock_nystrom", 4, way) for way in WAYS),
        ("rosenbrock_w", 2, "exact"),
        ("rodas5p", 5, "mass"),
    ],
)
def test_the_order_is_the_nominal_order_in_every_form(method, order, way, exact):
    errors = [
        np.abs(solved(method, WAYS[way], count).y_last - exact).max()
        for count in ((40, 80, 160) if order == 5 else (100, 200, 400))
    ]
    slope = np.polyfit([0, 1, 2], -np.log2(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.15)


def test_embedded_solutions_have_their_orders(exact):
    """Propagated instead of the main solutions, they converge with orders 3 and 1."""
    jacobian = WAYS["exact"]
    for name, order in (("rosenbrock_nystrom", 3), ("rosenbrock_w", 1)):
        t = METHODS[name].tableau
        swapped = RosenbrockTableau(
            t.alpha, t.gamma, t.b_hat, t.b, t.embedded_order, t.order, t.source
        )
        method = Rosenbrock(f"{name}_embedded", swapped)
        errors = [
            np.abs(solved(method, jacobian, count).y_last - exact)[:2].max()
            for count in (200, 400, 800)
        ]
        slope = np.polyfit([0, 1, 2], -np.log2(errors), 1)[0]
        assert slope == pytest.approx(order, abs=0.15)


def test_only_the_w_method_keeps_its_order_with_an_inexact_jacobian(exact):
    orders = {}
    for method in ("rosenbrock_nystrom", "rosenbrock_w"):
        errors = [
            np.abs(solved(method, WAYS["exact"], count, [1.0]).y_last - exact).max()
            for count in (200, 400, 800)
        ]
        orders[method] = np.polyfit([0, 1, 2], -np.log2(errors), 1)[0]
    assert orders["rosenbrock_w"] == pytest.approx(2.0, abs=0.1)
    assert orders["rosenbrock_nystrom"] < 1.2


def test_all_forms_compute_the_same_step():
    ends = [solved("rosenbrock_nystrom", way, 30).y_last for way in WAYS.values()]
    for end in ends[:2]:
        np.testing.assert_allclose(end, ends[2], rtol=1e-8)
    np.testing.assert_allclose(ends[3], ends[2], rtol=1e-14)


# ----------------------------------------------------------------------- stability
STIFF = {  # in a form that is compiled for its order, too
    "rosenbrock_nystrom": ("exact", 2e-8),
    "rosenbrock_w": ("exact", 1e-9),
    "rodas5p": ("mass", 1e-9),
}


@pytest.mark.parametrize("method", STIFF)
def test_methods_are_l_stable(method):
    """|R(z)| of the compiled step on v' = z v is below 1 and decreases to its limit."""
    growth = [abs(stepped(method, [0.0, 1.0], z, 0.0)[1]) for z in -np.logspace(-1, 12, 27)]
    assert max(growth) < 1.0
    assert growth[-1] < STIFF[method][1]


@pytest.mark.parametrize("method", STIFF)
def test_methods_are_a_stable(method):
    """A-stability: y'' = -w^2 y has its eigenvalues on the imaginary axis."""
    for w in np.logspace(-1, 6, 29):
        norms = [
            stepped(method, start, 0.0, -(w**2)) * [1.0, 1.0 / w]
            for start in ([1.0, 0.0], [0.0, w])
        ]
        assert np.abs(np.linalg.eigvals(np.array(norms))).max() < 1.0 + 1e-9


def stepped(method, start, damping, stiffness):
    """Return position and velocity (2,) after one step of 1 s."""
    return one_step(method, start, damping, stiffness).y_last[:2]


def one_step(method, start, damping, stiffness):
    return md.integrate(
        swing,
        (0.0, 1.0),
        [*start, 0.0],
        method=method,
        step=1.0,
        p=np.array([damping, stiffness]),
        jacobian=WAYS[STIFF[method][0]],
    )


def test_steps_are_independent_of_the_fast_time_constant():
    solution = forced(-1e8, 1e-4, "exact", "plain")
    assert solution.success
    assert solution.statistics.steps < 400  # an explicit method requires 1e9 / 3
    # Rounding, 1e8 times larger in the slope, chooses the steps: 1e-8 to 4e-4 for rates near this.
    assert abs(solution.y_last[1] - np.cos(10.0)) < 1e-3


def test_the_scaled_estimate_saves_steps_but_misses_order_reduction():
    """An open question of section 5.1 of Sandu et al. (2001): the estimate hides errors."""
    ways = (("exact", "plain"), ("mass", "scaled"))
    plain, scaled = (forced(-1e5, 1e-6, *way) for way in ways)
    assert scaled.statistics.steps < plain.statistics.steps / 10
    assert abs(plain.y_last[1] - np.cos(10.0)) < 1e-6
    assert abs(scaled.y_last[1] - np.cos(10.0)) > 1e-4


def forced(rate, tolerance, way, estimate):
    return md.integrate(
        swing,
        (0.0, 10.0),
        [0.0, 1.0, 0.0],
        method="rosenbrock_nystrom",
        rtol=tolerance,
        p=np.array([rate, 0.0, 0.0]),
        jacobian=WAYS[way],
        control=md.StepControl(estimate=estimate),
    )


def test_both_estimates_agree_on_a_problem_that_is_not_stiff(exact):
    """The scaled estimate with a mass matrix, the plain one without."""
    ends = [
        md.integrate(
            swing,
            (0.0, END),
            START,
            method="rosenbrock_nystrom",
            rtol=1e-7,
            jacobian=WAYS[way],
            control=md.StepControl(estimate=estimate),
        )
        for way, estimate in (("exact", "plain"), ("mass", "scaled"))
    ]
    assert abs(ends[0].statistics.steps - ends[1].statistics.steps) <= 3
    for end in ends:
        assert np.abs(end.y_last - exact).max() < 1e-7


# ------------------------------------------------------------------ linear algebra
def test_factorization_and_solution_agree_with_numpy():
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 7, 18):
        matrix, x = rng.normal(size=(size, size)), rng.normal(size=size)
        work, pivots, b = np.zeros((size, size + 2)), np.zeros(size), x.copy()
        work[:, :size] = matrix
        factorize(work, pivots)
        solve(work, pivots, b)
        np.testing.assert_allclose(b, np.linalg.solve(matrix, x), rtol=1e-9)


def test_a_singular_step_ends_with_a_status():
    """1 / gamma I - h J is singular for J = 1 / gamma and a step of 1."""
    solution = one_step("rosenbrock_nystrom", [0.0, 1.0], 1.0 / float(ORDER_FOUR.diagonal), 0.0)
    assert not solution.success or np.abs(solution.y_last[1]) > 1e10


# ----------------------------------------------------------------- the rest of a loop
def test_events_dense_output_and_switches():
    jacobian = WAYS["exact"]
    options = {"method": "rosenbrock_nystrom", "rtol": 1e-9, "jacobian": jacobian}
    solution = md.integrate(
        swing, (0.0, 5.0), START, events=height, sampling=md.Sampling(dense=True), **options
    )
    middle = 0.5 * solution.t_last
    exact = md.integrate(
        swing, (0.0, solution.t_last), START, rtol=1e-13, atol=1e-13, sampling=[middle]
    )
    assert solution.status is md.Status.EVENT
    assert exact.y_last[0] == pytest.approx(0.0, abs=1e-8)
    np.testing.assert_allclose(solution(middle), exact.y[0], atol=1e-7)


def test_stages_are_not_evaluated_beyond_a_switch():
    """A stage is 0.15 steps after the end of a step, except at a switch."""
    solution = md.integrate(
        swing,
        (0.0, 1.0 + 1e-6),
        np.zeros(3),
        method="rosenbrock_nystrom",
        step=0.25,
        p=np.array([1.0, 1.0, 1e6, 0.0]),
        t_switch=[1.0],
    )
    assert solution.y_last[1] == pytest.approx(2.0, abs=1e-6)


def test_steps_allocate_nothing_and_the_machine_code_is_cached():
    options = Options(size=3, adaptive=True, positions=1, jacobian=True)
    engine = compile_engine(swing, METHODS["rosenbrock_nystrom"], options, jacobian=slopes)
    assert engine.cached
    space, counts = engine.space(rtol=1e-6, atol=1e-6), []
    for end in (1e-3, END):
        y, p = START.copy(), np.empty(0)
        engine.start(space, 0.0, np.array([end, -np.inf, np.inf, 0.0]))
        assert engine.advance(p, y, space) == 0
        counts.append((space.state.steps, allocations(engine.run, 0.0, end, p, y, space)))
    assert counts[0][0] < counts[1][0]
    assert counts[0][1] == counts[1][1] <= 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"method": "rk4", "step": 0.1, "jacobian": slopes},
            "must be None for method 'rk4'",
        ),
        ({"jacobian": md.Jacobian(slopes, 2)}, "at most half of the 3 numbers of y0, got 2"),
        (
            {"rtol": 1e-15},
            "rtol must be 1e-14 or more for method 'rosenbrock_w' of order 2, got 1e-15",
        ),
        ({"jacobian": lambda t, y: y}, r"must be a function \(t, y, p, out, by_time\)"),
    ],
)
def test_invalid_arguments_are_rejected(arguments, message):
    with pytest.raises(md.ManipDynError, match=message):
        md.integrate(swing, (0.0, 1.0), START, **{"method": "rosenbrock_w"} | arguments)


@pytest.mark.parametrize(
    "arguments", [{"function": 3}, {"positions": -1}, {"mass": True}, {"positions": 1.5}]
)
def test_invalid_jacobians_are_rejected(arguments):
    with pytest.raises(md.ManipDynError, match="jacobian"):
        md.Jacobian(**arguments)


def mixed(t, y, p, out):  # (angle, angle, rate, rate) in another order
    out[0], out[1], out[2], out[3] = y[1], -y[0], y[3], -y[2]


@pytest.mark.parametrize("rhs", [mixed, lambda t, y: np.array([y[1], -y[0], y[3], -y[2]])])
def test_positions_with_other_rates_than_the_velocities_are_rejected(rhs):
    with pytest.raises(md.ManipDynError, match=r"derivative of y\[0\] must be y\[2\] = 3, got 2"):
        md.integrate(
            rhs, (0.0, 1.0), [1.0, 2.0, 3.0, 4.0], method="rodas5p", jacobian=md.Jacobian(None, 2)
        )
