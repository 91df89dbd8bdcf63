"""`manip_dyn simulate`: an arm under constant efforts."""

from __future__ import annotations

import argparse

import numpy as np

from manip_dyn.cli.options import (
    DONE,
    FAILED,
    add_robot_options,
    numbers,
    print_content,
    robot_of,
)
from manip_dyn.simulation import simulate


def configure(command: argparse.ArgumentParser) -> None:
    """Add description and options to the command's parser."""
    command.description = "Integrate an arm's direct dynamics and print its final state."
    command.epilog = "example: manip_dyn simulate pa10 --start 0,0.3,0,1,0,0.5,0 --duration 0.3"
    command.add_argument("robot", help="name of a shipped robot or path of a URDF")
    add_robot_options(command)
    command.add_argument("--start", help="joint positions, comma separated (default: zeros)")
    command.add_argument("--effort", help="joint efforts, comma separated (default: zeros)")
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
    effort = numbers("--effort", options.effort, robot)
    zero = np.zeros(robot.n)
    result = simulate(
        robot,
        start,
        zero,
        effort,
        options.duration,
        options.step,
        options.duration,
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
        "energy_balance_residual_J": float(np.abs(result.energy[:, 3]).max()),
        **result.statistics,
    }
    print_content(content, options.json)
    return DONE if result.success else FAILED
