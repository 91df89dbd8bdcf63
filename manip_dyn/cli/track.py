"""`manip_dyn track`: a path followed by closed-loop inverse kinematics."""

from __future__ import annotations

import argparse

import numpy as np
from scipy.spatial.transform import Rotation

from manip_dyn.cli.options import (
    DONE,
    FAILED,
    add_robot,
    add_robot_options,
    examples,
    numbers,
    print_content,
    robot_of,
)
from manip_dyn.cli.outputs import (
    add_output_options,
    check_outputs,
    motion_table,
    save_and_view,
    write_csv,
)
from manip_dyn.cli.terminal import told
from manip_dyn.clik import (
    ERRORS,
    INVERSES,
    Circle,
    ClikSettings,
    Path,
    middle_posture,
    path_from_csv,
    posture_for,
    track,
)
from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.plots import plot_motion
from manip_dyn.robot import Robot

BEST = "best"
"""The start for which `track` looks by itself."""


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "Follow a path with the tool by closed-loop inverse kinematics and print the errors. The "
        "path is a circle about --center, or the poses of a CSV file, --path. Vectors are in the "
        "base frame, comma separated."
    )
    command.epilog = examples(
        "manip_dyn track pa10 --center=0,0.4,0.6 --normal=0,1,0 --first=-1,0,0 \\\n"
        "      --rpy=0,0.785,0 --start=2.69,0.51,-0.24,1.42,0.87,-2.41,-2",
        "manip_dyn track pa10 --path poses.csv --start best --record tracked.mcap",
    )
    add_robot(command)
    add_robot_options(command)
    command.add_argument(
        "--path",
        metavar="FILE",
        help="CSV with t, x, y, z, qx, qy, qz, qw in its columns, s and m",
    )
    command.add_argument("--center", help="centre of a circle, m")
    command.add_argument("--normal", default="0,0,1", help="its axis (default: 0,0,1)")
    command.add_argument(
        "--first",
        default="1,0,0",
        help="direction from the centre to its first point (default: 1,0,0)",
    )
    command.add_argument(
        "--rpy", default="0,0,0", help="of the tool: roll, pitch, yaw, rad (default: 0,0,0)"
    )
    command.add_argument(
        "--speed", type=float, default=0.1, help="of the tool along it, m/s (default: 0.1)"
    )
    command.add_argument(
        "--rate",
        type=float,
        default=0.2,
        help="of its radius, rad/s (default: 0.2); the radius is speed / rate",
    )
    command.add_argument(
        "--follow-tangent", action="store_true", help="turn the tool with the radius"
    )
    command.add_argument("--ramp", type=float, default=0.0, help="smooth start, s (default: 0)")
    command.add_argument("--duration", type=float, help="s (default: the path's, one lap)")
    command.add_argument(
        "--start",
        help="joint positions, rad or m, from where the nearest posture on the first point is "
        "taken, or best: one that follows the whole path (default: the middle of the ranges)",
    )
    command.add_argument("--method", default="rk4", help="see manip_dyn methods (default: rk4)")
    command.add_argument(
        "--inverse",
        default="filtered",
        help=f"of the Jacobian: {', '.join(INVERSES)} (default: filtered)",
    )
    command.add_argument(
        "--orientation-error",
        default="columns",
        help=f"one of: {', '.join(ERRORS)} (default: columns)",
    )
    command.add_argument("--step", type=float, default=0.1, help="s (default: 0.1)")
    command.add_argument("--gain", type=float, default=2.0, help="feedback, 1/s (default: 2)")
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    add_output_options(command)
    command.set_defaults(run=_track)


def _track(options: argparse.Namespace) -> int:
    check_outputs(options)
    robot = robot_of(options)
    path = _path(options)
    start = _start(options, robot, path)
    settings = ClikSettings(
        gain=options.gain, inverse=options.inverse, orientation_error=options.orientation_error
    )
    chosen = options.method, options.step, start, options.duration, settings
    with told("following the path"):
        tracking = track(robot, path, *chosen)
    content = {
        "success": tracking.success,
        "reason": tracking.reason,
        "samples": len(tracking.t),
        "start_rad": tracking.q[0].tolist(),
        "time_s": float(tracking.t[-1]),
        "max_position_error_m": float(tracking.position_error.max()),
        "max_orientation_error_rad": float(tracking.orientation_error.max()),
        "smallest_singular_value": float(tracking.smallest_singular_value.min()),
        "smallest_speed_scale": float(tracking.scale.min()),
        "drift_per_cycle_rad": None
        if tracking.drift is None
        else np.abs(tracking.drift).max(axis=1).tolist(),
    }
    print_content(content, options.json)
    parts = {"position": tracking.q, "velocity": tracking.v}
    if options.plot:
        errors = {"position error [m]": tracking.position_error}
        errors["orientation error [rad]"] = tracking.orientation_error
        title = f"{robot.name}: {tracking.reason}"
        plot_motion(robot, tracking.t, parts, options.plot, title, errors)
    if options.csv:
        names, rows = motion_table(robot, tracking.t, **parts)
        errors_of_tool = tracking.position_error, tracking.orientation_error
        names += ["position_error", "orientation_error"]
        write_csv(options.csv, names, np.column_stack([rows, *errors_of_tool]))
    save_and_view(options, tracking, robot)
    return DONE if tracking.success else FAILED


def _start(options: argparse.Namespace, robot: Robot, path: Path) -> Vector | str:
    """Return the posture at the first point, or what `track` is to look for."""
    if options.start == BEST:
        return BEST
    near = middle_posture(robot) if options.start is None else numbers("--start", options.start)
    return posture_for(robot, path.pose(0.0), near)


def _path(options: argparse.Namespace) -> Path:
    if options.path is not None:
        return path_from_csv(options.path, ramp=options.ramp)
    if options.center is None:
        raise ManipDynError("there is no path; expected --center of a circle, or --path FILE")
    center, normal, first, rpy = (
        finite_vector(f"--{name}", numbers(f"--{name}", getattr(options, name)), 3)
        for name in ("center", "normal", "first", "rpy")
    )
    tool = Rotation.from_euler("xyz", rpy).as_matrix()
    return Circle(
        center,
        normal,
        first,
        tool,
        options.speed,
        options.rate,
        ramp=options.ramp,
        follow_tangent=options.follow_tangent,
    )
