"""What a user computed, whatever it is, as a motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manip_dyn.clik import TrackResult
from manip_dyn.core.checks import Matrix
from manip_dyn.core.errors import ManipDynError
from manip_dyn.multibody import Mechanism, MechanismMotion
from manip_dyn.planning import Plan
from manip_dyn.planning.path_timing import PathTiming
from manip_dyn.recording.reader import Recording
from manip_dyn.robot import Robot
from manip_dyn.simulation import Trajectory
from manip_dyn.viewer.figures.mechanism import mechanism_figure
from manip_dyn.viewer.figures.robot import robot_figure
from manip_dyn.viewer.motions.plans import plan_motion
from manip_dyn.viewer.motions.robot import unlimited, view_motion
from manip_dyn.viewer.scene import Mark, Motion

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
