"""Findings of the study of Sariyildiz et al. (2011): claims, tables and their presentation.

Each claim is judged by the fraction of cases that support it. Most cases are combinations of the
parameters that the paper leaves open (see `choices`), or runs through a singular posture.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manip_dyn.studies.report.charts import Chart
from manip_dyn.studies.report.claims import (
    AMPLIFIED,
    TIME_ERROR,
    Claim,
    Evidence,
    claims_content,
    claims_table,
    claims_text,
    with_alternatives,
)
from manip_dyn.studies.report.findings import Findings
from manip_dyn.studies.report.tables import Table, columns, number
from manip_dyn.studies.sariyildiz2011.runs import COARSE, FINE, Case, Run, Varied

GROWS, LARGE, BOUNDED, RECOVERED = 2.0, 1e-3, 0.05, 1e-6
"""Limits near a singularity: factor of growth; large, bounded and recovered errors (m)."""
SMOOTH = 0.1
"""Largest relative change of a smooth joint velocity in 100 ms. The tool turns by 0.02 rad."""
SIMILAR = 1.5
"""Ratio below which costs count as similar."""
ABOUT, AS_POOR, GOOD = 10.0**0.5, 10.0, 1e-4
"""Factor within which a number is about a printed power of ten; factor within which accuracies are
equally poor; satisfactory error (m). The paper has no number for the last one; the chosen value is
1/5000 of the radius."""
WITH_FEEDBACK, STEADY = 0.2, 1.01
"""Smallest gain for which drift is judged (1/s); largest growth per lap without drift."""
Ratios = Sequence[tuple[str, float]]
"""Pairs of a case name and a ratio."""
Singular = Sequence[tuple[Case, Run]]


def claims(
    varied: Sequence[Varied],
    costs: Mapping[str, float],
    singular: Singular,
    printed: Mapping[str, float],
    evaluations: Mapping[str, float],
    cheaper: Mapping[float, Ratios],
    low_starts: Mapping[float, Ratios],
    smooth: Ratios,
) -> list[Claim]:
    """Return all claims, with one entry per measure.

    Args:
        varied: Runs for all choices.
        costs: CPU time of a step by method, s.
        singular: Runs through singular postures.
        printed: Printed position errors at 100 ms by method, m.
        evaluations: Evaluations per step by method.
        cheaper: Ratios of evaluations of Runge-Kutta to Adams methods, by error (m).
        low_starts: Error ratios of ab4 to abm4, both started by lower orders, by step (s).
        smooth: Largest relative changes of joint velocities between samples, by circle.
    """
    coarse = [case for case in varied if case.step == COARSE]
    fine = [case for case in varied if case.step == FINE]
    plain = [(c, r) for c, r in singular if c.inverse == "pseudo_inverse" and not c.limited]
    measures: list[tuple[str, str, Iterable[Evidence]]] = [
        (
            "euler at 1 s",
            "Euler's error at 1 s, m; the path is lost or errors grow",
            _states(coarse, "rk1", False),
        ),
        (
            "euler at 1 s",
            "error ratio, Euler / Euler trapezoidal, 1 s; only Euler is unstable",
            _apart(coarse),
        ),
        (
            "trapezoidal at 1 s",
            "error of Euler trapezoidal at 1 s, m; the path is not lost and errors do not grow",
            _states(coarse, "euler_trapezoidal", True),
        ),
        (
            "best and worst",
            "error ratio, best other method / rk4, 1 s; above 1",
            _best(coarse),
        ),
        ("best and worst", "error ratio, best other method / rk4, 100 ms; above 1", _best(fine)),
        (
            "best and worst",
            "error ratio, Euler / worst other method, 1 s; above 1",
            _worst(coarse),
        ),
        (
            "best and worst",
            "error ratio, Euler / worst other method, 100 ms; above 1",
            _worst(fine),
        ),
        (
            "trapezoidal is poor",
            f"error ratio, Euler / Euler trapezoidal, 1 s; at most {AS_POOR:g}",
            _as_poor(coarse),
        ),
        (
            "trapezoidal is poor",
            f"error ratio, Euler / Euler trapezoidal, 100 ms; at most {AS_POOR:g}",
            _as_poor(fine),
        ),
        ("moulton", "error ratio, ab4 / abm4, 1 s; above 1", _ratio(coarse, "ab4", "abm4")),
        ("moulton", "error ratio, ab4 / abm4, 100 ms; above 1", _ratio(fine, "ab4", "abm4")),
        (
            "moulton",
            "error ratio, ab4 / abm4, both started by lower orders, 1 s; above 1",
            _above(low_starts[COARSE]),
        ),
        (
            "moulton",
            "error ratio, ab4 / abm4, both started by lower orders, 100 ms; above 1",
            _above(low_starts[FINE]),
        ),
        (
            "satisfactory",
            f"largest error of rk2, rk4, ab4 and abm4 at 100 ms, m; at most {GOOD:g}",
            _satisfactory(fine),
        ),
        (
            "tracked",
            f"error of rk4 at 100 ms, m; at most {GOOD:g}",
            [Evidence(str(c.choice), e, e <= GOOD) for c in fine for e in (c.runs["rk4"].steady,)],
        ),
        (
            "smooth",
            "change of a joint velocity between two samples of 100 ms / largest speed of this "
            f"joint; at most {SMOOTH:g}",
            [Evidence(name, ratio, ratio <= SMOOTH) for name, ratio in smooth],
        ),
        *_printed_measures(fine, printed),
        *_evaluation_measures(evaluations),
        *(
            (
                "adams is efficient",
                f"ratio of evaluations for an error of {error:g} m, better of rk2 and rk4 / "
                "better of ab4 and abm4; above 1",
                _above(ratios),
            )
            for error, ratios in cheaper.items()
        ),
        *(
            (
                "long steps",
                f"ratio of evaluations for an error of {error:g} m, better of rk2 and rk4 / "
                "better of ab4 and abm4; at most 1",
                _at_most(ratios),
            )
            for error, ratios in cheaper.items()
        ),
        (
            "drift",
            "error ratio of Euler at 100 ms with K of at least 0.2 / s, last lap / previous lap; "
            "at most 1.01",
            _drift(fine),
        ),
        (
            "singularity",
            "error ratio, near a singular posture / before it, no damping, no limits; above 2",
            _growth(plain),
        ),
        (
            "rk4 near singularity",
            "error ratio, best other method / rk4, near a singular posture, no damping; above 1",
            _best_near(plain),
        ),
        *_damping_measures(singular),
    ]
    judged = [
        Claim(key, measure, tuple(cases), counted=AMPLIFIED if _amplifies(measure) else "")
        for key, measure, cases in measures
    ]
    return [*judged, *_cost_claims(costs)]


def _amplifies(measure: str) -> bool:
    """Return whether a measure includes unstable runs: steps of 1 s, or no damping."""
    return any(words in measure for words in ("1 s;", "at 1 s,", "no damping", "without damping"))


# ------------------------------------------------------------------------ accuracy
def _states(varied: Sequence[Varied], method: str, stable: bool) -> Iterable[Evidence]:
    for case in varied:
        run = case.runs[method]
        yield Evidence(str(case.choice), run.steady, run.stable == stable)


def _apart(varied: Sequence[Varied]) -> Iterable[Evidence]:
    for case in varied:
        euler, trapezoidal = case.runs["rk1"], case.runs["euler_trapezoidal"]
        holds = trapezoidal.stable and not euler.stable
        yield Evidence(str(case.choice), euler.steady / trapezoidal.steady, holds)


def _best(varied: Sequence[Varied]) -> Iterable[Evidence]:
    for case in varied:
        others = min(run.steady for name, run in case.runs.items() if name != "rk4")
        ratio = others / case.runs["rk4"].steady
        yield Evidence(str(case.choice), ratio, ratio > 1.0)


def _worst(varied: Sequence[Varied]) -> Iterable[Evidence]:
    for case in varied:
        ratio = case.runs["rk1"].steady / max(
            run.steady for name, run in case.runs.items() if name != "rk1"
        )
        yield Evidence(str(case.choice), ratio, ratio > 1.0)


def _as_poor(varied: Sequence[Varied]) -> Iterable[Evidence]:
    for case in varied:
        ratio = case.runs["rk1"].steady / case.runs["euler_trapezoidal"].steady
        yield Evidence(str(case.choice), ratio, ratio <= AS_POOR)


def _satisfactory(varied: Sequence[Varied]) -> Iterable[Evidence]:
    for case in varied:
        error = max(case.runs[method].steady for method in ("rk2", "rk4", "ab4", "abm4"))
        yield Evidence(str(case.choice), error, error <= GOOD)


def _drift(varied: Sequence[Varied]) -> Iterable[Evidence]:
    for case in varied:
        if case.choice.gain >= WITH_FEEDBACK:
            growth = case.runs["rk1"].growth
            yield Evidence(str(case.choice), growth, growth <= STEADY)


def _above(ratios: Ratios) -> Iterable[Evidence]:
    return (Evidence(name, ratio, ratio > 1.0) for name, ratio in ratios)


def _at_most(ratios: Ratios) -> Iterable[Evidence]:
    return (Evidence(name, ratio, ratio <= 1.0) for name, ratio in ratios)


def _ratio(varied: Sequence[Varied], worse: str, better: str) -> Iterable[Evidence]:
    for case in varied:
        ratio = case.runs[worse].steady / case.runs[better].steady
        yield Evidence(str(case.choice), ratio, ratio > 1.0)


def _printed_measures(
    varied: Sequence[Varied], printed: Mapping[str, float]
) -> list[tuple[str, str, Iterable[Evidence]]]:
    """Return the measures of the printed errors, for the first lap and for later laps."""
    measures: list[tuple[str, str, Iterable[Evidence]]] = []
    for method, error in printed.items():
        runs = [(case.choice, case.runs[method]) for case in varied]
        later = [Evidence(str(c), run.steady, run.steady <= error) for c, run in runs]
        first = [
            Evidence(str(c), run.first, run.first <= error) for c, run in runs if not c.offset
        ]
        words = f"error of {method} at 100 ms"
        near = f"within a factor of {ABOUT:.2g} of {error:g}"
        about = [case._replace(holds=_about(case.number, error)) for case in later]
        started = [case._replace(holds=_about(case.number, error)) for case in first]
        measures.append(("printed errors", f"{words}, m; {near}", about))
        measures.append(("printed errors", f"{words}, first lap, m; {near}", started))
        measures.append(("printed errors", f"{words}, m; at most {error:g}", later))
        measures.append(("printed errors", f"{words}, first lap, m; at most {error:g}", first))
    return measures


# ---------------------------------------------------------------------------- cost
def _about(number: float, printed: float) -> bool:
    return printed / ABOUT <= number <= printed * ABOUT


def _evaluation_measures(
    evaluations: Mapping[str, float],
) -> list[tuple[str, str, Iterable[Evidence]]]:
    """Return the measures of the cost of a step, in evaluations of the generalized inverse."""
    steady = {method: round(count, 1) for method, count in evaluations.items()}  # without start
    return _costs(steady, "ratio of evaluations per step")


def _cost_claims(costs: Mapping[str, float]) -> list[Claim]:
    """Return the claims about computing times, with the verdicts for scaled times."""
    claims = []
    for k, (key, measure, cases) in enumerate(_costs(costs, "ratio of CPU times per step")):
        others = []
        for off in (1.0 - TIME_ERROR, 1.0 + TIME_ERROR):
            shifted = dict(costs) | {"rk1": costs["rk1"] * off}
            others.append(Claim(*_costs(shifted, "")[k][:2], tuple(_costs(shifted, "")[k][2])))
        claims.append(with_alternatives(Claim(key, measure, tuple(cases)), others))
    return claims


def _costs(costs: Mapping[str, float], quantity: str) -> list[tuple[str, str, Iterable[Evidence]]]:
    euler, rk4 = costs["rk1"], costs["rk4"]
    above = [_compared(m, cost / euler, 1.0) for m, cost in costs.items() if m != "rk1"]
    below = [_compared(m, rk4 / cost, 1.0) for m, cost in costs.items() if m != "rk4"]
    spread = rk4 / euler
    return [
        ("cost", f"{quantity}, another method / Euler; above 1", above),
        ("cost", f"{quantity}, rk4 / another method; above 1", below),
        (
            "cost is similar",
            f"{quantity}, rk4 / Euler; below {SIMILAR:g}",
            [Evidence("rk4 and rk1", spread, spread < SIMILAR)],
        ),
    ]


def _compared(name: str, ratio: float, least: float) -> Evidence:
    return Evidence(name, ratio, ratio > least)


# ------------------------------------------------------------------- singular postures
def _growth(singular: Singular) -> Iterable[Evidence]:
    for case, run in singular:
        ratio = run.near / run.before
        if np.isfinite(ratio):
            yield Evidence(_name(case), ratio, ratio > GROWS)


def _best_near(singular: Singular) -> Iterable[Evidence]:
    groups: dict[str, dict[str, float]] = {}
    for case, run in singular:
        groups.setdefault(f"{case.circle}, K {case.gain:g}", {})[case.method] = run.near
    for name, errors in groups.items():
        ratio = min(e for m, e in errors.items() if m != "rk4") / errors["rk4"]
        yield Evidence(name, ratio, ratio > 1.0)


def _damping_measures(singular: Singular) -> list[tuple[str, str, Iterable[Evidence]]]:
    plain = {c: r for c, r in singular if c.inverse == "pseudo_inverse" and not c.limited}
    damped = [(c, r) for c, r in singular if c.inverse != "pseudo_inverse" and not c.limited]
    ratios = [
        (_name(c), (without := plain[c._replace(inverse="pseudo_inverse")].near) / r.near, without)
        for c, r in damped
    ]
    much, little = (
        [_compared(name, ratio, 1.0) for name, ratio, error in ratios if (error > LARGE) == large]
        for large in (True, False)
    )
    bounded = [Evidence(_name(c), r.near, r.near <= BOUNDED) for c, r in damped]
    slow = [Evidence(_name(c), r.speed, r.speed <= 1.0) for c, r in damped]
    compared = "error ratio, near a singular posture, without / with damping, for errors"
    measures: list[tuple[str, str, Iterable[Evidence]]] = [
        (
            "rk4 damped",
            "error ratio, Euler / rk4, near a singular posture with damping; above 1",
            _above(_euler_over_rk4(damped)),
        ),
        ("damping", f"{compared} above {LARGE:g} m without damping; above 1", much),
        ("damping", f"{compared} of at most {LARGE:g} m without damping; above 1", little),
        (
            "damping",
            f"error near a singular posture with damping, m; at most {BOUNDED:g}",
            bounded,
        ),
        ("damping", "largest joint speed with damping / the PA-10's limit; at most 1", slow),
    ]
    for inverse in dict.fromkeys(c.inverse for c, _ in damped):
        measure = f"error of rk4 at the end of the circle, {inverse}, m; at most {RECOVERED:g}"
        mine = [(c, r) for c, r in damped if c.method == "rk4" and c.inverse == inverse]
        back = [Evidence(_name(c), r.last, r.last <= RECOVERED) for c, r in mine]
        measures.append(("damping", measure, back))
    return measures


def _euler_over_rk4(damped: Singular) -> Ratios:
    """Return the error ratios of Euler to rk4 for equal cases."""
    errors = {case: run.near for case, run in damped}
    return [
        (_name(case), errors[case] / errors[case._replace(method="rk4")])
        for case in errors
        if case.method == "rk1" and case._replace(method="rk4") in errors
    ]


def _name(case: Case) -> str:
    text = f"{case.circle}, K {case.gain:g}, {case.method}"
    return text if case.inverse == "pseudo_inverse" else f"{text}, {case.inverse}"


# ---------------------------------------------------------------------------------- findings
PUBLISHED = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
LONG = 100
"""Number of rows above which a table is long."""
CLAIM_COLUMNS = {
    name: name
    for name in (
        "key",
        "measure",
        "number",
        "least",
        "most",
        "cases",
        "share",
        "status",
        "verdict",
        "holds",
        "exceptions",
    )
} | {"share": "fraction"}


@dataclass(frozen=True)
class Sariyildiz2011(Findings):
    """Findings of the study. Items that were not recomputed are empty.

    Attributes:
        setting: Commit, processor and versions of the run.
        charts: Charts of the figures.
        tables: Tables of computed numbers.
        claims: Claims of the paper with verdicts.
    """

    paper = "sariyildiz2011"
    published = PUBLISHED
    inputs = ("urdf/pa10.urdf", "urdf/pa10.yaml")

    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()

    def paragraphs(self) -> Iterable[str]:
        """Yield the tables and claims as paragraphs; without tables, summaries of the charts."""
        if not self.tables:
            yield from map(chart_text, self.charts)
        for table in self.tables:
            yield table_text(table, alone=len(self.tables) == 1)
        if self.claims:
            yield claims_text("claims", self.claims, PUBLISHED["claims"])

    def values(self) -> dict[str, Any]:
        """Return the findings as values for JSON."""
        return {
            "charts": [chart.content() for chart in self.charts],
            "tables": [table.content() for table in self.tables],
            "claims": claims_content(self.claims, CLAIM_COLUMNS, PUBLISHED["claims"]),
        }

    def csv_tables(self) -> Iterable[Table]:
        """Yield the points of each chart, the tables and the claims."""
        yield from (chart.table() for chart in self.charts)
        for table in {table.name: table for table in self.tables}.values():
            yield table._replace(name=f"{table.name}_table")
        if self.claims:
            yield claims_table(self.claims, CLAIM_COLUMNS)

    def page_tables(self) -> Iterable[Table]:
        """Return the tables that are short enough for a page."""
        unique = {table.name: table for table in self.tables}.values()
        return (table for table in unique if len(table.rows) <= LONG)

    def pictures(self) -> Iterable[Chart]:
        """Return the charts."""
        return self.charts


def chart_text(chart: Chart) -> str:
    """Format the first value of each line, the largest in magnitude and the last as text."""
    rows: list[tuple[str, ...]] = [("panel", "line", "first", "largest", "last")]
    for panel in chart.panels:
        for line in panel.lines:
            values = [y for y in line.y if y == y]
            if values:
                ends = (values[0], max(values, key=abs), values[-1])
                rows.append((panel.title, line.label, *(number(value, ".3g") for value in ends)))
    return f"{chart.name}: {chart.title}\n{columns(rows)}"


def table_text(table: Table, alone: bool) -> str:
    """Format a table as text. A long table is replaced by a hint unless it is `alone`."""
    if len(table.rows) > LONG and not alone:
        return f"{table.name}: {len(table.rows)} rows, see the item {table.name}, --json or --out"
    return table.text(_cell)


def _cell(value: Any) -> str:
    return number(value, ".2g") if isinstance(value, float) else str(value)
