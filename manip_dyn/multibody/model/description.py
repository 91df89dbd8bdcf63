"""Mechanisms in YAML files, with the attributes of the Python classes as keys.

Bodies and joints have names; forces are a list::

    gravity: [0.0, -9.81, 0.0]        # m/s^2; default: [0, 0, -9.81]
    bodies:
      crank: {mass: 2.0, inertia: [0.01, 0.2, 0.2], position: [0.5, 0.0, 0.0]}
    joints:
      pin: {kind: revolute, bodies: [ground, crank], points: [0.0, 0.0, 0.0], axis: [0, 0, 1]}
    forces:
      - {kind: rotational_spring, bodies: [ground, crank], axis: [0, 0, 1], stiffness: 40.0}

The kind of a force is ``spring``, ``rotational_spring`` or ``tyre``. The other keys are the
attributes of `MovingBody`, `Joint`, `Spring`, `RotationalSpring` and `Tyre`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.files import mapping, read_yaml, share_directory
from manip_dyn.multibody.model.elements import Joint, MovingBody, RotationalSpring, Spring, Tyre
from manip_dyn.multibody.model.hmmwv import hmmwv
from manip_dyn.multibody.model.mechanism import Mechanism
from manip_dyn.robot.extras import STANDARD_GRAVITY

FORCES = {"spring": Spring, "rotational_spring": RotationalSpring, "tyre": Tyre}
IN_PYTHON = {"hmmwv": hmmwv}
"""Shipped mechanisms that are defined in Python."""


def load_mechanism(source: str | Path) -> Mechanism:
    """Load a mechanism from a YAML file.

    Args:
        source: Path of the file, or the name of a shipped mechanism.

    Raises:
        ManipDynError: If the file is missing or invalid, or the mechanism cannot be assembled or
            cannot move. Messages about the content start with the file name.
    """
    if not isinstance(source, (str, Path)):
        raise ManipDynError(f"mechanism must be a name or the path of a file, got {source!r}.")
    path = Path(source)
    if path.suffix not in (".yaml", ".yml"):
        names = shipped_mechanisms()
        if path.is_file() and str(source) not in names:
            raise ManipDynError(f"File of a mechanism must end in .yaml or .yml, got '{path}'.")
        if str(source) not in names:
            raise ManipDynError(f"mechanism '{source}' is unknown{closest(str(source), names)}")
        if str(source) in IN_PYTHON:
            return IN_PYTHON[str(source)]()
        path = _folder() / f"{source}.yaml"
    if not path.exists():
        raise ManipDynError(f"File of a mechanism '{path}' does not exist.")
    return read_yaml(path, mechanism_from)


def shipped_mechanisms() -> list[str]:
    """Return the names of the shipped mechanisms."""
    return sorted([*IN_PYTHON, *(path.stem for path in _folder().glob("*.yaml"))])


def mechanism_from(content: Any) -> Mechanism:
    """Create a mechanism from a mapping in the format of the YAML files."""
    keys = ("gravity", "bodies", "joints", "forces")
    content = mapping("a mechanism", content, keys, ("bodies",))
    bodies = _entries("bodies", content["bodies"])
    joints = _entries("joints", content.get("joints", {}))
    forces = content.get("forces", [])
    if not isinstance(forces, list):
        raise ManipDynError(f"forces must be a list, got {forces!r}.")
    return Mechanism(
        [_element(MovingBody, f"body '{name}'", values, name=name) for name, values in bodies],
        [_element(Joint, f"joint '{name}'", values, name=name) for name, values in joints],
        [_force(f"force {number}", values) for number, values in enumerate(forces, start=1)],
        content.get("gravity", STANDARD_GRAVITY),
    )


def _folder() -> Path:
    return share_directory() / "config" / "mechanisms"


def _force(where: str, values: Any) -> Any:
    kind = values.get("kind") if isinstance(values, dict) else None
    if kind not in FORCES:
        raise ManipDynError(
            f"{where}, kind must be one of {', '.join(FORCES)}, got {kind!r}"
            f"{closest(str(kind), FORCES)}"
        )
    attributes = {key: value for key, value in values.items() if key != "kind"}
    return _element(FORCES[kind], f"{where}, a {kind.replace('_', ' ')},", attributes)


def _element(kind: type, where: str, values: Any, **name: str) -> Any:
    attributes = [item for item in fields(kind) if item.init and item.name not in name]
    required = [item.name for item in attributes if item.default is MISSING]
    values = dict(mapping(where, values, [item.name for item in attributes], required))
    if "bodies" in values:
        values["bodies"] = _pair(where, values["bodies"])
    return kind(**name, **values)


def _pair(where: str, value: Any) -> tuple[str, str]:
    if not (isinstance(value, list) and len(value) == 2 and {type(v) for v in value} == {str}):
        raise ManipDynError(f"{where} bodies must be the names of two bodies, got {value!r}.")
    return value[0], value[1]


def _entries(where: str, value: Any) -> Iterable[tuple[str, Any]]:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise ManipDynError(f"{where} must be a mapping by name, got {value!r}.")
    return value.items()
