"""The claims of Galhano, Machado (1994), each as a share of comparisons that bear it out.

Every comparison is between two curves of error: at equal numbers of steps (failed ones included),
or at equal computing times, read between points linearly in the logarithms. Errors below
`Settings.compared_errors` are left out, and comparisons of two errors above.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from manip_dyn.studies.galhano1994.curves import Curve, Figure
from manip_dyn.studies.report.claims import OFF, Claim, Evidence, steadied

Group = Sequence[Curve]


def claims(
    figures: Sequence[Figure],
    even: Sequence[Curve],
    others: Sequence[Curve],
    limits: tuple[float, float],
) -> list[Claim]:
    """Return all claims about curves, measured on one robot.

    Args:
        figures: Figures 2 to 7.
        even: The embedded methods' formulas at equal steps.
        others: Fixed-step methods with other coefficients.
        limits: Errors between which to compare, rad.
    """
    usable = {
        figure.name: [curve.between(limits[0], math.inf) for curve in figure.curves]
        for figure in figures
    }
    fixed = usable["fig3"]
    standard = [curve for curve in usable["fig2"] if not curve.dashed]
    heuristic = [curve for curve in usable["fig2"] if curve.dashed]
    embedded = [curve for name, curves in usable.items() if name > "fig3" for curve in curves]
    orders = [*pairwise(fixed), *pairwise(standard)]
    families = [
        pair for name, curves in usable.items() if name > "fig3" for pair in pairwise(curves)
    ]
    of_order = {curve.order: curve for curve in fixed}
    beside_fixed = [
        (of_order[curve.order], curve) for curve in embedded if curve.order in of_order
    ]
    by_name = {curve.method: curve.between(limits[0], math.inf) for curve in even}
    beside_even = [(by_name[curve.method], curve) for curve in embedded]
    alternatives = [
        (of_order[curve.order], curve.between(limits[0], math.inf)) for curve in others
    ]
    beside_taylor = [(of_order[c.order], c) for c in standard if c.order in of_order]
    pairs = list(zip(standard, heuristic, strict=True))
    thirds = [
        (*pair, following)
        for pair, following in zip(pairs, standard[1:], strict=False)
        if following.order == pair[1].order
    ]
    readings: list[tuple[str, str, Reading, Iterable[Group]]] = [
        (
            "order lowers the error",
            "error ratio, lower order / next order, equal steps; above 1",
            at_equal_steps,
            orders,
        ),
        (
            "order pays",
            "error ratio, lower order / next order, equal time; above 1",
            at_equal_times,
            orders,
        ),
        (
            "embedding gains",
            "error ratio, fixed-step method of that order / embedded, equal steps; above 1",
            at_equal_steps,
            beside_fixed,
        ),
        (
            "embedding gains",
            "error ratio, its own formula at equal steps / with controlled steps; above 1",
            at_equal_steps,
            beside_even,
        ),
        (
            "gain is lost",
            "share of that gain over the fixed-step method (decades) that is gone at equal time; "
            "above 1/2",
            lost_gain,
            beside_fixed,
        ),
        (
            "gain is lost",
            "the same at an equal number of evaluations",
            lost_in_evaluations,
            beside_fixed,
        ),
        (
            "as taylor",
            "error ratio, RK / Taylor of that order, equal steps; between 1/10 and 10",
            alike,
            beside_taylor,
        ),
        (
            "coefficients",
            "error ratio, RK / other coefficients of that order, equal steps; between 1/10 and 10",
            alike,
            alternatives,
        ),
        (
            "order in pairs",
            "error ratio, lower order / next order of a family, equal steps; above 1",
            at_equal_steps,
            families,
        ),
        (
            "order in pairs",
            "the same, equal time; above 1",
            at_equal_times,
            families,
        ),
        (
            "steps or order",
            "steps of RK4 / of the method with fewest, to 1e-6, 1e-9 and 1e-11 rad; above 10",
            fewer_steps,
            [tuple(each for curves in usable.values() for each in curves)],
        ),
        (
            "heuristic, limited",
            "error ratio, T_p,p-1 / T_pp, equal time; between 1 and 10",
            small_gain,
            pairs,
        ),
        (
            "heuristic, limited",
            "gain of T_pp as a share of that of T_p+1,p, which takes the same coefficients, equal "
            "steps (decades); between 0 and 1",
            share_of_next,
            thirds,
        ),
        (
            "heuristic, complex",
            "roughness of T_pp / of T_p,p-1: rms distance from a line, log-log; above 1",
            rougher,
            pairs,
        ),
    ]
    robot, most = figures[0].robot, limits[1]
    found = []
    for key, measure, reading, groups in readings:
        if reading not in TIMED:
            evidence = tuple(c for g in groups for c in reading(g, most))
            found.append(Claim(key, measure, evidence, robot))
            continue
        first, *shifted = (
            Claim(key, measure, tuple(c for g in groups for c in reading(g, most, share)), robot)
            for share in (1.0, 1.0 - OFF, 1.0 + OFF)
        )
        found.append(steadied(first, shifted))
    return found


Reading = Callable[..., Iterable[Evidence]]
"""Takes curves and the largest error; what reads times takes a share too, to shift them by."""
LEVELS, FEW = (1e-6, 1e-9, 1e-11), 10.0
"""Errors, rad, and how many times fewer steps are few."""


def at_equal_steps(group: Group, most: float) -> Iterable[Evidence]:
    """Compare (worse, better) at the numbers of steps of the better one's runs."""
    worse, better = group
    for error, other, _ in _beside(worse, better, most):
        yield Evidence(_who(group), other / error, other > error, error)


def at_equal_times(group: Group, most: float, share: float = 1.0) -> Iterable[Evidence]:
    """Compare (worse, better) at the computing times of the better one's runs."""
    worse, better = group
    for error, _, other in _beside(worse, better, most, share):
        if math.isfinite(other):
            yield Evidence(_who(group), other / error, other > error, error)


def lost_gain(group: Group, most: float, share: float = 1.0) -> Iterable[Evidence]:
    """Compare the gain at equal times with that at equal steps, where there is one."""
    worse, better = group
    for error, steps, time in _beside(worse, better, most, share):
        yield from _lost(group, error, steps, time)


def lost_in_evaluations(group: Group, most: float) -> Iterable[Evidence]:
    """Compare the gain at equal numbers of evaluations with that at equal steps."""
    worse, better = group
    for point in better.points:
        steps = worse.error_at_tries(point.tries)
        if math.isfinite(steps) and min(point.error, steps) <= most:
            equal = worse.error_at_evaluations(point.evaluations)
            yield from _lost(group, point.error, steps, equal)


def _lost(group: Group, error: float, steps: float, equal: float) -> Iterable[Evidence]:
    """Yield which share of a gain at equal steps is gone at equal cost, in decades."""
    if steps > error and math.isfinite(equal):
        lost = 1.0 - math.log(equal / error) / math.log(steps / error)
        yield Evidence(_who(group), lost, lost > 0.5, error)


def alike(group: Group, most: float) -> Iterable[Evidence]:
    """Say where two curves are within a decade of each other, at equal steps."""
    for each in at_equal_steps(group, most):
        yield each._replace(holds=0.1 < each.number < 10.0)


def fewer_steps(group: Group, most: float) -> Iterable[Evidence]:
    """Compare the steps of RK4 to some errors with those of the curve that needs fewest."""
    (plain,) = (curve for curve in group if curve.method == "rk4")
    for level in (each for each in LEVELS if each <= most):
        needed = {curve.label: curve.tries_at_error(level) for curve in group}
        name, fewest = min(
            ((label, count) for label, count in needed.items() if math.isfinite(count)),
            key=lambda pair: pair[1],
            default=("", math.nan),
        )
        ratio = plain.tries_at_error(level) / fewest
        if math.isfinite(ratio):
            yield Evidence(f"RK4 and {name}", ratio, ratio > FEW, level)


def small_gain(group: Group, most: float, share: float = 1.0) -> Iterable[Evidence]:
    """Say where a gain at equal times is one, but less than a decade."""
    for each in at_equal_times(group, most, share):
        yield each._replace(holds=1.0 < each.number < 10.0)


def share_of_next(group: Group, most: float) -> Iterable[Evidence]:
    """Compare the gain of T_pp over T_p,p-1 with that of T_p+1,p, at equal steps."""
    standard, heuristic, following = group
    for point in following.points:
        base, mine = (c.error_at_tries(point.tries) for c in (standard, heuristic))
        if base > point.error and base <= most and math.isfinite(mine):
            share = math.log(base / mine) / math.log(base / point.error)
            yield Evidence(_who(group), share, 0.0 < share < 1.0, mine)


def rougher(group: Group, most: float) -> Iterable[Evidence]:
    """Compare how far two curves are from straight lines."""
    first, second = (curve.between(0.0, most) for curve in group)
    ratio = second.roughness() / first.roughness()
    if math.isfinite(ratio):
        yield Evidence(_who(group), ratio, ratio > 1.0, second.points[-1].error)


TIMED = (at_equal_times, lost_gain, small_gain)
"""Readings of times."""


def _beside(
    worse: Curve, better: Curve, most: float, share: float = 1.0
) -> Iterable[tuple[float, float, float]]:
    """Yield the error of each run of one curve, and the other's with its steps and its time."""
    for point in better.points:
        steps = worse.error_at_tries(point.tries)
        time = worse.error_at_time(point.seconds * share)
        if math.isfinite(steps) and min(point.error, steps) <= most:
            yield point.error, steps, time


def _who(group: Group) -> str:
    return " and ".join(curve.label for curve in group)
