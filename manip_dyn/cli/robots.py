"""`manip_dyn robots`: the shipped ones listed, one described."""

from __future__ import annotations

import argparse

from manip_dyn.cli.options import DONE, add_robot_options, robot_of
from manip_dyn.core.share import shipped_robots
from manip_dyn.robot import load_robot


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = "List the shipped robots, or describe one (or any URDF)."
    command.add_argument("robot", nargs="?", help="name of a shipped robot or path of a URDF")
    add_robot_options(command)
    command.set_defaults(run=_robots)


def _robots(options: argparse.Namespace) -> int:
    if options.robot is None:
        for name in shipped_robots():
            count = load_robot(name).n
            print(f"{name:<22} {count} joint{'s' if count > 1 else ''}")
        return DONE
    robot = robot_of(options)
    print(f"{robot.name}: {robot.n} joints, {robot.base} to {robot.tip}")
    print(f"{'joint':<24}{'type':<12}{'lower':>10}{'upper':>10}{'speed':>10}{'effort':>10}")
    columns = (robot.joint_names, robot.joint_types, robot.q_min, robot.q_max, robot.v_max)
    for name, kind, *limits in zip(*columns, robot.tau_max, strict=True):
        print(f"{name:<24}{kind:<12}" + "".join(f"{limit:>10.4g}" for limit in limits))
    for note in robot.notes:
        print(f"note: {note}")
    return DONE
