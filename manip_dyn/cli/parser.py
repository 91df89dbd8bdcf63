"""Argument parser, common options and output of the commands."""

from __future__ import annotations

import argparse
import json
import math
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from glob import glob
from os.path import isdir
from typing import TYPE_CHECKING, Any, NoReturn

from manip_dyn.cli.terminal import is_coloured, print_table
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import bundled_robots

if TYPE_CHECKING:
    import numpy as np

    from manip_dyn.robot import Robot

DONE, FAILED = 0, 1
"""Exit codes of commands. `manip_dyn.cli.main` has further ones for invalid input and signals."""
DIGITS = 9
"""Significant digits of printed numbers; ``--json`` prints all digits."""
ROBOT_FILES = (".urdf", ".xacro")
"""Suffixes of files that describe robots."""
EXAMPLES = "examples:"
HELP = frozenset(("-h", "--help"))
HEADING = re.compile(r"^(usage:|[a-z][a-z ]*:$)", re.MULTILINE)
OPTION = re.compile(r"(?<![\w-])(--?[a-zA-Z][\w-]*)")
NUMBERS = re.compile(r"-[\d.][-+\d.,eE]*")
"""Pattern of comma-separated numbers that start with a minus sign."""


class Parser(argparse.ArgumentParser):
    """Argument parser with examples in the help and single-line errors.

    Attributes:
        topics: Argument values with separate help, each with a function that returns the
            description and the examples.
    """

    topics: Mapping[str, Callable[[], tuple[str, str]]] = {}

    def __init__(self, **options: Any):
        """Create the parser; the arguments are those of `argparse.ArgumentParser`."""
        super().__init__(**{"formatter_class": _Formatter, **options})

    def error(self, message: str) -> NoReturn:
        """Raise a `ManipDynError` with the message of the parser."""
        raise ManipDynError(f"{message.rstrip('.')}. See {self.prog} --help.")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments. With ``--help`` and a topic, show the help of the topic."""
        if args and HELP.intersection(args):
            for topic in [word for word in args if word in self.topics][:1]:
                self.description, self.epilog = self.topics[topic]()
        return super().parse_known_args(args, namespace)

    def print_help(self, file: Any = None) -> None:
        """Print the help, coloured on a terminal."""
        stream = file or sys.stdout
        text = self.format_help()
        if is_coloured(stream) and "\x1b" not in text:  # since Python 3.14, argparse adds colours
            text = OPTION.sub("\x1b[36m\\1\x1b[0m", HEADING.sub("\x1b[1m\\1\x1b[0m", text))
        stream.write(text)


class _Formatter(argparse.HelpFormatter):
    """Help formatter that preserves line breaks in examples and widens the command column."""

    def __init__(self, prog: str, **options: Any):
        super().__init__(prog, **options)
        self._action_max_length = 14

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith(EXAMPLES):
            return text
        fill = super()._fill_text
        return "\n\n".join(fill(paragraph, width, indent) for paragraph in text.split("\n\n"))


def join_negative_numbers(words: Sequence[str]) -> list[str]:
    """Join words that start with a negative number to the preceding long option with ``=``.

    Otherwise argparse would interpret ``-0.8,0`` in ``--start -0.8,0`` as a separate option.
    """
    joined: list[str] = []
    for word in words:
        last = joined[-1] if joined else ""
        if NUMBERS.fullmatch(word) and last.startswith("--") and "=" not in last:
            joined[-1] = f"{last}={word}"
        else:
            joined.append(word)
    return joined


def examples(*lines: str) -> str:
    """Format examples for the end of a command's help."""
    return "\n  ".join((EXAMPLES, *lines))


def add_topics(command: Any, topics: Mapping[str, Callable[[], tuple[str, str]]]) -> None:
    """Set the separate help of some argument values of a command, see `Parser.topics`.

    The argument itself must be added with `add_argument`.
    """
    command.topics = topics


def complete_with(
    action: Any, names: Callable[[], Iterable[str]] = tuple, suffixes: tuple[str, ...] = ()
) -> None:
    """Let the shell complete an argument.

    Args:
        action: The argument.
        names: Function that returns the names to offer first.
        suffixes: Suffixes of the files to offer after the names, together with folders.
    """

    def complete(prefix: str, **_: Any) -> list[str]:
        offered = [name for name in names() if name.startswith(prefix)]
        if suffixes:
            paths = [f"{path}/" if isdir(path) else path for path in sorted(glob(f"{prefix}*"))]
            offered += [path for path in paths if path.endswith(("/", *suffixes))]
        return offered

    action.completer = complete


def add_json(command: argparse.ArgumentParser) -> None:
    """Add the option --json to a command."""
    command.add_argument("--json", action="store_true", help="print one JSON object")


def add_robot(command: argparse.ArgumentParser, **settings: Any) -> None:
    """Add the argument ROBOT to a command. `settings` are passed to `add_argument`."""
    action = command.add_argument(
        "robot",
        help="shipped robot (see manip_dyn robots) or path of a URDF or xacro file",
        **settings,
    )
    complete_with(action, bundled_robots, ROBOT_FILES)


def add_robot_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `load_robot` to a command."""
    command.add_argument(
        "--lock",
        action="append",
        default=[],
        metavar="JOINT=POSITION",
        help="fix a joint at a position, rad or m; repeatable",
    )
    command.add_argument("--tip", help="link of the tool frame (default: tool0 or the last link)")
    srdf = command.add_argument(
        "--srdf",
        metavar="FILE",
        help="SRDF file with the pairs of links that need no collision check",
    )
    complete_with(srdf, suffixes=(".srdf",))
    command.add_argument(
        "--xacro",
        action="append",
        default=[],
        metavar="NAME:=VALUE",
        help="argument of a xacro file; repeatable",
    )


def robot_of(options: argparse.Namespace) -> Robot:
    """Load the robot that the options select."""
    from manip_dyn.robot import load_robot

    return load_robot(options.robot, **load_arguments(options))


def load_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `add_robot_options` as keyword arguments of `load_robot`."""
    from manip_dyn.robot import xacro_arguments_from

    lock = {}
    for entry in options.lock:
        joint, _, position = entry.partition("=")
        lock[joint] = float(numbers(f"--lock {joint}", position)[0])
    xacro_arguments = xacro_arguments_from(shlex.join(options.xacro))
    return {
        "lock": lock,
        "tip": options.tip,
        "xacro_args": xacro_arguments,
        "srdf": getattr(options, "srdf", None),
    }


def numbers(name: str, text: str | None, robot: Robot | None = None) -> np.ndarray:
    """Parse comma-separated numbers as an array (k,).

    Args:
        name: Option name for error messages.
        text: Value of the option. None with a robot: zeros (n,).
        robot: Robot with the required number of joints, or None for any number of values.

    Raises:
        ManipDynError: If the number of values is wrong, or a value is not a number.
    """
    import numpy as np

    if text is None and robot is not None:
        return np.zeros(robot.n)
    try:
        values = np.array([float(word) for word in str(text).split(",")])
    except ValueError as error:
        raise ManipDynError(f"{name} must be comma-separated numbers, got '{text}'.") from error
    if robot is not None and values.size != robot.n:
        joints = ", ".join(robot.joint_names)
        raise ManipDynError(
            f"{name} must have {robot.n} comma-separated numbers ({joints}), got '{text}'."
        )
    return values


def format_value(value: object) -> str:
    """Format a value: floats with `DIGITS` digits, strings in lists and dicts without quotes."""
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {format_value(item)}" for name, item in value.items())
    if isinstance(value, list):
        return f"[{', '.join(map(format_value, value))}]"
    return str(value)


def with_nulls(value: Any) -> Any:
    """Return a value with None for infinity and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: with_nulls(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [*map(with_nulls, value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_json(content: Any) -> None:
    """Print a value as JSON, with null for infinity and NaN."""
    print(json.dumps(with_nulls(content), indent=2, allow_nan=False))


def print_content(content: dict, as_json: bool) -> None:
    """Print one line per entry with rounded numbers, or a JSON object with all digits."""
    if as_json:
        print_json(content)
        return
    rows = [(key, format_value(value)) for key, value in content.items()]
    print_table(("", ""), rows, lambda: "".join(f"{key:<28} {value}\n" for key, value in rows))
