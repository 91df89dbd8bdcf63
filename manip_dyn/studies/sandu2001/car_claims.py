"""Claims about the HMMWV: the car, and the steps and costs of both methods.

Most costs are counted in steps and evaluations, which do not depend on the load of the machine.
The positions of the struts and the height of the centre of mass of the chassis are not printed.
They are chosen such that the model has the printed eigenvalue and height.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.multibody.first_order import simulate_by_adams
from manip_dyn.multibody.model.hmmwv import hmmwv
from manip_dyn.multibody.model.linearization import linearize
from manip_dyn.multibody.simulation import MechanismMotion
from manip_dyn.studies.report.claims import (
    AT_THE_LIMIT,
    TIME_ERROR,
    Claim,
    Evidence,
    with_alternatives,
)
from manip_dyn.studies.sandu2001.findings import PUBLISHED, LeadRow, TimeRow

DURATIONS = (1, 2, 3, 4)
ALIKE, TWICE, STEADY, AT_REST = 0.1, 2.0, 0.001, 0.005
"""Relative difference of almost equal costs; factor within which costs are about as printed; range
of a steady height (m); tolerance of the printed height (m)."""
HEIGHT = "chassis height after 5 s minus the printed one, for which the model was chosen"
CHOSEN = ("real part, calibrated model", "model (chosen hits)")
"""Starts of the measures that compare a chosen parameter with the printed value."""
ALMOST_TWO_ORDERS = 10.0**1.5
EXPLICIT_LIMIT = 5.0
"""Product of step and eigenvalue above which common explicit one-step methods are unstable."""
STRINGENT = (1e-8, 1e-10)
"""Tolerances of the explicit method in addition to those of table 3."""
WINDOW = 0.1
"""Length of the intervals before and after a hit in which steps are compared, s. A wheel crosses
the bump in this time."""
Times = Sequence[TimeRow]
Motions = Mapping[str, MechanismMotion]


def claims(times: Times, leads: Sequence[LeadRow], motions: Motions) -> list[Claim]:
    """Return the claims that depend on tables 3 and 4 and on the motions of figure 5."""
    explicit, implicit = (
        [row for row in times if row.table == table] for table in ("table3", "table4")
    )
    whole = [row for row in implicit if row.duration_s == DURATIONS[-1]]
    least, most = PUBLISHED["explicit_step"]
    measures: list[tuple[str, str, Iterable[Evidence]]] = [
        (
            "three evaluations",
            "evaluations per step of figure 5, including rejected steps; at most 3",
            _evaluations(motions),
        ),
        (
            "settles",
            f"{HEIGHT}, m; at most {AT_REST:g}",
            _settled(motions),
        ),
        (
            "settles",
            f"range of the chassis height from 4 to 5 s, m; at most {STEADY:g}",
            _steady(motions),
        ),
        (
            "explicit steps",
            f"average step of Adams methods, s; between {least:g} and {most:g}",
            _steps(explicit, least, most),
        ),
        (
            "explicit cost",
            f"ratio of evaluations, a tolerance / the loosest tolerance; within {ALIKE:.0%}",
            _same_cost(explicit),
        ),
        (
            "no limit",
            "average step of table 4 over 4 s, times the printed dominant eigenvalue; above "
            f"{EXPLICIT_LIMIT:g}",
            [_beyond_stability(row) for row in whole],
        ),
        (
            "accuracy costs",
            "ratio of evaluations, a tolerance / ten times this tolerance; above 1",
            _dearer(implicit),
        ),
        (
            "accuracy costs",
            "growth from 1e-2 over 4 s, evaluations / printed times; within a factor of "
            f"{TWICE:g}",
            _grows_as_printed(whole),
        ),
        (
            "shrinks",
            f"mean step in the {WINDOW:g} s after a hit / before it; below 1",
            _shrinks(motions),
        ),
        (
            "grows",
            "mean step after 3 s / on the bump and between its hits (figure 5); above 1",
            _larger_steps(motions),
        ),
        (
            "grows",
            "ratio of steps, from 3 to 4 s / from 1 to 2 s (table 4); below 1",
            _fewer_steps(implicit),
        ),
        (
            "grows",
            "ratio of evaluations, from 2 to 4 s / from 0 to 2 s; at most the largest ratio of "
            f"the printed times, {_largest_fraction():.3f}",
            _late_costs(implicit),
        ),
    ]
    judged = [
        Claim(key, measure, tuple(cases), constructed=measure.startswith(HEIGHT))
        for key, measure, cases in measures
    ]
    return [*judged, *_lead_claims(leads)]


def car_claims(explicit_duration: float) -> list[Claim]:
    """Return the claims about the car, and about explicit runs with tight tolerances.

    Args:
        explicit_duration: Duration of the explicit runs, s.
    """
    car = hmmwv()
    fastest = linearize(car).eigenvalues[0]
    counts = {
        "bodies": len(car.bodies),
        "coordinates": car.size,
        "constraints": car.size - car.freedoms,
        "freedoms": car.freedoms,
    }
    ratio = float(fastest.real) / PUBLISHED["dominant_eigenvalue"]
    imaginary = float(abs(fastest.imag / fastest.real))
    hits = zip(("front", "rear"), car.switches[::2], PUBLISHED["hits"], strict=True)
    measures: list[tuple[str, str, Iterable[Evidence]]] = [
        (
            "car",
            "model minus printed; 0",
            [
                Evidence(name, count - PUBLISHED["car"][name], count == PUBLISHED["car"][name])
                for name, count in counts.items()
            ],
        ),
        (
            "car's eigenvalue",
            "real part, calibrated model / printed; within 1%",
            [Evidence("at the start", ratio, abs(ratio - 1.0) <= 0.01)],
        ),
        (
            "car's eigenvalue",
            "ratio of imaginary to real part; at most 0.01",
            [Evidence("at the start", imaginary, imaginary <= 0.01)],
        ),
        (
            "hits",
            "model (chosen hits) minus printed, s; at most 0.05",
            [Evidence(name, t - printed, abs(t - printed) <= 0.05) for name, t, printed in hits],
        ),
        (
            "explicit cost",
            f"ratio of steps, a stringent tolerance / 1e-2; within {ALIKE:.0%}",
            _stringent_steps(explicit_duration),
        ),
    ]
    return [
        Claim(
            key,
            measure,
            tuple(cases),
            counted=AT_THE_LIMIT if key == "explicit cost" else "",
            constructed=measure.startswith(CHOSEN),
        )
        for key, measure, cases in measures
    ]


# ------------------------------------------------------------------------------ figure 5
def _evaluations(motions: Motions) -> Iterable[Evidence]:
    for name, motion in motions.items():
        work = motion.statistics
        count = work.evaluations / (work.steps + work.failures)
        yield Evidence(f"control {name}", count, count <= 3.0)


def _settled(motions: Motions) -> Iterable[Evidence]:
    for name, motion in motions.items():
        off = float(motion.q[-1, 2]) - PUBLISHED["settled_height"]
        yield Evidence(f"control {name}", off, abs(off) <= AT_REST)


def _steady(motions: Motions) -> Iterable[Evidence]:
    for name, motion in motions.items():
        left = float(np.ptp(motion.q[motion.t >= DURATIONS[-1], 2]))
        yield Evidence(f"control {name}", left, left <= STEADY)


def _shrinks(motions: Motions) -> Iterable[Evidence]:
    for name, motion in motions.items():
        for hit in hmmwv().switches[::2]:
            before = mean_step(motion.t, hit - WINDOW, hit)
            ratio = mean_step(motion.t, hit, hit + WINDOW) / before
            yield Evidence(f"control {name}, {hit:.1f} s", ratio, ratio < 1.0)


def _larger_steps(motions: Motions) -> Iterable[Evidence]:
    first, *_, last = hmmwv().switches
    for name, motion in motions.items():
        late = mean_step(motion.t, DURATIONS[-2], float(motion.t[-1]))
        ratio = late / mean_step(motion.t, first, last)
        yield Evidence(f"control {name}", ratio, ratio > 1.0)


def mean_step(t: Vector, first: float, last: float) -> float:
    """Return the mean length (s) of the steps that end in (first, last], or NaN without steps."""
    inside = (t[1:] > first) & (t[1:] <= last)
    return float(np.diff(t)[inside].mean()) if inside.any() else float("nan")


# --------------------------------------------------------------------------- tables 3, 4
def _steps(rows: Times, least: float, most: float) -> Iterable[Evidence]:
    for row in rows:
        if row.duration_s == DURATIONS[-1]:
            step = row.duration_s / row.steps
            yield Evidence(f"{row.tolerance:g}", step, least <= step <= most)


def _same_cost(rows: Times) -> Iterable[Evidence]:
    mine = [row for row in rows if row.duration_s == DURATIONS[-1]]
    for row in mine[1:]:
        ratio = row.evaluations / mine[0].evaluations
        yield Evidence(f"{row.tolerance:g}", ratio, abs(ratio - 1.0) <= ALIKE)


def _stringent_steps(duration: float) -> Iterable[Evidence]:
    car = hmmwv(hit=0.0)
    motions = [simulate_by_adams(car, duration, rtol=rtol) for rtol in (1e-2, *STRINGENT)]
    steps = [motion.statistics.steps for motion in motions]
    for tolerance, count in zip(STRINGENT, steps[1:], strict=True):
        ratio = count / steps[0]
        yield Evidence(f"{tolerance:g}", ratio, abs(ratio - 1.0) <= ALIKE)


def _beyond_stability(row: TimeRow) -> Evidence:
    reach = row.duration_s / row.steps * abs(PUBLISHED["dominant_eigenvalue"])
    return Evidence(_name(row), reach, reach > EXPLICIT_LIMIT)


def _dearer(rows: Times) -> Iterable[Evidence]:
    for control, duration in dict.fromkeys((row.control, row.duration_s) for row in rows):
        mine = [row for row in rows if (row.control, row.duration_s) == (control, duration)]
        for loose, tight in pairwise(sorted(mine, key=lambda row: -row.tolerance)):
            ratio = tight.evaluations / loose.evaluations
            name = f"{control}, {duration} s, {tight.tolerance:g}"
            yield Evidence(name, ratio, ratio > 1.0)


def _grows_as_printed(rows: Times) -> Iterable[Evidence]:
    loosest = {row.control: row for row in rows if row.tolerance == PUBLISHED["tolerances"][0]}
    for row in rows:
        first = loosest.get(row.control, row)
        if first is not row:
            ours, printed = (
                row.evaluations / first.evaluations,
                row.published_s / first.published_s,
            )
            holds = 1.0 / TWICE <= ours / printed <= TWICE
            yield Evidence(_name(row), ours / printed, holds)


def _late_costs(rows: Times) -> Iterable[Evidence]:
    for row, mine in _by_duration(rows):
        growth = mine[4].evaluations / mine[2].evaluations - 1.0
        yield Evidence(_name(row), growth, growth <= _largest_fraction())


def _largest_fraction() -> float:
    """Return the largest relative growth of the printed times from 2 to 4 s."""
    printed = PUBLISHED["implicit"]
    return max(late / early for early, late in zip(printed["2"], printed["4"], strict=True)) - 1.0


def _fewer_steps(rows: Times) -> Iterable[Evidence]:
    for row, mine in _by_duration(rows):
        ratio = (mine[4].steps - mine[3].steps) / (mine[2].steps - mine[1].steps)
        yield Evidence(_name(row), ratio, ratio < 1.0)


def _by_duration(rows: Times) -> Iterable[tuple[TimeRow, dict[float, TimeRow]]]:
    """Yield each row for 4 s with a mapping from durations to the rows of the same run."""
    for row in rows:
        if row.duration_s == DURATIONS[-1]:
            yield row, {item.duration_s: item for item in rows if _name(item) == _name(row)}


# --------------------------------------------------------------------------------- leads
def _lead_claims(leads: Sequence[LeadRow]) -> Iterable[Claim]:
    words = "Adams / Rosenbrock-Nystrom over 4 s"
    for name in ("steps", "evaluations"):
        cases = [(_name(row), getattr(row, name)) for row in leads]
        measure = f"ratio of {name}, {words}; above {ALMOST_TWO_ORDERS:.2g}"
        yield Claim("faster", measure, tuple(_compared(cases, ALMOST_TWO_ORDERS)))
    ratios = [(_name(row), row.time) for row in leads]
    measure = f"ratio of CPU times, {words}; above {ALMOST_TWO_ORDERS:.2g}"
    yield _timed(measure, ratios, ALMOST_TWO_ORDERS, float("inf"))
    beside = [(_name(row), row.time / row.published_time) for row in leads]
    measure = f"ratio of CPU times / ratio of printed times, {words}; within a factor of {TWICE:g}"
    yield _timed(measure, beside, 1.0 / TWICE, TWICE)


def _timed(measure: str, cases: list[tuple[str, float]], least: float, most: float) -> Claim:
    first, *shifted = (
        Claim("faster", measure, tuple(_compared(cases, least, most, factor)))
        for factor in (1.0, 1.0 - TIME_ERROR, 1.0 + TIME_ERROR)
    )
    return with_alternatives(first, shifted)


def _compared(
    cases: Iterable[tuple[str, float]],
    least: float,
    most: float = float("inf"),
    factor: float = 1.0,
) -> Iterable[Evidence]:
    for name, ratio in cases:
        yield Evidence(name, ratio, least < ratio * factor <= most)


def _name(row: TimeRow | LeadRow) -> str:
    return f"{row.control}, {row.tolerance:g}"
