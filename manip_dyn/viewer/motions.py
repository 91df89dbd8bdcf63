"""Conversion of results (plans, trajectories, tracking, recordings) to motions of a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik import TrackResult
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.deprecation import renamed_arguments
from manip_dyn.core.errors import ManipDynError
from manip_dyn.multibody import Mechanism, MechanismMotion
from manip_dyn.planning import Plan
from manip_dyn.planning.path_timing import PathTiming
from manip_dyn.recording.reader import Recording, read
from manip_dyn.recording.recorder import SUFFIX
from manip_dyn.robot import Robot, load_kinematics
from manip_dyn.simulation import Trajectory
from manip_dyn.viewer.figures import mechanism_figure, robot_figure
from manip_dyn.viewer.scene import Curves, Figure, Mark, Motion, Scope

TRAIL = 400
"""Minimum number of points to which a longer tool path is thinned."""


@renamed_arguments(wanted="desired")
def view_motion(
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike,
    v: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    title: str = "",
    more: Sequence[Curves] = (),
    marks: Sequence[Mark] = (),
    desired: Matrix | None = None,
    figure: Figure | None = None,
) -> Motion:
    """Create a `Motion` from k samples of an arm.

    Args:
        robot: The arm.
        t: Times (k,) in seconds, non-decreasing.
        q: Positions (k, n), rad or m.
        v: Velocities (k, n), rad/s or m/s. None: not plotted.
        effort: Efforts (k, n), N m or N, each held until the next sample. None: not plotted.
        title: Title of the motion. Default: name of the robot.
        more: Additional curves with k values each.
        marks: Events and intervals.
        desired: Desired path of the tool (m, 3) in m.
        figure: Figure of the robot. Default: figure from its URDF.

    Raises:
        ManipDynError: If the times decrease, or if `t`, `q`, `v` or `effort` has the wrong shape
            or values that are not finite.
    """
    times = np.asarray(t, dtype=float)
    if times.ndim != 1 or times.size == 0 or np.any(np.diff(times) < 0.0):
        raise ManipDynError("t must be non-decreasing times (k,), s.")
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
        desired=np.zeros((0, 3)) if desired is None else _thinned(np.asarray(desired)),
        robot=robot,
    )


def joint_scopes(robot: Robot) -> list[Scope]:
    """Return the rolling charts of a running robot: positions, velocities and efforts."""
    names = robot.joint_names
    return [
        Scope(_title(robot, "position", ""), names, *_range(robot)),
        Scope(_title(robot, "velocity", "/s"), names, -robot.v_max, robot.v_max),
        Scope(_title(robot, "effort", ""), names, -robot.tau_max, robot.tau_max),
    ]


def trail(figure: Figure, rows: Matrix) -> Matrix:
    """Return the path of the tool (m, 3) in m for the coordinates (k, N) of a motion.

    It is empty if the figure has no tool, or for fewer than two rows.
    """
    if figure.tool is None or len(rows) < 2:
        return np.zeros((0, 3))
    return np.array([figure.tool(row)[0] for row in _thinned(rows)])


def unlimited(title: str, names: Sequence[str], values: ArrayLike) -> Curves:
    """Return curves of values (k, n) without limits and without marks."""
    none = np.full(len(names), np.inf)
    return Curves(title, tuple(names), np.asarray(values, dtype=float), -none, none, False)


def _thinned(rows: Matrix) -> Matrix:
    every = max(len(rows) // TRAIL, 1)
    return np.concatenate([rows[::every], rows[-1:]])


def _rows(name: str, values: ArrayLike, times: Vector, robot: Robot) -> Matrix:
    table = np.asarray(values, dtype=float)
    if table.shape != (times.size, robot.n) or not np.isfinite(table).all():
        raise ManipDynError(
            f"{name} of '{robot.name}' must be finite numbers of shape "
            f"({times.size}, {robot.n}), got shape {table.shape}."
        )
    return table


def _range(robot: Robot) -> tuple[Vector, Vector]:
    return robot.q_min, robot.q_max


def _title(robot: Robot, name: str, suffix: str) -> str:
    prismatic = [kind == "prismatic" for kind in robot.joint_types]
    units = ("N m", "N") if name == "effort" else (f"rad{suffix}", f"m{suffix}")
    kinds = (not all(prismatic), any(prismatic))
    used = [unit for unit, exists in zip(units, kinds, strict=True) if exists]
    return f"{name} [{', '.join(used)}]"


SAMPLES = 400
"""Number of equidistant samples of a plan; samples at its switches are added."""


def plan_motion(plan: Plan, title: str = "", figure: Figure | None = None) -> Motion:
    """Convert a plan to a motion with marks at its switches and curves of the work on links."""
    end = max(plan.t_final, 1e-3)
    switches = [t for times in plan.switch_times for t in times]
    jumps = np.unique([*switches, *plan.arrival_times, end])
    regular = np.linspace(0.0, end, SAMPLES)
    t = np.unique([*regular, *jumps, *np.nextafter(jumps, 0.0)])
    t = t[t >= 0.0]
    curves = plan.work_curves
    work = np.column_stack([np.interp(t, curves.time, column) for column in curves.work.T])
    links = tuple(f"link of {coupling.name}" for coupling in plan.robot.couplings)
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
    """Return marks at the switches, boundary arcs and arrivals of a plan."""
    names, marks = plan.joint_names, []
    for joint, times in enumerate(plan.switch_times):
        marks += [Mark(t, t, f"{names[joint]} switches", joint) for t in times]
    arcs = [] if plan.switching is None else plan.switching.arcs()
    for joint, name in enumerate(names):
        for kind, text in (
            ("is_boundary_arc_of_position", "at a position limit"),
            ("is_boundary_arc_of_speed", "effort holds a speed limit"),
            ("is_singular", "singular arc"),
        ):
            spans = [(a, b) for a, b, does in arcs if getattr(does[joint], kind)]
            marks += [Mark(*span, f"{name}: {text}", joint) for span in _joined(spans)]
    marks += [Mark(t, t, f"{names[j]} arrives", j) for j, t in enumerate(plan.arrival_times) if t]
    return sorted(marks, key=lambda mark: mark.begin)


def _joined(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Merge neighbouring time spans that touch or overlap; `spans` are in order."""
    if not spans:
        return []
    cuts = [k + 1 for k, (a, b) in enumerate(pairwise(spans)) if b[0] > a[1]]
    begins, ends = [0, *cuts], [*cuts, len(spans)]
    return [(spans[a][0], spans[b - 1][1]) for a, b in zip(begins, ends, strict=True)]


KINDS = (
    "Plan, PathTiming, Trajectory, TrackResult, MechanismMotion, Recording, Robot, Motion, or the "
    "path of a URDF or recording"
)


def motion_of(
    result: Any,
    robot: Robot | None = None,
    mechanism: Mechanism | None = None,
    title: str = "",
) -> Motion:
    """Convert a result to a motion for the viewer.

    Args:
        result: One of `KINDS`. A robot is shown at rest (see `standing` and `file_motion`).
        robot: Robot of a `Trajectory` or `TrackResult`.
        mechanism: Mechanism of a `MechanismMotion`.
        title: Title of the motion. Default: depends on the result.

    Raises:
        ManipDynError: If the type of the result is not supported, or its robot or mechanism is
            missing.
    """
    if isinstance(result, Motion):
        return result
    if isinstance(result, Plan):
        return plan_motion(result, title)
    if isinstance(result, PathTiming):
        return _of_path(result, title)
    if isinstance(result, Robot):
        return standing(result, title)
    if isinstance(result, str | Path):
        return file_motion(result, title)
    if isinstance(result, Recording):
        return _of_recording(result, title)
    if isinstance(result, MechanismMotion):
        return _of_mechanism(result, _required(mechanism, "mechanism", result), title)
    converters: dict[type, Callable[[Any, Robot, str], Motion]] = {
        Trajectory: _of_trajectory,
        TrackResult: _of_tracking,
    }
    if type(result) not in converters:
        kind = type(result).__name__
        raise ManipDynError(f"the result must be a {KINDS}, got {kind}.")
    return converters[type(result)](result, _required(robot, "robot", result), title)


def file_motion(
    source: str | Path, title: str = "", meshes: Sequence[str | Path] = (), **options: Any
) -> Motion:
    """Return the motion of a recording, or a robot at rest.

    The robot needs no dynamics: see `manip_dyn.robot.load_kinematics`.

    Args:
        source: Path of a recording (.mcap), or a robot as for `load_robot`.
        title: Title of the motion. Default: name of the file or the robot.
        meshes: Folders of the packages that contain the meshes of the URDF.
        **options: Further arguments of `load_kinematics`.

    Raises:
        ManipDynError: If the recording or the robot cannot be read.
    """
    if Path(source).suffix == SUFFIX:
        return _of_recording(read(source), title)
    return standing(load_kinematics(source, **options), title, meshes)


def standing(robot: Robot, title: str = "", meshes: Sequence[str | Path] = ()) -> Motion:
    """Return a motion in which a robot rests at the positions within its limits closest to zero.

    Args:
        robot: The robot.
        title: Title of the motion. Default: name of the robot.
        meshes: Folders of the packages that contain the meshes of the URDF.
    """
    q = np.clip(np.zeros(robot.n), robot.q_min, robot.q_max)
    figure = robot_figure(robot, meshes)
    return view_motion(robot, [0.0], [q], title=title or robot.name, figure=figure)


def _required(thing: Any, name: str, result: Any) -> Any:
    if thing is None:
        kind = type(result).__name__
        raise ManipDynError(f"a {kind} requires the argument {name}: view(..., {name}={name}).")
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
    limits = [
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
        marks=limits,
        desired=result.desired[:, :3, 3],
    )


def _of_path(result: PathTiming, title: str) -> Motion:
    rows = result.samples(max(result.t_final / 400, 1e-6))
    switches = [Mark(t, t, "active limit changes") for t in result.motion.switches]
    title = title or f"along a path: {result.t_final:.4g} s"
    return view_motion(result.robot, rows.time, rows.q, rows.v, rows.effort, title, marks=switches)


def _of_recording(result: Recording, title: str) -> Motion:
    robot = result.robot
    if robot is None:
        raise ManipDynError(f"recording '{result.file}' must contain the topic robot_description.")
    missing = [name for name in robot.joint_names if name not in result.joint_names]
    if missing:
        raise ManipDynError(
            f"recording '{result.file}' must contain the states of all joints of '{robot.name}', "
            f"got no state of {', '.join(missing)}."
        )
    order = [result.joint_names.index(name) for name in robot.joint_names]
    return view_motion(
        robot,
        result.t,
        result.q[:, order],
        _if_complete(result.v[:, order]),
        _if_complete(result.effort[:, order]),
        title or result.file.name,
        marks=[Mark(at, at, "reset") for at in result.t[list(result.resets)].tolist()],
    )


def _if_complete(rows: Matrix) -> Matrix | None:
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
