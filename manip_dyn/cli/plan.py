"""`manip_dyn plan`: a motion from rest to rest."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from manip_dyn.cli.options import (
    DONE,
    add_robot,
    add_robot_options,
    examples,
    numbers,
    print_content,
    robot_of,
)
from manip_dyn.cli.outputs import (
    PERIOD,
    add_output_options,
    check_outputs,
    motion_table,
    save_and_view,
    write_csv,
)
from manip_dyn.cli.terminal import told
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning import Plan, plan_minimum_time, plan_zero_net_work
from manip_dyn.plots import plot_plan
from manip_dyn.robot import Robot

PLANS: dict[str, Callable[..., Plan]] = {
    "zero_net_work": plan_zero_net_work,
    "minimum_time": plan_minimum_time,
}
OWN = {
    "slew_rate": "zero_net_work",
    "v0": "minimum_time",
    "vf": "minimum_time",
    "exhaustive": "minimum_time",
}
"""Settings that only one method has."""


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "Plan a motion to a goal within the limits of efforts and joints, and print when its "
        "efforts switch: from rest to rest with one switch per joint (zero net work), or the "
        "fastest there is (minimum time), also between velocities. Vectors are in rad or m, and "
        "per s, comma separated."
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
    command.add_argument(
        "--start", required=True, help="joint positions there, as in --start=-0.1,0"
    )
    command.add_argument("--goal", required=True, help="joint positions there, as in --goal=0.5,0")
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
    command.add_argument(
        "--v0",
        help="velocities at the start, for minimum_time, as in --v0=0,-1",
    )
    command.add_argument("--vf", help="velocities at the goal, for minimum_time")
    command.add_argument(
        "--exhaustive",
        type=float,
        metavar="SECONDS",
        help="for how long minimum_time tries random detours besides (default: 0)",
    )
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    add_output_options(command)
    command.set_defaults(run=_plan)


def _plan(options: argparse.Namespace) -> int:
    check_outputs(options)
    robot = robot_of(options)
    start, goal = (numbers(f"--{word}", vars(options)[word], robot) for word in ("start", "goal"))
    with told("planning"):
        plan = PLANS[options.method](robot, start, goal, **_settings(options))
    if options.plot:
        plot_plan(robot, plan, options.plot)
    if options.csv:
        _write_csv(options.csv, robot, plan)
    content = {
        "status": plan.status,
        "reason": plan.reason,
        "switch_times": dict(zip(robot.joint_names, plan.switch_times, strict=True)),
        "t_final": plan.t_final,
        "net_work": plan.net_work.tolist(),
        "arrival_times": dict(zip(robot.joint_names, plan.arrival_times, strict=True)),
    }
    if plan.certificate is not None:
        proof = plan.certificate
        content["certificate"] = {"holds": proof.holds, **proof.numbers}
    print_content(content, options.json)
    save_and_view(options, plan, robot)
    return DONE


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the method's own settings that were given; refuse those of the other method."""
    found: dict[str, Any] = {}
    for name, method in OWN.items():
        given = getattr(options, name)
        if given is None:
            continue
        option = f"--{name.replace('_', '-')}"
        if options.method != method:
            raise ManipDynError(
                f"{option} is {given} with --method {options.method}; expected --method {method}"
            )
        found[name] = numbers(option, given) if name in ("v0", "vf") else given
    return found


def _write_csv(file: str, robot: Robot, plan: Plan) -> None:
    """Write the plan every `PERIOD`, and wherever its efforts jump."""
    jumps = [t for t, _ in plan.samples(PERIOD)]
    t = np.unique([*np.arange(0.0, plan.t_final, PERIOD), *jumps, plan.t_final])
    q, v, effort = plan.at(t)
    write_csv(file, *motion_table(robot, t, position=q, velocity=v, effort=effort))
