"""Charts of kept records as SVG, for the README and the site: plain text, the same everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import floor, log10
from typing import Any, NamedTuple

from manip_dyn.bench.record import Record

WIDTH, LABEL, ROW, HEAD = 720, 290, 26, 46
STYLE = (
    "<style>text{fill:#24292f}.bar,.dot{fill:#9aa4ae}.ours{fill:#0b5cad}.rule{stroke:#d0d7de}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar,.dot{fill:#6e7681}"
    ".ours{fill:#58a6ff}.rule{stroke:#30363d}}</style>"
)


class Chart(NamedTuple):
    """A value per candidate.

    Attributes:
        title: What was measured.
        unit: Of the values, and which way is better.
        values: Names and values.
        log: Whether values are dots on a logarithmic scale; else bars from zero.
    """

    title: str
    unit: str
    values: tuple[tuple[str, float], ...]
    log: bool = True


def charts(record: Record) -> list[Chart]:
    """Return the charts of a record; none where its table says it better."""
    return CHARTS[record.suite](record.rows) if record.suite in CHARTS else []


def svg(chart: Chart, alone: bool = True) -> str:
    """Return a chart as SVG, for a file `alone` or for a page that has the styles."""
    height = HEAD + ROW * len(chart.values) + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" aria-label="{escape(chart.title, quote=True)}" '
        'font-family="system-ui,-apple-system,Segoe UI,Roboto,sans-serif" font-size="13">',
        STYLE if alone else "",
        f'<text x="8" y="17" font-size="15" font-weight="600">{escape(chart.title)}</text>',
        f'<text x="8" y="35" font-size="12" opacity="0.75">{escape(chart.unit)}</text>',
    ]
    place = _scale(chart)
    for i, (name, value) in enumerate(chart.values):
        y, x = HEAD + ROW * i, place(value)
        ours = " ours" if name.startswith("manip_dyn") else ""
        lines.append(
            f'<text x="{LABEL - 10}" y="{y + 17}" text-anchor="end">{escape(name)}</text>'
        )
        if chart.log:
            lines += [
                f'<line class="rule" x1="{LABEL}" x2="{WIDTH - 80}" y1="{y + 13}" y2="{y + 13}" '
                'stroke="#d0d7de"/>',
                f'<circle class="dot{ours}" cx="{x}" cy="{y + 13}" r="6"/>',
            ]
        else:
            lines.append(
                f'<rect class="bar{ours}" x="{LABEL}" y="{y + 4}" width="{x - LABEL}" '
                f'height="{ROW - 8}" rx="2"/>'
            )
        lines.append(f'<text x="{x + 10}" y="{y + 17}">{_number(value)}</text>')
    return "\n".join([*filter(None, lines), "</svg>"]) + "\n"


def _scale(chart: Chart) -> Callable[[float], float]:
    """Return where a value stands, px."""
    values = [value for _, value in chart.values]
    room = WIDTH - 80 - LABEL
    if not chart.log:
        return lambda value: round(LABEL + room * value / max(values), 1)
    low = floor(log10(min(values)))
    span = max(log10(max(values)) - low, 1.0)
    return lambda value: round(LABEL + room * (log10(value) - low) / span, 1)


def _number(value: float) -> str:
    """Return a value with two or three digits."""
    return f"{value:.0f}" if value >= 100 else f"{float(f'{value:.2g}'):g}"


def rates(rows: Sequence[Any]) -> list[Chart]:
    """Return forward dynamics per second, a chart for each robot."""
    return [
        Chart(
            f"Forward dynamics of the {row.robot}, one core",
            "million evaluations per second; more is better",
            tuple((each.name, 1.0 / each.microseconds) for each in _by_time(row.timings)),
            log=False,
        )
        for row in rows
        if (row.kernel, row.way) == ("forward dynamics", "compiled")
    ]


def _by_time(timings: Sequence[Any]) -> list[Any]:
    return sorted(timings, key=lambda each: each.microseconds)


def _velocities(rows: Sequence[Any]) -> list[Chart]:
    return [
        Chart(
            f"One CLIK velocity of the {row.robot}",
            "microseconds, logarithmic; less is better",
            tuple((each.name, each.microseconds) for each in _by_time(row.timings)),
        )
        for row in rows
    ]


def _at_equal_error(rows: Sequence[Any]) -> list[Chart]:
    """Return a chart per problem at the second of its errors, which all but a few reach."""
    found = []
    for problem in dict.fromkeys(row.problem for row in rows):
        mine = [row for row in rows if row.problem == problem]
        times = [(row.candidate, row.milliseconds[1]) for row in mine if row.milliseconds[1]]
        error = mine[0].targets[1]
        title = f"{problem}, error {error:g}"
        found.append(Chart(title, "CPU ms, logarithmic; less is better", tuple(times)))
    return found


def _plans(rows: Sequence[Any]) -> list[Chart]:
    """Return planning times of the goals that have all candidates."""
    return [
        Chart(
            f"Planning: {problem}",
            "CPU ms, logarithmic, and the duration of what was planned; less is better",
            tuple(
                (_planned(row), row.milliseconds)
                for row in sorted(rows, key=lambda row: row.milliseconds)
                if row.problem == problem
            ),
        )
        for problem in dict.fromkeys(row.problem for row in rows)
    ]


def _planned(row: Any) -> str:
    ours = "manip_dyn " if row.candidate in ("zero net work", "minimum time") else ""
    return f"{ours}{row.candidate}" + (f", {row.duration:.3f} s" if row.duration else ", gave up")


def _timings_of_paths(rows: Sequence[Any]) -> list[Chart]:
    problems = dict.fromkeys(row.problem for row in rows)
    return [
        Chart(
            f"Timing of a path: {problem}",
            "milliseconds, logarithmic; less is better",
            tuple((row.candidate, row.milliseconds) for row in rows if row.problem == problem),
        )
        for problem in problems
    ]


CHARTS: dict[str, Callable[[Sequence[Any]], list[Chart]]] = {
    "dynamics": rates,
    "clik": _velocities,
    "integrators": _at_equal_error,
    "planning": _plans,
    "stiff": _at_equal_error,
    "path_timing": _timings_of_paths,
}
