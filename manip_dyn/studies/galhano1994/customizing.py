"""The paper's thesis: customized against plain algorithms, in operations and in time.

Customized: the robot's numbers folded in, zeros and ones gone, equal terms shared, no loops; of a
method's array only the coefficients that are not zero. Plain: forward dynamics by composite bodies
and factors of the mass matrix, in loops over arrays that hold the numbers, and every coefficient
of the triangle below the array's diagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen import Kernels
from manip_dyn.codegen.generation.kernel_modules import looped_text, robot_module
from manip_dyn.codegen.operation_counts import operation_report
from manip_dyn.codegen.rigid_body.catalogue import BY_NAME
from manip_dyn.core.compiled import compiled
from manip_dyn.integration import METHODS, RungeKutta
from manip_dyn.studies.galhano1994.problem import InitialValueProblem, Trial
from manip_dyn.studies.galhano1994.settings import Settings
from manip_dyn.studies.report.claims import OFF, Claim, Evidence, steadied
from manip_dyn.studies.report.stopwatch import median_seconds

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
            for share in (1.0, 1.0 - OFF, 1.0 + OFF)
        )
        yield steadied(first, others)


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
