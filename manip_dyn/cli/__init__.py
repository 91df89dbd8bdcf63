"""The command-line tool `manip_dyn`. It imports only the module of the selected command."""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import sys
import warnings
from importlib import import_module
from typing import NamedTuple

from manip_dyn import __version__
from manip_dyn.cli.parser import Parser, examples, join_negative_numbers
from manip_dyn.cli.terminal import error_line
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.interruption import exit_code, report_stopped, reset_interrupt_flag

BAD_INPUT = 2


class Command(NamedTuple):
    """A command of `manip_dyn`.

    Attributes:
        module: Module of `manip_dyn.cli` that defines the function `configure_<command>`.
        summary: One-line description in the list of commands.
    """

    module: str
    summary: str


COMMANDS = {
    "demo": Command("experiments", "run scenarios with ROS 2 nodes and check the results"),
    "robots": Command("robots", "list the shipped robots, or describe one"),
    "check": Command("robots", "find errors in a URDF and compare its dynamics"),
    "identify": Command("robots", "estimate masses, inertias and friction of an arm from a log"),
    "plan": Command("motions", "plan a zero-net-work or minimum-time motion"),
    "simulate": Command("motions", "simulate an arm under constant efforts"),
    "sweep": Command("experiments", "run many cases of a task on several cores or a cluster"),
    "track": Command("motions", "follow a path with closed-loop inverse kinematics"),
    "view": Command("recordings", "show a robot, a recording or running nodes in the browser"),
    "export": Command("robots", "write kernels as C source"),
    "methods": Command("robots", "list the integration methods"),
    "record": Command("recordings", "record all messages of the running nodes"),
    "replay": Command("recordings", "publish, view or check a recording"),
    "bench": Command("experiments", "time this package against its peers"),
    "prepare": Command("installation", "fill the cache with compiled code"),
    "study": Command("experiments", "recompute a paper's tables and figures"),
    "doctor": Command("installation", "report installed and missing libraries"),
    "completion": Command("installation", "print the shell completion script"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code.

    Args:
        arguments: Words of the command line after ``manip_dyn``. Default: those of the process.

    Returns:
        0 for success, 1 for a failure, 2 for invalid input, 130 after Ctrl-C, and 143 after
        SIGTERM in a command that starts processes. 0 if the reader of the output closes the pipe.
    """
    words = sys.argv[1:] if arguments is None else arguments
    if arguments is None:
        atexit.register(gc.freeze)  # otherwise Python collects garbage for 0.2 s at exit
        warnings.showwarning = _print_warning  # type: ignore[assignment]
    if "_ARGCOMPLETE" in os.environ and arguments is None:
        from manip_dyn.cli.installation import complete

        complete(lambda name: _parser(name if name in COMMANDS else ""))
    try:
        parser = _parser(_check_command(words[0]) if words else "")
        options, unrecognized = parser.parse_known_args(join_negative_numbers(words))
        if unrecognized:
            command = f"manip_dyn {words[0]}" if words[0] in COMMANDS else "manip_dyn"
            message = f"unrecognized arguments: {' '.join(unrecognized)}. See {command} --help."
            raise ManipDynError(message)
        code = options.run(options)
        sys.stdout.flush()
        return code
    except ManipDynError as error:
        print(error_line(str(error)), file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as signal:
        reset_interrupt_flag()
        report_stopped(error_line("stopped"))
        return exit_code(signal)


def _print_warning(message: Warning | str, *_: object) -> None:
    """Print a warning in one line."""
    print(error_line(f"warning: {message}"), file=sys.stderr)


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Add the description, examples and options of a command to its parser.

    The description consists of the one-line summary and the details of the command's module.
    """
    command = COMMANDS[name]
    getattr(import_module(f"manip_dyn.cli.{command.module}"), f"configure_{name}")(parser)
    summary = f"{command.summary[:1].upper()}{command.summary[1:]}."
    parser.description = "\n\n".join(filter(None, (summary, parser.description)))


def _check_command(word: str) -> str:
    """Return `word`, the first word of the command line, if it is valid.

    Raises:
        ManipDynError: If the word is neither a command nor an option.
    """
    if word not in COMMANDS and not word.startswith("-"):
        raise ManipDynError(
            f"command must be a command of manip_dyn, got '{word}'{closest(word, COMMANDS)}"
        )
    return word


def _parser(selected: str) -> Parser:
    """Return the parser; only the selected command has its options, because this is faster."""
    parser = Parser(
        prog="manip_dyn",
        description="Dynamics, kinematics and time-optimal control of robot manipulators.",
        epilog=examples(
            "manip_dyn demo",
            "manip_dyn robots pa10",
            "manip_dyn plan ibm7535 --start 0.76,0.2618 --goal 0,0",
            "manip_dyn COMMAND --help",
        ),
    )
    parser.add_argument("--version", action="version", version=f"manip_dyn {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(name, help=command.summary)
        if name == selected:
            configure(name, subparser)
    return parser
