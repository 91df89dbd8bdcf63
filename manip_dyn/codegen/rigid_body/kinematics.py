"""Where bodies are: joint transforms, poses, Jacobian, over any scalar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from manip_dyn.codegen.graph import vectors as vec
from manip_dyn.codegen.graph.expression import cosine, sine
from manip_dyn.robot import Body, Frame


class JointPose(NamedTuple):
    """A body's frame in its parent's: a fixed rotation, a turn about z, and the origin."""

    rotation: vec.Matrix3
    cosine: Any
    sine: Any
    origin: vec.Vector3

    def to_parent(self, a: Sequence[Any]) -> vec.Vector3:
        """Return a body vector in the parent's axes."""
        return vec.times(self.rotation, vec.about_z(self.cosine, self.sine, a))

    def to_body(self, a: Sequence[Any]) -> vec.Vector3:
        """Return a parent vector in the body's axes."""
        turned = vec.times(vec.transposed(self.rotation), a)
        return vec.about_z(self.cosine, -self.sine, turned)

    def turn(self, matrix: vec.Matrix3) -> vec.Matrix3:
        """Return a body's matrix (3, 3) in the parent's axes."""
        turned = vec.matrix_about_z(self.cosine, self.sine, matrix)
        return vec.product(vec.product(self.rotation, turned), vec.transposed(self.rotation))

    def turn_symmetric(self, matrix: vec.Matrix3) -> vec.Matrix3:
        """Return a body's symmetric matrix (3, 3) in the parent's axes."""
        return vec.mirrored(self.turn(matrix))


def joint_poses(bodies: Sequence[Body], q: Sequence[Any]) -> list[JointPose]:
    """Return the pose of each body in its parent's frame at the joint positions `q`."""
    poses = []
    for body, position in zip(bodies, q, strict=True):
        rotation, origin = body.rotation.tolist(), body.translation.tolist()
        if body.prismatic:
            axis = [row[2] for row in rotation]
            origin = [position * a + b for a, b in zip(axis, origin, strict=True)]
            one = 0.0 * position + 1.0
            poses.append(JointPose(rotation, one, 0.0 * position, origin))
        else:
            poses.append(JointPose(rotation, cosine(position), sine(position), origin))
    return poses


def world_poses(
    bodies: Sequence[Body], poses: Sequence[JointPose]
) -> list[tuple[vec.Matrix3, vec.Vector3]]:
    """Return rotation (3, 3) and origin (3,) of each body in the base frame."""
    world: list[tuple[vec.Matrix3, vec.Vector3]] = []
    for body, pose in zip(bodies, poses, strict=True):
        columns = [pose.to_parent(unit) for unit in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])]
        columns.append([row[2] for row in pose.rotation])
        rotation, origin = vec.transposed(columns), pose.origin
        if body.parent >= 0:
            above, base = world[body.parent]
            rotation = vec.product(above, rotation)
            origin = vec.add(base, vec.times(above, origin))
        world.append((rotation, origin))
    return world


def frame_pose(
    frame: Frame, world: Sequence[tuple[vec.Matrix3, vec.Vector3]]
) -> tuple[vec.Matrix3, vec.Vector3]:
    """Return rotation (3, 3) and origin (3,) of a body-fixed frame in the base frame."""
    if frame.body < 0:
        return frame.rotation.tolist(), frame.translation.tolist()
    rotation, origin = world[frame.body]
    turned = vec.product(rotation, frame.rotation.tolist())
    return turned, vec.add(origin, vec.times(rotation, frame.translation.tolist()))


def jacobian(
    bodies: Sequence[Body], frame: Frame, world: Sequence[tuple[vec.Matrix3, vec.Vector3]]
) -> list[list[Any]]:
    """Return the geometric Jacobian (6, n) of a frame: linear, then angular, base frame."""
    point = frame_pose(frame, world)[1]
    columns = [[0.0] * 6 for _ in bodies]
    i = frame.body
    while i >= 0:
        rotation, origin = world[i]
        axis = [row[2] for row in rotation]
        if bodies[i].prismatic:
            columns[i] = [*axis, 0.0, 0.0, 0.0]
        else:
            columns[i] = [*vec.cross(axis, vec.subtract(point, origin)), *axis]
        i = bodies[i].parent
    return [list(row) for row in zip(*columns, strict=True)]
