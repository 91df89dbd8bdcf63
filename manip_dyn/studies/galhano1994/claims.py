"""Claims of Galhano, Machado (1994), each as a fraction of comparisons that support it.

Every comparison is between two curves of error: at equal numbers of steps (failed ones included),
or at equal computing times, interpolated linearly in the logarithms. Comparisons with an error
below `Settings.compared_errors`, or with both errors above, are left out.

The paper's thesis is judged by customized and plain algorithms, in operations and in time.
Customized: the robot's parameters are folded in, zeros and ones are eliminated, equal terms are
shared, there are no loops, and only the nonzero coefficients of a method's array appear. Plain:
forward dynamics by composite bodies and factors of the mass matrix, in loops over arrays of
parameters, and every coefficient below the diagonal of the method's array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.bench.timing import median_seconds
from manip_dyn.codegen import Kernels
from manip_dyn.codegen.generation.kernel_modules import looped_text, robot_module
from manip_dyn.codegen.operation_counts import operation_report
from manip_dyn.codegen.rigid_body.catalogue import BY_NAME
from manip_dyn.core.compiled import compiled
from manip_dyn.integration import METHODS, RungeKutta
from manip_dyn.studies.galhano1994.curves import Curve, Figure, InitialValueProblem, Trial
from manip_dyn.studies.galhano1994.settings import Settings
from manip_dyn.studies.report.claims import TIME_ERROR, Claim, Evidence, with_alternatives

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
            for share in (1.0, 1.0 - TIME_ERROR, 1.0 + TIME_ERROR)
        )
        found.append(with_alternatives(first, shifted))
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


FIXED = tuple(f"rk{order}" for order in (*range(1, 9), 10))
EMBEDDED = tuple(
    name for name, each in METHODS.items() if isinstance(each, RungeKutta) and each.adaptive
)
STEPS = 128
"""Equal steps of the runs that are timed."""
BETTER = 2.0
"""What makes customizing worth its name: this factor."""


class CustomRow(NamedTuple):
    """A step of a method, plain and customized: operations, and CPU time, us."""

    robot: str
    method: str
    stages: int
    plain_operations: int
    customized_operations: int
    operations_ratio: float
    plain_us: float
    customized_us: float
    time_ratio: float


def plain_right_hand_side(kernels: Kernels) -> Callable[..., None]:
    """Return the motion in loops, jitted ``rhs(t, y, p, out)``, as `Kernels.right_hand_side`."""
    robot, declaration = kernels.robot, BY_NAME["forward_dynamics"]
    frame, n = robot.frame(kernels.frame), kernels.robot.n
    module = robot_module(robot, frame, "plain", lambda: looped_text(robot, [declaration]))
    forward = module.forward_dynamics

    @compiled(merge=True)
    def in_loops(t, y, p, out):
        forward(y[:n], y[n:], p, out[n:])
        for i in range(n):
            out[i] = y[n + i]

    return in_loops


def operations_of_step(robot: Any, frame: str, method: str) -> tuple[int, int]:
    """Return the operations of one step, plain and customized."""
    rows = operation_report(robot, frame).rows
    row = next(each for each in rows if each.kernel == "forward_dynamics")
    assert row.before is not None
    chosen = METHODS[method]
    assert isinstance(chosen, RungeKutta)
    table, size = chosen.tableau, 2 * robot.n
    stages = table.stages
    formulas = [table.b] + ([table.b_hat] if table.b_hat is not None else [])
    triangle = stages * (stages - 1) // 2
    full = 2 * size * (triangle + stages * len(formulas))
    sparse = int(np.count_nonzero(np.array(table.a, dtype=np.float64)))
    sparse += sum(int(np.count_nonzero(np.array(b, dtype=np.float64))) for b in formulas)
    return stages * row.before.total + full, stages * row.after.total + 2 * size * sparse


def custom_rows(problem: InitialValueProblem, settings: Settings) -> list[CustomRow]:
    """Return a row for each Runge-Kutta method of Table 1 that figures show."""
    kernels, plain = problem.kernels, plain_right_hand_side(problem.kernels)
    names = [name for figure in settings.methods.values() for name in figure]
    trials = [_even_run(problem, name, rhs) for name in names for rhs in (plain, None)]
    timed = [each.timed for each in trials if each.timed]
    seconds = median_seconds(timed, settings.repeats, settings.slice)
    rows = []
    for k, name in enumerate(names):
        slow, fast = (1e6 * each / STEPS for each in seconds[2 * k : 2 * k + 2])
        before, after = operations_of_step(kernels.robot, kernels.frame, name)
        counts = (METHODS[name].stages, before, after, before / after)
        rows.append(CustomRow(problem.name, name, *counts, slow, fast, slow / fast))
    return rows


def _even_run(problem: InitialValueProblem, name: str, rhs: Any) -> Trial:
    """Return a run of equal steps, with the right-hand side given."""
    engine, step = problem.engine(name, rhs=rhs), problem.duration / STEPS
    if METHODS[name].adaptive:
        even = {"first_step": step, "min_step": step, "max_step": step * (1.0 + 1e-12)}
        return problem.trial(engine, STEPS, problem.position_error, atol=1e9, **even)
    return problem.trial(engine, STEPS, problem.position_error, step=step)


def custom_claims(rows: Sequence[CustomRow]) -> Iterable[Claim]:
    """Return the paper's thesis in operations, and in times."""
    for robot in dict.fromkeys(row.robot for row in rows):
        mine = [row for row in rows if row.robot == robot]
        operations = f"operations of a step, plain / customized; above {BETTER:g}"
        times = f"CPU time of a step, plain / customized; above {BETTER:g}"
        counted = [
            Evidence(row.method, row.operations_ratio, row.operations_ratio > BETTER)
            for row in mine
        ]
        yield Claim("customizing", operations, tuple(counted), robot)
        first, *others = (
            Claim("customizing", times, tuple(_timed(mine, share)), robot)
            for share in (1.0, 1.0 - TIME_ERROR, 1.0 + TIME_ERROR)
        )
        yield with_alternatives(first, others)


def shared_stages() -> Iterable[Claim]:
    """Return what embedding saves: stages of a pair over those of two methods of its orders."""
    fixed = {METHODS[name].order: METHODS[name].stages for name in FIXED}
    cases = []
    for name in EMBEDDED:
        method = METHODS[name]
        orders = (method.order, method.embedded_order)
        if all(order in fixed for order in orders):
            share = method.stages / sum(fixed[order] for order in orders)
            cases.append(Evidence(name, share, share < 1.0))
    measure = "stages of a pair / of the two fixed-step methods of its orders; below 1"
    yield Claim("embedding shares", measure, tuple(cases))


def _timed(rows: Sequence[CustomRow], share: float) -> Iterable[Evidence]:
    for row in rows:
        yield Evidence(row.method, row.time_ratio, row.time_ratio * share > BETTER)
