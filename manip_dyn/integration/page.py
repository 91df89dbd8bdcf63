"""Tables of the registered methods for the documentation.

``python -m manip_dyn.integration.page docs/integration_methods.md`` writes the tables into the
page between ``<!-- methods -->`` or ``<!-- measurements -->`` and ``<!-- end -->``. Methods
without a row in the second table are measured; ``--measure`` measures all methods. Without a
file, the command prints the first table and, with ``--measure``, the second one.
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from manip_dyn.core.compiled import compiled
from manip_dyn.core.files import with_section
from manip_dyn.integration.engine import compile_engine
from manip_dyn.integration.methods.method import Method, Options
from manip_dyn.integration.methods.registry import ALIASES, METHODS

_HEAD = (
    "method",
    "order",
    "embedded order",
    "evaluations",
    "FSAL",
    "dense",
    "stable to",
    "source",
)
_MEASURED = ("error", "ns per step")
EVALUATIONS, DURATION, TAYLOR_ORDER = 2000, 10.0, 20


@compiled(merge=True)
def swing(t, y, p, out):
    """Write the rates (2,) of a forced pendulum, the benchmark of the methods."""
    out[0] = y[1]
    out[1] = -np.sin(y[0]) + 0.5 * np.cos(2.0 * t)


@compiled(merge=True)
def swing_series(t, y, p, order, work, out):
    """Write the Taylor series of the motion of `swing` into `out` (order + 1, 2)."""
    sine, cosine = work[:, 0], work[:, 1]
    out[0, 0], out[0, 1] = y[0], y[1]
    sine[0], cosine[0] = np.sin(y[0]), np.cos(y[0])
    force = 0.5  # times 2^k / k!; the derivatives of cos(2 t) have four phases
    for k in range(order):
        out[k + 1, 0] = out[k, 1] / (k + 1)
        out[k + 1, 1] = (-sine[k] + force * np.cos(2.0 * t + 0.5 * np.pi * k)) / (k + 1)
        force *= 2.0 / (k + 1)
        sine[k + 1] = cosine[k + 1] = 0.0
        for j in range(1, k + 2):
            sine[k + 1] += j * out[j, 0] * cosine[k + 1 - j] / (k + 1)
            cosine[k + 1] -= j * out[j, 0] * sine[k + 1 - j] / (k + 1)


def method_table() -> str:
    """Return the table of method properties in Markdown, one row per method."""
    return _table((_HEAD, *(_row(method) for method in _methods())))


def measured_table(measurements: Mapping[str, tuple[str, str]] | None = None) -> str:
    """Return the Markdown table of errors and times for a forced pendulum over 10 s.

    The error is the largest component of the error of the final state. Fixed steps use about 2000
    evaluations of the right-hand side, without those for Jacobians, or 2000 Taylor coefficients.

    Args:
        measurements: Errors and times by name of the methods that are not measured again.
    """
    measurements = measurements or {}
    rows = [("method", *_MEASURED)]
    for method in _methods():
        label = f"`{method.name}`" + (f", order {TAYLOR_ORDER}" if method.order is None else "")
        rows.append((label, *(measurements.get(method.name) or _measured(method))))
    return _table(rows)


def measurements_on(page: str) -> dict[str, tuple[str, str]]:
    """Return the errors and times (ns) in the second table of a page, by method name."""
    rows = re.findall(r"^\| `(\w+)`[^|]* \| (\de[-+]\d\d) \| (\d+) \|$", page, re.MULTILINE)
    return {name: (error, nanoseconds) for name, error, nanoseconds in rows}


def updated(page: str, measure: bool = False) -> str:
    """Return the text of the page with updated tables.

    Args:
        page: The page in Markdown.
        measure: Whether to measure all methods, not only those without a row.
    """
    page = with_section(page, "methods", method_table())
    measurements = {} if measure else measurements_on(page)
    return with_section(page, "measurements", measured_table(measurements))


def _methods() -> list[Method]:
    return [method for name, method in METHODS.items() if name == method.name]


def _table(rows) -> str:
    first, *rest = rows
    return "\n".join(f"| {' | '.join(r)} |" for r in (first, ("---",) * len(first), *rest)) + "\n"


def _evaluations(method: Method) -> int:
    return TAYLOR_ORDER if method.order is None else method.stages - int(method.fsal)


def solved(method: Method, steps: int) -> tuple[np.ndarray, float]:
    """Return the final state (2,) after fixed steps, and the shortest of five run times, s."""
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


@cache
def _exact() -> np.ndarray:
    """Return a reference for the final state (2,), computed with 40000 steps of order 8."""
    return solved(METHODS["rkdp87"], 40_000)[0]


def _measured(method: Method) -> tuple[str, str]:
    """Return the error of the final state and the run time per step, ns, as strings."""
    steps = EVALUATIONS // _evaluations(method)
    state, seconds = solved(method, steps)
    error = float(np.abs(state - _exact()).max())
    return f"{error:.0e}", f"{seconds / steps * 1e9:.0f}"


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
        method.source,
    )


def _number(value: int | None, otherwise: str) -> str:
    return otherwise if value is None else str(value)


def main(arguments: list[str] | None = None) -> None:
    """Write the tables into the pages in `arguments`, or print them without a page."""
    parser = argparse.ArgumentParser(
        prog="python -m manip_dyn.integration.page",
        description="Write the tables of integration methods into pages, or print them.",
    )
    parser.add_argument("pages", nargs="*", type=Path, help="pages in Markdown")
    parser.add_argument(
        "--measure", action="store_true", help="measure all methods, not only those without a row"
    )
    options = parser.parse_args(arguments)
    for page in options.pages:
        text = updated(page.read_text(encoding="utf-8"), options.measure)
        page.write_text(text, encoding="utf-8")
    if not options.pages:
        print(method_table(), end="")
        if options.measure:
            print(f"\n{measured_table()}", end="")


if __name__ == "__main__":
    main()
