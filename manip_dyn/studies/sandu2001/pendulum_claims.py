"""Claims about the stiff pendulum and inexact Jacobians, as fractions of cases.

Most cases are runs with a tolerance and the step control of the paper (eq. 13 to 16), in joint or
Cartesian coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.multibody.model.linearization import linearize
from manip_dyn.studies.report.claims import Claim, Evidence
from manip_dyn.studies.sandu2001.findings import (
    CLOSE,
    PUBLISHED,
    ErrorRow,
    FitRow,
    MatrixRow,
    Point,
)
from manip_dyn.studies.sandu2001.pendulum import RUNS, Run, cartesian_pendulum, first_link

QUANTITIES = {"table1": "angle", "table2": "rate"}
ORDER = 10.0**0.5
"""Factor within which a number has the order of magnitude of a power of ten."""
ACCURATE, NEAR_FOUR, NEAR_TWO, SMALL = 2.0, 3.5, 1.75, 0.01
"""Factor within which errors count as equal; smallest orders that count as 4 and as 2; fraction
that counts as small."""
STILL = 1e-6
"""Tolerance of an equilibrium, rad."""
DOWN = 1.5 * math.pi
SAME_TIME, MOST_OVER_MEAN = 0.02, 4.0
"""Tolerance of t*, s: 1 % of the motion. Largest ratio of consistent largest and mean errors."""
TEN = 10.0
Errors = Sequence[ErrorRow]
Matrices = Sequence[MatrixRow]


def claims(
    errors: Errors,
    matrices: Matrices,
    fit: Sequence[FitRow],
    squeezer: Sequence[Point],
) -> list[Claim]:
    """Return the claims that depend on the pendulum tables and the squeezing mechanism."""
    errors = [row for row in errors if RUNS[row.run][1] in ("paper", "scaled")]
    plain = [row for row in errors if RUNS[row.run][1] == "paper"]
    angles, rates = ([row for row in plain if row.table == table] for table in QUANTITIES)
    measures: list[tuple[str, str, Iterable[Evidence]]] = [
        (
            "order",
            "order (decades of error per decade of steps; for the squeezer, of evaluations), "
            f"loosest to tightest tolerance; at least {NEAR_FOUR:g}",
            [*_orders(plain), *_order_of_squeezer(squeezer)],
        ),
        (
            "exact jacobian",
            "error ratio of the Rosenbrock-Nystrom method, inexact / exact Jacobian; above "
            f"{ACCURATE:g}",
            _inexact(matrices, "rosenbrock_nystrom", order_holds=False),
        ),
        (
            "exact jacobian",
            f"ratio of steps of this method, inexact / exact Jacobian; above {ACCURATE:g}",
            _more_steps(matrices, "rosenbrock_nystrom"),
        ),
        (
            "w-method",
            f"error ratio of the W-method, inexact / exact Jacobian; at most {ACCURATE:g}",
            _inexact(matrices, "rosenbrock_w", order_holds=True),
        ),
        (
            "w-method",
            "order on the stiff pendulum (decades of error per decade of steps), loosest to "
            f"tightest tolerance; at least {NEAR_TWO:g}",
            _orders_of_w(matrices),
        ),
        (
            "range",
            f"angle or rate at t*, fitted pendulum / printed; within {CLOSE:.0%}",
            _fitted(fit),
        ),
        (
            "magnitude",
            "largest error of the angle / tolerance; between 1/10 and 10",
            [_ratio(row, row.max_error / row.tolerance, 1.0 / TEN, TEN) for row in angles],
        ),
        (
            "rate's magnitude",
            f"largest error of the rate / ten tolerances; at most {ORDER:.2g}",
            [_ratio(row, row.max_error / (TEN * row.tolerance), 0.0, ORDER) for row in rates],
        ),
        *(
            (
                "met",
                f"largest error of the {name} / tolerance of eq. 13 at that time; at most 1",
                [_ratio(row, row.max_error / allowed(row), 0.0, 1.0) for row in rows],
            )
            for name, rows in zip(QUANTITIES.values(), (angles, rates), strict=True)
        ),
        *(
            (
                "conservative",
                f"largest error of the {name} / tolerance of eq. 13 at the largest printed "
                "value; at most 1",
                [_ratio(row, row.max_error / most_allowed(row), 0.0, 1.0) for row in rows],
            )
            for name, rows in zip(QUANTITIES.values(), (angles, rates), strict=True)
        ),
        (
            "conservative",
            "ratio of error / tolerance, tightest / loosest tolerance; below 1",
            _more_stringent(plain),
        ),
        (
            "scaled",
            "ratio of steps, scaled / plain estimates; below 1",
            _scaled(errors),
        ),
        (
            "scaled",
            "ratio of distances (decades) between the largest error of the angle and the "
            "tolerance of eq. 13 at that time, scaled / plain estimates; below 1",
            _nearer(errors),
        ),
        *(
            (
                "printed errors",
                f"largest error of the {name} / printed one, corrected for the misprint; at "
                "most 1",
                [_ratio(row, row.max_error / row.corrected_max, 0.0, 1.0) for row in rows],
            )
            for name, rows in zip(QUANTITIES.values(), (angles, rates), strict=True)
        ),
        *(
            (
                "printed means",
                f"mean error of the {name} / printed one; at most 1",
                [_ratio(row, row.mean_error / row.published_mean, 0.0, 1.0) for row in rows],
            )
            for name, rows in zip(QUANTITIES.values(), (angles, rates), strict=True)
        ),
        *(
            (
                "t star",
                f"time of the largest error of the {name} minus the printed one, s; within "
                f"{SAME_TIME:g}",
                [
                    _ratio(row, row.at_s - row.published_at_s, -SAME_TIME, SAME_TIME)
                    for row in rows
                ],
            )
            for name, rows in zip(QUANTITIES.values(), (angles, rates), strict=True)
        ),
        (
            "misprint",
            f"printed largest error / printed mean error; at most {MOST_OVER_MEAN:g}",
            _over_means(),
        ),
        ("relative errors", *_by_relative_errors()),
    ]
    return [Claim(key, measure, tuple(cases)) for key, measure, cases in measures]


def motion_claims(exact: Run) -> list[Claim]:
    """Return the claims that depend on the reference motion and the mechanism."""
    pendulum = cartesian_pendulum()
    fastest = linearize(pendulum).eigenvalues[0]
    real, order = float(fastest.real), PUBLISHED["pendulum_eigenvalue"]
    rest = pendulum.equilibrium()
    (angle, _), *_ = first_link(rest.q[np.newaxis], np.zeros((1, pendulum.size)))
    off, stable = float(abs(angle - DOWN)), bool(rest.eigenvalues.real.max() < 0.0)
    measures: list[tuple[str, str, Iterable[Evidence]]] = [
        (
            "consistent",
            "printed minus exact position or velocity of body 2; at most a unit of the last digit",
            _consistent(pendulum.q0[7:9], pendulum.v0[7:9]),
        ),
        (
            "pendulum's eigenvalue",
            f"real part / -10E5 taken literally, {order:g}; within a factor of {ORDER:.2g}",
            [_of_order(real / order)],
        ),
        (
            "pendulum's eigenvalue",
            f"real part / {order / TEN:g}; within a factor of {ORDER:.2g}",
            [_of_order(TEN * real / order)],
        ),
        (
            "pendulum's eigenvalue",
            f"ratio of imaginary to real part; at most {SMALL:g}",
            [_at_most("at the start", float(abs(fastest.imag / real)), SMALL)],
        ),
        (
            "rests",
            f"angle of the equilibrium minus 3 pi / 2, rad; at most {STILL:g}, and stable",
            [Evidence("equilibrium", off, off <= STILL and stable)],
        ),
        (
            "rests",
            "ratio of distances from 3 pi / 2, at a reversal / at the previous reversal; below 1",
            _swings(exact),
        ),
        (
            "range",
            "end of the range, exact minus printed, rad or rad/s; at most 1/2, since printed "
            "numbers are integers",
            _range(exact),
        ),
    ]
    return [Claim(key, measure, tuple(cases)) for key, measure, cases in measures]


def allowed(row: ErrorRow) -> float:
    """Return the tolerance of eq. 13 at the time of the largest error, in units of the error.

    It is Atol + |E*| Rtol, where Atol and Rtol are the tolerance of the run, and |E*| is the
    magnitude of the reference.
    """
    return row.tolerance * (1.0 + 100.0 * row.max_error / row.rel_percent)


def most_allowed(row: ErrorRow) -> float:
    """Return the tolerance of eq. 13 at the largest angle or rate in figure 2."""
    ends = PUBLISHED["angle_range" if row.table == "table1" else "rate_range"]
    return row.tolerance * (1.0 + max(map(abs, ends)))


# ------------------------------------------------------------------------- tables 1 and 2
def _ratio(row: ErrorRow, number: float, least: float, most: float) -> Evidence:
    return Evidence(f"{row.run}, {row.tolerance:g}", number, least <= number <= most)


def _ends(errors: Errors) -> Iterable[tuple[str, ErrorRow, ErrorRow]]:
    """Yield a name and the rows with the loosest and the tightest tolerance of each run."""
    for table, name in dict.fromkeys((row.table, row.run) for row in errors):
        rows = sorted(
            (row for row in errors if (row.table, row.run) == (table, name)),
            key=lambda row: -row.tolerance,
        )
        if len(rows) > 1:
            yield f"{QUANTITIES[table]}, {name}", rows[0], rows[-1]


def _order(loose: float, tight: float, few: float, many: float) -> float:
    """Return the order of the error: decades of error per decade of steps."""
    return math.log(loose / tight) / math.log(many / few)


def _orders(errors: Errors) -> Iterable[Evidence]:
    for name, loose, tight in _ends(errors):
        order = _order(loose.max_error, tight.max_error, loose.steps, tight.steps)
        yield Evidence(name, order, order >= NEAR_FOUR)


def _order_of_squeezer(points: Sequence[Point]) -> Iterable[Evidence]:
    mine = [point for point in points if point.solver == "rosenbrock_nystrom"]
    if len(mine) > 1:
        ends = (mine[0].error, mine[-1].error, mine[0].evaluations, mine[-1].evaluations)
        yield Evidence("squeezer", _order(*ends), _order(*ends) >= NEAR_FOUR)


def _more_stringent(errors: Errors) -> Iterable[Evidence]:
    for name, loose, tight in _ends(errors):
        ratio = tight.max_error / tight.tolerance / (loose.max_error / loose.tolerance)
        yield Evidence(name, ratio, ratio < 1.0)


def _scaled(errors: Errors) -> Iterable[Evidence]:
    for plain, scaled in _scaled_pairs(errors):
        ratio = scaled.steps / plain.steps
        yield Evidence(f"{plain.run}, {plain.tolerance:g}", ratio, ratio < 1.0)


def _nearer(errors: Errors) -> Iterable[Evidence]:
    for pair in _scaled_pairs(errors):
        plain, scaled = (abs(math.log10(row.max_error / allowed(row))) for row in pair)
        name = f"{pair[0].run}, {pair[0].tolerance:g}"
        yield Evidence(name, scaled / plain, scaled < plain)


def _scaled_pairs(errors: Errors) -> Iterable[tuple[ErrorRow, ErrorRow]]:
    """Yield pairs of rows for the angle, with plain and with scaled estimates."""
    rows = {(row.run, row.tolerance): row for row in errors if row.table == "table1"}
    for (name, tolerance), row in rows.items():
        base, _, kind = name.partition(", ")
        if kind == "scaled" and (base, tolerance) in rows:
            yield rows[base, tolerance], row


def _by_relative_errors() -> tuple[str, list[Evidence]]:
    """Return the measure and the cases for the magnitudes that the printed errors imply."""
    judged = []
    for kind, name in (("position", "angle"), ("velocity", "rate")):
        ends = PUBLISHED[f"{name}_range"]
        least, most = (min(ends), max(ends)) if min(ends) > 0 else (0, max(map(abs, ends)))
        rows = zip(PUBLISHED["tolerances"], PUBLISHED[kind], PUBLISHED[f"{kind}_rel"], strict=True)
        for tolerance, error, percent in rows:
            size = 100.0 * error / percent
            holds = least - 0.5 <= size <= most + 0.5
            judged.append(Evidence(f"{name}, {tolerance:g}", size, holds))
    measure = "printed error / printed RelErr, rad or rad/s; in the printed range within 1/2"
    return measure, judged


def _over_means() -> Iterable[Evidence]:
    """Compare the largest printed errors with the mean ones in the same rows."""
    for kind, name in (("position", "angle"), ("velocity", "rate")):
        rows = zip(
            PUBLISHED["tolerances"], PUBLISHED[kind], PUBLISHED[f"{kind}_mean"], strict=True
        )
        for tolerance, largest, mean in rows:
            ratio = largest / mean
            yield Evidence(f"{name}, {tolerance:g}", ratio, ratio <= MOST_OVER_MEAN)


# ----------------------------------------------------------------------------- Jacobians
def _pairs(matrices: Matrices, method: str) -> Iterable[tuple[MatrixRow, MatrixRow]]:
    """Yield pairs of rows with the exact and an inexact Jacobian for equal tolerances."""
    mine = [row for row in matrices if row.method == method]
    exact = {row.tolerance: row for row in mine if row.jacobian == "exact"}
    for row in mine:
        if row.jacobian != "exact" and row.tolerance in exact:
            yield exact[row.tolerance], row


def _inexact(matrices: Matrices, method: str, order_holds: bool) -> Iterable[Evidence]:
    """Compare errors with inexact and exact Jacobians. Failed runs count as inaccurate."""
    for exact, row in _pairs(matrices, method):
        for name in ("angle", "rate"):
            ratio = getattr(row, f"{name}_error") / getattr(exact, f"{name}_error")
            ratio = ratio if math.isfinite(ratio) else math.inf
            name = f"{name}, {row.jacobian}, {row.tolerance:g}"
            yield Evidence(name, ratio, (ratio <= ACCURATE) == order_holds)


def _more_steps(matrices: Matrices, method: str) -> Iterable[Evidence]:
    for exact, row in _pairs(matrices, method):
        ratio = row.steps / exact.steps
        yield Evidence(f"{row.jacobian}, {row.tolerance:g}", ratio, ratio > ACCURATE)


def _orders_of_w(matrices: Matrices) -> Iterable[Evidence]:
    mine = [row for row in matrices if row.method == "rosenbrock_w"]
    for jacobian in dict.fromkeys(row.jacobian for row in mine):
        rows = [row for row in mine if row.jacobian == jacobian and row.angle_error > 0.0]
        if len(rows) > 1:
            first, last = rows[0], rows[-1]
            for name in ("angle", "rate"):
                loose, tight = (getattr(row, f"{name}_error") for row in (first, last))
                order = _order(loose, tight, first.steps, last.steps)
                yield Evidence(f"{name}, {jacobian}", order, order >= NEAR_TWO)


# ---------------------------------------------------------------------------- the motion
def _fitted(fit: Sequence[FitRow]) -> Iterable[Evidence]:
    for row in fit:
        if row.status in ("close", "differs"):
            name = f"{row.quantity} at {row.at_s:.3g} s"
            yield Evidence(name, row.fitted / row.published, row.status == "close")


def _consistent(position: Vector, velocity: Vector) -> Iterable[Evidence]:
    for (name, text), value in zip(
        PUBLISHED["start"].items(), (*position, *velocity), strict=True
    ):
        unit = 10.0 ** -len(text.partition(".")[2])
        off = float(abs(float(text) - value))
        yield Evidence(name, off, off <= unit)


def _of_order(ratio: float) -> Evidence:
    return Evidence("at the start", ratio, 1.0 / ORDER <= ratio <= ORDER)


def _at_most(name: str, number: float, most: float) -> Evidence:
    return Evidence(name, number, number <= most)


def _swings(exact: Run) -> Iterable[Evidence]:
    """Compare the distances from 3 pi / 2 at consecutive reversals of the motion."""
    rate = exact.states[:, 1]
    turns = np.flatnonzero(rate[1:] * rate[:-1] < 0.0)
    far = np.abs(exact.states[turns, 0] - DOWN)
    for turn, ratio in zip(turns[1:], far[1:] / far[:-1], strict=True):
        yield Evidence(f"reversal at {exact.t[turn]:.2f} s", float(ratio), bool(ratio < 1.0))


def _range(exact: Run) -> Iterable[Evidence]:
    low, high = exact.states.min(axis=0), exact.states.max(axis=0)
    for i, name in enumerate(("angle", "rate")):
        for word, value, printed in zip(
            ("least", "largest"), (low[i], high[i]), PUBLISHED[f"{name}_range"], strict=True
        ):
            off = float(value - printed)
            yield Evidence(f"{word} {name}", off, abs(off) <= 0.5)
