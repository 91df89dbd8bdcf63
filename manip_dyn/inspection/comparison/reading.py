"""An arm's numbers as a program has them after reading a URDF, and a program to compare with."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import NamedTuple, Protocol
from xml.etree.ElementTree import Element

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.inspection.parts.stated import NOTHING, Mass, mass_of, origin_of
from manip_dyn.robot import Robot
from manip_dyn.robot.extras import Payload
from manip_dyn.robot.tree import child_of, joints_of, links_of, movable_joints_of, parent_of


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
