"""Motions from results: plans, trajectories, tracking, mechanisms and recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik import TrackResult
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.multibody import Mechanism, MechanismMotion
from manip_dyn.planning import Plan
from manip_dyn.planning.path_timing import PathTiming
from manip_dyn.recording.reader import Recording
from manip_dyn.robot import Robot
from manip_dyn.simulation import Trajectory
from manip_dyn.viewer.figures import mechanism_figure, robot_figure
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


SAMPLES = 400
"""Samples of a plan beside those at its switches."""


def plan_motion(plan: Plan, title: str = "", figure: Figure | None = None) -> Motion:
    """Return a plan as a motion: switches and boundary arcs marked, work on each link."""
    end = max(plan.t_final, 1e-3)
    switches = [t for times in plan.switch_times for t in times]
    jumps = np.unique([*switches, *plan.arrival_times, end])
    regular = np.linspace(0.0, end, SAMPLES)
    t = np.unique([*regular, *jumps, *np.nextafter(jumps, 0.0)])
    t = t[t >= 0.0]
    found = plan.work_curves
    work = np.column_stack([np.interp(t, found.time, column) for column in found.work.T])
    links = tuple(f"link of {name}" for name in plan.joint_names)
    return view_motion(
        plan.robot,
        t,
        *plan.at(t),
        title or f"{plan.method.replace('_', ' ')}: {plan.t_final:.4g} s",
        more=(unlimited("work on each link [J]", links, work),),
        marks=[*plan_marks(plan)],
        figure=figure,
    )


def plan_marks(plan: Plan) -> list[Mark]:
    """Return switches, arcs at limits and arrivals of a plan."""
    names, found = plan.joint_names, []
    for joint, times in enumerate(plan.switch_times):
        found += [Mark(t, t, f"{names[joint]} switches", joint) for t in times]
    arcs = [] if plan.switching is None else plan.switching.arcs()
    for joint, name in enumerate(names):
        for kind, text in (
            ("is_boundary_arc_of_position", "at a limit of position"),
            ("is_boundary_arc_of_speed", "effort keeps a limit of speed"),
            ("is_singular", "singular arc"),
        ):
            spans = [(a, b) for a, b, does in arcs if getattr(does[joint], kind)]
            found += [Mark(*span, f"{name}: {text}", joint) for span in _joined(spans)]
    found += [Mark(t, t, f"{names[j]} arrives", j) for j, t in enumerate(plan.arrival_times) if t]
    return sorted(found, key=lambda mark: mark.begin)


def _joined(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return spans of time with those in one that touch."""
    if not spans:
        return []
    cuts = [k + 1 for k, (a, b) in enumerate(pairwise(spans)) if b[0] > a[1]]
    begins, ends = [0, *cuts], [*cuts, len(spans)]
    return [(spans[a][0], spans[b - 1][1]) for a, b in zip(begins, ends, strict=True)]


KINDS = (
    "a Plan, PathTiming, Trajectory, TrackResult, MechanismMotion, Recording, a Robot, or what "
    "view_motion returns"
)


def motion_of(
    result: Any,
    robot: Robot | None = None,
    mechanism: Mechanism | None = None,
    title: str = "",
) -> Motion:
    """Return a result as a motion.

    Args:
        result: What was computed; a robot stands still, at zero or in the middle of its range.
        robot: The arm of a `Trajectory` or `TrackResult`, which do not know it.
        mechanism: That of a `MechanismMotion`.
        title: What is told beside it.
    """
    if isinstance(result, Motion):
        return result
    if isinstance(result, Plan):
        return plan_motion(result, title)
    if isinstance(result, PathTiming):
        return _of_path(result, title)
    if isinstance(result, Robot):
        return standing(result, title)
    if isinstance(result, Recording):
        return _of_recording(result, title)
    if isinstance(result, MechanismMotion):
        return _of_mechanism(result, _given(mechanism, "mechanism", result), title)
    found: dict[type, Callable[[Any, Robot, str], Motion]] = {
        Trajectory: _of_trajectory,
        TrackResult: _of_tracking,
    }
    if type(result) not in found:
        hint = ""
        if isinstance(result, str | Path):
            hint = f"; a recording is read by manip_dyn.recording.read('{result}')"
        raise ManipDynError(
            f"what is of type {type(result).__name__} cannot be viewed; expected {KINDS}{hint}"
        )
    return found[type(result)](result, _given(robot, "robot", result), title)


def standing(robot: Robot, title: str = "", meshes: Sequence[str | Path] = ()) -> Motion:
    """Return a robot that stands still, at zero or where its range comes nearest to it.

    Args:
        robot: The arm.
        title: What is told beside it; empty: its name.
        meshes: Folders in which the packages lie whose meshes the URDF names.
    """
    q = np.clip(np.zeros(robot.n), robot.q_min, robot.q_max)
    figure = robot_figure(robot, meshes)
    return view_motion(robot, [0.0], [q], title=title or robot.name, figure=figure)


def _given(thing: Any, name: str, result: Any) -> Any:
    if thing is None:
        kind = type(result).__name__
        raise ManipDynError(f"a {kind} does not say what moves; expected view(..., {name}={name})")
    return thing


def _of_trajectory(result: Trajectory, robot: Robot, title: str) -> Motion:
    energy = unlimited(
        "energy [J]", ("kinetic", "potential", "work of efforts"), result.energy[:, :3]
    )
    return view_motion(
        robot, result.t, result.q, result.v, result.tau, title or "simulated", more=(energy,)
    )


def _of_tracking(result: TrackResult, robot: Robot, title: str) -> Motion:
    errors = np.column_stack([result.position_error, result.orientation_error])
    value = result.smallest_singular_value[:, None]
    met = [
        Mark(
            float(result.t[k]), float(result.t[k]), f"{robot.joint_names[j]} at its limit", int(j)
        )
        for k, j in zip(*np.nonzero(np.diff(result.held.astype(int), axis=0) > 0), strict=True)
    ]
    return view_motion(
        robot,
        result.t,
        result.q,
        result.v,
        title=title or "tracked",
        more=(
            unlimited("error of the tool [m, rad]", ("position", "orientation"), errors),
            unlimited("smallest singular value", ("of the Jacobian",), value),
        ),
        marks=met,
        wanted=result.desired[:, :3, 3],
    )


def _of_path(result: PathTiming, title: str) -> Motion:
    rows = result.samples(max(result.t_final / 400, 1e-6))
    switches = [Mark(t, t, "another limit holds") for t in result.motion.switches]
    told = title or f"along a path: {result.t_final:.4g} s"
    given = result.robot, rows.time, rows.q, rows.v, rows.effort
    return view_motion(*given, told, marks=switches)


def _of_recording(result: Recording, title: str) -> Motion:
    robot = result.robot
    if robot is None:
        raise ManipDynError(
            f"recording '{result.file}' describes no robot; expected robot_description in it"
        )
    missing = [name for name in robot.joint_names if name not in result.joint_names]
    if missing:
        raise ManipDynError(
            f"recording '{result.file}' has joint states of {', '.join(result.joint_names)}; "
            f"expected all joints of '{robot.name}', which has {', '.join(missing)}"
        )
    order = [result.joint_names.index(name) for name in robot.joint_names]
    return view_motion(
        robot,
        result.t,
        result.q[:, order],
        _if_told(result.v[:, order]),
        _if_told(result.effort[:, order]),
        title or result.file.name,
        marks=[Mark(at, at, "the arm was reset") for at in result.t[list(result.resets)].tolist()],
    )


def _if_told(rows: Matrix) -> Matrix | None:
    return None if np.isnan(rows).any() else rows


def _of_mechanism(result: MechanismMotion, mechanism: Mechanism, title: str) -> Motion:
    names = [body.name for body in mechanism.bodies]
    heights = result.q.reshape(len(result.t), -1, 7)[:, :, 2]
    return Motion(
        title=title or "mechanism",
        figure=mechanism_figure(mechanism),
        t=result.t,
        coordinates=result.q,
        curves=(unlimited("height of the centres of mass [m]", names, heights),),
    )
