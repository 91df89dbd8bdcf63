"""The parser of `manip_dyn` with all its commands, as the reference shows it."""

import argparse
from importlib import import_module

from manip_dyn.cli import COMMANDS


def parser():
    """Return the parser; the command itself loads only what is called."""
    whole = argparse.ArgumentParser(prog="manip_dyn")
    commands = whole.add_subparsers(metavar="COMMAND")
    for name, purpose in COMMANDS.items():
        import_module(f"manip_dyn.cli.{name}").configure(commands.add_parser(name, help=purpose))
    return whole
