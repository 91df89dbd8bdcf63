"""The papers with a study, and the implementation of `manip_dyn study PAPER ITEM`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.plots import figure_type
from manip_dyn.studies.report.findings import (
    Findings,
    Record,
    items_named,
    items_table,
    read_items,
    read_record,
    stale,
)
from manip_dyn.studies.report.inputs import changed_inputs
from manip_dyn.studies.report.pages import (
    claims_page_table,
    html_index,
    html_page,
    setting_text,
    write_html,
)

PAPERS = ("fan2003", "galhano1994", "sandu2001", "sariyildiz2011")
"""Names of the packages of the papers. Each package has `ITEMS` and `recompute`."""
ALL = "all"


class Paper(Protocol):
    """Interface of a paper's package: names of items, and a function that recomputes them."""

    ITEMS: tuple[str, ...]
    recompute: Callable[..., Findings]


def paper(name: str) -> Paper:
    """Return the package of a paper.

    Raises:
        ManipDynError: If the name is unknown.
    """
    if name not in PAPERS:
        raise ManipDynError(f"paper must be a study, got '{name}'{closest(name, (*PAPERS, ALL))}")
    return import_module(f"manip_dyn.studies.{name}")


def study(
    name: str,
    item: str,
    as_json: bool = False,
    out: str | None = None,
    keep: str | None = None,
    check: str | None = None,
) -> int:
    """Recompute an item of one paper or of all papers, and print the findings.

    Args:
        name: One of `PAPERS`, or ``all``.
        item: Name of an item, or a name from the paper such as ``figure 3.6``.
        as_json: Whether to print a JSON object instead of text. For all papers, the object
            contains the findings by name of the paper.
        out: Folder for pictures, tables and an HTML page per paper, or None for no files.
        keep: Folder in which to store the runs for the page of studies, or None. Requires all
            items.
        check: Folder of stored runs with which to compare the new runs, or None.

    Returns:
        The exit code: 1 if a run differs from its stored run in `check`, else 0.

    Raises:
        ManipDynError: If a name is unknown, the item cannot be computed or combined with the
            other arguments, matplotlib is missing, or `out` cannot be written.
    """
    if (name == ALL or keep is not None) and item != ALL:
        option = "'all' papers" if name == ALL else "--keep"
        raise ManipDynError(f"{option} requires all items, got '{item}'. Omit it.")
    names = PAPERS if name == ALL else (name,)
    if name != ALL:
        item = _item(name, item)
    folder = None if out is None else _folder(out)
    contents, sources, differences = {}, {}, 0
    for paper_name in names:
        findings, record = _run(paper_name, item)
        sources[paper_name] = str(findings.published["source"])
        contents[paper_name] = findings.content() if as_json else None
        if not as_json:
            print(findings, flush=True)
        if folder is not None:
            _write(findings, record, folder, item, subfolder=name == ALL)
        if check is not None:
            differences += _compare(record, Path(check), item)
        if keep is not None:
            record.keep(Path(keep))
    if folder is not None and name == ALL:
        write_html(folder / "index.html", html_index(sources))
    if as_json:
        print(json.dumps(contents if name == ALL else contents[name], indent=2, allow_nan=False))
    return 1 if differences else 0


def _item(name: str, word: str) -> str:
    """Return the item with the name `word`, or the item for a figure, table or section."""
    items = paper(name).ITEMS
    if word in items:
        return word
    candidates = items_named(word, read_items(Path(__file__).parent / name))
    for candidate in candidates:
        if candidate.command:
            item = candidate.command.split()[3]
            hint = "; --out DIR draws it" if "--out" in candidate.command else ""
            _log(f"{name}: {candidate.item}, {candidate.about}: the item '{item}'{hint}")
            return item
    for candidate in candidates:
        reason = candidate.status or f"see {', '.join(candidate.evidence)}"
        raise ManipDynError(
            f"item must be computed, got {candidate.item} of {name}, {candidate.about}: {reason}."
        )
    raise ManipDynError(f"item must be one of {name}, got '{word}'{closest(word, items)}")


def _run(name: str, item: str) -> tuple[Findings, Record]:
    began = time.process_time()
    findings = paper(name).recompute(item, progress=lambda line: _log(f"{name}: {line}"))
    return findings, findings.record(time.process_time() - began)


def _compare(record: Record, folder: Path, item: str) -> int:
    """Log the differences of a run from its stored run and return their number."""
    stored = read_record(folder / f"{record.paper}.json")
    lines = [f"changed input: {name}" for name in changed_inputs(stored.inputs, record.inputs)]
    lines += [f"not in the stored run: {row}" for row in stale(stored, record)]
    if item == ALL:
        lines += [f"only in the stored run: {row}" for row in stale(record, stored)]
    for line in lines:
        _log(f"{record.paper}: {line}")
    _log(f"{record.paper}: {len(lines)} differences from the stored run")
    return len(lines)


def _write(findings: Findings, record: Record, folder: Path, item: str, subfolder: bool) -> None:
    """Write the HTML page of a paper and its other files, in their own folder with `subfolder`."""
    prefix = f"{findings.paper}/" if subfolder else ""
    items = read_items(Path(__file__).parent / findings.paper) if item == ALL else []
    tables = [claims_page_table(record.claims)] if record.claims else []
    tables += record.tables.values()
    tables += [items_table(items, record)] if items else []
    lines = (str(findings.published["source"]), setting_text(record))
    try:
        (folder / prefix).mkdir(exist_ok=True)
        files = findings.write(folder / prefix)
        text = html_page(findings.paper, lines, tables, findings.pictures(), prefix)
        files.append(write_html(folder / f"{findings.paper}.html", text))
    except OSError as error:
        raise ManipDynError(f"files in '{folder}' cannot be written: {error}.") from error
    _log(f"{len(files)} files in {folder / prefix}")


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _folder(out: str) -> Path:
    """Create and return the output folder, or raise `ManipDynError`, also without matplotlib."""
    figure_type()
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ManipDynError(f"--out must be a folder, got '{out}': {error.strerror}.") from error
    return folder
