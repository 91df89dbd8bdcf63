"""`manip_dyn simulate`: an arm under constant efforts."""

from __future__ import annotations

import argparse

import numpy as np

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
from manip_dyn.cli.parser import completed_by
from manip_dyn.cli.terminal import told
from manip_dyn.integration import METHODS
from manip_dyn.plots import plot_motion
from manip_dyn.simulation import simulate


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = (
        "Integrate an arm's direct dynamics under constant efforts and gravity, from rest, and "
        "print its final state."
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
        "--start", help="joint positions, rad or m, comma separated (default: zeros)"
    )
    command.add_argument(
        "--effort", help="joint efforts, N m or N, cut off at their limits (default: zeros)"
    )
    command.add_argument(
        "--duration", type=float, default=1.0, help="of the motion, s (default: 1)"
    )
    command.add_argument(
        "--step", type=float, default=1e-3, help="of the integration, s (default: 0.001)"
    )
    method = command.add_argument(
        "--method", default="rk4", help="see manip_dyn methods (default: rk4)"
    )
    completed_by(method, lambda: METHODS)
    command.add_argument(
        "--rtol", type=float, default=0.0, help="relative tolerance, instead of a fixed step"
    )
    command.add_argument(
        "--atol", type=float, default=0.0, help="absolute tolerance, rad or m (default: rtol)"
    )
    command.add_argument(
        "--order", type=int, default=0, help="of taylor (default: what rtol asks for)"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    add_output_options(command)
    command.set_defaults(run=_simulate)


def _simulate(options: argparse.Namespace) -> int:
    check_outputs(options)
    robot = robot_of(options)
    start = numbers("--start", options.start, robot)
    effort = numbers("--effort", options.effort, robot)
    zero = np.zeros(robot.n)
    kept = options.plot or options.csv or options.record or options.view
    with told(f"simulating {options.duration:g} s"):
        result = simulate(
            robot,
            start,
            zero,
            effort,
            options.duration,
            options.step,
            None if kept else options.duration,
            method=options.method,
            rtol=options.rtol,
            atol=options.atol,
            taylor_order=options.order,
        )
    content = {
        "success": result.success,
        "reason": result.reason,
        "t": float(result.t[-1]),
        "q": result.q[-1].tolist(),
        "v": result.v[-1].tolist(),
        "outside_limits": list(robot.outside_limits(result.q[-1])),
        "saturated": [
            f"{robot.joint_names[i]} ({effort[i]:g} wanted, {result.tau[0, i]:g} acts)"
            for i in np.flatnonzero(result.saturated.any(axis=0))
        ],
        "energy_balance_residual_J": float(np.abs(result.energy[:, 3]).max()),
        **result.statistics,
    }
    print_content(content, options.json)
    parts = {"position": result.q, "velocity": result.v, "effort": result.tau}
    if options.plot:
        plot_motion(robot, result.t, parts, options.plot, f"{robot.name}: {result.reason}")
    if options.csv:
        write_csv(options.csv, *motion_table(robot, result.t, **parts))
    save_and_view(options, result, robot)
    return DONE if result.success else FAILED
