"""The motion of a robot from arrays: what is drawn and plotted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.viewer.figures.robot import robot_figure
from manip_dyn.viewer.scene import Curves, Figure, Mark, Motion, Scope

TRAIL = 400
"""Most points of a line that is drawn where the tool goes."""


def view_motion(
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike,
    v: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    title: str = "",
    more: Sequence[Curves] = (),
    marks: Sequence[Mark] = (),
    wanted: Matrix | None = None,
    figure: Figure | None = None,
) -> Motion:
    """Return the motion of a robot of k samples.

    Args:
        robot: The arm.
        t: Times (k,), s, that do not fall.
        q: Positions (k, n), rad or m.
        v: Velocities (k, n), rad/s or m/s; None: not plotted.
        effort: Efforts (k, n), N m or N, each from its sample on; None: not plotted.
        title: What is told beside it; empty: the robot's name.
        more: Further curves, k values each.
        marks: What happens on the way.
        wanted: Where the tool is to go (m, 3), m.
        figure: What the robot looks like; None: as its URDF says.
    """
    times = np.asarray(t, dtype=float)
    if times.ndim != 1 or times.size == 0 or np.any(np.diff(times) < 0.0):
        raise ManipDynError("times of a motion do not rise; expected k times, s, in order")
    rows = _rows("positions", q, times, robot)
    figure = figure or robot_figure(robot)
    curves = [Curves(_title(robot, "position", ""), robot.joint_names, rows, *_range(robot))]
    for name, suffix, values, most in (
        ("velocity", "/s", v, robot.v_max),
        ("effort", "", effort, robot.tau_max),
    ):
        if values is not None:
            table = _rows(name, values, times, robot)
            curves.append(
                Curves(_title(robot, name, suffix), robot.joint_names, table, -most, most)
            )
    return Motion(
        title=title or robot.name,
        figure=figure,
        t=times,
        coordinates=rows,
        curves=(*curves, *more),
        marks=tuple(marks),
        trail=trail(figure, rows),
        wanted=np.zeros((0, 3)) if wanted is None else _thinned(np.asarray(wanted)),
    )


def joint_scopes(robot: Robot) -> list[Scope]:
    """Return what is plotted of a robot that runs: positions, velocities, efforts."""
    names = robot.joint_names
    return [
        Scope(_title(robot, "position", ""), names, *_range(robot)),
        Scope(_title(robot, "velocity", "/s"), names, -robot.v_max, robot.v_max),
        Scope(_title(robot, "effort", ""), names, -robot.tau_max, robot.tau_max),
    ]


def trail(figure: Figure, rows: Matrix) -> Matrix:
    """Return where the tool of a figure goes (m, 3), m, at coordinates (k, N)."""
    if figure.tool is None or len(rows) < 2:
        return np.zeros((0, 3))
    return np.array([figure.tool(row)[0] for row in _thinned(rows)])


def unlimited(title: str, names: Sequence[str], values: ArrayLike) -> Curves:
    """Return curves of values (k, n) that have no limits."""
    none = np.full(len(names), np.inf)
    return Curves(title, tuple(names), np.asarray(values, dtype=float), -none, none, False)


def _thinned(rows: Matrix) -> Matrix:
    every = max(len(rows) // TRAIL, 1)
    return np.concatenate([rows[::every], rows[-1:]])


def _rows(name: str, values: ArrayLike, times: Vector, robot: Robot) -> Matrix:
    table = np.asarray(values, dtype=float)
    if table.shape != (times.size, robot.n) or not np.isfinite(table).all():
        raise ManipDynError(
            f"{name} of a motion of '{robot.name}' have the shape {table.shape}; expected finite "
            f"numbers of shape ({times.size}, {robot.n})"
        )
    return table


def _range(robot: Robot) -> tuple[Vector, Vector]:
    return robot.q_min, robot.q_max


def _title(robot: Robot, name: str, suffix: str) -> str:
    slides = [kind == "prismatic" for kind in robot.joint_types]
    units = ("N m", "N") if name == "effort" else (f"rad{suffix}", f"m{suffix}")
    told = [
        unit for unit, there in zip(units, (not all(slides), any(slides)), strict=True) if there
    ]
    return f"{name} [{', '.join(told)}]"
