"""Plots of plans and motions; requires matplotlib (the extra ``plot``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.deprecation import renamed_arguments
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.imports import required_module
from manip_dyn.planning import Plan
from manip_dyn.robot import Robot


def figure_type() -> Any:
    """Return matplotlib's `Figure` class, which draws into files without a display."""
    return required_module("matplotlib.figure", "plots need", "plot").Figure


def plot_plan(robot: Robot, plan: Plan, file: str | Path) -> None:
    """Draw positions, velocities and efforts of a plan over time into `file` (PNG, SVG, PDF)."""
    end = max(plan.t_final, 1e-3)
    switches = [t for times in plan.switch_times for t in times]
    jumps = np.unique([end, *plan.arrival_times, *switches])
    t = np.sort([*np.linspace(0.0, 1.05 * end, 400), *jumps, *np.nextafter(jumps, 0.0)])
    rows = tuple(zip(("position", "velocity", "effort"), plan.at(t), strict=True))
    figure = figure_type()(figsize=(7.0, 7.0), layout="constrained")
    figure.suptitle(
        f"{robot.name}: first switch at {min(switches, default=0.0):.5f} s, "
        f"arrival at {plan.t_final:.5f} s"
    )
    for axes, (label, values) in zip(figure.subplots(3, 1, sharex=True), rows, strict=True):
        for i, joint in enumerate(plan.joint_names):
            axes.plot(t, values[:, i], label=joint)
        axes.set_ylabel(f"{label} [{_units(robot, label)}]")
        axes.grid(alpha=0.3)
        for jump in jumps:
            axes.axvline(jump, color="grey", linestyle=":", linewidth=1.0)
    figure.axes[0].legend()
    figure.axes[-1].set_xlabel("time [s]")
    _save(figure, file)


@renamed_arguments(parts="quantities")
def plot_motion(
    robot: Robot,
    t: Vector,
    quantities: Mapping[str, Matrix],
    file: str | Path,
    title: str,
    errors: Mapping[str, Vector] | None = None,
) -> None:
    """Draw a motion over time into `file` (PNG, SVG, PDF).

    Args:
        robot: The arm.
        t: Times (m,), s.
        quantities: ``position``, ``velocity`` or ``effort`` -> values (m, n).
        file: The file to write.
        title: Title of the plot.
        errors: Label -> values (m,), drawn below on a logarithmic scale.
    """
    count = len(quantities) + bool(errors)
    figure = figure_type()(figsize=(7.0, 2.0 + 2.0 * count), layout="constrained")
    figure.suptitle(title, fontsize="medium", wrap=True)
    panels = np.atleast_1d(figure.subplots(count, 1, sharex=True))
    for axes, (label, values) in zip(panels, quantities.items(), strict=False):
        for joint, column in zip(robot.joint_names, values.T, strict=True):
            axes.plot(t, column, label=joint)
        axes.set_ylabel(f"{label} [{_units(robot, label)}]")
        axes.grid(alpha=0.3)
    panels[0].legend(fontsize="small")
    for label, values in (errors or {}).items():
        panels[-1].semilogy(t, np.maximum(values, 1e-16), label=label)
        panels[-1].legend(fontsize="small")
        panels[-1].grid(alpha=0.3)
    panels[-1].set_xlabel("time [s]")
    _save(figure, file)


def _save(figure: Any, file: str | Path) -> None:
    try:
        figure.savefig(file, dpi=120)
    except (OSError, ValueError) as error:
        raise ManipDynError(f"plot '{file}' cannot be written: {error}.") from error


def _units(robot: Robot, label: str) -> str:
    suffix = "/s" if label == "velocity" else ""
    units = {
        robot.effort_unit(i) if label == "effort" else robot.unit(i) + suffix
        for i in range(robot.n)
    }
    return ", ".join(sorted(units))
