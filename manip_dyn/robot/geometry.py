"""Link placements, mesh files and URDFs without shapes, for viewers and other programs."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
from scipy.spatial.transform import Rotation

from manip_dyn.core.checks import Vector
from manip_dyn.core.files import share_directory
from manip_dyn.robot.model import Robot
from manip_dyn.robot.urdf import child_of, joints_of, parent_of


def without_shapes(urdf: str) -> Element:
    """Return the root of a URDF without visuals, collision shapes and simulators' plugins."""
    root = ElementTree.fromstring(urdf)
    for link in root.iter("link"):
        for tag in ("visual", "collision"):
            for shape in link.findall(tag):
                link.remove(shape)
    for tag in ("gazebo", "transmission", "material", "sensor"):
        for element in root.findall(tag):
            root.remove(element)
    return root


def find_mesh(address: str, folders: Sequence[str | Path] = ()) -> str:
    """Return the file of a mesh by its path, ``file://`` or ``package://``; empty: not found."""
    scheme, _, rest = address.partition("://")
    if not rest or scheme == "file":
        paths = [Path(rest or address), *(Path(folder) / address for folder in folders)]
    elif scheme == "package":
        package, _, inside = rest.partition("/")
        prefixes = [Path(each) / "share" for each in _listed("AMENT_PREFIX_PATH")]
        roots = [*prefixes, *map(Path, _listed("ROS_PACKAGE_PATH")), *map(Path, folders)]
        paths = [root / package / inside for root in roots]
        paths += [root / inside for root in roots if root.name == package]
        if package == "manip_dyn":
            paths.append(share_directory() / inside)
    else:
        return ""
    return next((str(path) for path in paths if path.is_file()), "")


def _listed(variable: str) -> list[str]:
    return [each for each in os.environ.get(variable, "").split(os.pathsep) if each]


class Placement(NamedTuple):
    """A link in the frame of another.

    Attributes:
        parent: The link that carries it.
        child: The link.
        position: Of its origin, (3,), m.
        quaternion: Its orientation, (4,): x, y, z, w.
    """

    parent: str
    child: str
    position: Vector
    quaternion: Vector


class LinkTree:
    """The links of a robot, those fixed to another and those that a joint moves.

    Attributes:
        fixed: The placements that no joint changes.
    """

    def __init__(self, robot: Robot):
        """Read the placements from the robot's description."""
        joints = joints_of(ElementTree.fromstring(robot.urdf))
        self._moved = _Joints([joints[name] for name in robot.joint_names])
        still = [joint for name, joint in joints.items() if name not in robot.joint_names]
        self.fixed = _Joints(still).at(np.zeros(len(still))) if still else []

    def moving(self, q: Vector) -> list[Placement]:
        """Return the placements of the links that joints move, at joint positions (n,)."""
        return self._moved.at(q)


class _Joints:
    """Joints by numbers: an origin each, then its motion along or about its axis."""

    def __init__(self, joints: list[Element]):
        self._names = [(parent_of(joint), child_of(joint)) for joint in joints]
        self._places = np.array([_numbers(joint, "origin", "xyz", "0 0 0") for joint in joints])
        rpy = [_numbers(joint, "origin", "rpy", "0 0 0") for joint in joints]
        self._turns = Rotation.from_euler("xyz", np.array(rpy))
        axes = np.array([_numbers(joint, "axis", "xyz", "1 0 0") for joint in joints])
        lengths = np.linalg.norm(axes, axis=1, keepdims=True)
        axes /= np.where(lengths > 0.0, lengths, 1.0)  # fixed joints may have none
        slides = np.array([[joint.get("type") == "prismatic"] for joint in joints])
        self._slides, self._hinges = self._turns.apply(axes * slides), axes * ~slides

    def at(self, q: Vector) -> list[Placement]:
        steps = np.asarray(q, dtype=float)[:, None]
        places = self._places + self._slides * steps
        turns = (self._turns * Rotation.from_rotvec(self._hinges * steps)).as_quat()
        return [
            Placement(*names, place, turn)
            for names, place, turn in zip(self._names, places, turns, strict=True)
        ]


def _numbers(joint: Element, tag: str, key: str, without: str) -> list[float]:
    element = joint.find(tag)
    text = without if element is None else element.get(key, without)
    return [float(each) for each in text.split()]
