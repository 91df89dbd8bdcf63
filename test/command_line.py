"""Parsers of single commands."""

import argparse

from manip_dyn.cli import configure


def parser_of(command):
    """Return the parser of `manip_dyn COMMAND`."""
    parser = argparse.ArgumentParser(prog=f"manip_dyn {command}")
    configure(command, parser)
    return parser
