"""Commands that compute a single motion: `plan`, `simulate` and `track`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict
from math import inf
from typing import Any

import numpy as np

from manip_dyn.cli.collisions import add_scene, check_scene, exit_code, loaded_robot
from manip_dyn.cli.outputs import (
    PERIOD,
    add_output_options,
    check_outputs,
    motion_table,
    save_and_view,
    write_csv,
)
from manip_dyn.cli.parser import (
    add_json,
    add_robot,
    add_robot_options,
    complete_with,
    examples,
    numbers,
    print_content,
    robot_of,
)
from manip_dyn.cli.terminal import status_line
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
from manip_dyn.integration import METHODS
from manip_dyn.planning import Plan, Progress, plan_minimum_time, plan_zero_net_work
from manip_dyn.plots import plot_motion, plot_plan
from manip_dyn.robot import Robot
from manip_dyn.simulation import simulate

PLANNERS: dict[str, Callable[..., Plan]] = {
    "zero_net_work": plan_zero_net_work,
    "minimum_time": plan_minimum_time,
}
PLANNER_OPTIONS = {
    "slew_rate": "zero_net_work",
    "v0": "minimum_time",
    "vf": "minimum_time",
    "budget": "minimum_time",
    "exhaustive": "minimum_time",
}
"""Options that apply to only one planning method."""
BEST = "best"
"""Value of --start with which `track` searches for a start posture."""


def configure_plan(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn plan`."""
    command.description = (
        "The motion respects the effort, speed and position limits. The command prints its "
        "switching times. Zero net work moves from rest to rest with one switch per joint. "
        "Minimum time is the fastest motion and supports nonzero velocities at its ends. Vectors "
        "are comma-separated, in rad or m, and rad/s or m/s."
    )
    command.epilog = examples(
        "manip_dyn plan ibm7535 --start 0.76,0.2618 --goal 0,0",
        "manip_dyn plan ibm7535 --start 0.975,0 --goal 0,0 --method minimum_time \\\n"
        "      --plot plan.svg",
        "manip_dyn plan ibm7535 --start 0.8,0 --goal 0,0 --method minimum_time \\\n"
        "      --v0=0,-1",
    )
    add_robot(command)
    add_robot_options(command)
    command.add_argument("--start", required=True, help="joint positions, as in --start=-0.1,0")
    command.add_argument("--goal", required=True, help="joint positions, as in --goal=0.5,0")
    command.add_argument(
        "--method",
        choices=list(PLANNERS),
        default="zero_net_work",
        help="planning method (default: %(default)s)",
    )
    command.add_argument(
        "--slew-rate",
        type=float,
        help="largest rate of change of the efforts for zero_net_work, N m/s or N/s",
    )
    command.add_argument(
        "--v0", help="velocities at the start for minimum_time, as in --v0=0,-1 (default: zeros)"
    )
    command.add_argument("--vf", help="velocities at the goal for minimum_time (default: zeros)")
    command.add_argument(
        "--budget",
        type=_budget,
        metavar="SECONDS",
        help="CPU time of minimum_time, or none to complete the search (default: 1 for up to two "
        "joints, else 3)",
    )
    command.add_argument("--exhaustive", type=float, help=argparse.SUPPRESS)
    add_scene(command)
    add_json(command)
    add_output_options(command)
    command.set_defaults(run=_plan)


def _plan(options: argparse.Namespace) -> int:
    check_outputs(options)
    robot = loaded_robot(options)
    start, goal = (numbers(f"--{word}", vars(options)[word], robot) for word in ("start", "goal"))
    settings, stages = _planner_settings(options), list[Progress]()
    if options.method == "minimum_time":
        settings["progress"] = stages.append
    with status_line(
        "planning", detail=lambda: f": {stages[-1].duration:.6g} s" if stages else ""
    ):
        plan = PLANNERS[options.method](robot, start, goal, **settings)
    if options.plot:
        plot_plan(robot, plan, options.plot)
    if options.csv:
        _write_plan(options.csv, robot, plan)
    content = {
        "status": plan.status,
        "reason": plan.reason,
        "switch_times": dict(zip(robot.joint_names, plan.switch_times, strict=True)),
        "t_final": plan.t_final,
        "net_work": plan.net_work.tolist(),
        "arrival_times": dict(zip(robot.joint_names, plan.arrival_times, strict=True)),
        "is_unique": plan.is_unique,
    }
    if plan.certificate is not None:
        certificate = plan.certificate
        content["certificate"] = {"holds": certificate.holds, **certificate.numbers}
    clearance = check_scene(options, robot, plan, content)
    print_content(content, options.json)
    save_and_view(options, plan, robot)
    return exit_code(True, clearance)


def _planner_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options that apply to the selected planning method.

    Raises:
        ManipDynError: If an option applies only to the other method.
    """
    settings: dict[str, Any] = {}
    for name, method in PLANNER_OPTIONS.items():
        value = getattr(options, name)
        if value is None:
            continue
        option = f"--{name.replace('_', '-')}"
        if options.method != method:
            raise ManipDynError(
                f"{option} requires --method {method}, got {value} with --method {options.method}."
            )
        settings[name] = numbers(option, value) if name in ("v0", "vf") else value
    if settings.get("budget") == inf:
        settings["budget"] = None
    return settings


def _budget(text: str) -> float:
    """Parse a time, s, or ``none``, which is infinity."""
    return inf if text.lower() == "none" else float(text)


def _write_plan(file: str, robot: Robot, plan: Plan) -> None:
    """Write a plan to a CSV file, with rows every `PERIOD`, at every switch and at the end."""
    switches = [t for t, _ in plan.samples(PERIOD)]
    t = np.unique([*np.arange(0.0, plan.t_final, PERIOD), *switches, plan.t_final])
    q, v, effort = plan.at(t)
    write_csv(file, *motion_table(robot, t, position=q, velocity=v, effort=effort))


def configure_simulate(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn simulate`."""
    command.description = (
        "The arm starts at rest and moves under gravity and these efforts. The command prints the "
        "final state."
    )
    command.epilog = examples(
        "manip_dyn simulate pa10 --start 0,0.3,0,1,0,0.5,0 --duration 0.3",
        "manip_dyn simulate rr --start 0.5,0.3 --method rkdp87 --rtol 1e-9",
        "manip_dyn simulate my_arm.urdf --view",
        "manip_dyn simulate rr --start 0.5,0.3 --plot swing.svg --csv swing.csv",
    )
    add_robot(command)
    add_robot_options(command)
    command.add_argument(
        "--start", help="joint positions, rad or m, comma-separated (default: zeros)"
    )
    command.add_argument(
        "--effort", help="joint efforts, N m or N, saturated at their limits (default: zeros)"
    )
    command.add_argument("--duration", type=float, default=1.0, help="duration, s (default: 1)")
    command.add_argument("--step", type=float, default=1e-3, help="time step, s (default: 0.001)")
    method = command.add_argument(
        "--method", default="rk4", help="see manip_dyn methods (default: rk4)"
    )
    complete_with(method, lambda: METHODS)
    command.add_argument(
        "--rtol", type=float, default=0.0, help="relative tolerance, instead of a fixed step"
    )
    command.add_argument(
        "--atol", type=float, default=0.0, help="absolute tolerance, rad or m (default: rtol)"
    )
    command.add_argument(
        "--order", type=int, default=0, help="order of taylor (default: computed from rtol)"
    )
    add_scene(command)
    add_json(command)
    add_output_options(command)
    command.set_defaults(run=_simulate)


def _simulate(options: argparse.Namespace) -> int:
    check_outputs(options)
    robot = loaded_robot(options)
    start = numbers("--start", options.start, robot)
    effort = numbers("--effort", options.effort, robot)
    zero = np.zeros(robot.n)
    needs_samples = any((options.plot, options.csv, options.record, options.view, options.scene))
    with status_line(f"simulating {options.duration:g} s"):
        result = simulate(
            robot,
            start,
            zero,
            effort,
            options.duration,
            options.step,
            None if needs_samples else options.duration,
            method=options.method,
            rtol=options.rtol,
            atol=options.atol,
            order=options.order or None,
        )
    saturated = np.flatnonzero(result.saturated.any(axis=0))
    content = {
        "success": result.success,
        "reason": result.reason,
        "t": float(result.t[-1]),
        "q": result.q[-1].tolist(),
        "v": result.v[-1].tolist(),
        "outside_limits": list(robot.outside_limits(result.q[-1])),
        "saturated": [
            f"{robot.joint_names[i]} ({effort[i]:g} commanded, {result.tau[0, i]:g} applied)"
            for i in saturated
        ],
        "energy_balance_residual_J": float(np.abs(result.energy[:, 3]).max()),
        **asdict(result.statistics),
    }
    clearance = check_scene(options, robot, result, content)
    print_content(content, options.json)
    quantities = {"position": result.q, "velocity": result.v, "effort": result.tau}
    if options.plot:
        title = f"{robot.name}: {result.reason}"
        plot_motion(robot, result.t, quantities, options.plot, title)
    if options.csv:
        write_csv(options.csv, *motion_table(robot, result.t, **quantities))
    save_and_view(options, result, robot)
    return exit_code(result.success, clearance)


def configure_track(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn track`."""
    command.description = (
        "The command prints the errors of the tool. The path is a circle (--center) or the poses "
        "of a CSV file (--path). Vectors are comma-separated, in the base frame."
    )
    command.epilog = examples(
        "manip_dyn track pa10 --center=0,0.4,0.6 --normal=0,1,0 --first=-1,0,0 \\\n"
        "      --rpy=0,0.785,0 --start=2.69,0.51,-0.24,1.42,0.87,-2.41,-2",
        "manip_dyn track pa10 --path poses.csv --start best --record tracked.mcap",
    )
    add_robot(command)
    add_robot_options(command)
    path = command.add_argument(
        "--path",
        metavar="FILE",
        help="CSV file with the columns t (s), x, y, z (m), qx, qy, qz, qw",
    )
    complete_with(path, suffixes=(".csv",))
    command.add_argument("--center", help="centre of a circle, m")
    command.add_argument("--normal", default="0,0,1", help="axis of the circle (default: 0,0,1)")
    command.add_argument(
        "--first",
        default="1,0,0",
        help="direction from the centre to the first point (default: 1,0,0)",
    )
    command.add_argument(
        "--rpy", default="0,0,0", help="roll, pitch, yaw of the tool, rad (default: 0,0,0)"
    )
    command.add_argument(
        "--speed", type=float, default=0.1, help="tool speed on the circle, m/s (default: 0.1)"
    )
    command.add_argument(
        "--rate",
        type=float,
        default=0.2,
        help="angular speed, rad/s (default: 0.2); the radius is speed / rate",
    )
    command.add_argument(
        "--follow-tangent", action="store_true", help="rotate the tool with the radius"
    )
    command.add_argument("--ramp", type=float, default=0.0, help="smooth start, s (default: 0)")
    command.add_argument(
        "--duration", type=float, help="duration, s (default: the path's, or one lap)"
    )
    command.add_argument(
        "--start",
        help="guess of the joint positions at the first point, rad or m; or best: search for a "
        "posture that follows the whole path (default: middle of the joint ranges)",
    )
    command.add_argument("--method", default="rk4", help="see manip_dyn methods (default: rk4)")
    command.add_argument(
        "--inverse",
        default="filtered",
        help=f"inverse of the Jacobian: {', '.join(INVERSES)} (default: filtered)",
    )
    command.add_argument(
        "--orientation-error",
        default="columns",
        help=f"orientation error: {', '.join(ERRORS)} (default: columns)",
    )
    command.add_argument("--step", type=float, default=0.1, help="time step, s (default: 0.1)")
    command.add_argument("--gain", type=float, default=2.0, help="feedback gain, 1/s (default: 2)")
    add_scene(command)
    add_json(command)
    add_output_options(command)
    command.set_defaults(run=_track)


def _track(options: argparse.Namespace) -> int:
    check_outputs(options)
    robot = robot_of(options)
    path = _path(options)
    start = _start_posture(options, robot, path)
    settings = ClikSettings(
        gain=options.gain, inverse=options.inverse, orientation_error=options.orientation_error
    )
    with status_line("following the path"):
        result = track(
            robot, path, options.method, options.step, start, options.duration, settings
        )
    content = {
        "success": result.success,
        "reason": result.reason,
        "samples": len(result.t),
        "start_rad": result.q[0].tolist(),
        "time_s": float(result.t[-1]),
        "max_position_error_m": float(result.position_error.max()),
        "max_orientation_error_rad": float(result.orientation_error.max()),
        "smallest_singular_value": float(result.smallest_singular_value.min()),
        "smallest_speed_scale": float(result.scale.min()),
        "drift_per_cycle_rad": None
        if result.drift is None
        else np.abs(result.drift).max(axis=1).tolist(),
    }
    clearance = check_scene(options, robot, result, content)
    print_content(content, options.json)
    quantities = {"position": result.q, "velocity": result.v}
    if options.plot:
        errors = {
            "position error [m]": result.position_error,
            "orientation error [rad]": result.orientation_error,
        }
        title = f"{robot.name}: {result.reason}"
        plot_motion(robot, result.t, quantities, options.plot, title, errors)
    if options.csv:
        names, rows = motion_table(robot, result.t, **quantities)
        names += ["position_error", "orientation_error"]
        rows = np.column_stack([rows, result.position_error, result.orientation_error])
        write_csv(options.csv, names, rows)
    save_and_view(options, result, robot)
    return exit_code(result.success, clearance)


def _start_posture(options: argparse.Namespace, robot: Robot, path: Path) -> Vector | str:
    """Return a posture at the first point of the path, near the guess of --start, or `BEST`."""
    if options.start == BEST:
        return BEST
    near = middle_posture(robot) if options.start is None else numbers("--start", options.start)
    return posture_for(robot, path.pose(0.0), near)


def _path(options: argparse.Namespace) -> Path:
    """Return the path that the options select."""
    if options.path is not None:
        return path_from_csv(options.path, ramp=options.ramp)
    if options.center is None:
        raise ManipDynError("track requires a path: --center of a circle, or --path FILE.")
    center, normal, first, rpy = (
        finite_vector(f"--{name}", numbers(f"--{name}", getattr(options, name)), 3)
        for name in ("center", "normal", "first", "rpy")
    )
    from scipy.spatial.transform import Rotation

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
