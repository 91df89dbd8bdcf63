"""The `manip_dyn` command: one file for each of its commands, loaded when it is the one given."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from manip_dyn import __version__
from manip_dyn.cli.parser import Parser, examples, joined
from manip_dyn.cli.terminal import error_line
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.interruptible import exit_code, say_stopped

BAD_INPUT = 2
COMMANDS = {
    "demo": "run scenarios with real ROS 2 nodes, measured from their topics",
    "robots": "list the shipped robots, or describe one",
    "check": "say what is wrong or doubtful in a URDF, and what others make of it",
    "identify": "estimate masses, inertias and friction of an arm from a log",
    "plan": "plan a zero-net-work or minimum-time motion",
    "simulate": "simulate an arm under constant efforts",
    "sweep": "plan, simulate, track or execute many cases, on cores or a cluster",
    "track": "follow a path with the tool by closed-loop inverse kinematics",
    "view": "show a robot, or what runs, on a page in the browser",
    "export": "write kernels as C source",
    "methods": "list the integration methods",
    "record": "record every message of the nodes that run",
    "replay": "publish a recording again, view it or check it",
    "bench": "time this package, beside its peers in one process",
    "prepare": "compile ahead what commands, nodes and examples use",
    "study": "recompute a paper's tables and figures",
    "doctor": "say what is installed, and what is missing for what",
    "completion": "print what lets a shell complete this command",
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code: 0 done, 1 failed, 2 bad input, 130 Ctrl-C.

    After SIGTERM, where a command has to tidy up, it is 143.
    """
    given = sys.argv[1:] if arguments is None else arguments
    if "_ARGCOMPLETE" in os.environ and arguments is None:
        from manip_dyn.cli.completion import complete

        complete(lambda name: _parser(name if name in COMMANDS else ""))
    try:
        parser = _parser(_known(given[0]) if given else "")
        options, others = parser.parse_known_args(joined(given))
        if others:
            command = f"manip_dyn {given[0]}" if given[0] in COMMANDS else "manip_dyn"
            told = f"unrecognized arguments: {' '.join(others)}; see {command} --help"
            raise ManipDynError(told)
        code = options.run(options)
        sys.stdout.flush()
        return code
    except ManipDynError as error:
        print(error_line(str(error)), file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader of a pipe has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as why:
        say_stopped(error_line("stopped"))
        return exit_code(why)


def _known(command: str) -> str:
    """Return a command, or an option in its place; refuse what is neither."""
    if command not in COMMANDS and not command.startswith("-"):
        raise ManipDynError(f"there is no command '{command}'{closest(command, COMMANDS)}")
    return command


def _parser(chosen: str) -> Parser:
    """Return the parser; the options are those of the chosen command only."""
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
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose)
        if name == chosen:
            import_module(f"manip_dyn.cli.{name}").configure(command)
    return parser
