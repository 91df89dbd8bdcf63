"""Update the page of studies from stored runs: ``python -m manip_dyn.studies.page [FOLDER]``.

The page is ``studies.md`` in FOLDER (default ``docs``). Its text is written by hand and contains
no computed numbers. The program replaces the content between the lines

    <!-- study PAPER NAME -->
    <!-- end -->

with a section of the run in ``studies/PAPER.json``. NAME is ``setting``, ``claims``, ``items``
(all items of the paper with their status) or the name of a table. ``manip_dyn study all --keep
docs/studies`` stores new runs.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.studies.report.findings import Record, items_table, read_items, read_record
from manip_dyn.studies.report.pages import claims_markdown, markdown, setting_text

SECTION = re.compile(r"( *<!-- study (\w+) (\S+) -->\n).*?( *<!-- end -->\n)", re.DOTALL)


def rendered(page: str, runs: Path) -> str:
    """Return a page with sections of stored runs inserted between its markers.

    Args:
        page: The page as Markdown.
        runs: Folder of the stored runs.

    Raises:
        ManipDynError: If a run is missing or does not contain a section.
    """
    records: dict[str, Record] = {}

    def replaced(match: re.Match[str]) -> str:
        paper = match[2]
        if paper not in records:
            records[paper] = read_record(runs / f"{paper}.json")
        return f"{match[1]}\n{section(records[paper], match[3])}\n{match[4]}"

    return SECTION.sub(replaced, page)


def section(record: Record, name: str) -> str:
    """Return a section of a stored run as Markdown; see the module for the names.

    Raises:
        ManipDynError: If there is no such section.
    """
    if name == "setting":
        return f"{setting_text(record)}\n"
    if name == "claims":
        return claims_markdown(record)
    if name == "items":
        items = read_items(Path(__file__).parent / record.paper)
        return markdown(items_table(items, record))
    if name not in record.tables:
        hint = closest(name, record.tables)
        raise ManipDynError(f"the stored run of {record.paper} has no table '{name}'{hint}")
    return markdown(record.tables[name])


def main(folder: Path) -> None:
    """Update the page in a folder."""
    page = folder / "studies.md"
    try:
        text = rendered(page.read_text(encoding="utf-8"), folder / "studies")
        page.write_text(text, encoding="utf-8")
    except (OSError, ManipDynError) as error:
        sys.exit(f"manip_dyn: {page}: {error}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) == 2 else "docs"))
