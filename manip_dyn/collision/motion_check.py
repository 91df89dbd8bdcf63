"""`check_motion`: prove that a motion is free of collisions between its samples, too."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from manip_dyn.collision import certification as search
from manip_dyn.collision.convex import Pieces
from manip_dyn.collision.curves import (
    HasJointCurve,
    JointCurve,
    message_curve,
    polygon_curve,
    spline_curve,
)
from manip_dyn.collision.model import (
    CoalObjects,
    CollisionModel,
    checked_model,
)
from manip_dyn.collision.pairs import PairArrays, pair_arrays
from manip_dyn.collision.scene import Scene
from manip_dyn.core.arrays import by_reference
from manip_dyn.core.checks import (
    Vector,
    finite_array,
    finite_vector,
    not_negative,
    positive,
    shortened,
    whole_number,
)
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import Result
from manip_dyn.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class Clearance(Result):
    """Result of the collision check of a motion.

    Attributes:
        clear: True if all pairs of shapes are proved to be farther apart than the margin during
            the whole motion. False if two shapes touch, or are closer than the margin, at `time`.
            None if it is undecided.
        least: Proved lower bound of the distance of all pairs over the whole motion, m. For
            motions that are not clear it is 0 or less.
        distance: Smallest distance that was found, m, which coal computes at `time`. It is
            negative for shapes that overlap. At the first contact of a motion it may be up to
            1 micrometre above 0, or above the margin.
        time: Time of the smallest distance; for collisions, a time at or shortly after the first
            contact. For splines and waypoints it is the parameter.
        pair: Names of the closest link and link or scene object; ("", "") without pairs.
        q: Positions (n,) at `time`, rad or m.
        points: Nearest points (2, 3) of the pair at `time`, base frame, m.
        intervals: Number of time intervals of the proof.
        status: ``clear``, ``collision`` or ``undecided``.
        reason: The result as a sentence.
    """

    clear: bool | None
    least: float
    distance: float
    time: float
    pair: tuple[str, str]
    q: Vector
    points: np.ndarray = field(repr=False)
    intervals: int
    status: str
    reason: str

    @property
    def success(self) -> bool:
        """Whether the motion is proved to be free of collisions."""
        return self.clear is True


def clearance(robot: Robot, q: Any, scene: Scene | None = None) -> Clearance:
    """Return the least distance of all pairs of links and objects at a posture, computed by coal.

    Args:
        robot: The arm.
        q: Posture (n,), rad or m.
        scene: Objects around the arm. Default: none, so that only the arm itself is checked.

    Raises:
        ManipDynError: If an argument is invalid, a mesh is missing, or the moving links have no
            collision shapes.
    """
    model = checked_model(robot, scene)
    posture = finite_vector("q", q, robot.n)
    pair, separation = _coal_objects(model).closest(posture, model.pairs)
    clear = separation.distance > 0.0
    points = np.array([separation.first, separation.second])
    reason = sentence(pair, separation.distance) + model.omission
    return Clearance(
        clear,
        separation.distance,
        separation.distance,
        0.0,
        pair,
        posture,
        points,
        0,
        "clear" if clear else "collision",
        reason,
    )


def check_motion(
    robot: Robot,
    motion: Any,
    scene: Scene | None = None,
    *,
    margin: float = 0.0,
    resolution: float = 1e-3,
    max_intervals: int = 100_000,
) -> Clearance:
    """Check by a proof whether a motion keeps all pairs of links and objects apart at all times.

    The proof is described in `docs/collision_proof.md`. Meshes of links are replaced with their
    convex hulls.

    Args:
        robot: The arm.
        motion: A `Plan`, `PathTiming`, `TrackResult` or `Trajectory`; a
            ``trajectory_msgs/JointTrajectory`` from its first point; a `PPoly` of SciPy, such
            as `CubicSpline`, or a `BSpline`, with values (n,); waypoints (m, n) that are joined by
            straight lines; or any object with a method ``joint_curve()`` that returns a
            `JointCurve`.
        scene: Objects around the arm. Default: none, so that only the arm itself is checked.
        margin: Distance that must be exceeded, m.
        resolution: Uncertainty of the least clearance of a clear motion, m.
        max_intervals: Largest number of time intervals. If more are required, the result is
            undecided.

    Raises:
        ManipDynError: If an argument is invalid, a mesh is missing, or the moving links have no
            collision shapes.
    """
    model = checked_model(robot, scene)
    curve = joint_curve(robot, motion)
    margin = not_negative("margin", margin, "m")
    resolution = positive("resolution", resolution, "m")
    most = whole_number("max_intervals", max_intervals, 1)
    arrays = pair_arrays(model)
    if not len(arrays.pairs.first):
        q = curve(curve.breaks[0])
        nothing = np.full((2, 3), np.nan)
        reason = "there is no pair to check" + model.omission
        return Clearance(True, np.inf, np.inf, 0.0, ("", ""), q, nothing, 0, "clear", reason)
    outcome = _search(robot, arrays, curve, margin, resolution, most)
    return _clearance(model, curve, arrays, outcome, margin)


def joint_curve(robot: Robot, motion: Any) -> JointCurve:
    """Return a motion as a `JointCurve`; see `check_motion`."""
    if isinstance(motion, JointCurve):
        curve = motion
    elif isinstance(motion, HasJointCurve):
        curve = motion.joint_curve()
    elif hasattr(motion, "joint_names") and hasattr(motion, "points"):
        curve = message_curve(motion, robot.joint_names)
    elif hasattr(motion, "c"):
        curve = spline_curve(motion)
    elif isinstance(motion, (np.ndarray, list, tuple)):
        shape = np.shape(motion)
        if len(shape) != 2 or shape[0] < 2:
            raise ManipDynError(
                f"motion must have at least two waypoints (m, {robot.n}), got shape {shape}."
            )
        curve = polygon_curve(finite_array("motion", motion, (shape[0], robot.n)))
    else:
        raise ManipDynError(
            "motion must be a plan, a timing, a track, a trajectory, a JointTrajectory message, a "
            f"spline or waypoints, got {shortened(motion)}."
        )
    if curve.n != robot.n:
        raise ManipDynError(f"motion must have {robot.n} joints, got {curve.n}.")
    return curve


def _search(
    robot: Robot,
    arrays: PairArrays,
    curve: JointCurve,
    margin: float,
    resolution: float,
    most: int,
) -> search.Outcome:
    """Run the branch and bound over a motion."""
    outcome = search.Outcome(np.zeros(5), np.zeros(6, dtype=np.int64))
    coefficients = np.ascontiguousarray(
        arrays.body_positions(curve.coefficients), dtype=np.float64
    )
    deviation = curve.deviation
    if robot.has_mimic_joints:
        deviation = np.abs(robot.ratios) @ deviation
    pairs, n = len(arrays.pairs.first), coefficients.shape[2]
    levels, order = search.LEVELS, curve.coefficients.shape[1]
    normal = np.full((pairs, 3), search.UNKNOWN)
    work = search.Workspace(
        np.zeros((levels + 1, pairs), dtype=np.int64),
        np.zeros(levels + 1, dtype=np.int64),
        normal,
        np.zeros((levels + 2, order, n)),
        np.zeros((levels + 2, 2)),
        np.zeros((levels + 2, 3), dtype=np.int64),
        np.zeros((n + 1, 12)),
        np.zeros((n + 1, 12)),
        np.zeros((n + 1, 12)),
        np.zeros((3, n)),
        np.zeros((4, n)),
        np.zeros(n),
        np.zeros((5, 6)),
        np.zeros(4, dtype=np.int64),
        arrays.pieces.centre.copy(),
    )
    pieces = arrays.pieces
    if margin:
        # the second piece of a pair may be the first piece of another pair
        half = 0.5 * margin
        pieces = Pieces(*(getattr(pieces, name) for name in Pieces._fields))
        pieces = pieces._replace(radius=pieces.radius + half, ball=pieces.ball + half)
        pieces = by_reference(pieces)
    breaks, deviation = (
        np.ascontiguousarray(values, dtype=np.float64) for values in (curve.breaks, deviation)
    )
    motion = search.Curve(breaks, coefficients, deviation)
    search.search(
        arrays.bodies,
        pieces,
        arrays.pairs,
        by_reference(motion),
        resolution,
        most,
        by_reference(work),
        by_reference(outcome),
    )
    return outcome


@lru_cache(maxsize=32)
def _coal_objects(model: CollisionModel) -> CoalObjects:
    return CoalObjects(model)


def _clearance(
    model: CollisionModel,
    curve: JointCurve,
    arrays: PairArrays,
    outcome: search.Outcome,
    margin: float,
) -> Clearance:
    numbers, counts = outcome
    contact, undecided = counts[search.CONTACT_PAIR], counts[search.UNDECIDED_PAIR]
    least = float(numbers[search.LOWER]) + margin
    if contact >= 0:
        clear, status, pair = False, "collision", contact
        parameter, least = numbers[search.CONTACT_TIME], min(0.0, least)
    elif undecided >= 0 or counts[search.EXCEEDED]:
        clear, status = None, "undecided"
        pair = undecided if undecided >= 0 else counts[search.UPPER_PAIR]
        parameter = numbers[search.UNDECIDED_TIME if undecided >= 0 else search.UPPER_TIME]
        least = -np.inf if counts[search.EXCEEDED] else least
    else:
        clear, status, pair = True, "clear", counts[search.UPPER_PAIR]
        parameter = numbers[search.UPPER_TIME]
    q = curve(float(parameter))
    names = arrays.names[pair]
    objects = _coal_objects(model)
    if contact >= 0:  # the search checks middles of intervals, not the start
        start = curve(float(curve.breaks[0]))
        if objects.closest(start, [names])[1].distance <= margin:
            parameter, q = curve.breaks[0], start
    _, separation = objects.closest(q, [names])
    time = curve.time_of(float(parameter))
    distance = separation.distance
    if contact >= 0 and not margin:
        distance = min(distance, 0.0)  # coal states contacts to 1e-9 m
    reason = f"{sentence(names, distance)} at {time:.6g} s"
    if contact >= 0 and margin:
        reason += f", and the margin is {margin:.4g} m"
    if clear:
        reason += f"; proved least clearance {least:.4g} m"
    if clear is None:
        reason += (
            "; max_intervals is too small" if counts[search.EXCEEDED] else "; too close to decide"
        )
    reason += model.omission
    return Clearance(
        clear,
        least,
        separation.distance,
        time,
        names,
        q,
        np.array([separation.first, separation.second]),
        int(counts[search.INTERVALS]),
        status,
        reason,
    )


def sentence(pair: tuple[str, str], distance: float) -> str:
    """Return a sentence about the distance (m) of a pair of links or objects."""
    if pair == ("", ""):
        return "there is no pair to check"
    if distance <= 0.0:
        return f"{pair[0]} collides with {pair[1]}"
    return f"{pair[0]} is {distance:.4g} m from {pair[1]}"
