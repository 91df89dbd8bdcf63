"""Writes the page of studies from kept runs: ``python -m manip_dyn.studies.page [FOLDER]``.

The page is ``studies.md`` in the folder, ``docs`` if none is given. Its words are written by hand
and have no numbers of ours; between the lines

    <!-- study PAPER NAME -->
    <!-- end -->

stands what the run in ``studies/PAPER.json`` says: ``setting``, ``claims``, ``items`` (all that a
paper has, with its status) or a table by its name. ``manip_dyn study all --keep docs/studies``
makes the runs anew.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.studies.report.findings import Record, items_table, read_items, read_record
from manip_dyn.studies.report.pages import claims_markdown, markdown, setting_text

PLACE = re.compile(r"( *<!-- study (\w+) (\S+) -->\n).*?( *<!-- end -->\n)", re.DOTALL)


def rendered(page: str, runs: Path) -> str:
    """Return a page with what the kept runs say in its places.

    Raises:
        ManipDynError: If a run is missing, or has no such table.
    """
    kept: dict[str, Record] = {}

    def filled(place: re.Match[str]) -> str:
        paper = place[2]
        if paper not in kept:
            kept[paper] = read_record(runs / f"{paper}.json")
        return f"{place[1]}\n{section(kept[paper], place[3])}\n{place[4]}"

    return PLACE.sub(filled, page)


def section(record: Record, name: str) -> str:
    """Return what a run says under a name, in Markdown."""
    if name == "setting":
        return f"{setting_text(record)}\n"
    if name == "claims":
        return claims_markdown(record)
    if name == "items":
        items = read_items(Path(__file__).parent / record.paper)
        return markdown(items_table(items, record))
    if name not in record.tables:
        hint = closest(name, record.tables)
        raise ManipDynError(f"the kept run of {record.paper} has no table '{name}'{hint}")
    return markdown(record.tables[name])


def main(folder: Path) -> None:
    """Write the page of a folder."""
    page = folder / "studies.md"
    try:
        text = rendered(page.read_text(encoding="utf-8"), folder / "studies")
        page.write_text(text, encoding="utf-8")
    except (OSError, ManipDynError) as error:
        sys.exit(f"manip_dyn: {page}: {error}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) == 2 else "docs"))
