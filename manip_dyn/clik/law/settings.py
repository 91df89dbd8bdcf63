"""Settings of the CLIK law, and the working memory of its compiled functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.clik.law.poses import ERRORS
from manip_dyn.core import arrays
from manip_dyn.core.checks import Matrix, Vector, finite_vector, not_negative, positive
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot

INVERSES = ("pseudo_inverse", "constant", "manipulability", "filtered")
PSEUDO_INVERSE, CONSTANT, MANIPULABILITY, FILTERED = range(4)
GAIN, ERROR, INVERSE, THRESHOLD, DAMPING, ESCAPE, LIMIT_GAIN = range(7)
POSTURE_GAIN, AVOIDANCE_GAIN, MANIPULABILITY_GAIN, CONTROLLED = range(7, 11)
COLLISION_GAIN, COLLISION_MARGIN = 16, 17
"""Indices in the array of numbers. `CONTROLLED` is the first of six, one per row of the task."""
Q_MIN, Q_MAX, V_MAX, FREEDOM, POSTURE = range(5)
"""Rows of the array of joint values (5, n)."""


@dataclass(frozen=True, eq=False)
class ClikSettings:
    """Settings of the CLIK law.

    Attributes:
        gain: Feedback gain K of the task error, 1/s.
        orientation_error: ``columns``, ``quaternion`` or ``log``, see `task_error`.
        inverse: ``pseudo_inverse``, ``constant``, ``manipulability`` or ``filtered``, see
            `manip_dyn.clik.law.inverses`.
        damping_threshold: For ``filtered``: singular value of J below which damping starts. For
            ``manipulability``: value of sqrt(det J J^T) below which it starts.
        max_damping: Damping at a singularity. For ``constant``: the damping everywhere.
            ``pseudo_inverse`` ignores it.
        escape: Whether ``filtered`` leaves singular postures that block the desired twist.
        weights: Weights (n,) of the joint velocities in the minimized norm. Default: 1.
        controlled: Flags (6,) of the controlled rows of the task: x, y, z and the rotations about
            these axes.
        posture: Joint positions (n,) that the null-space motion approaches, rad or m.
        posture_gain: Null-space gain towards `posture`, 1/s.
        limit_avoidance: Null-space gain towards the middle of the joint ranges, 1/s.
        manipulability: Null-space gain along the gradient of sqrt(det J J^T).
        limit_gain: Largest speed of a joint towards its limit divided by its distance from the
            limit, 1/s. Default: half the reciprocal of the step. A joint at this speed covers half
            of its distance in one step.
        collision_gain: With a scene: largest speed at which two shapes approach each other,
            divided by their distance in excess of `collision_margin`, 1/s; at most half the
            reciprocal of the step.
        collision_margin: With a scene: distance of two shapes at which they do not approach each
            other, m. Closer shapes separate.
    """

    gain: float = 2.0
    orientation_error: str = "columns"
    inverse: str = "filtered"
    damping_threshold: float = 0.04
    max_damping: float = 0.04
    escape: bool = True
    weights: ArrayLike | None = None
    controlled: Sequence[bool] = (True,) * 6
    posture: ArrayLike | None = None
    posture_gain: float = 0.0
    limit_avoidance: float = 0.0
    manipulability: float = 0.0
    limit_gain: float | None = None
    collision_gain: float = 10.0
    collision_margin: float = 0.005

    def __post_init__(self) -> None:
        """Check the settings that do not depend on the number of joints."""
        positive("gain", self.gain, "1/s")
        _one_of("orientation_error", self.orientation_error, ERRORS)
        _one_of("inverse", self.inverse, INVERSES)
        positive("damping_threshold", self.damping_threshold)
        not_negative("max_damping", self.max_damping)
        for name in ("posture_gain", "limit_avoidance", "manipulability"):
            not_negative(name, getattr(self, name))
        if self.limit_gain is not None:
            positive("limit_gain", self.limit_gain, "1/s")
        positive("collision_gain", self.collision_gain, "1/s")
        not_negative("collision_margin", self.collision_margin, "m")
        if np.shape(self.controlled) != (6,) or not any(self.controlled):
            raise ManipDynError(
                "controlled must be six truth values with at least one true, got "
                f"{self.controlled!r}."
            )
        if self.posture_gain > 0.0 and self.posture is None:
            raise ManipDynError(
                "posture must be joint positions for posture_gain "
                f"{self.posture_gain:g}, got None."
            )

    @property
    def has_null_motion(self) -> bool:
        """Whether a null-space gain is above 0."""
        return self.posture_gain + self.limit_avoidance + self.manipulability > 0.0

    def numbers(self, step: float) -> Vector:
        """Return the constants (18,) in the order of the module's indices; `step` is in s."""
        limit_gain = 0.5 / step if self.limit_gain is None else self.limit_gain
        return np.array(
            [
                self.gain,
                ERRORS.index(self.orientation_error),
                INVERSES.index(self.inverse),
                self.damping_threshold,
                self.max_damping,
                float(self.escape and self.inverse == "filtered"),
                limit_gain,
                self.posture_gain,
                self.limit_avoidance,
                self.manipulability,
                *map(float, map(bool, self.controlled)),
                min(self.collision_gain, 0.5 / step),
                self.collision_margin,
            ]
        )

    def joints(self, robot: Robot) -> Matrix:
        """Return limits, 1 / sqrt(weights) and posture as rows (5, n), see `Q_MIN` to `POSTURE`.

        Raises:
            ManipDynError: If the weights or the posture are invalid for `robot`.
        """
        n = robot.n
        weights = np.ones(n) if self.weights is None else finite_vector("weights", self.weights, n)
        if weights.min() <= 0.0:
            raise ManipDynError(f"weights must be above 0, got {weights.tolist()}.")
        posture = np.zeros(n)
        if self.posture is not None:
            posture = finite_vector("posture", self.posture, n)
            robot.check_within_limits("posture", posture)
        return np.array([robot.q_min, robot.q_max, robot.v_max, weights**-0.5, posture])


def checked_settings(settings: ClikSettings | None) -> ClikSettings:
    """Return the settings after checking their type. Default: `ClikSettings()`."""
    if settings is not None and not isinstance(settings, ClikSettings):
        raise ManipDynError(f"settings must be md.ClikSettings, got {settings!r}.")
    return settings or ClikSettings()


def _one_of(name: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        hint = closest(str(value), allowed)
        raise ManipDynError(f"{name} must be one of {', '.join(allowed)}, got '{value}'{hint}")


SCALE, DAMPED, ESCAPING, MEASURED, COLLISION_SCALE = range(5)
"""Indices of `report`: speed scale, largest damping, joint speed of the escape, manipulability
(written only by the inverse ``manipulability``), and the factor of `collision_avoidance`."""
KINEMATICS, ORIENTATION, NULL_MOTION, SINGULAR, COLLISIONS = range(5)
"""Indices of `functions`: the robot's kernel, then branches of the law for orientation errors
other than sin(theta) a, for null-space motions, for singular postures and for collisions."""


class Task(NamedTuple):
    """Working memory of the law for n joints and six rows of the task.

    Attributes:
        numbers: Constants (18,) from `ClikSettings.numbers`.
        square: J J^T (6, 6), see `inverses.write_gram_matrix`.
        factor: Cholesky factor (6, 6) of `square` plus damping, see `inverses.factorize`.
        basis: Left singular vectors as columns (6, 6).
        values: Singular values (6,) of the last decomposition, in descending order.
        error: Pose error (6,).
        twist: Required twist (6,): twist_d + K e, 0 in uncontrolled rows.
        rest: Required twist minus the twist of the null-space motion (6,); overwritten by the
            solution of the inverse.
        report: Results (5,) in addition to the velocities, in the order of the module's indices.
        lost: Lost direction of a singularity (6,).
        functions: Addresses (5,) of compiled functions, in the order of the module's indices; 0
            for a branch of the law that was not compiled.
        neighbourhood: Machine words of `collision_avoidance.Neighbourhood`; empty without a scene.
        desired: Desired pose and twist (18,), see `poses`.
        actual: Output of the kernel ``kinematics``: tool pose (12) and Jacobian by rows (6 n).
        q: Joint positions (n,).
        jacobian: J times `freedom` (6, n), with zeros in uncontrolled rows.
        rows: Decomposition of `jacobian` (6, n), see `inverses.decompose`.
        joints: Limits, 1 / sqrt(weights) and posture (5, n) from `ClikSettings.joints`.
        wish: Desired null-space velocity (n,); for held joints, their velocity.
        null: `wish` plus the velocity that leaves a singularity (n,); near a singularity it is
            overwritten by the solution.
        freedom: 1 / sqrt(weight) for each joint (n,), 0 for joints held at their limits.
        held: Flags (n,) of the joints held at their limits, 1 or 0.
        speeds: Eigenvalues (n,) for the escape from a singularity.
        hessian, directions, projector: Matrices (n, n) for the escape from a singularity.
    """

    numbers: arrays.Vector
    square: arrays.Matrix
    factor: arrays.Matrix
    basis: arrays.Matrix
    values: arrays.Vector
    error: arrays.Vector
    twist: arrays.Vector
    rest: arrays.Vector
    report: arrays.Vector
    lost: arrays.Vector
    functions: arrays.Addresses
    neighbourhood: arrays.Index
    desired: arrays.Vector
    actual: arrays.Vector
    q: arrays.Vector
    jacobian: arrays.Matrix
    rows: arrays.Matrix
    joints: arrays.Matrix
    wish: arrays.Vector
    null: arrays.Vector
    freedom: arrays.Vector
    held: arrays.Vector
    speeds: arrays.Vector
    hessian: arrays.Matrix
    directions: arrays.Matrix
    projector: arrays.Matrix


task_of = arrays.unpacking(Task)
"""``task_of(memory)`` returns the arrays as a `Task`, in compiled code."""
