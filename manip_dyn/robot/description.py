"""A URDF as text: read it, check it, cut it at a tip, lock joints. No dynamics here.

Only serial and branched trees with a fixed base and revolute, continuous, prismatic and fixed
joints are robots of this package; everything else is refused with one sentence.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from pinocchio import AngleAxis
from pinocchio.rpy import matrixToRpy, rpyToMatrix

from manip_dyn.errors import ManipDynError, closest
from manip_dyn.share import share_directory, shipped_robots

MOVABLE = ("revolute", "continuous", "prismatic")


def find_urdf(source: str | Path) -> Path:
    """Return the file of a shipped robot's name or of a path to any URDF."""
    if isinstance(source, str) and source in shipped_robots():
        return share_directory() / "urdf" / f"{source}.urdf"
    path = Path(source).expanduser()
    if path.suffix in (".urdf", ".xml") or len(path.parts) > 1:
        if path.is_file():
            return path
        raise ManipDynError(f"robot '{source}': no such file; expected a readable URDF")
    raise ManipDynError(f"robot '{source}' is not shipped{closest(str(source), shipped_robots())}")


class Description:
    """One URDF tree; its methods change it and name the robot in every error."""

    def __init__(self, path: Path):
        """Read and check the structure of the URDF at `path`."""
        try:
            self.root = ElementTree.fromstring(path.read_bytes())
        except OSError as error:
            raise ManipDynError(f"robot '{path}' cannot be read: {error.strerror}") from error
        except ElementTree.ParseError as error:
            raise ManipDynError(f"robot '{path}' is not well-formed XML: {error}") from error
        if self.root.tag != "robot":
            raise ManipDynError(f"robot '{path}': root is <{self.root.tag}>; expected <robot>")
        self.name = self.root.get("name") or path.stem
        self._check_tree()
        self._check_joints()

    # ---------------------------------------------------------------- reading
    def links(self) -> dict[str, Element]:
        """Return the links by name, in document order."""
        return {link.get("name", ""): link for link in self.root.findall("link")}

    def joints(self) -> dict[str, Element]:
        """Return the joints by name, in document order."""
        return {joint.get("name", ""): joint for joint in self.root.findall("joint")}

    def movable(self) -> dict[str, Element]:
        """Return the joints that move."""
        return {n: j for n, j in self.joints().items() if j.get("type") in MOVABLE}

    def base(self) -> str:
        """Return the root link."""
        children = {child_of(joint) for joint in self.joints().values()}
        return next(link for link in self.links() if link not in children)

    def default_tip(self) -> str:
        """Return ``tool0`` if there is one, else the leaf behind the most movable joints."""
        links = self.links()
        if "tool0" in links:
            return "tool0"
        parents = {parent_of(joint) for joint in self.joints().values()}
        leaves = [link for link in links if link not in parents]
        return max(leaves, key=lambda leaf: sum(j in self.movable() for j in self._path(leaf)))

    def text(self, continuous_as_revolute: bool = False) -> str:
        """Return the URDF as XML text.

        With `continuous_as_revolute` every continuous joint becomes a revolute one without
        limits, so that its configuration is one angle and not a point on the unit circle.
        """
        root = ElementTree.fromstring(ElementTree.tostring(self.root))
        if continuous_as_revolute:
            for joint in root.findall("joint"):
                if joint.get("type") == "continuous":
                    joint.set("type", "revolute")
                    limit = joint.find("limit")
                    limit = ElementTree.SubElement(joint, "limit") if limit is None else limit
                    limit.attrib = {"lower": "-1e9", "upper": "1e9", "effort": "0"} | {
                        "velocity": limit.get("velocity", "0")
                    }
        return ElementTree.tostring(root, encoding="unicode")

    # --------------------------------------------------------------- changing
    def cut(self, tip: str) -> None:
        """Keep what moves the chain base -> tip: drop what hangs behind other movable joints.

        Links beyond the tip go too, with their mass. Side links that are rigidly fixed to the
        chain stay.
        """
        self._require_link(tip)
        on_path = set(self._path(tip))
        for name, joint in list(self.joints().items()):
            if name not in self.joints() or name in on_path:
                continue
            if parent_of(joint) == tip or joint.get("type") != "fixed":
                self._drop(name)

    def lock(self, values: Mapping[str, float]) -> None:
        """Turn the named joints into fixed joints at their values (rad or m)."""
        joints = self.joints()
        for name, value in values.items():
            if name not in joints:
                hint = closest(name, self.movable())
                raise ManipDynError(f"robot '{self.name}' has no joint '{name}' to lock{hint}")
            self._fix(joints[name], value)
        self._lock_followers(dict(values))

    # ---------------------------------------------------------------- checks
    def check_dynamics(self) -> None:
        """Refuse what the dynamics cannot use; call after `cut` and `lock`."""
        if not self.movable():
            raise ManipDynError(f"robot '{self.name}' has no movable joint; expected at least one")
        for name, joint in self.joints().items():
            kind = joint.get("type")
            if kind not in (*MOVABLE, "fixed"):
                raise ManipDynError(
                    f"robot '{self.name}': joint '{name}' is {kind}; expected revolute, "
                    "continuous, prismatic or fixed (or lock a chain that ends before it)"
                )
            mimic = joint.find("mimic")
            if mimic is not None:
                raise ManipDynError(
                    f"robot '{self.name}': joint '{name}' mimics "
                    f"'{mimic.get('joint')}', which is not modelled; "
                    f"lock it, as in lock={{'{name}': 0.0}}, or cut the chain before it"
                )
        for name in self.links():
            self._check_inertia(name)
        for name, joint in self.movable().items():
            if self._rigid_mass(child_of(joint)) <= 0.0:
                raise ManipDynError(
                    f"robot '{self.name}': link '{child_of(joint)}' behind joint '{name}' has no "
                    "mass; expected an <inertial> with a mass above 0"
                )

    # --------------------------------------------------------------- internal
    def _check_tree(self) -> None:
        names = [link.get("name", "") for link in self.root.findall("link")]
        if not names:
            raise ManipDynError(f"robot '{self.name}' has no links")
        joints = [joint.get("name", "") for joint in self.root.findall("joint")]
        for kind, listed in (("link", names), ("joint", joints)):
            twice = next((name for name in listed if listed.count(name) > 1), None)
            if twice is not None:
                raise ManipDynError(f"robot '{self.name}': {kind} '{twice}' is defined twice")
        parent: dict[str, str] = {}
        for name, joint in self.joints().items():
            for role, link in (("parent", parent_of(joint)), ("child", child_of(joint))):
                if link not in names:
                    raise ManipDynError(
                        f"robot '{self.name}': joint '{name}' has the {role} link '{link}', "
                        "which does not exist"
                    )
            if child_of(joint) in parent:
                raise ManipDynError(
                    f"robot '{self.name}': link '{child_of(joint)}' has two parent joints "
                    f"('{parent[child_of(joint)]}' and '{name}'); a cycle or closed loop is "
                    "not a tree"
                )
            parent[child_of(joint)] = name
        roots = [name for name in names if name not in parent]
        if len(roots) > 1:
            raise ManipDynError(
                f"robot '{self.name}' has {len(roots)} root links ({', '.join(roots)}); expected 1"
            )
        reached, waiting = set(), roots
        while waiting:
            reached.update(waiting)
            waiting = [child_of(j) for j in self.joints().values() if parent_of(j) in waiting]
        if len(reached) < len(names):
            ring = sorted(set(names) - reached)
            raise ManipDynError(f"robot '{self.name}': links {ring} form a cycle; expected a tree")

    def _check_joints(self) -> None:
        for name, joint in self.movable().items():
            where = f"robot '{self.name}': joint '{name}'"
            limit = joint.find("limit")
            if limit is None and joint.get("type") != "continuous":
                raise ManipDynError(f"{where} has no <limit>; expected lower, upper and effort")
            if limit is not None:
                for key, text in limit.attrib.items():
                    self._numbers(text, 1, f"{where}, limit {key}")
                lower, upper = (float(limit.get(k, "0")) for k in ("lower", "upper"))
                if joint.get("type") != "continuous" and lower > upper:
                    raise ManipDynError(f"{where} has lower {lower:g} above upper {upper:g}")
            axis = joint.find("axis")
            text = "1 0 0" if axis is None else axis.get("xyz", "1 0 0")
            if np.linalg.norm(self._numbers(text, 3, f"{where}, axis")) < 1e-9:
                raise ManipDynError(f"{where} has the axis '{text}'; expected a non-zero vector")

    def _check_inertia(self, name: str) -> None:
        inertial = self.links()[name].find("inertial")
        if inertial is None:
            return
        where = f"robot '{self.name}': link '{name}'"
        mass_element, tensor = inertial.find("mass"), inertial.find("inertia")
        if mass_element is None or tensor is None:
            missing = "mass" if mass_element is None else "inertia"
            raise ManipDynError(f"{where} has an <inertial> without <{missing}>")
        mass = self._numbers(mass_element.get("value", ""), 1, f"{where}, mass")[0]
        if mass < 0.0 or not math.isfinite(mass):
            raise ManipDynError(f"{where} has the mass {mass:g} kg; expected 0 or more")
        ixx, ixy, ixz, iyy, iyz, izz = (
            self._numbers(tensor.get(key, "0"), 1, f"{where}, {key}")[0]
            for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        )
        check_inertia_tensor(where, np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]))

    def _rigid_mass(self, link: str) -> float:
        element = self.links()[link].find("inertial/mass")
        mass = 0.0 if element is None else float(element.get("value", ""))
        return mass + sum(
            self._rigid_mass(child_of(joint))
            for joint in self.joints().values()
            if joint.get("type") == "fixed" and parent_of(joint) == link
        )

    def _numbers(self, text: str, count: int, where: str) -> list[float]:
        try:
            values = [float(word) for word in text.split()]
        except ValueError:
            values = []
        if len(values) != count or any(math.isnan(value) for value in values):
            raise ManipDynError(f"{where} is '{text}'; expected {count} number(s)")
        return values

    def _require_link(self, link: str) -> None:
        if link not in self.links():
            hint = closest(link, self.links())
            raise ManipDynError(f"robot '{self.name}' has no link '{link}' for the tip{hint}")

    def _path(self, link: str) -> list[str]:
        """Return the joint names from the base to `link`."""
        above = {child_of(joint): name for name, joint in self.joints().items()}
        path: list[str] = []
        while link in above:
            path.insert(0, above[link])
            link = parent_of(self.joints()[path[0]])
        return path

    def _drop(self, name: str) -> None:
        joint = self.joints()[name]
        link = child_of(joint)
        self.root.remove(joint)
        for below, child in list(self.joints().items()):
            if parent_of(child) == link:
                self._drop(below)
        self.root.remove(self.links()[link])

    def _fix(self, joint: Element, value: float) -> None:
        name, kind = joint.get("name"), joint.get("type")
        where = f"robot '{self.name}': lock of joint '{name}'"
        if kind not in MOVABLE:
            raise ManipDynError(f"{where}: the joint is {kind}; expected a movable joint")
        value = self._numbers(str(value), 1, where)[0]
        limit = joint.find("limit")
        if kind != "continuous" and limit is not None:
            lower, upper = float(limit.get("lower", 0.0)), float(limit.get("upper", 0.0))
            if not lower - 1e-9 <= value <= upper + 1e-9:
                raise ManipDynError(f"{where} is {value:g}; expected {lower:g} to {upper:g}")
        if not math.isfinite(value):
            raise ManipDynError(f"{where} is {value}; expected a finite number")
        _move_origin(joint, kind, value)
        joint.set("type", "fixed")
        for child in list(joint):
            if child.tag not in ("parent", "child", "origin"):
                joint.remove(child)

    def _lock_followers(self, locked: dict[str, float]) -> None:
        """Lock every joint that mimics a locked one, at the value it would take."""
        for name, joint in self.movable().items():
            mimic = joint.find("mimic")
            source = "" if mimic is None else mimic.get("joint", "")
            if mimic is not None and source in locked:
                scale, offset = float(mimic.get("multiplier", 1)), float(mimic.get("offset", 0))
                locked[name] = scale * locked[source] + offset
                self._fix(joint, locked[name])
                self._lock_followers(locked)
                return


def parent_of(joint: Element) -> str:
    """Return the name of the joint's parent link."""
    parent = joint.find("parent")
    return "" if parent is None else parent.get("link", "")


def child_of(joint: Element) -> str:
    """Return the name of the joint's child link."""
    child = joint.find("child")
    return "" if child is None else child.get("link", "")


def check_inertia_tensor(where: str, tensor: np.ndarray) -> None:
    """Refuse a rotational inertia (kg m^2, about the centre of mass) that no body can have.

    The principal moments must be zero or more, and none may exceed the sum of the other two
    (0.1 % of slack for rounded figures).
    """
    if not np.all(np.isfinite(tensor)):
        raise ManipDynError(f"{where} has a non-finite inertia {tensor.tolist()}")
    moments = np.linalg.eigvalsh(tensor)
    slack = 1e-3 * float(np.abs(moments).max())
    if moments[0] < -slack or moments[2] > moments[0] + moments[1] + slack:
        raise ManipDynError(
            f"{where} has the non-physical principal inertias {moments.tolist()} kg m^2; expected "
            "none below 0 and none above the sum of the other two"
        )


def _move_origin(joint: Element, kind: str, value: float) -> None:
    """Fold the joint's motion by `value` into its <origin>."""
    origin = joint.find("origin")
    origin = ElementTree.SubElement(joint, "origin") if origin is None else origin
    xyz = np.array([float(x) for x in origin.get("xyz", "0 0 0").split()])
    rotation = rpyToMatrix(np.array([float(x) for x in origin.get("rpy", "0 0 0").split()]))
    element = joint.find("axis")
    text = "1 0 0" if element is None else element.get("xyz", "1 0 0")
    axis = np.array([float(x) for x in text.split()])
    axis /= np.linalg.norm(axis)
    if kind == "prismatic":
        xyz = xyz + rotation @ (axis * value)
    else:
        rotation = rotation @ AngleAxis(value, axis).matrix()
    origin.set("xyz", " ".join(repr(float(x)) for x in xyz))
    origin.set("rpy", " ".join(repr(float(x)) for x in matrixToRpy(rotation)))
