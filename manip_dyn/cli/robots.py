"""`manip_dyn robots`: the shipped ones listed, one described."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from manip_dyn.cli.options import DONE, add_robot, add_robot_options, examples, robot_of
from manip_dyn.cli.terminal import print_table
from manip_dyn.core.share import shipped_robots
from manip_dyn.robot import load_robot

HEAD = ("joint", "type", "lower", "upper", "speed", "effort")


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = "List the shipped robots, or describe one (or any URDF)."
    command.epilog = examples("manip_dyn robots", "manip_dyn robots pa10 --lock S3=0")
    add_robot(command, nargs="?")
    add_robot_options(command)
    command.set_defaults(run=_robots)


def _robots(options: argparse.Namespace) -> int:
    if options.robot is None:
        counts = [(name, load_robot(name).n) for name in shipped_robots()]
        rows = [(name, f"{count} joint{'s' if count > 1 else ''}") for name, count in counts]
        text = "".join(f"{name:<22} {joints}\n" for name, joints in rows)
        print_table(("", ""), rows, lambda: text)
        return DONE
    robot = robot_of(options)
    print(f"{robot.name}: {robot.n} joints, {robot.base} to {robot.tip}")
    columns = (robot.joint_names, robot.joint_types, robot.q_min, robot.q_max, robot.v_max)
    table = [
        (name, kind, *(f"{limit:.4g}" for limit in limits))
        for name, kind, *limits in zip(*columns, robot.tau_max, strict=True)
    ]
    print_table(HEAD, table, lambda: "".join(map(_line, (HEAD, *table))), numeric=HEAD[2:])
    for note in robot.notes:
        print(f"note: {note}")
    return DONE


def _line(row: Sequence[str]) -> str:
    name, kind, *limits = row
    return f"{name:<24}{kind:<12}" + "".join(f"{limit:>10}" for limit in limits) + "\n"
