"""Numbers of an arm as a program reads them from a URDF."""

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
    """A body's mass distribution in a frame of its own.

    Attributes:
        mass: kg.
        com: Centre of mass (3,), m.
        inertia: About the centre of mass, in the frame's axes, (3, 3), kg m^2.
    """

    mass: float
    com: Vector
    inertia: Matrix

    def seen(self, rotation: Matrix, origin: Vector) -> Mass:
        """Return it in a frame in which its own has this rotation (3, 3) and origin (3,)."""
        turned = rotation @ self.inertia @ rotation.T
        return Mass(self.mass, origin + rotation @ self.com, turned)

    def plus(self, other: Mass) -> Mass:
        """Return both as one rigid body."""
        mass = self.mass + other.mass
        if mass == 0.0:
            return Mass(0.0, self.com, self.inertia + other.inertia)
        com = (self.mass * self.com + other.mass * other.com) / mass
        inertia = np.zeros((3, 3))
        for each in (self, other):
            arm = each.com - com
            inertia = inertia + each.inertia
            inertia += each.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return Mass(mass, com, inertia)


NOTHING = Mass(0.0, np.zeros(3), np.zeros((3, 3)))


def number(element: Element | None, key: str, without: float = 0.0) -> float:
    """Return a number of an element, `without` where none is stated, NaN where it is none."""
    if element is None or element.get(key) is None:
        return without
    try:
        return float(element.get(key, ""))
    except ValueError:
        return math.nan


def triple(element: Element | None, key: str, without: str = "0 0 0") -> Vector:
    """Return three numbers (3,) of an element, NaN where it has other things."""
    text = without if element is None else element.get(key, without)
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.empty(0)
    return values if len(values) == 3 else np.full(3, math.nan)


def origin_of(element: Element) -> tuple[Matrix, Vector]:
    """Return rotation (3, 3) and translation (3,) of an element's <origin>."""
    origin = element.find("origin")
    rpy = triple(origin, "rpy")
    turned = Rotation.from_euler("xyz", rpy if np.all(np.isfinite(rpy)) else np.zeros(3))
    return turned.as_matrix(), triple(origin, "xyz")


def mass_of(link: Element) -> Mass | None:
    """Return a link's mass in its own frame; None where it states none, or no numbers."""
    inertial = link.find("inertial")
    if inertial is None or inertial.find("mass") is None:
        return None
    tensor = inertial.find("inertia")
    ixx, ixy, ixz, iyy, iyz, izz = (number(tensor, key) for key in INERTIA_KEYS)
    about = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    stated = Mass(number(inertial.find("mass"), "value"), np.zeros(3), about)
    seen = stated.seen(*origin_of(inertial))
    readable = np.isfinite(seen.mass) and np.all(np.isfinite(seen.com))
    return seen if readable and np.all(np.isfinite(about)) else None


class Joint(NamedTuple):
    """What resists a joint: N m s/rad, N m, kg m^2, N m/rad, or the same of a sliding one."""

    damping: float
    friction: float
    armature: float
    stiffness: float


class Reading(NamedTuple):
    """An arm's numbers.

    Attributes:
        links: Mass of each link in its own frame.
        joints: What resists each movable joint.
        gravity: In the base frame (3,), m/s^2.
    """

    links: dict[str, Mass]
    joints: dict[str, Joint]
    gravity: Vector


class Peer(Protocol):
    """Another program that has read the same URDF; joint vectors (n,) are in our order.

    Attributes:
        name: Of the program.
        reading: The numbers that it has; its links may be some of ours, each with all that is
            rigidly fixed to it.
        whole: Whether its links are so.
    """

    name: str
    reading: Reading
    whole: bool

    def mass_matrix(self, q: Vector) -> Matrix:
        """Return the joint-space inertia matrix (n, n)."""

    def inverse_dynamics(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return the efforts (n,), without dry friction."""

    def forward_dynamics(self, q: Vector, v: Vector, tau: Vector) -> Vector:
        """Return the accelerations (n,), without dry friction."""

    def pose(self, link: str, q: Vector) -> Matrix:
        """Return the pose of a link in the base frame (4, 4)."""


def stated_reading(robot: Robot, payload: Payload | None) -> Reading:
    """Return what URDF and YAML state, by our own eyes."""
    root = ElementTree.fromstring(robot.urdf)
    links = {name: mass_of(link) or NOTHING for name, link in links_of(root).items()}
    if payload is not None and payload.link in links:
        load = Mass(payload.mass, payload.com, payload.inertia)
        links[payload.link] = links[payload.link].plus(load)
    return Reading(links, joints_as_loaded(robot), robot.gravity)


def joints_as_loaded(robot: Robot) -> dict[str, Joint]:
    """Return what resists the joints of a robot."""
    columns = (robot.damping, robot.coulomb_friction, robot.armature, robot.stiffness)
    rows = np.column_stack(columns).tolist()
    return {name: Joint(*row) for name, row in zip(robot.joint_names, rows, strict=True)}


def whole(reading: Reading, urdf: str) -> dict[str, Mass]:
    """Return the mass of each link behind a joint, with all that is fixed to it, in its frame."""
    root = ElementTree.fromstring(urdf)
    behind = [child_of(joint) for joint in movable_joints_of(root).values()]
    return {link: _with_fixed(root, reading, link) for link in behind}


def _with_fixed(root: Element, reading: Reading, link: str) -> Mass:
    total = reading.links.get(link, NOTHING)
    for joint in joints_of(root).values():
        child = child_of(joint)
        if joint.get("type") == "fixed" and parent_of(joint) == link:
            total = total.plus(_with_fixed(root, reading, child).seen(*origin_of(joint)))
    return total
