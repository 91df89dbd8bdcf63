"""Efforts as a linear function of the numbers that an arm's dynamics are made of.

tau = Y(q, v, a) pi: ten inertial parameters of each body, then damping, Coulomb friction and rotor
inertia of each joint. Atkeson, An, Hollerbach (1986), Estimation of inertial parameters of
manipulator loads and links.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from manip_dyn.codegen.rigid_body.bodies import JointPose, Rigid, rigid_bodies
from manip_dyn.codegen.rigid_body.dynamics import body_motions, force_on, to_parent
from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Robot

OF_A_BODY = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
"""Mass, first moments and moments of inertia about the body's origin; z is its joint's axis."""
OF_A_JOINT = ("damping", "friction", "armature")


def checked_estimated(names: Iterable[str]) -> tuple[str, ...]:
    """Return which parameters of joints are estimated; a name alone stands for itself."""
    given = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else names
    chosen = tuple(given)
    for each in chosen:
        if each not in OF_A_JOINT:
            hint = closest(each, OF_A_JOINT)
            raise ManipDynError(f"estimated has {each!r}{hint}")
    return chosen


def parameter_names(robot: Robot) -> list[str]:
    """Return the names of all parameters (13 n), such as ``elbow Izz`` and ``elbow damping``."""
    return [f"{joint} {each}" for joint in robot.joint_names for each in OF_A_BODY] + [
        f"{joint} {each}" for each in OF_A_JOINT for joint in robot.joint_names
    ]


def stated_parameters(robot: Robot) -> Vector:
    """Return the parameters (13 n) that URDF and YAML state."""
    bodies = [flat(each) for each in rigid_bodies(robot.bodies)]
    return np.concatenate([*bodies, robot.damping, robot.coulomb_friction, robot.armature])


def regressor(robot: Robot, q: Matrix, v: Matrix, a: Matrix) -> Tensor:
    """Return what each parameter of size one adds to the efforts, (m, n, 13 n).

    Args:
        robot: Its masses and friction do not matter.
        q: Positions (m, n), rad or m.
        v: Velocities (m, n), rad/s or m/s.
        a: Accelerations (m, n), rad/s^2 or m/s^2.
    """
    m, n = q.shape
    poses = _poses(robot, q)
    gravity = robot.gravity.tolist()
    motions = body_motions(robot.bodies, poses, list(v.T), list(a.T), gravity)
    result = np.zeros((m, n, 13 * n))
    for i, motion in enumerate(motions):
        for k in range(10):
            moment, force = force_on(unit(k), motion)
            j = i
            while j >= 0:
                body = robot.bodies[j]
                result[:, j, 10 * i + k] = (force if body.prismatic else moment)[2]
                if body.parent >= 0:
                    moment, force = to_parent(poses[j], moment, force)
                j = body.parent
    every = np.arange(n)
    for k, resists in enumerate((v, np.sign(v), a)):
        result[:, every, (10 + k) * n + every] = resists
    return result


def spring_efforts(robot: Robot, q: Matrix) -> Matrix:
    """Return the efforts (m, n) against the springs, which are taken as known."""
    return robot.stiffness * (q - robot.rest)


def unit(k: int) -> Rigid:
    """Return a body of which one of the ten parameters is one, the others zero."""
    return rigid_of(np.eye(10)[k])


def rigid_of(ten: Vector) -> Rigid:
    """Return a body by its ten parameters (10,)."""
    mass, x, y, z, xx, xy, xz, yy, yz, zz = ten.tolist()
    return Rigid(mass, [x, y, z], [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def flat(rigid: Rigid) -> Vector:
    """Return the ten parameters (10,) of a body."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = rigid.inertia
    return np.array([rigid.mass, *rigid.moment, xx, xy, xz, yy, yz, zz])


def _poses(robot: Robot, q: Matrix) -> list[JointPose]:
    """Return the bodies' poses in their parents, over arrays (m,)."""
    poses = []
    for body, position in zip(robot.bodies, q.T, strict=True):
        rotation, origin = body.rotation.tolist(), body.translation.tolist()
        if body.prismatic:
            place = [position * row[2] + x for row, x in zip(rotation, origin, strict=True)]
            poses.append(JointPose(rotation, np.ones_like(position), 0.0 * position, place))
        else:
            poses.append(JointPose(rotation, np.cos(position), np.sin(position), origin))
    return poses
