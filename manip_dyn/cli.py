"""The `manip_dyn` command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

from manip_dyn.cli_options import add_robot_options, numbers, print_content, robot_of
from manip_dyn.cli_reports import add_reports
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
from manip_dyn.demo.demo import demo
from manip_dyn.demo.scenarios import ANY_ROBOT, SCENARIOS
from manip_dyn.errors import ManipDynError
from manip_dyn.planning import BangBangPlan, Plan, plan_minimum_time, plan_zero_net_work
from manip_dyn.plots import plot_plan
from manip_dyn.robot import load_robot
from manip_dyn.share import shipped_robots
from manip_dyn.simulation import simulate
from manip_dyn.validate import finite_vector

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code: 0 done, 1 failed, 2 bad input, 130 Ctrl-C."""
    options = _parser().parse_args(arguments)
    try:
        code = options.run(options)
        sys.stdout.flush()
        return code
    except ManipDynError as error:
        print(f"manip_dyn: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader of a pipe has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("\nmanip_dyn: stopped", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="manip_dyn",
        description="Dynamics, kinematics and time-optimal control of robot manipulators.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_demo(commands)
    _add_robots(commands)
    _add_plan(commands)
    _add_simulate(commands)
    _add_track(commands)
    add_reports(commands)
    return parser


# --------------------------------------------------------------------------- demo
def _add_demo(commands) -> None:
    names = ", ".join(each.name for each in SCENARIOS)
    command = commands.add_parser(
        "demo",
        help="run scenarios with real ROS 2 nodes, measured from their topics",
        description="Start the ROS 2 nodes of a scenario on this machine only, measure them from "
        "a subscriber process of its own, stop them and print a summary. Exit code 0: every run "
        "stayed within its bounds.",
    )
    command.add_argument("scenario", nargs="?", help=f"one of: {names} (default: some of each)")
    command.add_argument("--all", action="store_true", help="every run of all scenarios")
    command.add_argument("--mode", help="only the run of this label, such as lockstep")
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    command.add_argument("--urdf", help=f"another robot, for {ANY_ROBOT}")
    command.add_argument("--tip", help="its tool link (default: tool0, or the last link)")
    command.set_defaults(run=lambda o: demo(o.scenario, o.mode, o.json, o.urdf, o.tip, o.all))


# ------------------------------------------------------------------------- robots
def _add_robots(commands) -> None:
    command = commands.add_parser(
        "robots",
        help="list the shipped robots, or describe one",
        description="List the shipped robots, or describe one (or any URDF).",
    )
    command.add_argument("robot", nargs="?", help="name of a shipped robot or path of a URDF")
    add_robot_options(command)
    command.set_defaults(run=_robots)


def _robots(options: argparse.Namespace) -> int:
    if options.robot is None:
        for name in shipped_robots():
            print(f"{name:<22} {load_robot(name).n} joint(s)")
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


# --------------------------------------------------------------------------- plan
PLANS: dict[str, Callable[..., Plan | BangBangPlan]] = {
    "zero_net_work": plan_zero_net_work,
    "minimum_time": plan_minimum_time,
}


def _add_plan(commands) -> None:
    command = commands.add_parser(
        "plan",
        help="plan a zero-net-work or minimum-time motion",
        description="Plan a bang-bang motion from rest to rest.",
        epilog="example: manip_dyn plan ibm7535 --start 0.76,0.2618 --goal 0,0",
    )
    command.add_argument("robot", help="name of a shipped robot or path of a URDF")
    add_robot_options(command)
    command.add_argument("--start", required=True, help="joint positions, as in --start=-0.1,0")
    command.add_argument("--goal", required=True, help="joint positions, as in --goal=0.5,0")
    command.add_argument(
        "--method",
        choices=list(PLANS),
        default="zero_net_work",
        help="one switch per joint, or the fastest motion there is (default: %(default)s)",
    )
    command.add_argument(
        "--slew-rate",
        type=float,
        help="most that efforts may change, N m/s or N/s; ramps, no jumps",
    )
    command.add_argument("--plot", metavar="FILE", help="draw it into a PNG, SVG or PDF file")
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    command.set_defaults(run=_plan)


def _plan(options: argparse.Namespace) -> int:
    robot = robot_of(options)
    start, goal = numbers("--start", options.start), numbers("--goal", options.goal)
    if options.slew_rate is not None and options.method != "zero_net_work":
        raise ManipDynError(
            f"--slew-rate is {options.slew_rate:g} with --method {options.method}; expected "
            "--method zero_net_work"
        )
    limited = {} if options.slew_rate is None else {"slew_rate": options.slew_rate}
    plan = PLANS[options.method](robot, start, goal, **limited)
    if options.plot:
        plot_plan(robot, plan, options.plot)
    content = {
        "status": plan.status,
        "reason": plan.reason,
        "switch_times": dict(zip(robot.joint_names, plan.switch_times, strict=True)),
        "t_final": plan.t_final,
        "net_work": plan.net_work.tolist(),
    }
    if isinstance(plan, Plan):
        content["arrival_times"] = dict(zip(robot.joint_names, plan.arrival_times, strict=True))
    elif plan.certificate is not None:
        proof = plan.certificate
        content["certificate"] = {
            "holds": proof.holds,
            "boundary": proof.boundary,
            "hamiltonian": proof.hamiltonian,
            "margin": float(proof.margin),
        }
    print_content(content, options.json)
    return DONE


# ----------------------------------------------------------------------- simulate
def _add_simulate(commands) -> None:
    command = commands.add_parser(
        "simulate",
        help="simulate an arm under constant efforts",
        description="Integrate an arm's direct dynamics and print its final state.",
        epilog="example: manip_dyn simulate pa10 --start 0,0.3,0,1,0,0.5,0 --duration 1",
    )
    command.add_argument("robot", help="name of a shipped robot or path of a URDF")
    add_robot_options(command)
    command.add_argument("--start", help="joint positions, comma separated (default: zeros)")
    command.add_argument("--torque", help="joint efforts, comma separated (default: zeros)")
    command.add_argument("--duration", type=float, default=1.0, help="s (default: 1)")
    command.add_argument("--step", type=float, default=1e-3, help="s (default: 0.001)")
    command.add_argument("--method", default="rk4", help="see manip_dyn methods (default: rk4)")
    command.add_argument("--rtol", type=float, default=0.0, help="instead of a fixed step")
    command.add_argument("--atol", type=float, default=0.0, help="instead of a fixed step")
    command.add_argument("--order", type=int, default=0, help="of the method taylor")
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    command.set_defaults(run=_simulate)


def _simulate(options: argparse.Namespace) -> int:
    robot = robot_of(options)
    start = numbers("--start", options.start, robot)
    torque = numbers("--torque", options.torque, robot)
    zero = np.zeros(robot.n)
    result = simulate(
        robot, start, zero, torque, options.duration, options.step, options.duration,
        method=options.method, rtol=options.rtol, atol=options.atol, taylor_order=options.order,
    )  # fmt: skip
    content = {
        "success": result.success,
        "reason": result.reason,
        "t": float(result.t[-1]),
        "q": result.q[-1].tolist(),
        "v": result.v[-1].tolist(),
        "energy_balance_residual_J": float(np.abs(result.energy[:, 3]).max()),
        **result.statistics,
    }
    print_content(content, options.json)
    return DONE if result.success else FAILED


# -------------------------------------------------------------------------- track
def _add_track(commands) -> None:
    command = commands.add_parser(
        "track",
        help="follow a path with the tool by closed-loop inverse kinematics",
        description="Follow a circle, or the poses of a CSV file, and print the errors. Vectors "
        "are in the base frame, comma separated.",
        epilog="example: manip_dyn track pa10 --center=0,0.4,0.6 --normal=0,1,0 --first=-1,0,0 "
        "--rpy=0,0.785,0 --start=2.69,0.51,-0.24,1.42,0.87,-2.41,-2",
    )
    command.add_argument("robot", help="name of a shipped robot or path of a URDF")
    add_robot_options(command)
    command.add_argument("--csv", metavar="FILE", help="a path: t, x, y, z, qx, qy, qz, qw")
    command.add_argument("--center", help="centre of a circle, m")
    command.add_argument("--normal", default="0,0,1", help="its axis (default: 0,0,1)")
    command.add_argument("--first", default="1,0,0", help="direction to its first point")
    command.add_argument("--rpy", default="0,0,0", help="tool: roll, pitch, yaw, rad")
    command.add_argument("--speed", type=float, default=0.1, help="of the tool, m/s")
    command.add_argument("--rate", type=float, default=0.2, help="of the radius, rad/s")
    command.add_argument(
        "--follow-tangent", action="store_true", help="turn the tool with the radius"
    )
    command.add_argument("--ramp", type=float, default=0.0, help="smooth start, s (default: 0)")
    command.add_argument("--duration", type=float, help="s (default: the path's, one round)")
    command.add_argument("--start", help="joint positions near the first point")
    command.add_argument("--method", default="rk4", help="see manip_dyn methods (default: rk4)")
    command.add_argument("--inverse", default="filtered", help=f"one of: {', '.join(INVERSES)}")
    command.add_argument("--orientation-error", default="columns", help=", ".join(ERRORS))
    command.add_argument("--step", type=float, default=0.1, help="s (default: 0.1)")
    command.add_argument("--gain", type=float, default=2.0, help="feedback, 1/s (default: 2)")
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    command.set_defaults(run=_track)


def _track(options: argparse.Namespace) -> int:
    robot = robot_of(options)
    path = _path(options)
    guess = None if options.start is None else numbers("--start", options.start)
    start = posture_for(robot, path.pose(0.0), middle_posture(robot) if guess is None else guess)
    settings = ClikSettings(
        gain=options.gain, inverse=options.inverse, orientation_error=options.orientation_error
    )
    tracking = track(robot, path, options.method, options.step, start, options.duration, settings)
    content = {
        "success": tracking.success,
        "reason": tracking.reason,
        "samples": len(tracking.t),
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
    return DONE if tracking.success else FAILED


def _path(options: argparse.Namespace) -> Path:
    if options.csv is not None:
        return path_from_csv(options.csv, ramp=options.ramp)
    if options.center is None:
        raise ManipDynError("there is no path; expected --center of a circle, or --csv FILE")
    center, normal, first, rpy = (
        finite_vector(f"--{name}", numbers(f"--{name}", getattr(options, name)), 3)
        for name in ("center", "normal", "first", "rpy")
    )
    tool = Rotation.from_euler("xyz", rpy).as_matrix()
    return Circle(
        center, normal, first, tool, options.speed, options.rate, ramp=options.ramp,
        follow_tangent=options.follow_tangent,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
