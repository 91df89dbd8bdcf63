"""A URDF as an editable tree: reading, removing links behind a tip, locking joints.

Supported robots are serial and branched trees with a fixed base and revolute, continuous,
prismatic and fixed joints. `manip_dyn.robot.urdf` raises an error for all others.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from copy import deepcopy
from xml.etree.ElementTree import Element

import numpy as np
from pinocchio import AngleAxis
from pinocchio.rpy import matrixToRpy, rpyToMatrix

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot.source import Source
from manip_dyn.robot.urdf import (
    MOVABLE,
    check_dynamics,
    check_joints,
    check_numbers,
    check_tree,
    child_of,
    joints_of,
    links_of,
    movable_joints_of,
    numbers,
    parent_of,
    path_to,
    root_links_of,
)


class Description:
    """A URDF tree with methods that modify it; all errors name the robot."""

    def __init__(self, source: Source):
        """Parse a URDF; raise `ManipDynError` unless it is a valid tree."""
        where = f"robot {source.label}"
        try:
            self.root = ElementTree.fromstring(source.text)
        except (ElementTree.ParseError, LookupError, ValueError) as error:
            raise ManipDynError(f"{where} is not well-formed XML: {error}") from error
        if self.root.tag != "robot":
            raise ManipDynError(f"{where}: root must be <robot>, got <{self.root.tag}>.")
        self.name = self.root.get("name") or source.stem
        self.root.set("name", self.name)
        self._where = f"robot '{self.name}'"
        check_tree(self._where, self.root)
        check_numbers(self._where, self.root)
        check_joints(self._where, self.root)

    # ---------------------------------------------------------------- reading
    def links(self) -> dict[str, Element]:
        """Return the links by name."""
        return links_of(self.root)

    def joints(self) -> dict[str, Element]:
        """Return the joints by name."""
        return joints_of(self.root)

    def movable(self) -> dict[str, Element]:
        """Return the joints that move, by name."""
        return movable_joints_of(self.root)

    def base(self) -> str:
        """Return the root link."""
        return root_links_of(self.root)[0]

    def default_tip(self) -> str:
        """Return ``tool0`` if it exists, else the leaf behind the most movable joints."""
        if "tool0" in self.links():
            return "tool0"
        movable = self.movable()
        parents = {parent_of(joint) for joint in self.joints().values()}
        leaves = [link for link in self.links() if link not in parents]
        return max(leaves, key=lambda leaf: sum(j in movable for j in path_to(self.root, leaf)))

    def text(self, continuous_as_revolute: bool = False) -> str:
        """Return the URDF as XML text.

        With `continuous_as_revolute`, continuous joints become revolute joints without limits.
        Their configuration is then one angle instead of a point on the unit circle.
        """
        root = self.root
        if continuous_as_revolute:
            root = deepcopy(root)
            for joint in joints_of(root).values():
                if joint.get("type") == "continuous":
                    _make_revolute(joint)
        return ElementTree.tostring(root, encoding="unicode")

    # --------------------------------------------------------------- modification
    def cut(self, tip: str) -> None:
        """Remove all links except the chain from base to tip and links fixed to it.

        Links beyond the tip, and side branches behind movable joints, are removed with their
        mass.
        """
        if tip not in self.links():
            raise ManipDynError(
                f"{self._where} has no link '{tip}' for the tip{closest(tip, self.links())}"
            )
        on_path = set(path_to(self.root, tip))
        for name, joint in list(self.joints().items()):
            removed = name not in self.joints()
            beyond = parent_of(joint) == tip or joint.get("type") != "fixed"
            if not removed and name not in on_path and beyond:
                self._drop(name)

    def lock(self, values: Mapping[str, float]) -> None:
        """Replace joints by fixed joints at positions in rad or m.

        Joints that mimic a locked joint are locked, too, at the corresponding position.
        """
        joints, locked = self.joints(), dict(values)
        for name, value in values.items():
            if name not in joints:
                hint = closest(name, self.movable())
                raise ManipDynError(f"{self._where} has no joint '{name}' to lock{hint}")
            self._fix(joints[name], value)
        while self._lock_one_follower(locked):
            pass

    def check_dynamics(self) -> None:
        """Raise `ManipDynError` for unsupported dynamics; call it after `cut` and `lock`."""
        check_dynamics(self._where, self.root)

    # --------------------------------------------------------------- internal
    def _drop(self, name: str) -> None:
        """Remove a joint and all links and joints behind it."""
        joint = self.joints()[name]
        link = child_of(joint)
        self.root.remove(joint)
        for below, child in list(self.joints().items()):
            if parent_of(child) == link:
                self._drop(below)
        self.root.remove(self.links()[link])

    def _fix(self, joint: Element, value: float) -> None:
        kind = joint.get("type", "")
        where = f"{self._where}: lock of joint '{joint.get('name')}'"
        if kind not in MOVABLE:
            raise ManipDynError(f"{where}: the joint must be movable, got a {kind} joint.")
        value = float(numbers(where, str(value), 1)[0])
        if not np.isfinite(value):
            raise ManipDynError(f"{where} must be finite, got {value}.")
        limit = joint.find("limit")
        if kind != "continuous" and limit is not None:
            lower, upper = float(limit.get("lower", 0.0)), float(limit.get("upper", 0.0))
            if not lower - 1e-9 <= value <= upper + 1e-9:
                raise ManipDynError(f"{where} must be from {lower:g} to {upper:g}, got {value:g}.")
        _move_origin(joint, kind, value)
        joint.set("type", "fixed")
        for child in list(joint):
            if child.tag not in ("parent", "child", "origin"):
                joint.remove(child)

    def _lock_one_follower(self, locked: dict[str, float]) -> bool:
        for name, joint in self.movable().items():
            mimic = joint.find("mimic")
            source = "" if mimic is None else mimic.get("joint", "")
            if mimic is not None and source in locked:
                scale, offset = float(mimic.get("multiplier", 1)), float(mimic.get("offset", 0))
                locked[name] = scale * locked[source] + offset
                self._fix(joint, locked[name])
                return True
        return False


def _make_revolute(joint: Element) -> None:
    joint.set("type", "revolute")
    limit = joint.find("limit")
    limit = ElementTree.SubElement(joint, "limit") if limit is None else limit
    for key, value in (("lower", "-1e9"), ("upper", "1e9")):
        limit.set(key, value)
    for key in ("effort", "velocity"):
        limit.set(key, limit.get(key, "0"))


def _move_origin(joint: Element, kind: str, value: float) -> None:
    """Add the motion of a joint by `value` to its <origin>."""
    origin, element = joint.find("origin"), joint.find("axis")
    origin = ElementTree.SubElement(joint, "origin") if origin is None else origin
    xyz = np.array([float(x) for x in origin.get("xyz", "0 0 0").split()])
    rotation = rpyToMatrix(np.array([float(x) for x in origin.get("rpy", "0 0 0").split()]))
    text = "1 0 0" if element is None else element.get("xyz", "1 0 0")
    axis = np.array([float(x) for x in text.split()])
    axis /= np.linalg.norm(axis)
    if kind == "prismatic":
        xyz = xyz + rotation @ (axis * value)
    else:
        rotation = rotation @ AngleAxis(value, axis).matrix()
    origin.set("xyz", " ".join(repr(float(x)) for x in xyz))
    origin.set("rpy", " ".join(repr(float(x)) for x in matrixToRpy(rotation)))
