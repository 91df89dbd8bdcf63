"""Independent reference: the bodies of a URDF, with poses computed link by link."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation


class Body(NamedTuple):
    """A rigid body in its link frame; inertia about the centre of mass, in link axes."""

    link: str
    mass: float
    com: np.ndarray
    inertia: np.ndarray


class Bodies:
    """The bodies of a URDF's moving links (and a payload) at joint positions by name."""

    STEP = 1e-5
    """Time step of the central differences for velocities, s."""

    def __init__(
        self, urdf: str, links: list[str] | None = None, payload: dict[str, Any] | None = None
    ):
        """Initialize with all links behind movable joints, or with `links` only."""
        root = ElementTree.fromstring(urdf)
        self._joints = root.findall("joint")
        children = {joint.find("child").get("link") for joint in self._joints}
        self._base = next(
            link.get("name") for link in root.findall("link") if link.get("name") not in children
        )
        bodies = [
            _body(link) for link in root.findall("link") if link.find("inertial") is not None
        ]
        self.all = [
            b for b in bodies if (self._moves(b.link) if links is None else b.link in links)
        ]
        if payload is not None:
            ixx, iyy, izz, ixy, ixz, iyz = payload.get("inertia", [0.0] * 6)
            tensor = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
            com = np.array(payload.get("com", [0.0] * 3))
            self.all.append(Body(payload["link"], payload["mass"], com, tensor))

    def pose(self, link: str, q: dict[str, float]) -> np.ndarray:
        """Return the pose (4, 4) of a link in the base frame."""
        if link == self._base:
            return np.eye(4)
        joint = self._above(link)
        angle = q.get(joint.get("name"), 0.0)
        axis = _three(joint.find("axis"), "xyz", "1 0 0")
        motion = np.eye(4)
        if joint.get("type") == "prismatic":
            motion[:3, 3] = angle * axis / np.linalg.norm(axis)
        elif joint.get("type") != "fixed":
            turn = angle * axis / np.linalg.norm(axis)
            motion[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
        return self.pose(joint.find("parent").get("link"), q) @ _origin(joint) @ motion

    def kinetic(self, q: dict[str, float], v: dict[str, float]) -> float:
        """Return the sum of m |v_c|^2 / 2 + w I w / 2, velocities by central differences."""
        return sum(self._kinetic(body, q, v) for body in self.all)

    def potential(self, q: dict[str, float], gravity: np.ndarray) -> float:
        """Return the potential energy of gravity, zero at the base origin."""
        centres = [(self.pose(body.link, q) @ [*body.com, 1.0])[:3] for body in self.all]
        return -sum(
            body.mass * gravity @ centre for body, centre in zip(self.all, centres, strict=True)
        )

    def _above(self, link: str) -> ElementTree.Element:
        return next(joint for joint in self._joints if joint.find("child").get("link") == link)

    def _moves(self, link: str) -> bool:
        if link == self._base:
            return False
        joint = self._above(link)
        return joint.get("type") != "fixed" or self._moves(joint.find("parent").get("link"))

    def _kinetic(self, body: Body, q: dict[str, float], v: dict[str, float]) -> float:
        before, after = (
            self.pose(body.link, {name: q[name] + half * self.STEP * v[name] for name in q})
            for half in (-0.5, 0.5)
        )
        speed = ((after - before) @ [*body.com, 1.0])[:3] / self.STEP
        spin = Rotation.from_matrix(before[:3, :3].T @ after[:3, :3]).as_rotvec() / self.STEP
        return 0.5 * (body.mass * speed @ speed + spin @ body.inertia @ spin)


def _body(link: ElementTree.Element) -> Body:
    inertial = link.find("inertial")
    entries = {key: float(value) for key, value in inertial.find("inertia").attrib.items()}
    ixx, ixy, ixz, iyy, iyz, izz = (
        entries.get(key, 0.0) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    tensor = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    frame = _origin(inertial)
    turn = frame[:3, :3]
    mass = float(inertial.find("mass").get("value"))
    return Body(link.get("name"), mass, frame[:3, 3], turn @ tensor @ turn.T)


def _origin(element: ElementTree.Element) -> np.ndarray:
    origin = element.find("origin")
    pose = np.eye(4)
    pose[:3, 3] = _three(origin, "xyz", "0 0 0")
    pose[:3, :3] = Rotation.from_euler("xyz", _three(origin, "rpy", "0 0 0")).as_matrix()
    return pose


def _three(element: ElementTree.Element | None, key: str, default: str) -> np.ndarray:
    text = default if element is None else element.get(key, default)
    return np.array([float(word) for word in text.split()])
