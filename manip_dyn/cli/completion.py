"""`manip_dyn completion`: what lets a shell complete commands, options, robots and files."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable
from typing import Any

from manip_dyn.cli.parser import examples
from manip_dyn.core.errors import ManipDynError

SHELLS = ("bash", "zsh", "fish")


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "Print a script for a shell, by the library argcomplete: then the Tab key completes "
        "commands, options, scenarios, robots and files."
    )
    command.epilog = examples(
        'eval "$(manip_dyn completion bash)"   # in ~/.bashrc',
        "manip_dyn completion fish > ~/.config/fish/completions/manip_dyn.fish",
    )
    command.add_argument("shell", choices=SHELLS, help="which shell")
    command.set_defaults(run=_completion)


def _completion(options: argparse.Namespace) -> int:
    print(_library().shellcode(["manip_dyn"], shell=options.shell))
    return 0


def complete(parser_of: Callable[[str], argparse.ArgumentParser]) -> None:
    """Answer a shell that asks how the line may go on, and end; else, do nothing.

    Args:
        parser_of: Returns the parser with the options of a command.
    """
    line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", 0))]
    try:
        words = shlex.split(line)
    except ValueError:  # within a quotation
        words = line.split()
    _library().autocomplete(parser_of(words[1] if len(words) > 1 else ""))


def _library() -> Any:
    try:
        import argcomplete
    except ImportError as error:
        raise ManipDynError(
            "completion needs argcomplete; expected pip install argcomplete, or "
            "apt install python3-argcomplete"
        ) from error
    return argcomplete
