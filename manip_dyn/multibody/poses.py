"""Where the bodies are and how far the joints have turned, from a mechanism's coordinates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.multibody.kernels.primitives import rotation, turning
from manip_dyn.multibody.model.elements import GROUND, JOINTS
from manip_dyn.multibody.model.joints import across
from manip_dyn.multibody.model.mechanism import Mechanism


def body_poses(mechanism: Mechanism, q: Vector) -> tuple[Vector, Vector]:
    """Return the centres of mass (b, 3), m, and Euler parameters (b, 4), scalar first."""
    rows = np.reshape(q, (len(mechanism.bodies), 7))
    return rows[:, :3], rows[:, 3:]


class JointCoordinates:
    """Rotations (rad) and displacements (m) of the joints with one freedom; zero at assembly.

    Attributes:
        names: Names of the revolute and translational joints.
    """

    def __init__(self, mechanism: Mechanism):
        """Keep what is fixed to the bodies of each joint."""
        self._mechanism = mechanism
        self._joints = [joint for joint in mechanism.joints if JOINTS[joint.kind].coordinate]
        self.names = [joint.name for joint in self._joints]
        names = [body.name for body in mechanism.bodies]
        self._places = [
            [-1 if each == GROUND else names.index(each) for each in joint.bodies]
            for joint in self._joints
        ]
        still = np.zeros(mechanism.size)
        self._fixed = [
            self._fixed_to(joint.axis[0], joint.points, pair, still)
            for joint, pair in zip(self._joints, self._places, strict=True)
        ]

    def __call__(self, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Return the coordinates (k,) and their rates (k,) at q, v (N,)."""
        found = [
            _turned(self._frames(pair, q, v), *fixed)
            if joint.kind == "revolute"
            else _moved(self._frames(pair, q, v), *fixed)
            for joint, pair, fixed in zip(self._joints, self._places, self._fixed, strict=True)
        ]
        return np.array([each[0] for each in found]), np.array([each[1] for each in found])

    def _fixed_to(
        self, axis: Vector, points: Vector, pair: Sequence[int], still: Vector
    ) -> tuple[Vector, Vector]:
        """Return columns f, g, h of the axis' frame and a point, in each body's axes."""
        frames = self._frames(pair, self._mechanism.assembly, still)
        frame = np.column_stack([*across(axis), axis])
        directions = np.array([turn.T @ frame for _, turn, _, _ in frames])
        local = [
            turn.T @ (p - place) for p, (place, turn, _, _) in zip(points, frames, strict=True)
        ]
        return directions, np.array(local)

    def _frames(self, pair: Sequence[int], q: Vector, v: Vector) -> list[tuple]:
        """Return position, rotation, velocity, angular velocity of two bodies, global."""
        found = []
        for place in pair:
            if place < 0:
                found.append((np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3)))
                continue
            x, rate = q[7 * place : 7 * place + 7], v[7 * place : 7 * place + 7]
            turn: Vector = np.array(rotation(x[3:].tolist()))
            omega = turn @ np.array(turning(x[3:].tolist(), rate[3:].tolist()))
            found.append((x[:3], turn, rate[:3], omega))
        return found


def _turned(frames: list[tuple], directions: Vector, _points: Vector) -> tuple[float, float]:
    (_, turn_i, _, omega_i), (_, turn_j, _, omega_j) = frames
    f, g, h = (turn_i @ directions[0]).T
    moved = turn_j @ directions[1][:, 0]
    return float(np.arctan2(g @ moved, f @ moved)), float(h @ (omega_j - omega_i))


def _moved(frames: list[tuple], directions: Vector, points: Vector) -> tuple[float, float]:
    (p_i, turn_i, v_i, omega_i), (p_j, turn_j, v_j, omega_j) = frames
    arms = turn_i @ points[0], turn_j @ points[1]
    h = turn_i @ directions[0][:, 2]
    displacement = p_j + arms[1] - p_i - arms[0]
    rate = v_j + np.cross(omega_j, arms[1]) - v_i - np.cross(omega_i, arms[0])
    return float(h @ displacement), float(h @ rate + np.cross(omega_i, h) @ displacement)
