"""The table of methods for people, from the registry: ``python -m manip_dyn.integration.page``."""

from __future__ import annotations

import math
import time

import numpy as np

from manip_dyn.core.compiled import compiled
from manip_dyn.integration.engine import compile_engine
from manip_dyn.integration.methods.method import Method, Options
from manip_dyn.integration.methods.registry import ALIASES, METHODS

_HEAD = ("method", "order", "compared with", "evaluations", "FSAL", "dense", "stable to", "source")
_MEASURED = ("error", "ns per step")
EVALUATIONS, DURATION, TAYLOR_ORDER = 2000, 10.0, 20


@compiled(merge=True)
def swing(t, y, p, out):
    """Write the rates of a shaken pendulum, (2,): what the methods are measured on."""
    out[0] = y[1]
    out[1] = -np.sin(y[0]) + 0.5 * np.cos(2.0 * t)


@compiled(merge=True)
def swing_series(t, y, p, order, work, out):
    """Write the coefficients (order + 1, 2) of its motion; those of sine and cosine into work."""
    sine, cosine = work[:, 0], work[:, 1]
    out[0, 0], out[0, 1] = y[0], y[1]
    sine[0], cosine[0] = np.sin(y[0]), np.cos(y[0])
    shake = 0.5  # times 2^k / k!; the derivatives of cos(2 t) run through four phases
    for k in range(order):
        out[k + 1, 0] = out[k, 1] / (k + 1)
        out[k + 1, 1] = (-sine[k] + shake * np.cos(2.0 * t + 0.5 * np.pi * k)) / (k + 1)
        shake *= 2.0 / (k + 1)
        sine[k + 1] = cosine[k + 1] = 0.0
        for j in range(1, k + 2):
            sine[k + 1] += j * out[j, 0] * cosine[k + 1 - j] / (k + 1)
            cosine[k + 1] -= j * out[j, 0] * sine[k + 1 - j] / (k + 1)


def method_table() -> str:
    """Return the table as Markdown, one row per method."""
    return _table((_HEAD, *(_row(method) for method in _methods())))


def measured_table() -> str:
    """Return what each method does on a shaken pendulum of 10 s.

    The error is that of the final state after about 2000 evaluations, or coefficients of a
    series, at fixed steps.
    """
    exact = solved(METHODS["rkdp87"], 40_000)[0]
    rows = [("method", *_MEASURED)]
    for method in _methods():
        steps = EVALUATIONS // _evaluations(method)
        state, seconds = solved(method, steps)
        error = float(np.abs(state - exact).max())
        label = f"`{method.name}`" + (f", order {TAYLOR_ORDER}" if method.order is None else "")
        rows.append((label, f"{error:.0e}", f"{seconds / steps * 1e9:.0f}"))
    return _table(rows)


def _methods() -> list[Method]:
    return [method for name, method in METHODS.items() if name == method.name]


def _table(rows) -> str:
    first, *rest = rows
    return "\n".join(f"| {' | '.join(r)} |" for r in (first, ("---",) * len(first), *rest)) + "\n"


def _evaluations(method: Method) -> int:
    return TAYLOR_ORDER if method.order is None else method.stages - int(method.fsal)


def solved(method: Method, steps: int) -> tuple[np.ndarray, float]:
    """Return the final state after fixed steps, and the least time that it took, s."""
    series = method.order is None
    rhs = swing_series if series else swing
    engine = compile_engine(rhs, method, Options(size=2), scratch=2 if series else 0)
    orders = (TAYLOR_ORDER,) * 2 if series else (0, 0)
    space, least = engine.space(step=DURATION / steps, orders=orders), math.inf
    for _ in range(5):
        state, began = np.array([1.0, 0.0]), time.perf_counter()
        engine.go(0.0, DURATION, np.empty(0), state, space)
        least = min(least, time.perf_counter() - began)
    return state, least


def _row(method: Method) -> tuple[str, ...]:
    interval = method.stability_interval
    aliases = [alias for alias, name in ALIASES.items() if name == method.name]
    return (
        ", ".join(f"`{name}`" for name in (method.name, *aliases)),
        _number(method.order, "any"),
        _number(method.embedded_order, ""),
        str(method.stages),
        "yes" if method.fsal else "",
        _number(method.dense_order, "any"),
        "" if interval is None else f"{interval:.2f}",
        _source(method),
    )


def _number(value: int | None, otherwise: str) -> str:
    return otherwise if value is None else str(value)


def _source(method: Method) -> str:
    constructed = method.source.startswith("CONSTRUCTED")
    return "constructed with the stages of Butcher (1987)" if constructed else method.source


if __name__ == "__main__":
    print(method_table())
    print(measured_table(), end="")
