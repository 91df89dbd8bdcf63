"""Link placements, mesh files and URDFs without shapes, for viewers and other programs."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.core.files import share_directory
from manip_dyn.core.source_packages import MANIFEST, package_name
from manip_dyn.robot.model import Robot
from manip_dyn.robot.urdf import child_of, joints_of, parent_of


def without_shapes(urdf: str) -> Element:
    """Return the root element of a URDF without its shapes.

    Materials, sensors, transmissions and Gazebo elements of the root are also removed.
    """
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
    """Return the path of a mesh file, or "" if it is not found.

    Args:
        address: Path of the mesh, or a ``file://`` or ``package://`` URL.
        folders: Additional folders in which to search.
    """
    scheme, _, rest = address.partition("://")
    paths: Iterable[Path] = ()
    if not rest or scheme == "file":
        paths = [Path(rest or address), *(Path(folder) / address for folder in folders)]
    elif scheme == "package":
        package, _, inside = rest.partition("/")
        paths = (folder / inside for folder in _package_folders(package, folders))
    return next((str(path) for path in paths if path.is_file()), "")


def _package_folders(package: str, folders: Sequence[str | Path]) -> Iterator[Path]:
    """Yield the folders that may contain a package: first by their name, then by a manifest."""
    installed = [Path(path) / "share" for path in _paths_in("AMENT_PREFIX_PATH")]
    sources = [*map(Path, _paths_in("ROS_PACKAGE_PATH")), *map(Path, folders)]
    yield from (root / package for root in (*installed, *sources))
    if package == "manip_dyn":
        yield share_directory()
    for root in sources:
        if root.name == package:
            yield root
        for manifest in (root / MANIFEST, *sorted(root.glob(f"*/{MANIFEST}"))):
            if package_name(manifest.parent) == package:
                yield manifest.parent


def _paths_in(variable: str) -> list[str]:
    return [path for path in os.environ.get(variable, "").split(os.pathsep) if path]


class Placement(NamedTuple):
    """Pose of a link in the frame of its parent link.

    Attributes:
        parent: Name of the parent link.
        child: Name of the link.
        position: Position (3,) of the link origin, m.
        quaternion: Orientation (4,) of the link: x, y, z, w.
    """

    parent: str
    child: str
    position: Vector
    quaternion: Vector


class LinkTree:
    """Poses of the links of a robot in the frames of their parent links.

    Attributes:
        fixed: Poses of the child links of fixed joints in their parent link frames.
    """

    def __init__(self, robot: Robot):
        """Initialize with the joints of the robot's URDF."""
        joints = joints_of(ElementTree.fromstring(robot.urdf))
        movable = [coupling.name for coupling in robot.couplings]
        self._positions = robot.body_positions
        self._movable = _Joints([joints[name] for name in movable])
        fixed = [joint for name, joint in joints.items() if name not in movable]
        self.fixed = _Joints(fixed).at(np.zeros(len(fixed))) if fixed else []

    def moving(self, q: Vector) -> list[Placement]:
        """Return the pose of the child link of each movable joint in its parent link frame.

        Args:
            q: Joint positions (n,), rad or m.
        """
        return self._movable.at(self._positions(q))


class _Joints:
    """Joints as arrays: origins, and motions along or about the axes."""

    def __init__(self, joints: list[Element]):
        from scipy.spatial.transform import Rotation  # slow to load

        self._names = [(parent_of(joint), child_of(joint)) for joint in joints]
        self._positions = np.array([_numbers(joint, "origin", "xyz", "0 0 0") for joint in joints])
        rpy = [_numbers(joint, "origin", "rpy", "0 0 0") for joint in joints]
        self._rotations = Rotation.from_euler("xyz", np.array(rpy))
        self._rotation_about = Rotation.from_rotvec
        axes = np.array([_numbers(joint, "axis", "xyz", "1 0 0") for joint in joints])
        lengths = np.linalg.norm(axes, axis=1, keepdims=True)
        axes /= np.where(lengths > 0.0, lengths, 1.0)  # the axis of a fixed joint may be zero
        slides = np.array([[joint.get("type") == "prismatic"] for joint in joints])
        self._slide_axes, self._hinge_axes = self._rotations.apply(axes * slides), axes * ~slides

    def at(self, q: Vector) -> list[Placement]:
        offsets = np.asarray(q, dtype=float)[:, None]
        positions = self._positions + self._slide_axes * offsets
        turns = self._rotation_about(self._hinge_axes * offsets)
        quaternions = (self._rotations * turns).as_quat()
        return [
            Placement(*names, position, quaternion)
            for names, position, quaternion in zip(
                self._names, positions, quaternions, strict=True
            )
        ]


def _numbers(joint: Element, tag: str, key: str, default: str) -> list[float]:
    element = joint.find(tag)
    text = default if element is None else element.get(key, default)
    return [float(word) for word in text.split()]
