"""Parameters that may differ between motions: one value for all, or one row per motion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numpy.typing import ArrayLike

from manip_dyn.codegen import checked_payload, customize
from manip_dyn.codegen.generation.kernel_modules import kernel_of
from manip_dyn.codegen.generation.taylor_series import LaneSeries, lane_series
from manip_dyn.codegen.rigid_body.bodies import JointPose, Rigid, base_parameters, rigid_bodies
from manip_dyn.codegen.rigid_body.catalogue import BATCH, SINGLE
from manip_dyn.core.arrays import MATRIX, address_for
from manip_dyn.core.checks import Matrix, Tensor, Vector, finite_array
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot


def per_motion_rows(name: str, value: Any, size: int, scalars: bool = True) -> Matrix:
    """Return a value as rows (1, size), or (N, size) for one row per motion.

    Args:
        name: Name of the argument for messages.
        value: A row (size,), or rows (N, size).
        size: Length of a row.
        scalars: Whether a number, or one number per motion (N, 1), is also allowed. It is expanded
            to `size` equal numbers.

    Raises:
        ManipDynError: If the shape is invalid, or a number is not finite.
    """
    try:
        shape = np.shape(value)
    except ValueError:
        shape = (-1,)
    if scalars and shape == () and np.asarray(value).dtype.kind in "iuf":
        return np.full((1, size), finite_array(name, value, ()))
    if shape == (size,):
        return finite_array(name, value, shape)[None]
    if len(shape) == 2 and shape[0] > 0 and (shape[1] == size or (scalars and shape[1] == 1)):
        numbers = np.asarray(value)
        if numbers.dtype.kind == "f":
            finite = np.isfinite(numbers)
            if not finite.all():
                wrong = np.flatnonzero(~finite.all(axis=1))
                row = numbers[wrong[0]].tolist()
                raise ManipDynError(
                    f"{name} of motion {wrong[0]} must be finite numbers, got {row}."
                )
        rows = finite_array(name, value, shape)
        return np.ascontiguousarray(np.broadcast_to(rows, (shape[0], size)))
    description = f"shape {shape}" if shape else repr(value)
    if -1 in shape:
        description = "rows of different lengths"
    single = "a number, " if scalars else ""
    columns = "(N, 1) or " if scalars and size > 1 else ""
    raise ManipDynError(
        f"{name} must be {single}({size},), or {columns}(N, {size}) for N >= 1 motions, got "
        f"{description}."
    )


def parameter_count(parameters: Any) -> int:
    """Return the number of parameters per motion, k of (k,) or (N, k)."""
    try:
        shape = np.shape(parameters)
    except ValueError:
        shape = (-1,) * 3
    if len(shape) not in (1, 2):
        description = f"shape {shape}" if shape else repr(parameters)
        description = "rows of different lengths" if -1 in shape else description
        raise ManipDynError(
            f"parameters must be numbers (k,), or (N, k) for N motions, got {description}."
        )
    return int(shape[-1])


def number_of_motions(counts: dict[str, int]) -> int:
    """Return the number N of motions after checking that all `counts` of rows are 1 or N."""
    first: tuple[str, int] | None = None
    for name, count in counts.items():
        if count > 1 and first is None:
            first = (name, count)
        if first and count not in (1, first[1]):
            raise ManipDynError(
                f"{name} must have one row, or {first[1]} rows like {first[0]}, got {count}."
            )
    return first[1] if first else 1


def as_sequence(value: Any, kind: type) -> Sequence[Any] | None:
    """Return a nonempty list or tuple of `kind`, or a single one as a list; otherwise None."""
    if isinstance(value, kind):
        return [value]
    if isinstance(value, (list, tuple)) and value and all(isinstance(e, kind) for e in value):
        return value
    return None


ENERGY_BLOCK = 1 << 12
"""Number of states per call of the energy kernel, rounded down to whole motions. The states of
a block remain in the cache."""


class ArmParameters(NamedTuple):
    """Parameters of the arms in an ensemble.

    Attributes:
        robot: The common robot.
        counts: Number of rows of each argument.
        friction: Joint damping (1, n) or (N, n) in addition to the robot's.
        bodies: `Rigid.numbers` (1, 10 n) or (N, 10 n) of all bodies; (1, 0) for those of the
            robot.
        inertias: Base parameters of `bodies`, with the same shape.
        motion: Address of the batched motion with work.
        inverse_dynamics: Address of the robot's batched inverse dynamics.
    """

    robot: Robot
    counts: dict[str, int]
    friction: Matrix
    bodies: Matrix
    inertias: Matrix
    motion: Any
    inverse_dynamics: Any

    def energy(
        self, states: Tensor, start: Vector | None = None, energies: Tensor | None = None
    ) -> Tensor:
        """Return kinetic energy, potential energy, work and residual (N, s, 4), J.

        Args:
            states: Positions, velocities and work (N, s, 2 n + 1).
            start: Total energy at the start of each motion (N,). Default: that of the first
                samples.
            energies: Array for the result. Default: a new one.
        """
        n, kernels = self.robot.n, customize(self.robot).in_place
        loaded = self.bodies.shape[1] > 0
        motions, samples = states.shape[:2]
        energies = np.empty((motions, samples, 4)) if energies is None else energies
        some = max(ENERGY_BLOCK // max(samples, 1), 1)
        for first in range(0, motions, some):
            part = states[first : first + some, :, : 2 * n].reshape(-1, 2 * n)
            y, count = np.ascontiguousarray(part.T), len(part)
            out = np.empty((2, count))
            if loaded:
                rows = self.bodies if len(self.bodies) == 1 else self.bodies[first : first + some]
                rows = np.broadcast_to(rows, (count // samples, rows.shape[1]))
                bodies = np.ascontiguousarray(np.repeat(rows, samples, axis=0).T)
                kernels.energy_with_inertias_batch(y[:n], y[n:], bodies, out, 0, count)
            else:
                kernels.energy_batch(y[:n], y[n:], out, 0, count)
            block = energies[first : first + some]
            block[..., :2] = out.T.reshape(-1, samples, 2)
            block[..., 2] = states[first : first + some, :, 2 * n]
            with np.errstate(all="ignore"):  # some motions may have diverged
                total = block[..., 0] + block[..., 1]
                initial = total[:, 0] if start is None else start[first : first + some]
                block[..., 3] = total - initial[:, None] - block[..., 2]
        return energies


def arm_parameters(
    robot: Robot,
    damping: ArrayLike | None,
    mass_scale: ArrayLike | None,
    payload: ArrayLike | None,
    dtype: np.dtype,
) -> ArmParameters:
    """Return the parameters of the arms in an ensemble, see `simulate_many`."""
    n, counts = robot.n, dict[str, int]()
    friction, bodies = np.zeros((1, n)), np.zeros((1, 0))
    if damping is not None:
        rows = per_motion_rows("damping", damping, n)
        _check_not_negative("damping", rows)
        friction, counts["damping"] = rows - robot.damping, len(rows)
    loaded = mass_scale is not None or payload is not None
    if loaded:
        bodies = _body_parameters(robot, mass_scale, payload, counts)
    return ArmParameters(
        robot,
        counts,
        np.ascontiguousarray(friction),
        bodies,
        _base_parameters(robot, bodies) if loaded else bodies,
        *_kernel_addresses(robot, loaded, dtype == np.float32),
    )


@lru_cache(maxsize=64)
def motion_series(robot: Robot, loaded: bool) -> tuple[Any, LaneSeries]:
    """Return the address of the Taylor series of the motion, and its `LaneSeries`."""
    series = lane_series(robot, "motion_with_inertias" if loaded else "motion_and_work")
    signature = (types.int64, *(MATRIX,) * (5 if loaded else 4))
    return address_for(series.fill, signature), series


@lru_cache(maxsize=64)
def _kernel_addresses(robot: Robot, loaded: bool, single: bool) -> tuple[Any, Any]:
    """Return the addresses of the batched motion and the batched inverse dynamics."""
    frame, suffix = robot.frame(robot.tip), SINGLE + BATCH if single else BATCH
    motion, columns = "motion_with_inertias" if loaded else "motion_and_work", (types.int64,) * 2
    return (
        address_for(
            kernel_of(robot, frame, motion + suffix), (MATRIX,) * (4 if loaded else 3) + columns
        ),
        address_for(kernel_of(robot, frame, "inverse_dynamics" + suffix), (MATRIX,) * 4 + columns),
    )


def _body_parameters(
    robot: Robot, mass_scale: Any, payload: Any, counts: dict[str, int]
) -> Matrix:
    """Return the parameters (1, 10 n) or (N, 10 n) of all bodies; add row numbers to `counts`."""
    if robot.has_mimic_joints:
        raise ManipDynError(
            "mass_scale and payload require a robot without mimic joints, got "
            f"'{robot.name}' with {len(robot.bodies) - robot.n}."
        )
    scale = np.ones((1, robot.n))
    if mass_scale is not None:
        scale = per_motion_rows("mass_scale", mass_scale, robot.n)
        _check_not_negative("mass_scale", scale)
        counts["mass_scale"] = len(scale)
    own = np.array([body.numbers for body in rigid_bodies(robot.bodies)])
    bodies = scale[:, :, None] * own
    if payload is not None:
        rows = per_motion_rows("payload", payload, 10, scalars=False)
        for row in rows:
            checked_payload(row)
        counts["payload"] = len(rows)
        tip, (mass, *rest) = robot.tip_frame, rows.T
        still = Rigid.of_numbers([mass, *[0.0 * mass] * 3, *rest[3:]])
        pose = JointPose(tip.rotation.tolist(), 1.0, 0.0, tip.translation.tolist())
        added = still.moved(rest[:3]).seen_from(pose).numbers
        if len(rows) > 1 == len(bodies):
            bodies = np.repeat(bodies, len(rows), axis=0)
        bodies[:, tip.body] += np.stack(added, axis=1)
    return np.ascontiguousarray(bodies.reshape(len(bodies), -1))


def _base_parameters(robot: Robot, bodies: Matrix) -> Matrix:
    """Return the base parameters (N, 10 n) of bodies (N, 10 n)."""
    parameters = bodies.reshape(len(bodies), robot.n, 10)
    rigid = [Rigid.of_numbers(list(parameters[:, i].T)) for i in range(robot.n)]
    zero = np.zeros(len(bodies))
    columns = [zero + x for body in base_parameters(robot.bodies, rigid) for x in body.numbers]
    return np.ascontiguousarray(np.stack(columns, axis=1))


def _check_not_negative(name: str, rows: Matrix) -> None:
    if rows.min() < 0.0:
        raise ManipDynError(f"{name} must be at least 0, got {rows.min():g}.")
