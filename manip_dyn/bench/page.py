"""Write the page of benchmarks from stored records: ``python -m manip_dyn.bench.page [FOLDER]``.

The page is ``README.md`` in the folder, by default ``benchmarks``. Its text is written by hand.
Between the lines

    <!-- bench SUITE -->
    <!-- end -->

the program inserts the newest record of that suite in ``runs``. It also draws the README's chart,
``forward_dynamics.svg``. Charts are SVG text, identical on every machine.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from html import escape
from math import floor, log10
from pathlib import Path
from typing import Any, NamedTuple

from manip_dyn.bench.record import SUITES, Record, clean_commit, read_record
from manip_dyn.core.errors import ManipDynError

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


CHART = "forward_dynamics.svg"
PLACE = re.compile(r"(<!-- bench (\w+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def rendered(page: str, runs: Path) -> str:
    """Return a page with the newest record of each suite in its place.

    Args:
        page: The page as it was.
        runs: Folder of the records.

    Raises:
        ManipDynError: If a suite has no place, or more than one, or a record is not of a clean
            commit.
    """
    places = [name for _, name, _ in PLACE.findall(page)]
    if sorted(places) != sorted(SUITES):
        raise ManipDynError(
            f"the page has places for {', '.join(places) or 'nothing'}; expected one for each of "
            f"{', '.join(SUITES)}"
        )
    return PLACE.sub(lambda place: f"{place[1]}{_newest(place[2], runs)}{place[3]}", page)


def newest(suite: str, runs: Path) -> tuple[Record, str] | None:
    """Return the newest record of a suite and the name of its file; None where none is kept.

    Raises:
        ManipDynError: If one of them is not of a clean commit.
    """
    files = sorted(runs.glob(f"{suite}-*.json"))
    records = [(read_record(file), file.name) for file in files]
    for record, _ in records:
        clean_commit(record.setting)
    return max(records, key=lambda each: (each[0].date, each[1]), default=None)


def chart(runs: Path, robot: str = "pa10") -> str | None:
    """Return the README's chart as SVG; None where no record has this robot."""
    found = newest("dynamics", runs)
    drawn = [each for each in charts(found[0]) if robot in each.title] if found else []
    return svg(drawn[0]) if drawn else None


def _newest(suite: str, runs: Path) -> str:
    """Return the text of the newest record of a suite."""
    found = newest(suite, runs)
    if found is None:
        return f"No run is kept yet: `manip_dyn bench {suite} --keep benchmarks/runs`.\n"
    record, name = found
    table = "\n".join(line.rstrip() for line in str(record).splitlines())
    return (
        f"`manip_dyn bench {suite}`, {record.date}, [data](runs/{name})\n\n```text\n{table}\n```\n"
    )


def main(folder: Path) -> None:
    """Write the page of a folder, and the README's chart."""
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
