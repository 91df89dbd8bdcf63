"""Robots that the suites use, and shipped robots with modified parameters."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import yaml

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.files import read_yaml, share_directory
from manip_dyn.robot import Robot, load_robot

_PANDA = "cmeel.prefix/share/example-robot-data/robots/panda_description/urdf/panda.urdf"


def usual_robots() -> list[Robot]:
    """Return the PA-10 and, if example-robot-data is installed, the Panda with its hand."""
    robots = [load_robot("pa10")]
    try:
        path = Path(str(distribution("example-robot-data").locate_file(_PANDA)))
    except PackageNotFoundError:
        return robots
    return [*robots, load_robot(path, lock={"panda_finger_joint1": 0.02})]


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
