"""`manip_dyn methods`: the integration methods."""

from __future__ import annotations

import argparse

from manip_dyn.cli.options import DONE
from manip_dyn.integrate.page import method_table


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "List the integration methods: order, order of the solution they are compared "
        "with, evaluations per step, end of the real stability interval, source."
    )
    command.set_defaults(run=_methods)


def _methods(_options: argparse.Namespace) -> int:
    print(method_table(), end="")
    return DONE
