"""Robots that the suites use, and shipped robots with modified parameters."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import yaml

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.files import read_yaml, share_directory
from manip_dyn.robot import Robot, load_robot

_EXAMPLES = "cmeel.prefix/share/example-robot-data/robots/"
_PANDA = "panda_description/urdf/panda.urdf"
_HUMANOIDS = {
    "G1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "Talos": "talos_data/robots/talos_reduced.urdf",
}


def usual_robots() -> list[Robot]:
    """Return the PA-10 and, if example-robot-data is installed, the Panda with its hand."""
    robots = [load_robot("pa10")]
    path = example_file(_PANDA)
    if path is None:
        return robots
    return [*robots, load_robot(path, lock={"panda_finger_joint1": 0.02})]


def trees() -> dict[str, Robot]:
    """Return humanoids and a dual arm by name; only the dual arm without example-robot-data."""
    files = {name: example_file(file) for name, file in _HUMANOIDS.items()}
    robots = {name: load_robot(file) for name, file in files.items() if file is not None}
    return {**robots, "two PA-10": dual_arm("pa10")}


def dual_arm(robot: str) -> Robot:
    """Create a robot from two shipped arms on a common base, 1 m apart."""
    shipped = share_directory() / "urdf" / f"{robot}.urdf"
    root = Element("robot", name=f"two_{robot}")
    SubElement(root, "link", name="base")
    for side, y in (("left", 0.5), ("right", -0.5)):
        arm = ElementTree.parse(shipped).getroot()
        children = {element.get("link") for element in arm.iter("child")}
        for element in arm.iter():
            for key in ("name", "link", "joint"):
                if element.tag in ("link", "joint", "parent", "child", "mimic") and (
                    value := element.get(key)
                ):
                    element.set(key, f"{side}_{value}")
        links = arm.findall("link")
        first = next(
            str(link.get("name"))
            for link in links
            if str(link.get("name")).removeprefix(f"{side}_") not in children
        )
        joint = SubElement(root, "joint", name=f"{side}_mount", type="fixed")
        SubElement(joint, "parent", link="base")
        SubElement(joint, "child", link=first)
        SubElement(joint, "origin", xyz=f"0 {y} 0")
        root.extend([*links, *arm.findall("joint")])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"two_{robot}.urdf"
        file.write_text(ElementTree.tostring(root, encoding="unicode"), encoding="utf-8")
        return load_robot(file)


def example_file(name: str) -> Path | None:
    """Return a file of example-robot-data, or None if the package is not installed."""
    try:
        return Path(str(distribution("example-robot-data").locate_file(_EXAMPLES + name)))
    except PackageNotFoundError:
        return None


CHANGES = {
    "mass": ("inertial/mass", ("value",)),
    "com": ("inertial/origin", ("xyz",)),
    "inertia": ("inertial/inertia", ("ixx", "iyy", "izz")),
    "origin": ("origin", ("xyz",)),
    "effort": ("limit", ("effort",)),
    "lower": ("limit", ("lower",)),
    "upper": ("limit", ("upper",)),
}
"""XML path (relative to the link or joint) and attributes of each parameter."""


def changed_robot(
    name: str,
    robot: str,
    links: Mapping[str, Any] | None = None,
    joints: Mapping[str, Any] | None = None,
    load: float | None = None,
) -> Robot:
    """Load a shipped robot and modify its parameters; without changes, return it unmodified.

    Args:
        name: Name of the modified robot.
        robot: Name of the shipped robot.
        links: New values by link name and parameter (see `CHANGES`), in SI units as in a URDF.
        joints: New values by joint name and parameter.
        load: New mass of the payload in the robot's YAML file, kg.

    Raises:
        ManipDynError: If a robot, link, joint or parameter does not exist.
    """
    if not links and not joints and load is None:
        return load_robot(robot)
    shipped = share_directory() / "urdf" / f"{robot}.urdf"
    if not shipped.is_file():
        raise ManipDynError(f"robot of the arm '{name}' must be a shipped robot, got '{robot}'.")
    root = ElementTree.parse(shipped).getroot()
    root.set("name", name)
    for kind, changes in (("link", links), ("joint", joints)):
        for part, numbers in (changes or {}).items():
            _change(_part(root, kind, part), part, numbers)
    companion = shipped.with_suffix(".yaml")
    extras: dict[str, Any] = {}
    if companion.is_file():
        extras = read_yaml(companion, lambda content: content or {})
    if load is not None:
        extras["payload"] = {**extras["payload"], "mass": load}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.urdf"
        file.write_text(ElementTree.tostring(root, encoding="unicode"), encoding="utf-8")
        if extras:
            file.with_suffix(".yaml").write_text(yaml.safe_dump(extras), encoding="utf-8")
        return load_robot(file)


def _part(root: Element, kind: str, name: str) -> Element:
    parts = {str(element.get("name")): element for element in root.iter(kind)}
    if name not in parts:
        raise ManipDynError(
            f"{kind} must be a {kind} of the robot, got '{name}'{closest(name, parts)}"
        )
    return parts[name]


def _change(part: Element, name: str, numbers: Mapping[str, Any]) -> None:
    for key, value in numbers.items():
        if key not in CHANGES:
            raise ManipDynError(f"'{name}' has no parameter '{key}'{closest(str(key), CHANGES)}")
        path, attributes = CHANGES[key]
        element = part.find(path)
        if element is None:
            raise ManipDynError(f"'{name}' has no <{path}> to change.")
        values = _strings(value)
        if len(attributes) == 1:
            values = [" ".join(values)]
        for attribute, text in zip(attributes, values, strict=True):
            element.set(attribute, text)


def _strings(value: Any) -> list[str]:
    """Convert numbers to strings; the loader checks them."""
    return [str(number) for number in value] if isinstance(value, Iterable) else [str(value)]
