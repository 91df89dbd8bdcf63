"""`manip_dyn export`: kernels as C source."""

from __future__ import annotations

import argparse

from manip_dyn.cli.options import DONE, add_robot, add_robot_options, examples, robot_of
from manip_dyn.cli.parser import completed_by
from manip_dyn.cli.terminal import told
from manip_dyn.export.c99 import export_c
from manip_dyn.export.selection import KNOWN, USUAL, straight_kernels

ALL = "all"


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "Write kernels of a robot as C99 without dependencies: header, source, CMakeLists.txt and "
        "a self-test with reference values. Nothing is allocated. Files of an export of the same "
        "name are replaced, no others."
    )
    command.epilog = examples(
        "manip_dyn export pa10 --c pa10_c",
        "manip_dyn export ur5 --c ur5_c --kernels gravity,inverse_dynamics --float",
        "manip_dyn export pa10 --c src/pa10 --kernels all --ros",
    )
    add_robot(command)
    add_robot_options(command)
    command.add_argument("--c", required=True, metavar="DIR", help="the folder for the files")
    kernels = command.add_argument(
        "--kernels",
        default=",".join(USUAL),
        metavar="NAMES",
        help=f"comma separated, or all (default: {', '.join(USUAL)})",
    )
    completed_by(kernels, lambda: (ALL, *KNOWN))
    command.add_argument("--frame", help="link of pose and Jacobian (default: the tool)")
    command.add_argument("--name", help="of files and functions (default: the robot's)")
    command.add_argument("--float", action="store_true", help="single precision")
    command.add_argument("--ros", action="store_true", help="with a package.xml, for colcon")
    command.set_defaults(run=_export)


def _export(options: argparse.Namespace) -> int:
    robot = robot_of(options)
    names = [each.strip() for each in options.kernels.split(",") if each.strip()]
    with told("writing", writes=True):
        files = export_c(
            robot,
            options.c,
            straight_kernels(robot) if names == [ALL] else names,
            precision="float" if options.float else "double",
            name=options.name,
            frame=options.frame,
            ros=options.ros,
        )
    for file in files:
        print(file)
    return DONE
