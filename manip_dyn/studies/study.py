"""`manip_dyn study PAPER ITEM`: recompute, print, write files. A new paper is one line here."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from manip_dyn.errors import ManipDynError, closest
from manip_dyn.plots import figure_type
from manip_dyn.studies import fan2003, galhano1994, sandu2001, sariyildiz2011


class Result(Protocol):
    """What a study found; its text is `str` of it."""

    def content(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""

    def write(self, folder: Path) -> list[Path]:
        """Write pictures (PNG, SVG) and tables (CSV); return the files."""


class Paper(NamedTuple):
    """A paper: what can be asked for, and the function that recomputes it."""

    items: tuple[str, ...]
    recompute: Callable[..., Result]


PAPERS: Mapping[str, Paper] = {
    "fan2003": Paper(fan2003.ITEMS, fan2003.recompute),
    "galhano1994": Paper(galhano1994.ITEMS, galhano1994.recompute),
    "sandu2001": Paper(sandu2001.ITEMS, sandu2001.recompute),
    "sariyildiz2011": Paper(sariyildiz2011.ITEMS, sariyildiz2011.recompute),
}


def study(paper: str, item: str, as_json: bool = False, out: str | None = None) -> int:
    """Recompute an item of a paper, print it, and return the exit code 0.

    Args:
        paper: Name in `PAPERS`.
        item: One of the paper's items.
        as_json: Whether to print one JSON object instead of text.
        out: Folder for pictures and tables; None for no files.
    """
    recompute = _recompute(paper, item)
    folder = None if out is None else _folder(out)
    result = recompute(item, progress=lambda line: print(line, file=sys.stderr, flush=True))
    print(json.dumps(result.content(), indent=2, allow_nan=False) if as_json else result)
    if folder is not None:
        try:
            files = result.write(folder)
        except OSError as error:
            raise ManipDynError(f"files in '{out}' cannot be written: {error}") from error
        print(f"{len(files)} files in {folder}", file=sys.stderr)
    return 0


def _recompute(paper: str, item: str) -> Callable[..., Result]:
    if paper not in PAPERS:
        raise ManipDynError(f"there is no study of '{paper}'{closest(paper, PAPERS)}")
    if item not in PAPERS[paper].items:
        hint = closest(item, PAPERS[paper].items)
        raise ManipDynError(f"the study of {paper} has no item '{item}'{hint}")
    return PAPERS[paper].recompute


def _folder(out: str) -> Path:
    """Return a folder that can be written to; check that plots can be drawn before long work."""
    figure_type()
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ManipDynError(f"--out '{out}' cannot be made a folder: {error.strerror}") from error
    return folder
