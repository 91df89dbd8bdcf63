"""What a self-test compares: states, values in double precision, and how far rounding goes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen.rigid_body.catalogue import Function, argument_size
from manip_dyn.core.checks import Matrix
from manip_dyn.export.c99.source.precision import SINGLE, Precision
from manip_dyn.export.c99.source.series import Series
from manip_dyn.export.reference import evaluated, run
from manip_dyn.robot import Robot

STATES = 4
ROUNDINGS = 16.0
"""Times that a compiler may round worse than numpy in single precision, scaled to its type."""
ORDER = 6
"""Of the Taylor series."""


class Cases(NamedTuple):
    """What one kernel is to give.

    Attributes:
        kernel: Its name.
        arguments: Name and values (size, STATES) of each argument, in float32.
        expected: Results in double precision (size, STATES).
        tolerance: Largest error over the largest result of a state.
    """

    kernel: str
    arguments: dict[str, Any]
    expected: Matrix
    tolerance: float


def cases_of(robot: Robot, function: Function, precision: Precision) -> Cases:
    """Return what a kernel is to give at random states inside the limits."""
    arguments = _arguments(robot, function.declaration.arguments)
    exact, rough = (
        evaluated(function, [each.astype(kind) for each in arguments.values()])
        for kind in (np.float64, np.float32)
    )
    return _cases(function.name, arguments, exact, rough, precision)


def series_cases(robot: Robot, series: Series, precision: Precision) -> Cases:
    """Return the coefficients (ORDER + 1, n) that a series is to give under constant efforts."""
    arguments = _arguments(robot, ("q", "v", "tau"))
    exact, rough = (
        _coefficients(series, *(each.astype(kind) for each in arguments.values()))
        for kind in (np.float64, np.float32)
    )
    return _cases("taylor", arguments, exact, rough, precision)


def _arguments(robot: Robot, names: tuple[str, ...]) -> dict[str, Any]:
    """Return values that single precision has, too: positions within limits, all others moderate.

    The moments of inertia of a payload are those of a rigid body.
    """
    random = np.random.default_rng(0)
    values = {}
    for name in names:
        value = random.uniform(-1.0, 1.0, (argument_size(name, robot.n), STATES))
        if name in ("q", "y"):
            low, high = np.clip(robot.q_min, -3.0, 3.0), np.clip(robot.q_max, -3.0, 3.0)
            middle, reach = 0.5 * (low + high), 0.5 * (high - low)
            value[: robot.n] = middle[:, None] + 0.9 * reach[:, None] * value[: robot.n]
        elif name == "drive":
            value[robot.n :] = value[robot.n :] > 0.0
        elif name == "payload":
            value = np.abs(value)
            value[4:7] = 0.5 + 0.1 * value[4:7]
            value[7:] *= 0.1
        values[name] = value.astype(np.float32)
    return values


def _cases(
    kernel: str, arguments: dict[str, Any], exact: Any, rough: Any, precision: Precision
) -> Cases:
    exact, rough = (each.reshape(-1, STATES) for each in (exact, rough))
    scale = np.maximum(np.abs(exact).max(axis=0), np.finfo(np.float64).tiny)
    error = float((np.abs(rough - exact).max(axis=0) / scale).max())
    roundings = max(error / SINGLE.rounding, 1.0) * ROUNDINGS
    return Cases(kernel, arguments, exact, roundings * precision.rounding)


def _coefficients(series: Series, q: Any, v: Any, tau: Any) -> Any:
    """Return the coefficients (ORDER + 1, n, m) of q(t), as `codegen.taylor` makes them."""
    n, factors = series.n, series.factors
    work = np.zeros((ORDER, factors.width, q.shape[1]), q.dtype)
    work[0, :n], work[0, n : 2 * n], work[0, 2 * n : 3 * n] = q, v, tau
    run("\n".join(series.first), {"out": work[0]})
    columns = [slice(each, each + factors.products) for each in (factors.first, factors.last)]
    for k in range(1, ORDER - 1):
        products = [work[j, columns[0]] * work[k - j, columns[1]] for j in range(1, k)]
        sums = slice(factors.sums, factors.sums + factors.products)
        work[0, sums] = np.sum(products, axis=0, dtype=q.dtype) if products else 0.0
        names = {"start": work[0], "previous": work[k - 1], "out": work[k], "order": float(k)}
        run("\n".join(series.following), names)
    later = [work[k - 2, 4 * n : 5 * n] / (k * (k - 1)) for k in range(2, ORDER + 1)]
    return np.stack([q, v, *later])
