"""Rosenbrock methods: linearly implicit steps for stiff systems, and their Nystrom form.

With J1 = df/dy and J2 = df/dy' at the start of a step on y'' = f(t, y, y'), stage i solves

    (I / gamma - h J2 - h^2 gamma J1) z_i = h f(t + alpha_i h, Y_i, Y'_i) + sum_j c_ij z_j
            + h^2 gamma_i df/dt + h^2 J1 (gamma_i y' + sum_j delta_ij z_j),
    Y_i = y + h (alpha_i y' + sum_j theta_ij z_j),   Y'_i = y' + sum_j a_ij z_j,

all sums over j < i, and y grows by h y' + h sum mu_i z_i, y' by sum m_i z_i: Sandu et al. (2001),
theorem 2.1, divided by gamma. One factorization serves all stages and the error estimate.

With a mass matrix M at the start of the step everything is multiplied by it, as in eq. 43 to 45;
but f stays the acceleration: M(y) f(Y_i) is not the force at Y_i that eq. 45 prints, and with that
the method falls to order 1 wherever M depends on y.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from manip_dyn.integrate.control import (
    adapt_lines,
    finite_lines,
    first_step_lines,
    judge_lines,
)
from manip_dyn.integrate.dense import hermite_lines
from manip_dyn.integrate.jacobian import difference_lines
from manip_dyn.integrate.method import Method, Options, Pieces, combination, over
from manip_dyn.integrate.rosenbrock_tableau import RosenbrockTableau, Row
from manip_dyn.integrate.runge_kutta import start_lines

IMPORTS = "from manip_dyn.integrate.linear import add_product, factorize, implicit_matrix, solve"


@dataclass(frozen=True)
class Rosenbrock(Method):
    """A Rosenbrock method; it keeps its order with the exact Jacobian, or, if `w`, with any.

    Attributes:
        tableau: Its coefficients.
        w: Whether its order needs no exact Jacobian.
    """

    tableau: RosenbrockTableau
    w: bool = False

    @property
    def family(self) -> str:
        """Rosenbrock-Nystrom, or W-method."""
        return "W-method" if self.w else "Rosenbrock-Nystrom"

    @property
    def source(self) -> str:
        """What the tableau says."""
        return self.tableau.source

    @property
    def order(self) -> int:
        """Order of the solution that is carried on."""
        return self.tableau.order

    @property
    def embedded_order(self) -> int:
        """Order of the solution that it is compared with."""
        return self.tableau.embedded_order

    @property
    def stages(self) -> int:
        """Evaluations of the right-hand side; the Jacobian comes on top."""
        return sum(not self.tableau.repeats(i) for i in range(self.tableau.stages))

    @property
    def dense_order(self) -> int:
        """Order of the error between the steps."""
        return min(self.order, 4)

    @property
    def stability_interval(self) -> float:
        """Infinite: both are L-stable."""
        return math.inf

    def pieces(self, options: Options) -> Pieces:
        """Return the text of a step."""
        size, n, stages = options.size, options.positions, self.tableau.stages
        rows = ["u", "k0", "k1", "wrong", "by_time", "pivots", "place",
                *(f"z{i}" for i in range(stages))]  # fmt: skip
        if options.dense:
            rows.append("k_end")
        unknowns, ended = n or size, ["rhs(last, u, p, k_end)", "evaluations += 1"]
        return Pieces(
            rows=len(rows),
            views=[
                *(f"{name} = work[{row}]" for row, name in enumerate(rows)),
                f"slopes, matrix = scratch[: {size - n}], scratch[{size - n} :]",
                f"pivots, place = pivots[:{unknowns}], place[:{unknowns}]",
            ],
            prepare=[
                *start_lines("k0"),
                *(first_step_lines(options, self.embedded_order + 1) if options.adaptive else []),
                "if known == 1:",
                *("    " + line for line in _linearization(options)),
                "    known = 2",
            ],
            attempt=_attempt(self.tableau, options),
            judge=self._judge(options),
            polynomial=[*ended, *hermite_lines(size, "k_end", (), ())],
            closing=[*over(size, "k0[i] = k_end[i]"), "known = 1"]
            if options.dense
            else ["known = 0"],
            adapt=adapt_lines(options, self.embedded_order + 1, self.embedded_order + 1)
            if options.adaptive
            else [],
            degree=3,
            scratch=(size - n + unknowns, size + (n if options.mass else 0)),
            imports=(IMPORTS,),
        )

    def _judge(self, options: Options) -> list[str]:
        if not options.adaptive:
            return finite_lines("u", options.size)
        return judge_lines(options, "wrong[i]", self.embedded_order + 1)


def _linearization(options: Options) -> list[str]:
    """Return the lines that bring `slopes` and `by_time` up to date."""
    if options.jacobian:
        return [f"jacobian(first, y, p, slopes, by_time[:{options.size - options.positions}])"]
    return difference_lines(options)


def _attempt(table: RosenbrockTableau, options: Options) -> list[str]:
    """Return the lines that compute `u` and, if adaptive, the error estimate `wrong`."""
    n, mass = options.positions, options.size if options.mass else 0
    lines = [
        f"implicit_matrix(slopes, {n}, {float(table.diagonal)!r}, h, {mass}, matrix)",
        "factorize(matrix, pivots)",
    ]
    for i in range(table.stages):
        lines += _arguments(table, options, i)
        lines += _stage(table, options, i)
    lines += [f"evaluations += {sum(not table.repeats(i) for i in range(1, table.stages))}"]
    lines += _result(table, options, "u", table.b, "y")
    if options.adaptive:
        difference = tuple(x - y for x, y in zip(table.b, table.b_hat, strict=True))
        lines += _result(table, options, "wrong", difference, "")
        if options.estimate == "scaled":
            lines += _scaled(table, options)
    return lines


def _arguments(table: RosenbrockTableau, options: Options, i: int) -> list[str]:
    """Return the lines that evaluate the right-hand side for stage i, k1, if it is new."""
    if i == 0 or table.repeats(i):
        return []
    n, size = options.positions, options.size
    lines = []
    if n:
        moved = _terms(table.theta[i], n)
        lines += over(
            n, f"u[i] = y[i] + h * ({float(table.alpha_sums[i])!r} * y[{n} + i] + {moved})"
        )
    lines += over(size - n, f"u[{n} + i] = y[{n} + i] + {_terms(table.a[i], n)}")
    time = f"t + {float(table.alpha_sums[i])!r} * h"
    return [*lines, f"rhs(min(max({time}, earliest), latest), u, p, k1)"]


def _stage(table: RosenbrockTableau, options: Options, i: int) -> list[str]:
    """Return the lines that solve for stage i, and follow with its quadratures."""
    n, size = options.positions, options.size
    f = "k0" if i == 0 else "k1"
    right = f"h * {f}[{n} + i] + {_terms(table.c[i], n)}"
    by_time = f"h * h * {float(table.gamma_sums[i])!r} * by_time[i]"
    if not n:
        return [*over(size, f"z{i}[i] = {right} + {by_time}"), f"solve(matrix, pivots, z{i})"]
    block = f"z{i}[{n}:{2 * n}]"
    if options.mass:
        lines = [
            *over(n, f"place[i] = {right}", f"z{i}[{n} + i] = {by_time}"),
            f"add_product(slopes, 0, {size}, 1.0, place, {block})",
        ]
    else:
        lines = over(n, f"z{i}[{n} + i] = {right} + {by_time}")
    slope = _terms(table.delta[i][:i], n)
    lines += [
        *over(n, f"place[i] = {float(table.gamma_sums[i])!r} * y[{n} + i] + {slope}"),
        f"add_product(slopes, 0, 0, h * h, place, {block})",
        f"solve(matrix, pivots, {block})",
    ]
    return [*lines, *_quadratures(table, options, i, f)]


def _quadratures(table: RosenbrockTableau, options: Options, i: int, f: str) -> list[str]:
    """Return the lines for the rest w of the state, whose rates do not depend on it."""
    n, rest = options.positions, options.size - 2 * options.positions
    if not rest:
        return []
    gamma, tail = float(table.diagonal), f"z{i}[{2 * n} :]"
    return [
        *over(n, f"place[i] += {gamma!r} * z{i}[{n} + i]"),
        *over(
            rest,
            f"z{i}[{2 * n} + i] = h * {f}[{2 * n} + i] + {_terms(table.c[i], 2 * n)}"
            f" + h * h * {float(table.gamma_sums[i])!r} * by_time[{n} + i]",
        ),
        f"add_product(slopes, {n}, 0, h * h, place, {tail})",
        f"add_product(slopes, {n}, {n}, h, z{i}[{n}:{2 * n}], {tail})",
        *over(rest, f"z{i}[{2 * n} + i] *= {gamma!r}"),
    ]


def _result(
    table: RosenbrockTableau, options: Options, name: str, b: Row, start: str
) -> list[str]:
    """Return the lines that combine the stages with the weights b, from `start` if given."""
    n, size = options.positions, options.size
    lines = []
    if n:
        own = f"y[i] + h * y[{n} + i] + " if start else ""
        moved = _terms(table.position_weights(b), n)
        lines += over(n, f"{name}[i] = {own}h * ({moved})")
    own = f"y[{n} + i] + " if start else ""
    return [*lines, *over(size - n, f"{name}[{n} + i] = {own}{_terms(table.weights(b), n)}")]


def _scaled(table: RosenbrockTableau, options: Options) -> list[str]:
    """Return the lines that replace `wrong` by (I - h gamma df/dy)^-1 wrong.

    Shampine's damping of the estimate's stiff parts, after Hairer, Wanner, Solving ODEs II, eq.
    IV.8.20; what section 5.1 of Sandu et al. (2001) leaves to be investigated.
    """
    n, size, gamma = options.positions, options.size, float(table.diagonal)
    if not n:
        return [*over(size, f"wrong[i] *= {1.0 / gamma!r}"), "solve(matrix, pivots, wrong)"]
    block, tail, rest = f"wrong[{n}:{2 * n}]", f"wrong[{2 * n} :]", size - 2 * n
    if options.mass:
        damped = [
            *over(n, f"place[i] = wrong[{n} + i]", f"wrong[{n} + i] = 0.0"),
            f"add_product(slopes, 0, {size}, {1.0 / gamma!r}, place, {block})",
        ]
    else:
        damped = over(n, f"wrong[{n} + i] *= {1.0 / gamma!r}")
    lines = [
        *damped,
        f"add_product(slopes, 0, 0, h, wrong[:{n}], {block})",
        f"solve(matrix, pivots, {block})",
        *over(n, f"wrong[i] += h * {gamma!r} * wrong[{n} + i]"),
    ]
    if rest:
        lines += [
            f"add_product(slopes, {n}, {k * n}, h * {gamma!r}, wrong[{k * n}:{k * n + n}], {tail})"
            for k in range(2)
        ]
    return lines


def _terms(weights: Sequence[Fraction], offset: int) -> str:
    """Return the text of sum_j weights_j z_j at component offset + i."""
    names = [f"z{j}" for j in range(len(weights))]
    text = combination([float(weight) for weight in weights], names)
    return text.replace("[i]", f"[{offset} + i]")
