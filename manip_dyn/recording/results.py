"""Write results (plans, simulations, tracked paths, mechanism motions) to MCAP files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manip_dyn.clik.tracking import TrackResult
from manip_dyn.core.checks import Matrix, Vector, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.multibody.model.geometry import JointCoordinates
from manip_dyn.multibody.model.mechanism import Mechanism
from manip_dyn.multibody.simulation import MechanismMotion
from manip_dyn.planning.plan import Plan
from manip_dyn.recording import messages
from manip_dyn.recording.recorder import Recorder
from manip_dyn.robot import Robot
from manip_dyn.robot.geometry import LinkTree
from manip_dyn.simulation.trajectory import Trajectory

PERIOD = 0.01
"""Maximum time between the states of a plan, s. Other results use their samples."""
TF_PERIOD_NS = 20_000_000
"""Minimum time (ns) between messages on /tf, except before the last message."""
Result = Plan | Trajectory | TrackResult | MechanismMotion


def record(
    result: Result,
    file: str | Path,
    *,
    robot: Robot | None = None,
    mechanism: Mechanism | None = None,
    period: float = PERIOD,
) -> None:
    """Write a result to an MCAP file, with the topics of the ROS nodes.

    Message times are those of the result, starting at 0 ns.

    Args:
        result: A `Plan`, `Trajectory`, `TrackResult` or `MechanismMotion`.
        file: Path of a new file that ends with ``.mcap``.
        robot: The arm of a `Trajectory` or `TrackResult`. A `Plan` contains its robot.
        mechanism: The mechanism of a `MechanismMotion`.
        period: Maximum time between the states of a plan, s.

    Raises:
        ManipDynError: If the result is not supported, its robot or mechanism does not match,
            `period` is not positive, a library is missing, or the file exists or cannot be
            written.
    """
    write: Any = next(
        (writer for kind, writer in WRITERS.items() if isinstance(result, kind)), None
    )
    if write is None:
        names = ", ".join(kind.__name__ for kind in WRITERS)
        raise ManipDynError(f"result must be one of {names}, got a {type(result).__name__}.")
    positive("period", period, "s")
    own_model = getattr(result, "robot", None) or getattr(result, "mechanism", None)
    model = _checked_model(result, own_model or robot or mechanism)
    with Recorder(file) as recorder:
        kind = type(result).__name__
        status = str(getattr(result.status, "name", result.status)).lower()
        recorder.add_note("manip_dyn", {"result": kind, "status": status, "reason": result.reason})
        end_ns = write(recorder, result, model, period)
        outcome = messages.diagnostics(
            end_ns, kind, result.success, result.reason, {"status": status}
        )
        recorder.add("/diagnostics", outcome, end_ns)


def _checked_model(result: Result, model: Any) -> Any:
    """Return the robot or mechanism of a result.

    Raises:
        ManipDynError: If it is missing or the number of coordinates differs.
    """
    kind, name = (
        (Robot, "robot") if not isinstance(result, MechanismMotion) else (Mechanism, "mechanism")
    )
    count = len(result.q0) if isinstance(result, Plan) else result.q.shape[1]
    size = getattr(model, "n" if kind is Robot else "size", None)
    if not isinstance(model, kind) or size != count:
        value = "none" if model is None else f"{getattr(model, 'name', model)!r}"
        raise ManipDynError(
            f"{name} must be the {name} of the {type(result).__name__}, with {count} coordinates, "
            f"got {value}; use record(result, file, {name}=...)."
        )
    return model


def _plan(recorder: Recorder, plan: Plan, robot: Robot, period: float) -> int:
    rows = plan.samples(period)
    recorder.add(
        "/bang_bang_planner/plan", messages.efforts(robot.joint_names, rows), 0, latched=True
    )
    switches = [t for t, _ in rows]
    t = np.unique([*np.arange(0.0, plan.t_final, period), *switches, plan.t_final])
    return _arm(recorder, robot, t, *plan.at(t))


def _trajectory(recorder: Recorder, run: Trajectory, robot: Robot, _period: float) -> int:
    for stamp, energy in zip(_stamps(run.t), run.energy, strict=True):
        recorder.add("/simulator/energy", messages.numbers(energy), stamp)
    return _arm(recorder, robot, run.t, run.q, run.v, run.tau)


def _track(recorder: Recorder, run: TrackResult, robot: Robot, _period: float) -> int:
    for stamp, desired, error in zip(_stamps(run.t), run.desired, run.error, strict=True):
        pose = messages.pose_stamped(robot.base, stamp, desired)
        recorder.add("/clik_tracker/desired_pose", pose, stamp)
        twist = messages.twist_stamped(robot.base, stamp, error)
        recorder.add("/clik_tracker/error", twist, stamp)
    return _arm(recorder, robot, run.t, run.q, run.v, np.zeros((len(run.t), 0)))


def _mechanism(
    recorder: Recorder, run: MechanismMotion, mechanism: Mechanism, _period: float
) -> int:
    joints, last = JointCoordinates(mechanism), 0
    for stamp, q, v in zip(_stamps(run.t), run.q, run.v, strict=True):
        poses = messages.pose_array("world", stamp, q.reshape(-1, 7))
        recorder.add("/mechanism/poses", poses, stamp)
        recorder.add(
            "/joint_states", messages.joint_state(joints.names, stamp, *joints(q, v)), stamp
        )
        last = stamp
    return last


def _arm(recorder: Recorder, robot: Robot, t: Vector, q: Matrix, v: Matrix, effort: Matrix) -> int:
    """Write the robot, its states (m, n) and link poses; return the last stamp (ns)."""
    tree, last_tf = LinkTree(robot), -TF_PERIOD_NS
    recorder.add("/robot_description", messages.text(robot.urdf), 0, latched=True)
    recorder.add("/tf_static", messages.transforms(0, tree.fixed), 0, latched=True)
    stamps = _stamps(t)
    for stamp, *state in zip(stamps, q, v, effort, strict=True):
        recorder.add(
            "/joint_states", messages.joint_state(robot.joint_names, stamp, *state), stamp
        )
        if stamp - last_tf >= TF_PERIOD_NS or stamp == stamps[-1]:
            recorder.add("/tf", messages.transforms(stamp, tree.moving(state[0])), stamp)
            last_tf = stamp
    return stamps[-1]


def _stamps(t: Vector) -> Sequence[int]:
    return [round(float(time) * 1e9) for time in t]


WRITERS = {Plan: _plan, Trajectory: _trajectory, TrackResult: _track, MechanismMotion: _mechanism}
