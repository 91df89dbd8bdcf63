"""The claims of Galhano, Machado (1994), each as a share of comparisons that bear it out.

Every comparison is between two curves of error: at equal numbers of steps (failed ones included),
or at equal computing times, read between points linearly in the logarithms. Errors below
`Settings.compared_errors` are left out, and comparisons of two errors above.

    confirmed           at least 95 % of the comparisons bear the claim out
    partly confirmed    at least half of them
    refuted             fewer
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from manip_dyn.studies.galhano1994_figures import Figure
from manip_dyn.studies.work_precision import Curve

NEARLY_ALL, HALF = 0.95, 0.5
Group = Sequence[Curve]


class Comparison(NamedTuple):
    """One comparison of curves.

    Attributes:
        who: Their labels.
        error: The error at which they are compared, rad.
        number: A factor or a share, what the claim is about.
        holds: Whether it bears the claim out.
    """

    who: str
    error: float
    number: float
    holds: bool


class Claim(NamedTuple):
    """A claim of the paper in one reading, measured on one robot.

    Attributes:
        key: Its key in ``galhano1994.json``.
        robot: The robot's name.
        measure: What the number is, and when a comparison bears the claim out.
        number: Its median.
        comparisons: How many comparisons there are.
        share: The share of them that bear the claim out.
        status: The verdict.
        exceptions: Where it does not hold: curves, how often, at which errors.
    """

    key: str
    robot: str
    measure: str
    number: float
    comparisons: int
    share: float
    status: str
    exceptions: tuple[str, ...]


def claims(
    figures: Sequence[Figure], even: Sequence[Curve], limits: tuple[float, float]
) -> list[Claim]:
    """Return all claims, measured on one robot.

    Args:
        figures: Figures 2 to 7.
        even: The embedded methods' formulas at equal steps.
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
    of_order = {curve.order: curve for curve in fixed}
    beside_fixed = [
        (of_order[curve.order], curve) for curve in embedded if curve.order in of_order
    ]
    by_name = {curve.method: curve.between(limits[0], math.inf) for curve in even}
    beside_even = [(by_name[curve.method], curve) for curve in embedded]
    pairs = list(zip(standard, heuristic, strict=True))
    thirds = [
        (*pair, following)
        for pair, following in zip(pairs, standard[1:], strict=False)
        if following.order == pair[1].order
    ]
    readings: list[tuple[str, str, Reading, Iterable[Group]]] = [
        ("order lowers the error",
         "error ratio, lower order / next order, equal steps; above 1", at_equal_steps, orders),
        ("order pays",
         "error ratio, lower order / next order, equal time; above 1", at_equal_times, orders),
        ("embedding gains",
         "error ratio, fixed-step method of that order / embedded, equal steps; above 1",
         at_equal_steps, beside_fixed),
        ("embedding gains",
         "error ratio, its own formula at equal steps / with controlled steps; above 1",
         at_equal_steps, beside_even),
        ("gain is lost",
         "share of that gain over the fixed-step method (decades) that is gone at equal time; "
         "above 1/2", lost_gain, beside_fixed),
        ("heuristic, limited",
         "error ratio, T_p,p-1 / T_pp, equal time; between 1 and 10", small_gain, pairs),
        ("heuristic, limited",
         "gain of T_pp as a share of that of T_p+1,p, which takes the same coefficients, equal "
         "steps (decades); between 0 and 1", share_of_next, thirds),
        ("heuristic, complex",
         "roughness of T_pp / of T_p,p-1: rms distance from a line, log-log; above 1", rougher,
         pairs),
    ]  # fmt: skip
    robot = figures[0].robot
    return [
        _claim(key, robot, measure, [c for g in groups for c in reading(g, limits[1])])
        for key, measure, reading, groups in readings
    ]


Reading = Callable[[Group, float], Iterable[Comparison]]


def at_equal_steps(group: Group, most: float) -> Iterable[Comparison]:
    """Compare (worse, better) at the numbers of steps of the better one's runs."""
    worse, better = group
    for error, other, _ in _beside(worse, better, most):
        yield Comparison(_who(group), error, other / error, other > error)


def at_equal_times(group: Group, most: float) -> Iterable[Comparison]:
    """Compare (worse, better) at the computing times of the better one's runs."""
    worse, better = group
    for error, _, other in _beside(worse, better, most):
        if math.isfinite(other):
            yield Comparison(_who(group), error, other / error, other > error)


def lost_gain(group: Group, most: float) -> Iterable[Comparison]:
    """Compare the gain at equal times with that at equal steps, where there is one."""
    worse, better = group
    for error, steps, time in _beside(worse, better, most):
        if steps > error and math.isfinite(time):
            lost = 1.0 - math.log(time / error) / math.log(steps / error)
            yield Comparison(_who(group), error, lost, lost > HALF)


def small_gain(group: Group, most: float) -> Iterable[Comparison]:
    """Say where a gain at equal times is one, but less than a decade."""
    for each in at_equal_times(group, most):
        yield each._replace(holds=1.0 < each.number < 10.0)


def share_of_next(group: Group, most: float) -> Iterable[Comparison]:
    """Compare the gain of T_pp over T_p,p-1 with that of T_p+1,p, at equal steps."""
    standard, heuristic, following = group
    for point in following.points:
        base, mine = (c.error_at_tries(point.tries) for c in (standard, heuristic))
        if base > point.error and base <= most and math.isfinite(mine):
            share = math.log(base / mine) / math.log(base / point.error)
            yield Comparison(_who(group), mine, share, 0.0 < share < 1.0)


def rougher(group: Group, most: float) -> Iterable[Comparison]:
    """Compare how far two curves are from straight lines."""
    first, second = (curve.between(0.0, most) for curve in group)
    ratio = second.roughness() / first.roughness()
    if math.isfinite(ratio):
        yield Comparison(_who(group), second.points[-1].error, ratio, ratio > 1.0)


def _beside(worse: Curve, better: Curve, most: float) -> Iterable[tuple[float, float, float]]:
    """Yield the error of each run of one curve, and the other's with its steps and its time."""
    for point in better.points:
        steps = worse.error_at_tries(point.tries)
        time = worse.error_at_time(point.seconds)
        if math.isfinite(steps) and min(point.error, steps) <= most:
            yield point.error, steps, time


def _who(group: Group) -> str:
    return " and ".join(curve.label for curve in group)


def _claim(key: str, robot: str, measure: str, found: Sequence[Comparison]) -> Claim:
    if not found:
        return Claim(key, robot, measure, math.nan, 0, math.nan, "not measured", ())
    share = sum(each.holds for each in found) / len(found)
    number = median(each.number for each in found)
    status = "refuted" if share < HALF else "partly confirmed"
    if share >= NEARLY_ALL:
        status = "confirmed"
    return Claim(key, robot, measure, number, len(found), share, status, _exceptions(found))


def _exceptions(found: Sequence[Comparison]) -> tuple[str, ...]:
    """Return where comparisons do not bear a claim out, a line per pair of curves."""
    pairs: Mapping[str, list[Comparison]] = {each.who: [] for each in found}
    for each in found:
        pairs[each.who].append(each)
    lines = []
    for who, all_of_them in pairs.items():
        errors = sorted(each.error for each in all_of_them if not each.holds)
        if errors:
            span = f"{errors[0]:.0e} .. {errors[-1]:.0e}"
            lines.append(f"{who}: {len(errors)} of {len(all_of_them)}, errors {span}")
    return tuple(lines)
