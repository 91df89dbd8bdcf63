"""Papers that have a study, and the command `manip_dyn study PAPER ITEM`."""

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
)
from manip_dyn.studies.report.pages import (
    claims_page_table,
    html_index,
    html_page,
    setting_text,
    write_html,
)

PAPERS = ("fan2003", "galhano1994", "sandu2001", "sariyildiz2011")
"""A new paper is a folder of that name here, with `ITEMS` and `recompute`."""
ALL = "all"


class Paper(Protocol):
    """What a paper's folder offers: what can be asked for, and the function that recomputes it."""

    ITEMS: tuple[str, ...]
    recompute: Callable[..., Findings]


def paper(name: str) -> Paper:
    """Return a paper's folder.

    Raises:
        ManipDynError: If there is no such study.
    """
    if name not in PAPERS:
        raise ManipDynError(f"there is no study of '{name}'{closest(name, (*PAPERS, ALL))}")
    return import_module(f"manip_dyn.studies.{name}")


def study(
    name: str, item: str, as_json: bool = False, out: str | None = None, keep: str | None = None
) -> int:
    """Recompute an item of a paper, or all papers, print it, and return the exit code 0.

    Args:
        name: One of `PAPERS`, or ``all``.
        item: One of the paper's items, or what the paper calls a figure, table or section.
        as_json: Whether to print one JSON object instead of text; of all papers by their names.
        out: Folder for pictures, tables and a page of HTML for each paper; None for no files.
        keep: Folder in which the run of all items is kept for the page of studies; None for none.
    """
    if (name == ALL or keep is not None) and item != ALL:
        whole = "all papers are recomputed" if name == ALL else "a run is kept"
        raise ManipDynError(f"{whole} with all items; '{item}' is one: leave it out")
    names = PAPERS if name == ALL else (name,)
    if name != ALL:
        item = _item(name, item)
    folder = None if out is None else _folder(out)
    told, sources = {}, {}
    for each in names:
        found, record = _run(each, item)
        sources[each] = str(found.published["source"])
        told[each] = found.content() if as_json else None
        if not as_json:
            print(found, flush=True)
        if folder is not None:
            _written(found, record, folder, item, apart=name == ALL)
        if keep is not None:
            record.keep(Path(keep))
    if folder is not None and name == ALL:
        write_html(folder / "index.html", html_index(sources))
    if as_json:
        print(json.dumps(told if name == ALL else told[name], indent=2, allow_nan=False))
    return 0


def _item(name: str, word: str) -> str:
    """Return the item that is, or has, what was asked for."""
    known = paper(name).ITEMS
    if word in known:
        return word
    found = items_named(word, read_items(Path(__file__).parent / name))
    for each in found:
        if each.command:
            item = each.command.split()[3]
            drawn = "; --out DIR draws it" if "--out" in each.command else ""
            _tell(f"{name}: {each.item}, {each.about}: the item '{item}'{drawn}")
            return item
    for each in found:
        why = each.status or f"see {', '.join(each.evidence)}"
        raise ManipDynError(
            f"{each.item} of {name}, {each.about}, is not computed: {why}; expected another item"
        )
    raise ManipDynError(f"the study of {name} has no item '{word}'{closest(word, known)}")


def _run(name: str, item: str) -> tuple[Findings, Record]:
    began = time.process_time()
    found = paper(name).recompute(item, progress=lambda line: _tell(f"{name}: {line}"))
    return found, found.record(time.process_time() - began)


def _written(found: Findings, record: Record, folder: Path, item: str, apart: bool) -> None:
    """Write files and the page of a paper, the files into a folder of its own if `apart`."""
    beside = f"{found.paper}/" if apart else ""
    items = read_items(Path(__file__).parent / found.paper) if item == ALL else []
    tables = [claims_page_table(record.claims)] if record.claims else []
    tables += record.tables.values()
    tables += [items_table(items, record)] if items else []
    lines = (str(found.published["source"]), setting_text(record))
    try:
        (folder / beside).mkdir(exist_ok=True)
        files = found.write(folder / beside)
        text = html_page(found.paper, lines, tables, found.pictures(), beside)
        files.append(write_html(folder / f"{found.paper}.html", text))
    except OSError as error:
        raise ManipDynError(f"files in '{folder}' cannot be written: {error}") from error
    _tell(f"{len(files)} files in {folder / beside}")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _folder(out: str) -> Path:
    """Return a folder that can be written to; check that plots can be drawn before long work."""
    figure_type()
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ManipDynError(f"--out '{out}' cannot be made a folder: {error.strerror}") from error
    return folder
