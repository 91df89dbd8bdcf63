"""`manip_dyn study PAPER ITEM`: recompute, print, write files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.plots import figure_type
from manip_dyn.studies.report.findings import Findings

PAPERS = ("fan2003", "galhano1994", "sandu2001", "sariyildiz2011")
"""A new paper is a folder of that name here, with `ITEMS` and `recompute`."""


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
        raise ManipDynError(f"there is no study of '{name}'{closest(name, PAPERS)}")
    return import_module(f"manip_dyn.studies.{name}")


def study(name: str, item: str, as_json: bool = False, out: str | None = None) -> int:
    """Recompute an item of a paper, print it, and return the exit code 0.

    Args:
        name: One of `PAPERS`.
        item: One of the paper's items.
        as_json: Whether to print one JSON object instead of text.
        out: Folder for pictures and tables; None for no files.
    """
    chosen = paper(name)
    if item not in chosen.ITEMS:
        hint = closest(item, chosen.ITEMS)
        raise ManipDynError(f"the study of {name} has no item '{item}'{hint}")
    folder = None if out is None else _folder(out)
    found = chosen.recompute(item, progress=lambda line: print(line, file=sys.stderr, flush=True))
    print(json.dumps(found.content(), indent=2, allow_nan=False) if as_json else found)
    if folder is not None:
        try:
            files = found.write(folder)
        except OSError as error:
            raise ManipDynError(f"files in '{out}' cannot be written: {error}") from error
        print(f"{len(files)} files in {folder}", file=sys.stderr)
    return 0


def _folder(out: str) -> Path:
    """Return a folder that can be written to; check that plots can be drawn before long work."""
    figure_type()
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ManipDynError(f"--out '{out}' cannot be made a folder: {error.strerror}") from error
    return folder
