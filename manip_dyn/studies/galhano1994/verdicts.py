"""Claims of Galhano, Machado (1994), each measured by the fraction of supporting comparisons.

A comparison is between two error curves at equal numbers of steps (including rejected steps), of
evaluations, or at equal computing times. Curves are interpolated linearly in the logarithms. A
comparison is omitted if one error is below the range `Settings.compared_errors`, or if both errors
are above it.

To judge the main claim of the paper, the operations and computing times of customized and plain
algorithms are compared. In customized algorithms, the parameters of the robot are constants, zeros
and ones are eliminated, equal terms are shared, and loops are unrolled. Only the nonzero
coefficients of a method are used. Plain algorithms compute the forward dynamics by composite
bodies and a factorization of the mass matrix. They consist of loops over arrays of parameters and
use all coefficients below the diagonal of the method's tableau.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.bench.timing import median_seconds
from manip_dyn.codegen import Kernels
from manip_dyn.codegen.generation.kernel_modules import robot_module
from manip_dyn.codegen.generation.kernel_source import looped_text
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
    alternatives: Sequence[Curve],
    limits: tuple[float, float],
) -> list[Claim]:
    """Return all claims about curves, measured for one robot.

    Args:
        figures: Figures 2 to 7.
        even: Runs of embedded formulas with equal steps.
        alternatives: Fixed-step methods with other coefficients.
        limits: Range of errors for comparisons, rad.
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
    with_fixed = [(of_order[curve.order], curve) for curve in embedded if curve.order in of_order]
    by_name = {curve.method: curve.between(limits[0], math.inf) for curve in even}
    with_even = [(by_name[curve.method], curve) for curve in embedded]
    with_alternative = [
        (of_order[curve.order], curve.between(limits[0], math.inf)) for curve in alternatives
    ]
    with_taylor = [(of_order[c.order], c) for c in standard if c.order in of_order]
    pairs = list(zip(standard, heuristic, strict=True))
    thirds = [
        (*pair, following)
        for pair, following in zip(pairs, standard[1:], strict=False)
        if following.order == pair[1].order
    ]
    measures: list[tuple[str, str, Measure, Iterable[Group]]] = [
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
            "error ratio, fixed-step method of the same order / embedded, equal steps; above 1",
            at_equal_steps,
            with_fixed,
        ),
        (
            "embedding gains",
            "error ratio, embedded formula with constant steps / with step control, equal number "
            "of steps; above 1",
            at_equal_steps,
            with_even,
        ),
        (
            "gain is lost",
            "fraction of the gain over the fixed-step method (decades) that is lost at equal "
            "time; above 1/2",
            lost_gain,
            with_fixed,
        ),
        (
            "gain is lost",
            "fraction of the gain over the fixed-step method (decades) that is lost at equal "
            "evaluations; above 1/2",
            lost_in_evaluations,
            with_fixed,
        ),
        (
            "as taylor",
            "error ratio, RK / Taylor of the same order, equal steps; between 1/10 and 10",
            alike,
            with_taylor,
        ),
        (
            "coefficients",
            "error ratio, RK / other coefficients of the same order, equal steps; between 1/10 "
            "and 10",
            alike,
            with_alternative,
        ),
        (
            "order in pairs",
            "error ratio, lower order / next order of a family, equal steps; above 1",
            at_equal_steps,
            families,
        ),
        (
            "order in pairs",
            "error ratio, lower order / next order of a family, equal time; above 1",
            at_equal_times,
            families,
        ),
        (
            "steps or order",
            "ratio of steps for 1e-6, 1e-9 and 1e-11 rad, RK4 / the method with the fewest; "
            "above 10",
            fewer_steps,
            [tuple(curve for curves in usable.values() for curve in curves)],
        ),
        (
            "heuristic, limited",
            "error ratio, T_p,p-1 / T_pp, equal time; between 1 and 10",
            small_gain,
            pairs,
        ),
        (
            "heuristic, limited",
            "ratio of gains (decades), T_pp / T_p+1,p with the same coefficients, equal steps; "
            "between 0 and 1",
            fraction_of_next,
            thirds,
        ),
        (
            "heuristic, complex",
            "ratio of rms deviations from a straight line (log-log), T_pp / T_p,p-1; above 1",
            rougher,
            pairs,
        ),
    ]
    robot, most = figures[0].robot, limits[1]
    judged = []
    for key, measure, compare, groups in measures:
        if compare not in TIMED:
            evidence = tuple(c for g in groups for c in compare(g, most))
            judged.append(Claim(key, measure, evidence, robot))
            continue
        first, *shifted = (
            Claim(key, measure, tuple(c for g in groups for c in compare(g, most, factor)), robot)
            for factor in (1.0, 1.0 - TIME_ERROR, 1.0 + TIME_ERROR)
        )
        judged.append(with_alternatives(first, shifted))
    return judged


# --------------------------------------------------------------------- comparisons of curves
Measure = Callable[..., Iterable[Evidence]]
"""Function that compares curves up to a largest error. If it compares times, it has an additional
argument, the factor of the times."""
LEVELS, FEW = (1e-6, 1e-9, 1e-11), 10.0
"""Errors at which step counts are compared (rad), and the ratio above which the claim holds."""


def at_equal_steps(group: Group, most: float) -> Iterable[Evidence]:
    """Compare the errors of a pair (worse, better) at the step counts of the better curve."""
    worse, better = group
    for error, worse_error, _ in _compared(worse, better, most):
        yield Evidence(_name(group), worse_error / error, worse_error > error, error)


def at_equal_times(group: Group, most: float, factor: float = 1.0) -> Iterable[Evidence]:
    """Compare the errors of a pair (worse, better) at the computing times of the better curve."""
    worse, better = group
    for error, _, worse_error in _compared(worse, better, most, factor):
        if math.isfinite(worse_error):
            yield Evidence(_name(group), worse_error / error, worse_error > error, error)


def lost_gain(group: Group, most: float, factor: float = 1.0) -> Iterable[Evidence]:
    """Yield the fractions of a pair's gains at equal steps that are lost at equal times."""
    worse, better = group
    for error, steps, time in _compared(worse, better, most, factor):
        yield from _lost(group, error, steps, time)


def lost_in_evaluations(group: Group, most: float) -> Iterable[Evidence]:
    """Yield the fractions of a pair's gains at equal steps that are lost at equal evaluations."""
    worse, better = group
    for point in better.points:
        steps = worse.error_at_tries(point.tries)
        if math.isfinite(steps) and min(point.error, steps) <= most:
            equal = worse.error_at_evaluations(point.evaluations)
            yield from _lost(group, point.error, steps, equal)


def _lost(group: Group, error: float, steps: float, equal: float) -> Iterable[Evidence]:
    """Yield the fraction of a positive gain at equal steps (decades) that is lost.

    Args:
        group: The pair (worse, better).
        error: Error of the better curve.
        steps: Error of the worse curve at equal steps.
        equal: Error of the worse curve at equal cost.
    """
    if steps > error and math.isfinite(equal):
        lost = 1.0 - math.log(equal / error) / math.log(steps / error)
        yield Evidence(_name(group), lost, lost > 0.5, error)


def alike(group: Group, most: float) -> Iterable[Evidence]:
    """Compare two curves at equal steps. They are alike if they differ by less than a decade."""
    for case in at_equal_steps(group, most):
        yield case._replace(holds=0.1 < case.number < 10.0)


def fewer_steps(group: Group, most: float) -> Iterable[Evidence]:
    """Compare the steps of RK4 with those of the curve with the fewest, at the errors `LEVELS`."""
    (plain,) = (curve for curve in group if curve.method == "rk4")
    for level in (error for error in LEVELS if error <= most):
        needed = {curve.label: curve.tries_at_error(level) for curve in group}
        name, fewest = min(
            ((label, count) for label, count in needed.items() if math.isfinite(count)),
            key=lambda pair: pair[1],
            default=("", math.nan),
        )
        ratio = plain.tries_at_error(level) / fewest
        if math.isfinite(ratio):
            yield Evidence(f"RK4 and {name}", ratio, ratio > FEW, level)


def small_gain(group: Group, most: float, factor: float = 1.0) -> Iterable[Evidence]:
    """Compare two curves at equal times. A case holds for a gain of less than a decade."""
    for case in at_equal_times(group, most, factor):
        yield case._replace(holds=1.0 < case.number < 10.0)


def fraction_of_next(group: Group, most: float) -> Iterable[Evidence]:
    """Compare the gains of T_pp and T_p+1,p over T_p,p-1 at equal steps."""
    standard, heuristic, following = group
    for point in following.points:
        base, mine = (c.error_at_tries(point.tries) for c in (standard, heuristic))
        if base > point.error and base <= most and math.isfinite(mine):
            fraction = math.log(base / mine) / math.log(base / point.error)
            yield Evidence(_name(group), fraction, 0.0 < fraction < 1.0, mine)


def rougher(group: Group, most: float) -> Iterable[Evidence]:
    """Compare how far two curves deviate from straight lines in the log-log plot."""
    first, second = (curve.between(0.0, most) for curve in group)
    ratio = second.roughness() / first.roughness()
    if math.isfinite(ratio):
        yield Evidence(_name(group), ratio, ratio > 1.0, second.points[-1].error)


TIMED = (at_equal_times, lost_gain, small_gain)
"""Measures that compare times."""


def _compared(
    worse: Curve, better: Curve, most: float, factor: float = 1.0
) -> Iterable[tuple[float, float, float]]:
    """Yield the error of each run of `better`, and of `worse` at equal steps and equal time."""
    for point in better.points:
        steps = worse.error_at_tries(point.tries)
        time = worse.error_at_time(point.seconds * factor)
        if math.isfinite(steps) and min(point.error, steps) <= most:
            yield point.error, steps, time


def _name(group: Group) -> str:
    return " and ".join(curve.label for curve in group)


# ------------------------------------------------------------------------------- customizing
STEPS = 128
"""Number of equal steps of the timed runs."""
BETTER = 2.0
"""Ratio of plain to customized cost above which customization counts as a gain."""


class CustomRow(NamedTuple):
    """Operations and CPU time (us) of one step of a method, plain and customized."""

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
    """Return a compiled right-hand side ``rhs(t, y, p, out)`` that is not customized.

    It consists of loops and computes the same values as `Kernels.right_hand_side`.
    """
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
    """Return the numbers of operations of a plain and of a customized step."""
    rows = operation_report(robot, frame).rows
    row = next(item for item in rows if item.kernel == "forward_dynamics")
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
    """Return the costs of plain and customized steps for all Runge-Kutta methods in figures."""
    kernels, plain = problem.kernels, plain_right_hand_side(problem.kernels)
    names = [name for figure in settings.methods.values() for name in figure]
    trials = [_even_run(problem, name, rhs) for name in names for rhs in (plain, None)]
    timed = [trial.timed for trial in trials if trial.timed]
    seconds = median_seconds(timed, settings.repeats, settings.slice)
    rows = []
    for k, name in enumerate(names):
        slow, fast = (1e6 * time / STEPS for time in seconds[2 * k : 2 * k + 2])
        before, after = operations_of_step(kernels.robot, kernels.frame, name)
        counts = (METHODS[name].stages, before, after, before / after)
        rows.append(CustomRow(problem.name, name, *counts, slow, fast, slow / fast))
    return rows


def _even_run(problem: InitialValueProblem, name: str, rhs: Any) -> Trial:
    """Return a run with `STEPS` equal steps. Default of `rhs`: the customized dynamics."""
    engine, step = problem.engine(name, rhs=rhs), problem.duration / STEPS
    if METHODS[name].adaptive:
        even = {"first_step": step, "min_step": step, "max_step": step * (1.0 + 1e-12)}
        return problem.trial(engine, STEPS, problem.position_error, atol=1e9, **even)
    return problem.trial(engine, STEPS, problem.position_error, step=step)


def custom_claims(rows: Sequence[CustomRow]) -> Iterable[Claim]:
    """Yield the claims about customization, in operations and in times."""
    for robot in dict.fromkeys(row.robot for row in rows):
        mine = [row for row in rows if row.robot == robot]
        operations = f"ratio of operations per step, plain / customized; above {BETTER:g}"
        times = f"ratio of CPU times per step, plain / customized; above {BETTER:g}"
        counted = [
            Evidence(row.method, row.operations_ratio, row.operations_ratio > BETTER)
            for row in mine
        ]
        yield Claim("customizing", operations, tuple(counted), robot)
        first, *others = (
            Claim("customizing", times, tuple(_timed(mine, factor)), robot)
            for factor in (1.0, 1.0 - TIME_ERROR, 1.0 + TIME_ERROR)
        )
        yield with_alternatives(first, others)


def shared_stages(settings: Settings) -> Iterable[Claim]:
    """Yield the claim that a pair has fewer stages than the fixed-step methods of both orders.

    The stages of the two fixed-step methods are added.
    """
    methods = [METHODS[name] for figure in settings.methods.values() for name in figure]
    fixed = {method.order: method.stages for method in methods if not method.adaptive}
    cases = []
    for method in methods:
        orders = (method.order, method.embedded_order)
        if method.adaptive and all(order in fixed for order in orders):
            factor = method.stages / sum(fixed[order] for order in orders)
            cases.append(Evidence(method.name, factor, factor < 1.0))
    measure = "ratio of stages, a pair / the two fixed-step methods of its orders; below 1"
    yield Claim("embedding shares", measure, tuple(cases))


def _timed(rows: Sequence[CustomRow], factor: float) -> Iterable[Evidence]:
    for row in rows:
        yield Evidence(row.method, row.time_ratio, row.time_ratio * factor > BETTER)
