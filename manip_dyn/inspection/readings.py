"""Parameters of an arm that this package and other programs read from a URDF.

The parser in this module is independent of `load_robot` and pinocchio, and accepts invalid values.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from typing import NamedTuple, Protocol
from xml.etree.ElementTree import Element

import numpy as np
from scipy.spatial.transform import Rotation

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.robot import Robot
from manip_dyn.robot.extras import Payload
from manip_dyn.robot.urdf import child_of, joints_of, links_of, movable_joints_of, parent_of

INERTIA_KEYS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


class Mass(NamedTuple):
    """Mass distribution of a body in a frame.

    Attributes:
        mass: Mass, kg.
        com: Centre of mass (3,), m.
        inertia: Inertia (3, 3) about the centre of mass along the axes of the frame, kg m^2.
    """

    mass: float
    com: Vector
    inertia: Matrix

    def transformed(self, rotation: Matrix, origin: Vector) -> Mass:
        """Return the distribution in a different frame.

        Args:
            rotation: Rotation matrix (3, 3) from the current axes to the new axes.
            origin: Origin (3,) of the current frame in the new frame, m.
        """
        rotated = rotation @ self.inertia @ rotation.T
        return Mass(self.mass, origin + rotation @ self.com, rotated)

    def plus(self, body: Mass) -> Mass:
        """Return the distribution of the rigid body that consists of both bodies."""
        mass = self.mass + body.mass
        if mass == 0.0:
            return Mass(0.0, self.com, self.inertia + body.inertia)
        com = (self.mass * self.com + body.mass * body.com) / mass
        inertia = np.zeros((3, 3))
        for part in (self, body):
            arm = part.com - com
            inertia = inertia + part.inertia
            inertia += part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return Mass(mass, com, inertia)


MASSLESS = Mass(0.0, np.zeros(3), np.zeros((3, 3)))


def number(element: Element | None, key: str, default: float = 0.0) -> float:
    """Return a number in an attribute; `default` if it is missing, NaN if it is invalid."""
    if element is None or element.get(key) is None:
        return default
    try:
        return float(element.get(key, ""))
    except ValueError:
        return math.nan


def triple(element: Element | None, key: str, default: str = "0 0 0") -> Vector:
    """Return the three numbers (3,) in an attribute, NaN if invalid; `default` if missing."""
    text = default if element is None else element.get(key, default)
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.empty(0)
    return values if len(values) == 3 else np.full(3, math.nan)


def origin_of(element: Element) -> tuple[Matrix, Vector]:
    """Return the rotation (3, 3) and translation (3,) in the <origin> of an element.

    Invalid angles count as 0. An invalid translation is NaN.
    """
    origin = element.find("origin")
    rpy = triple(origin, "rpy")
    rotation = Rotation.from_euler("xyz", rpy if np.all(np.isfinite(rpy)) else np.zeros(3))
    return rotation.as_matrix(), triple(origin, "xyz")


def mass_of(link: Element) -> Mass | None:
    """Return the mass distribution of a link in its frame, or None if missing or invalid."""
    inertial = link.find("inertial")
    if inertial is None or inertial.find("mass") is None:
        return None
    tensor = inertial.find("inertia")
    ixx, ixy, ixz, iyy, iyz, izz = (number(tensor, key) for key in INERTIA_KEYS)
    inertia = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    mass = Mass(number(inertial.find("mass"), "value"), np.zeros(3), inertia)
    mass = mass.transformed(*origin_of(inertial))
    valid = np.isfinite(mass.mass) and np.all(np.isfinite(mass.com))
    return mass if valid and np.all(np.isfinite(inertia)) else None


class Joint(NamedTuple):
    """Parameters of a joint that resist its motion.

    Attributes:
        damping: Viscous damping, N m s/rad or N s/m.
        friction: Coulomb friction, N m or N.
        armature: Rotor inertia, kg m^2 or kg.
        stiffness: Stiffness of the spring, N m/rad or N/m.
    """

    damping: float
    friction: float
    armature: float
    stiffness: float


class Reading(NamedTuple):
    """Parameters of an arm in one program.

    Attributes:
        links: Mass distribution of each link in its frame.
        joints: Resistance of each movable joint.
        gravity: Acceleration of free fall (3,) in the base frame, m/s^2.
    """

    links: dict[str, Mass]
    joints: dict[str, Joint]
    gravity: Vector


class Peer(Protocol):
    """Interface of another program that has loaded the URDF. Joints are in the robot's order.

    Attributes:
        name: Name of the program.
        reading: Parameters that the program has read.
        merged: Whether each link in `reading` includes the links that are fixed to it.
    """

    name: str
    reading: Reading
    merged: bool

    def mass_matrix(self, q: Vector) -> Matrix:
        """Return the joint-space inertia matrix (n, n)."""

    def inverse_dynamics(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return the efforts (n,), without dry friction."""

    def forward_dynamics(self, q: Vector, v: Vector, tau: Vector) -> Vector:
        """Return the accelerations (n,), without dry friction."""

    def pose(self, link: str, q: Vector) -> Matrix:
        """Return the pose of a link in the base frame (4, 4)."""


def urdf_reading(robot: Robot, payload: Payload | None) -> Reading:
    """Return the parameters in the URDF and the YAML file of a robot."""
    root = ElementTree.fromstring(robot.urdf)
    links = {name: mass_of(link) or MASSLESS for name, link in links_of(root).items()}
    if payload is not None and payload.link in links:
        load = Mass(payload.mass, payload.com, payload.inertia)
        links[payload.link] = links[payload.link].plus(load)
    return Reading(links, joint_resistances(robot), robot.gravity)


def joint_resistances(robot: Robot) -> dict[str, Joint]:
    """Return the resistance parameters of all joints of a robot by name."""
    columns = (robot.damping, robot.coulomb_friction, robot.armature, robot.stiffness)
    rows = np.column_stack(columns).tolist()
    return {name: Joint(*row) for name, row in zip(robot.joint_names, rows, strict=True)}


def merged_links(reading: Reading, urdf: str) -> dict[str, Mass]:
    """Return the mass of each movable joint's child link, including the links fixed to it."""
    root = ElementTree.fromstring(urdf)
    behind = [child_of(joint) for joint in movable_joints_of(root).values()]
    return {link: _with_fixed(root, reading, link) for link in behind}


def _with_fixed(root: Element, reading: Reading, link: str) -> Mass:
    total = reading.links.get(link, MASSLESS)
    for joint in joints_of(root).values():
        child = child_of(joint)
        if joint.get("type") == "fixed" and parent_of(joint) == link:
            total = total.plus(_with_fixed(root, reading, child).transformed(*origin_of(joint)))
    return total
