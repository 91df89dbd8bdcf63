"""Writes the page of benchmarks from kept records: ``python -m manip_dyn.bench.page [FOLDER]``.

The page is ``README.md`` in the folder, ``benchmarks`` if none is given. Its words are written by
hand; between the lines

    <!-- bench SUITE -->
    <!-- end -->

stands the newest record of that suite in ``runs``, and nothing else. Beside it stands the README's
chart, ``forward_dynamics.svg``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from manip_dyn.bench.charts import charts, svg
from manip_dyn.bench.record import SUITES, Record, clean_commit, read_record
from manip_dyn.core.errors import ManipDynError

CHART = "forward_dynamics.svg"
PLACE = re.compile(r"(<!-- bench (\w+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def written(page: str, runs: Path) -> str:
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
        text = written(page.read_text(encoding="utf-8"), folder / "runs")
        page.write_text(text, encoding="utf-8")
        if drawn := chart(folder / "runs"):
            (folder / CHART).write_text(drawn, encoding="utf-8")
    except (OSError, ManipDynError) as error:
        sys.exit(f"manip_dyn: {page}: {error}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) == 2 else "benchmarks"))
