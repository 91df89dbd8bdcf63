"""A robot as a figure: where its bodies are at joint positions, and what they look like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.robot import Frame, Robot
from manip_dyn.viewer.figures.sticks import sticks
from manip_dyn.viewer.figures.urdf_shapes import urdf_parts
from manip_dyn.viewer.scene import Coordinate, Figure, Part, Poses


def robot_figure(robot: Robot, meshes: Sequence[str | Path] = ()) -> Figure:
    """Return the robot as its URDF draws it; links as sticks where it draws nothing.

    Args:
        robot: The arm.
        meshes: Folders in which the packages lie whose meshes the URDF names.
    """
    places = _Places(robot)
    parts = urdf_parts(robot, meshes)
    reach = _reach(robot, parts)
    return Figure(
        name=robot.name,
        parts=tuple(parts or sticks(robot, reach)),
        poses=places.poses,
        reach=reach,
        tool=places.tool,
        joints=tuple(
            Coordinate(name, float(low), float(high), robot.unit(i))
            for i, (name, low, high) in enumerate(
                zip(robot.joint_names, robot.q_min, robot.q_max, strict=True)
            )
        ),
    )


class _Places:
    """Forward kinematics of all bodies, without anything that has to be compiled."""

    def __init__(self, robot: Robot):
        self._bodies, self._tip = robot.bodies, robot.tip_frame

    def frames(self, q: Vector) -> tuple[Matrix, Vector]:
        """Return origins (n, 3) and rotations (n, 3, 3) of the bodies at positions (n,)."""
        origins, turns = np.zeros((len(q), 3)), np.zeros((len(q), 3, 3))
        sines, cosines = np.sin(q), np.cos(q)
        for i, body in enumerate(self._bodies):
            origin, turn = body.translation, body.rotation
            if body.parent >= 0:
                origin = origins[body.parent] + turns[body.parent] @ origin
                turn = turns[body.parent] @ turn
            if body.prismatic:
                origins[i], turns[i] = origin + turn[:, 2] * q[i], turn
            else:
                origins[i], turns[i, :, 2] = origin, turn[:, 2]
                turns[i, :, 0] = cosines[i] * turn[:, 0] + sines[i] * turn[:, 1]
                turns[i, :, 1] = cosines[i] * turn[:, 1] - sines[i] * turn[:, 0]
        return origins, turns

    def poses(self, q: Vector) -> Poses:
        origins, turns = self.frames(q)
        return Poses(origins, quaternions(turns))

    def tool(self, q: Vector) -> tuple[Vector, Vector]:
        origins, turns = self.frames(q)
        place, turn = on_body(self._tip, origins, turns)
        return place, quaternions(turn[None])[0]


def on_body(frame: Frame, origins: Matrix, turns: Vector) -> tuple[Vector, Matrix]:
    """Return position (3,) and rotation (3, 3) of a frame whose bodies are there."""
    if frame.body < 0:
        return frame.translation, frame.rotation
    turn = turns[frame.body]
    return origins[frame.body] + turn @ frame.translation, turn @ frame.rotation


def quaternions(turns: Vector) -> Matrix:
    """Return rotations (m, 3, 3) as quaternions (m, 4): w, x, y, z."""
    return Rotation.from_matrix(turns).as_quat()[:, [3, 0, 1, 2]]


def _reach(robot: Robot, parts: Sequence[Part]) -> float:
    """Return how far the arm and its shapes get from its base, at most: its links, stretched."""
    ends: list[float] = []
    for body, low, high in zip(robot.bodies, robot.q_min, robot.q_max, strict=True):
        length = float(np.linalg.norm(body.translation))
        if body.prismatic and np.isfinite([low, high]).all():
            length += max(abs(low), abs(high))
        ends.append(length + (ends[body.parent] if body.parent >= 0 else 0.0))
    tip = robot.tip_frame
    tool = float(np.linalg.norm(tip.translation)) + (ends[tip.body] if tip.body >= 0 else 0.0)
    drawn = [
        ends[part.body] + float(np.linalg.norm(part.position)) + 0.5 * float(part.size.max())
        for part in parts
        if part.body >= 0 and part.kind != "mesh"
    ]
    return max(tool, *ends, *drawn, 0.1)
