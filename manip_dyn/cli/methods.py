"""`manip_dyn methods`: the integration methods."""

from __future__ import annotations

import argparse

from manip_dyn.cli.options import DONE, examples
from manip_dyn.cli.terminal import print_table
from manip_dyn.integration.page import method_table

SHORT = {
    "order": "order",
    "compared with": "with",
    "evaluations": "evals",
    "dense": "dense",
    "stable to": "stable",
}
"""Titles of the numbers, for terminals of 80 columns."""


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "List the integration methods: order, order of the solution they are compared "
        "with, evaluations per step, end of the real stability interval, source."
    )
    command.epilog = examples(
        "manip_dyn methods", "manip_dyn simulate rr --method rkdp87 --rtol 1e-9"
    )
    command.set_defaults(run=_methods)


def _methods(_options: argparse.Namespace) -> int:
    text = method_table()
    head, _, *rows = (
        [cell.strip().replace("`", "") for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
    )
    print_table([SHORT.get(name, name) for name in head], rows, lambda: text, SHORT.values())
    return DONE
