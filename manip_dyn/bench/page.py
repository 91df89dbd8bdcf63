"""Write the page of benchmarks from stored records: ``python -m manip_dyn.bench.page [FOLDER]``.

The page is ``README.md`` in the folder, by default ``benchmarks``. The program inserts the newest
record of each suite in ``runs`` between these lines, and does not change other text:

    <!-- bench SUITE -->
    <!-- end -->

It also draws the chart of the repository's README, ``forward_dynamics.svg``. Charts are SVG text
that is identical on every machine.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from html import escape
from math import floor, log10
from pathlib import Path
from typing import Any, NamedTuple

from manip_dyn.bench.dynamics import LEADING, LOOP_IN_NUMBA, ONE
from manip_dyn.bench.record import SUITES, Record, clean_commit, read_record
from manip_dyn.core.errors import ManipDynError

WIDTH, LABEL, ROW, HEAD = 720, 290, 26, 46
STYLE = (
    "<style>text{fill:#24292f}.bar,.dot{fill:#9aa4ae}.ours{fill:#0b5cad}.rule{stroke:#d0d7de}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar,.dot{fill:#6e7681}"
    ".ours{fill:#58a6ff}.rule{stroke:#30363d}}</style>"
)


class Chart(NamedTuple):
    """A chart with one value per candidate.

    Attributes:
        title: Measured quantity.
        unit: Unit of the values, and whether more or less is better.
        values: Names and values of the candidates.
        log: Whether to draw dots on a logarithmic scale instead of bars from zero.
    """

    title: str
    unit: str
    values: tuple[tuple[str, float], ...]
    log: bool = True


def charts(record: Record) -> list[Chart]:
    """Return the charts of a record. The list is empty for suites without charts."""
    return CHARTS[record.suite](record.rows) if record.suite in CHARTS else []


def svg(chart: Chart, alone: bool = True) -> str:
    """Return a chart as SVG. With `alone`, include the styles for a separate file."""
    height = HEAD + ROW * len(chart.values) + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" aria-label="{escape(chart.title, quote=True)}" '
        'font-family="system-ui,-apple-system,Segoe UI,Roboto,sans-serif" font-size="13">',
        STYLE if alone else "",
        f'<text x="8" y="17" font-size="15" font-weight="600">{escape(chart.title)}</text>',
        f'<text x="8" y="35" font-size="12" opacity="0.75">{escape(chart.unit)}</text>',
    ]
    position = _scale(chart)
    for i, (name, value) in enumerate(chart.values):
        y, x = HEAD + ROW * i, position(value)
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
    """Return a function that maps a value to its horizontal position (px)."""
    values = [value for _, value in chart.values]
    width = WIDTH - 80 - LABEL
    if not chart.log:
        return lambda value: round(LABEL + width * value / max(values), 1)
    low = floor(log10(min(values)))
    span = max(log10(max(values)) - low, 1.0)
    return lambda value: round(LABEL + width * (log10(value) - low) / span, 1)


def _number(value: float) -> str:
    """Format a value with two significant digits, or as an integer from 100 upwards."""
    return f"{value:.0f}" if value >= 100 else f"{float(f'{value:.2g}'):g}"


OURS = {LEADING: "manip_dyn, batched", LOOP_IN_NUMBA: "manip_dyn in a numba loop"}
"""Names of candidates in charts of the suite `dynamics`."""


def rates(rows: Sequence[Any]) -> list[Chart]:
    """Return a chart of forward dynamics evaluations per second for each robot."""
    return [
        Chart(
            f"Forward dynamics of the {row.robot}, one core",
            "million evaluations per second; more is better",
            tuple(
                (OURS.get(timing.name, timing.name), 1.0 / timing.microseconds)
                for timing in _by_time(row.timings)
                if not timing.name.startswith("inside")
            ),
            log=False,
        )
        for row in rows
        if row.kernel == "forward dynamics" and row.way != ONE
    ]


def _by_time(timings: Sequence[Any]) -> list[Any]:
    return sorted(timings, key=lambda timing: timing.microseconds)


def _velocities(rows: Sequence[Any]) -> list[Chart]:
    return [
        Chart(
            f"One CLIK velocity of the {row.robot}",
            "microseconds, logarithmic; less is better",
            tuple((timing.name, timing.microseconds) for timing in _by_time(row.timings)),
        )
        for row in rows
    ]


def _at_equal_error(rows: Sequence[Any]) -> list[Chart]:
    """Return a chart per problem of the times at the second target error.

    Most candidates reach this error.
    """
    result = []
    for problem in dict.fromkeys(row.problem for row in rows):
        mine = [row for row in rows if row.problem == problem]
        times = [(row.candidate, row.milliseconds[1]) for row in mine if row.milliseconds[1]]
        error = mine[0].targets[1]
        title = f"{problem}, error {error:g}"
        result.append(Chart(title, "CPU ms, logarithmic; less is better", tuple(times)))
    return result


def _plans(rows: Sequence[Any]) -> list[Chart]:
    """Return charts of planning times, one per problem."""
    return [
        Chart(
            f"Planning: {problem}",
            "CPU ms, logarithmic, and the duration of the motion; less is better",
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
    return f"{ours}{row.candidate}" + (f", {row.duration:.3f} s" if row.duration else ", no plan")


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


# -------------------------------------------------------------------------------------- page
CHART = "forward_dynamics.svg"
SECTION = re.compile(r"(<!-- bench (\w+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def rendered(page: str, runs: Path) -> str:
    """Insert the newest record of each suite between the markers of a page.

    Args:
        page: Text of the page.
        runs: Folder of the stored records.

    Raises:
        ManipDynError: If a suite does not have exactly one pair of markers, or if the commit of a
            record is not clean.
    """
    names = [name for _, name, _ in SECTION.findall(page)]
    if sorted(names) != sorted(SUITES):
        raise ManipDynError(
            f"the page must have one marker for each of {', '.join(SUITES)}, "
            f"got {', '.join(names) or 'none'}."
        )
    return SECTION.sub(lambda match: f"{match[1]}{_newest(match[2], runs)}{match[3]}", page)


def newest(suite: str, runs: Path) -> tuple[Record, str] | None:
    """Return the newest record of a suite and its file name, or None if there is no record.

    Raises:
        ManipDynError: If the commit of a record is not clean.
    """
    files = sorted(runs.glob(f"{suite}-*.json"))
    records = [(read_record(file), file.name) for file in files]
    for record, _ in records:
        clean_commit(record.setting)
    return max(records, key=lambda pair: (pair[0].date, pair[1]), default=None)


def chart(runs: Path, robot: str = "pa10") -> str | None:
    """Return the chart of the README as SVG, or None if the newest record has no such robot."""
    pair = newest("dynamics", runs)
    drawn = [item for item in charts(pair[0]) if robot in item.title] if pair else []
    return svg(drawn[0]) if drawn else None


def _newest(suite: str, runs: Path) -> str:
    """Return the newest record of a suite as Markdown, or a sentence if there is no record."""
    pair = newest(suite, runs)
    if pair is None:
        return f"No run is stored yet: `manip_dyn bench {suite} --keep benchmarks/runs`.\n"
    record, name = pair
    table = "\n".join(line.rstrip() for line in str(record).splitlines())
    return (
        f"`manip_dyn bench {suite}`, {record.date}, [data](runs/{name})\n\n```text\n{table}\n```\n"
    )


def main(folder: Path) -> None:
    """Update the page in a folder, and the chart of the README."""
    page = folder / "README.md"
    try:
        text = rendered(page.read_text(encoding="utf-8"), folder / "runs")
        page.write_text(text, encoding="utf-8")
        if drawn := chart(folder / "runs"):
            (folder / CHART).write_text(drawn, encoding="utf-8")
    except (OSError, ManipDynError) as error:
        sys.exit(f"manip_dyn: {page}: {error}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) == 2 else "benchmarks"))
