"""The claims of Sariyildiz et al. (2011), each as a share of cases that bear it out.

A case is one way to fill in what the paper leaves open, see `choices`, or one method around one
singular posture.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from manip_dyn.studies.report.claims import Claim, Evidence
from manip_dyn.studies.sariyildiz2011.cases import COARSE, FINE, Case, Run, Varied

GROWS, LARGE, BOUNDED, RECOVERED = 2.0, 1e-3, 0.05, 1e-6
"""Near a singularity: errors grow by this factor; errors in m that are large, bounded, gone."""
SIMILAR = 1.5
"""Costs are similar within this factor."""
Singular = Sequence[tuple[Case, Run]]


def claims(
    found: Sequence[Varied],
    costs: Mapping[str, float],
    singular: Singular,
    printed: Mapping[str, float],
) -> list[Claim]:
    """Return all claims, each in its readings.

    Args:
        found: The runs under all choices.
        costs: CPU time of a step per method, s.
        singular: The runs around singular postures.
        printed: Position errors at 100 ms, m, per method.
    """
    coarse = [each for each in found if each.step == COARSE]
    fine = [each for each in found if each.step == FINE]
    plain = [(c, r) for c, r in singular if c.inverse == "pseudo_inverse" and not c.limited]
    readings: list[tuple[str, str, Iterable[Evidence]]] = [
        (
            "euler at 1 s",
            "Euler's error at 1 s, m; the path is lost or errors grow",
            _states(coarse, "rk1", False),
        ),
        (
            "euler at 1 s",
            "Euler's error / that of Euler trapezoidal, 1 s; only the first is unstable",
            _apart(coarse),
        ),
        (
            "trapezoidal at 1 s",
            "its error at 1 s, m; path not lost, errors do not grow",
            _states(coarse, "euler_trapezoidal", True),
        ),
        (
            "best and worst",
            "least error of the other methods / that of rk4, 1 s; above 1",
            _best(coarse),
        ),
        ("best and worst", "the same at 100 ms", _best(fine)),
        (
            "best and worst",
            "Euler's error / largest error of the others, 1 s; above 1",
            _worst(coarse),
        ),
        ("best and worst", "the same at 100 ms", _worst(fine)),
        ("moulton", "error of ab4 / abm4, 1 s; above 1", _ratio(coarse, "ab4", "abm4")),
        ("moulton", "the same at 100 ms", _ratio(fine, "ab4", "abm4")),
        *_printed_readings(fine, printed),
        *_cost_readings(costs),
        (
            "singularity",
            "error near a singular posture / before, no damping, no limits; above 2",
            _growth(plain),
        ),
        (
            "rk4 near singularity",
            "least error of the others / that of rk4, no damping; above 1",
            _best_near(plain),
        ),
        *_damping_readings(singular),
    ]
    return [Claim(key, measure, tuple(cases)) for key, measure, cases in readings]


# ------------------------------------------------------------------------ accuracy
def _states(found: Sequence[Varied], method: str, stable: bool) -> Iterable[Evidence]:
    for each in found:
        run = each.runs[method]
        yield Evidence(str(each.choice), run.steady, run.stable == stable)


def _apart(found: Sequence[Varied]) -> Iterable[Evidence]:
    for each in found:
        euler, trapezoidal = each.runs["rk1"], each.runs["euler_trapezoidal"]
        holds = trapezoidal.stable and not euler.stable
        yield Evidence(str(each.choice), euler.steady / trapezoidal.steady, holds)


def _best(found: Sequence[Varied]) -> Iterable[Evidence]:
    for each in found:
        others = min(run.steady for name, run in each.runs.items() if name != "rk4")
        ratio = others / each.runs["rk4"].steady
        yield Evidence(str(each.choice), ratio, ratio > 1.0)


def _worst(found: Sequence[Varied]) -> Iterable[Evidence]:
    for each in found:
        ratio = each.runs["rk1"].steady / max(
            run.steady for name, run in each.runs.items() if name != "rk1"
        )
        yield Evidence(str(each.choice), ratio, ratio > 1.0)


def _ratio(found: Sequence[Varied], worse: str, better: str) -> Iterable[Evidence]:
    for each in found:
        ratio = each.runs[worse].steady / each.runs[better].steady
        yield Evidence(str(each.choice), ratio, ratio > 1.0)


def _printed_readings(
    found: Sequence[Varied], printed: Mapping[str, float]
) -> list[tuple[str, str, Iterable[Evidence]]]:
    """Return the readings of the printed errors: later laps, and the first from on the path."""
    readings: list[tuple[str, str, Iterable[Evidence]]] = []
    for method, error in printed.items():
        runs = [(each.choice, each.runs[method]) for each in found]
        later = [Evidence(str(c), run.steady, run.steady <= error) for c, run in runs]
        first = [
            Evidence(str(c), run.first, run.first <= error) for c, run in runs if not c.offset
        ]
        words = f"error of {method} at 100 ms"
        readings.append(("printed errors", f"{words}, m; at most {error:g}", later))
        readings.append(("printed errors", f"{words}, first lap, m; at most {error:g}", first))
    return readings


# ---------------------------------------------------------------------------- cost
def _cost_readings(costs: Mapping[str, float]) -> list[tuple[str, str, Iterable[Evidence]]]:
    euler, rk4 = costs["rk1"], costs["rk4"]
    above = [_compared(m, seconds / euler, 1.0) for m, seconds in costs.items() if m != "rk1"]
    below = [_compared(m, rk4 / seconds, 1.0) for m, seconds in costs.items() if m != "rk4"]
    spread = rk4 / euler
    return [
        ("cost", "CPU time of a step / that of Euler; above 1", above),
        ("cost", "CPU time of a step of rk4 / that of the method; above 1", below),
        (
            "cost is similar",
            f"CPU time of a step, rk4 / Euler; below {SIMILAR:g}",
            [Evidence("rk4 and rk1", spread, spread < SIMILAR)],
        ),
    ]


def _compared(who: str, ratio: float, least: float) -> Evidence:
    return Evidence(who, ratio, ratio > least)


# ------------------------------------------------------------------- singular postures
def _growth(found: Singular) -> Iterable[Evidence]:
    for case, run in found:
        ratio = run.near / run.before
        if np.isfinite(ratio):
            yield Evidence(_who(case), ratio, ratio > GROWS)


def _best_near(found: Singular) -> Iterable[Evidence]:
    groups: dict[str, dict[str, float]] = {}
    for case, run in found:
        groups.setdefault(f"{case.circle}, K {case.gain:g}", {})[case.method] = run.near
    for who, errors in groups.items():
        ratio = min(e for m, e in errors.items() if m != "rk4") / errors["rk4"]
        yield Evidence(who, ratio, ratio > 1.0)


def _damping_readings(found: Singular) -> list[tuple[str, str, Iterable[Evidence]]]:
    plain = {c: r for c, r in found if c.inverse == "pseudo_inverse" and not c.limited}
    damped = [(c, r) for c, r in found if c.inverse != "pseudo_inverse" and not c.limited]
    ratios = [
        (_who(c), (without := plain[c._replace(inverse="pseudo_inverse")].near) / r.near, without)
        for c, r in damped
    ]
    much, little = (
        [_compared(who, ratio, 1.0) for who, ratio, error in ratios if (error > LARGE) == large]
        for large in (True, False)
    )
    bounded = [Evidence(_who(c), r.near, r.near <= BOUNDED) for c, r in damped]
    slow = [Evidence(_who(c), r.speed, r.speed <= 1.0) for c, r in damped]
    compared = "error near a singular posture without / with damping, where it is"
    readings: list[tuple[str, str, Iterable[Evidence]]] = [
        ("damping", f"{compared} above {LARGE:g} m without; above 1", much),
        ("damping", f"{compared} at most {LARGE:g} m without; above 1", little),
        (
            "damping",
            f"error near it with damping, m; at most {BOUNDED:g}",
            bounded,
        ),
        ("damping", "largest joint speed with damping / the PA-10's limit; at most 1", slow),
    ]
    for inverse in dict.fromkeys(c.inverse for c, _ in damped):
        measure = f"error of rk4 at the end of the circle, {inverse}, m; at most {RECOVERED:g}"
        mine = [(c, r) for c, r in damped if c.method == "rk4" and c.inverse == inverse]
        back = [Evidence(_who(c), r.last, r.last <= RECOVERED) for c, r in mine]
        readings.append(("damping", measure, back))
    return readings


def _who(case: Case) -> str:
    text = f"{case.circle}, K {case.gain:g}, {case.method}"
    return text if case.inverse == "pseudo_inverse" else f"{text}, {case.inverse}"
