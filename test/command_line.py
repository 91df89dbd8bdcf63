"""The parsers of the commands, each by itself."""

import argparse
from importlib import import_module


def parser_of(command):
    """Return the parser of `manip_dyn COMMAND`."""
    parser = argparse.ArgumentParser(prog=f"manip_dyn {command}")
    import_module(f"manip_dyn.cli.{command}").configure(parser)
    return parser
