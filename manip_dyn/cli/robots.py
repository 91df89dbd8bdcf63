"""Commands about robots and methods: `robots`, `methods`, `check`, `identify` and `export`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from manip_dyn.cli.parser import (
    DONE,
    FAILED,
    ROBOT_FILES,
    add_json,
    add_robot,
    add_robot_options,
    complete_with,
    examples,
    load_arguments,
    print_json,
    robot_of,
)
from manip_dyn.cli.terminal import print_table, status_line
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import bundled_robots

if TYPE_CHECKING:
    from manip_dyn.identification import Identification
    from manip_dyn.inspection import Inspection

JOINT_COLUMNS = ("joint", "type", "lower", "upper", "speed", "effort")
METHOD_COLUMNS = {
    "order": "order",
    "compared with": "with",
    "evaluations": "evals",
    "dense": "dense",
    "stable to": "stable",
}
"""Short titles of numeric columns by full title, for terminals with 80 columns."""
PARAMETER_COLUMNS = ("base parameter", "estimate", "deviation", "described")
MAX_NAMES = 4
"""Maximum number of printed names for a finding that applies to several links or joints."""
ALL = "all"


def configure_robots(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn robots`."""
    command.epilog = examples(
        "manip_dyn robots",
        "manip_dyn robots pa10 --lock S3=0",
        "manip_dyn robots pa10 --collision",
    )
    add_robot(command, nargs="?")
    add_robot_options(command)
    command.add_argument(
        "--collision",
        action="store_true",
        help="print the collision shapes, the checked pairs of links, and why others are not",
    )
    command.set_defaults(run=_robots)


def _robots(options: argparse.Namespace) -> int:
    from manip_dyn.robot import load_kinematics, load_robot

    if options.robot is None:
        for name in ("collision", "lock", "tip", "srdf", "xacro"):
            if getattr(options, name):
                raise ManipDynError(
                    f"--{name} requires ROBOT, as in: manip_dyn robots pa10 --{name}."
                )
        counts = [(name, load_robot(name).n) for name in bundled_robots()]
        rows = [(name, f"{count} joint{'s' if count > 1 else ''}") for name, count in counts]
        text = "".join(f"{name:<22} {joints}\n" for name, joints in rows)
        print_table(("", ""), rows, lambda: text)
        return DONE
    # Collision checks require no masses.
    load = load_kinematics if options.collision else load_robot
    robot = load(options.robot, **load_arguments(options))
    print(f"{robot.name}: {robot.n} joints, {robot.base} to {robot.tip}")
    columns = (robot.joint_names, robot.joint_types, robot.q_min, robot.q_max, robot.v_max)
    table = [
        (name, kind, *(f"{limit:.4g}" for limit in limits))
        for name, kind, *limits in zip(*columns, robot.tau_max, strict=True)
    ]
    lines = "".join(map(_joint_line, (JOINT_COLUMNS, *table)))
    print_table(JOINT_COLUMNS, table, lambda: lines, numeric=JOINT_COLUMNS[2:])
    for note in robot.notes:
        print(f"note: {note}")
    if options.collision:
        from manip_dyn.cli.collisions import print_collision_model

        print_collision_model(robot)
    return DONE


def _joint_line(row: Sequence[str]) -> str:
    name, kind, *limits = row
    return f"{name:<24}{kind:<12}" + "".join(f"{limit:>10}" for limit in limits) + "\n"


def configure_methods(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn methods`."""
    command.description = (
        "Columns: order, order of the embedded solution, evaluations per step, FSAL, dense "
        "output, end of the real stability interval, source."
    )
    command.epilog = examples(
        "manip_dyn methods", "manip_dyn simulate rr --method rkdp87 --rtol 1e-9"
    )
    command.set_defaults(run=_methods)


def _methods(_options: argparse.Namespace) -> int:
    from manip_dyn.integration.page import method_table

    text = method_table()
    head, _, *rows = (
        [cell.strip().replace("`", "") for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
    )
    titles = [METHOD_COLUMNS.get(name, name) for name in head]
    print_table(titles, rows, lambda: text, METHOD_COLUMNS.values())
    return DONE


def configure_check(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn check`."""
    command.description = (
        "The command reports physically impossible inertias, missing masses, limits, axes, "
        "friction, mimic joints, misspelt tags and an ill-conditioned mass matrix. It compares "
        "the dynamics with pinocchio, and with MuJoCo and Drake if they are installed, and "
        "reports the link and the parameter that differ. Exit code 0: no errors, possibly "
        "warnings and notes; 1: errors, which load_robot rejects; 2: the file does not exist or "
        "is not a URDF."
    )
    command.epilog = examples(
        "manip_dyn check pa10",
        "manip_dyn check arm.urdf --quick",
        "manip_dyn check arm.urdf.xacro --xacro ur_type:=ur5e --json",
    )
    add_robot(command)
    add_robot_options(command)
    command.add_argument(
        "--quick", action="store_true", help="evaluate the equations in Python, without compiling"
    )
    add_json(command)
    command.set_defaults(run=_check)


def _check(options: argparse.Namespace) -> int:
    from manip_dyn.inspection import check_urdf

    with status_line("checking"):
        arguments = load_arguments(options)
        inspection = check_urdf(options.robot, **arguments, compiled=not options.quick)
    if options.json:
        print_json(inspection.content())
    else:
        _print_inspection(inspection)
    return DONE if inspection.success else FAILED


def _print_inspection(inspection: Inspection) -> None:
    from manip_dyn.inspection.findings import counted, grouped

    rows, groups = [], grouped(inspection.findings)
    for finding, names in groups:
        more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        element = finding.part + ("s" if len(names) > 1 else "")
        subject = f"{element} {', '.join(names[:MAX_NAMES])}{more}"
        rows.append((finding.level, subject, finding.message))
    text = "".join(f"{level}: {subject}: {message}\n" for level, subject, message in rows)
    if rows:
        print_table(("level", "element", "finding"), rows, lambda: text)
    differences = {agreement.peer: list[str]() for agreement in inspection.agreements}
    for agreement in inspection.agreements:
        if not agreement.holds:
            entry = f"{agreement.quantity} {agreement.difference:.1g}"
            differences[agreement.peer].append(entry)
    for peer, entries in differences.items():
        message = f"differs in {', '.join(entries)} (relative)" if entries else "agrees"
        print(f"{peer}: {message}")
    if inspection.condition is not None:
        print(f"condition number of the mass matrix: up to {inspection.condition:.2g}")
    print(f"{inspection.robot}: {counted([finding for finding, _ in groups])}")


def configure_identify(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn identify`."""
    from manip_dyn.identification.parameters import OF_A_JOINT

    command.description = (
        "The log is a recording (.mcap) or a CSV file with the columns t, position_JOINT and "
        "effort_JOINT. The results are the base parameters: the identifiable combinations of "
        "masses, inertias, damping, friction and rotor inertias. Exit code 1: the log does not "
        "excite all base parameters."
    )
    command.epilog = examples(
        "manip_dyn simulate rr --effort 60,9 --duration 10 --csv swing.csv",
        "manip_dyn identify swing.csv --robot rr",
        "manip_dyn identify arm.mcap --robot arm.urdf --json",
    )
    log = command.add_argument("log", help="log file, .mcap or .csv")
    complete_with(log, suffixes=(".mcap", ".csv"))
    robot = command.add_argument("--robot", required=True, help="shipped robot, or path of a URDF")
    complete_with(robot, bundled_robots, ROBOT_FILES)
    add_robot_options(command)
    command.add_argument(
        "--cutoff",
        type=float,
        default=10.0,
        help="cutoff frequency of the filter, Hz (default: 10)",
    )
    command.add_argument(
        "--known",
        action="append",
        default=[],
        choices=OF_A_JOINT,
        help="do not estimate this joint parameter, but use the value of the robot; repeatable",
    )
    add_json(command)
    command.set_defaults(run=_identify)


def _identify(options: argparse.Namespace) -> int:
    from manip_dyn.identification import identify
    from manip_dyn.identification.parameters import OF_A_JOINT

    robot = robot_of(options)
    estimated = tuple(name for name in OF_A_JOINT if name not in options.known)
    with status_line("estimating"):
        result = identify(robot, options.log, cutoff=options.cutoff, estimated=estimated)
    if options.json:
        print_json(result.content())
    else:
        _print_identification(result)
    return FAILED if result.unseen else DONE


def _print_identification(result: Identification) -> None:
    import math

    columns = (result.names, result.values, result.deviations, result.described)
    table = [
        (name, *(f"{value:.5g}" if math.isfinite(value) else "unknown" for value in values))
        for name, *values in zip(*columns, strict=True)
    ]
    rows = (PARAMETER_COLUMNS, *table)
    text = "".join(f"{a:<28}{b:>12}{c:>12}{d:>12}\n" for a, b, c, d in rows)
    print_table(PARAMETER_COLUMNS, table, lambda: text, numeric=PARAMETER_COLUMNS[1:])
    for joint, residual in zip(result.robot.joint_names, result.residual, strict=True):
        print(f"residual of {joint}: {residual:.3g}")
    print(f"condition number: {result.condition:.3g}")


def configure_export(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn export`."""
    from manip_dyn.export import DEFAULT_KERNELS, KERNEL_NAMES

    command.description = (
        "The C99 code has no dependencies and allocates no memory. The files are a header, the "
        "source, CMakeLists.txt and a self-test with reference values. They replace the files of "
        "an earlier export with the same name."
    )
    command.epilog = examples(
        "manip_dyn export pa10 --c pa10_c",
        "manip_dyn export ur5 --c ur5_c --kernels gravity,inverse_dynamics --float",
        "manip_dyn export pa10 --c src/pa10 --kernels all --ros",
    )
    add_robot(command)
    add_robot_options(command)
    command.add_argument("--c", required=True, metavar="DIR", help="folder of the C files")
    kernels = command.add_argument(
        "--kernels",
        default=",".join(DEFAULT_KERNELS),
        metavar="NAMES",
        help=f"comma separated, or all (default: {', '.join(DEFAULT_KERNELS)})",
    )
    complete_with(kernels, lambda: (ALL, *KERNEL_NAMES))
    command.add_argument("--frame", help="link for pose and Jacobian (default: the tool)")
    command.add_argument(
        "--name", help="prefix of files and functions (default: name of the robot)"
    )
    command.add_argument("--float", action="store_true", help="single precision")
    command.add_argument("--ros", action="store_true", help="add a package.xml for colcon")
    command.set_defaults(run=_export)


def _export(options: argparse.Namespace) -> int:
    from manip_dyn.export import straight_kernels
    from manip_dyn.export.c99 import export_c

    robot = robot_of(options)
    names = [name.strip() for name in options.kernels.split(",") if name.strip()]
    with status_line("writing", writes=True):
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
