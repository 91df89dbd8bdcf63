"""The command's parser: help with examples, coloured on a terminal, and completion in a shell."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from manip_dyn.cli.terminal import is_coloured
from manip_dyn.core.errors import ManipDynError

EXAMPLES = "examples:"
HELP = frozenset(("-h", "--help"))
HEADING = re.compile(r"^(usage:|[a-z][a-z ]*:$)", re.MULTILINE)
OPTION = re.compile(r"(?<![\w-])(--?[a-zA-Z][\w-]*)")


NUMBERS = re.compile(r"-[\d.][-+\d.,eE]*")
"""What begins with a minus and is no option: numbers, comma separated."""


class Parser(argparse.ArgumentParser):
    """A parser whose help has examples at its end, as they are typed, and whose errors a line.

    Attributes:
        topics: Arguments that have a help of their own: each gives its description and examples.
    """

    topics: Mapping[str, Callable[[], tuple[str, str]]] = {}

    def __init__(self, **options: Any):
        """Take what `argparse.ArgumentParser` takes."""
        super().__init__(**{"formatter_class": _Formatter, **options})

    def error(self, message: str) -> NoReturn:
        """Refuse what was given."""
        raise ManipDynError(f"{message}; see {self.prog} --help")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments; if one that is asked about is a topic, help is about that."""
        if args and HELP.intersection(args):
            for topic in [each for each in args if each in self.topics][:1]:
                self.description, self.epilog = self.topics[topic]()
        return super().parse_known_args(args, namespace)

    def print_help(self, file: Any = None) -> None:
        """Print the help."""
        stream = file or sys.stdout
        text = self.format_help()
        if is_coloured(stream) and "\x1b" not in text:  # from Python 3.14 on, argparse colours
            text = OPTION.sub("\x1b[36m\\1\x1b[0m", HEADING.sub("\x1b[1m\\1\x1b[0m", text))
        stream.write(text)


def joined(given: Sequence[str]) -> list[str]:
    """Return arguments with numbers that begin with a minus joined to the option before them.

    argparse takes ``--start -0.8,0`` for two options; ``--start=-0.8,0`` it understands.
    """
    found: list[str] = []
    for word in given:
        last = found[-1] if found else ""
        if NUMBERS.fullmatch(word) and last.startswith("--") and "=" not in last:
            found[-1] = f"{last}={word}"
        else:
            found.append(word)
    return found


def examples(*lines: str) -> str:
    """Return examples for the end of a command's help."""
    return "\n  ".join((EXAMPLES, *lines))


def add_topics(command: Any, topics: Mapping[str, Callable[[], tuple[str, str]]]) -> None:
    """Give some arguments of a command a help of their own, see `Parser.topics`."""
    command.topics = topics


def completed_by(action: Any, names: Callable[[], Iterable[str]]) -> None:
    """Let a shell complete an argument by names, and by files."""
    from glob import glob

    def complete(prefix: str, **_: Any) -> list[str]:
        return [*(name for name in names() if name.startswith(prefix)), *glob(f"{prefix}*")]

    action.completer = complete


class _Formatter(argparse.HelpFormatter):
    """Leaves examples as they are, and room for the longest command."""

    def __init__(self, prog: str, **options: Any):
        """Take what `argparse.HelpFormatter` takes."""
        super().__init__(prog, **options)
        self._action_max_length = 14

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith(EXAMPLES):
            return text
        paragraphs = (
            super(_Formatter, self)._fill_text(each, width, indent) for each in text.split("\n\n")
        )
        return "\n\n".join(paragraphs)
