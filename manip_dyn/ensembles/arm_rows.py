"""What the arm itself differs in from motion to motion: damping, masses, payload."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numpy.typing import ArrayLike

from manip_dyn.codegen import checked_payload, customize
from manip_dyn.codegen.generation.taylor_series import LaneSeries, lane_series
from manip_dyn.codegen.rigid_body.bodies import JointPose, Rigid, base_parameters, rigid_bodies
from manip_dyn.core.arrays import MATRIX, address_for
from manip_dyn.core.checks import Matrix, Tensor
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ensembles.rows import rows_of
from manip_dyn.robot import Robot

SOME = 1 << 16
"""States whose energy is computed in one go."""


class ArmRows(NamedTuple):
    """The arms of an ensemble.

    Attributes:
        robot: What they have in common.
        counts: How many rows each argument has.
        friction: Damping beside the robot's (1, n) or (N, n).
        bodies: `Rigid.numbers` of all bodies (1, 10 n) or (N, 10 n); (1, 0): the robot's.
        inertias: The base parameters of these bodies.
        motion: Address of the batched motion with work.
        inverse_dynamics: Address of the robot's own batched inverse dynamics.
    """

    robot: Robot
    counts: dict[str, int]
    friction: Matrix
    bodies: Matrix
    inertias: Matrix
    motion: Any
    inverse_dynamics: Any

    def energy(self, states: Tensor) -> Tensor:
        """Return kinetic and potential energies (N, s, 2) of states (N, s, 2 n or more)."""
        n, kernels = self.robot.n, customize(self.robot).in_place
        loaded = self.bodies.shape[1] > 0
        motions, samples = states.shape[:2]
        energies = np.empty((motions, samples, 2))
        some = max(SOME // max(samples, 1), 1)
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
            energies[first : first + some] = out.T.reshape(-1, samples, 2)
        return energies


def arm_rows(
    robot: Robot,
    damping: ArrayLike | None,
    mass_scale: ArrayLike | None,
    payload: ArrayLike | None,
) -> ArmRows:
    """Return the arms of an ensemble, see `simulate_many`."""
    n, counts = robot.n, dict[str, int]()
    friction, bodies = np.zeros((1, n)), np.zeros((1, 0))
    if damping is not None:
        given = rows_of("damping", damping, n)
        _refuse_below_zero("damping", given)
        friction, counts["damping"] = given - robot.damping, len(given)
    loaded = mass_scale is not None or payload is not None
    if loaded:
        bodies = _bodies(robot, mass_scale, payload, counts)
    return ArmRows(
        robot,
        counts,
        np.ascontiguousarray(friction),
        bodies,
        _base(robot, bodies) if loaded else bodies,
        *_addresses(robot, loaded),
    )


@lru_cache(maxsize=64)
def series_of(robot: Robot, loaded: bool) -> tuple[Any, LaneSeries]:
    """Return where the series of the motion is, with inertial parameters or not, and its sizes."""
    found = lane_series(robot, "motion_with_inertias" if loaded else "motion_and_work")
    signature = (types.int64, *(MATRIX,) * (5 if loaded else 4))
    return address_for(found.fill, signature), found


@lru_cache(maxsize=64)
def _addresses(robot: Robot, loaded: bool) -> tuple[Any, Any]:
    """Return where the batched motion, with inertial parameters or not, and the efforts are."""
    kernels, columns = customize(robot).in_place, (types.int64,) * 2
    kernel = kernels.motion_with_inertias_batch if loaded else kernels.motion_and_work_batch
    return (
        address_for(kernel, (MATRIX,) * (4 if loaded else 3) + columns),
        address_for(kernels.inverse_dynamics_batch, (MATRIX,) * 4 + columns),
    )


def _bodies(robot: Robot, mass_scale: Any, payload: Any, counts: dict[str, int]) -> Matrix:
    """Return the inertial parameters of all bodies, (1, 10 n) or (N, 10 n)."""
    scale = np.ones((1, robot.n))
    if mass_scale is not None:
        scale = rows_of("mass_scale", mass_scale, robot.n)
        _refuse_below_zero("mass_scale", scale)
        counts["mass_scale"] = len(scale)
    own = np.array([each.numbers for each in rigid_bodies(robot.bodies)])
    bodies = scale[:, :, None] * own
    if payload is not None:
        rows = rows_of("payload", payload, 10, alike=False)
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


def _base(robot: Robot, bodies: Matrix) -> Matrix:
    """Return base parameters (N, 10 n) of bodies (N, 10 n)."""
    each = bodies.reshape(len(bodies), robot.n, 10)
    rigid = [Rigid.of_numbers(list(each[:, i].T)) for i in range(robot.n)]
    zero = np.zeros(len(bodies))
    numbers = [zero + x for body in base_parameters(robot.bodies, rigid) for x in body.numbers]
    return np.ascontiguousarray(np.stack(numbers, axis=1))


def _refuse_below_zero(name: str, rows: Matrix) -> None:
    if rows.min() < 0.0:
        raise ManipDynError(f"{name} has {rows.min():g}; expected 0 or more")
