"""`manip_dyn study`: papers recomputed."""

from __future__ import annotations

import argparse

from manip_dyn.cli.parser import completed_by, examples
from manip_dyn.studies import PAPERS, paper, study


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    items = "; ".join(f"{name}: {', '.join(paper(name).ITEMS)}" for name in PAPERS)
    command.description = (
        "Recompute a paper's tables and figures, published beside computed, and "
        f"judge its claims. Papers and their items: {items}."
    )
    command.epilog = examples(
        "manip_dyn study all --out pages", "manip_dyn study fan2003 table6.4 --out figures"
    )
    names = (*PAPERS, "all")
    paper_argument = command.add_argument("paper", help=f"one of: {', '.join(names)}")
    completed_by(paper_argument, lambda: names)
    command.add_argument(
        "item", nargs="?", default="all", help="or a figure or table, as fig5.9 (default: all)"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    command.add_argument("--out", metavar="DIR", help="write PNG, SVG, CSV and HTML files into it")
    command.add_argument(
        "--keep", metavar="DIR", help="keep the run as data there, for the page of studies"
    )
    command.set_defaults(run=lambda o: study(o.paper, o.item, o.json, o.out, o.keep))
