"""Parser of `manip_dyn` with all its commands, for the reference."""

import argparse

from manip_dyn.cli import COMMANDS, configure


def parser():
    """Return the parser with the options of all commands."""
    root = argparse.ArgumentParser(prog="manip_dyn")
    commands = root.add_subparsers(metavar="COMMAND")
    for name, command in COMMANDS.items():
        configure(name, commands.add_parser(name, help=command.summary))
        options = commands.choices[name]
        # Examples are literal blocks: the site parses epilogues as reStructuredText.
        options.epilog = (options.epilog or "").replace("examples:\n", "Examples::\n\n")
    return root
