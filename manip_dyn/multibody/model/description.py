"""Mechanisms in YAML: bodies, joints and forces with the values of their Python classes.

Joints and bodies by name, forces in a list::

    gravity: [0.0, -9.81, 0.0]        # m/s^2; not given: [0, 0, -9.81]
    bodies:
      crank: {mass: 2.0, inertia: [0.01, 0.2, 0.2], position: [0.5, 0.0, 0.0]}
    joints:
      pin: {kind: revolute, bodies: [ground, crank], points: [0.0, 0.0, 0.0], axis: [0, 0, 1]}
    forces:
      - {kind: rotational_spring, bodies: [ground, crank], axis: [0, 0, 1], stiffness: 40.0}

A force is a ``spring``, a ``rotational_spring`` or a ``tyre``; the other keys are the attributes
of `MovingBody`, `Joint`, `Spring`, `RotationalSpring` and `Tyre`.
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
"""Shipped mechanisms that are not YAML files."""


def load_mechanism(source: str | Path) -> Mechanism:
    """Return the mechanism of a YAML file.

    Args:
        source: Path of the file, or the name of a shipped mechanism.

    Raises:
        ManipDynError: If the file is missing, no YAML, or describes no mechanism that can be
            assembled and moves; the sentence begins with the file.
    """
    if not isinstance(source, (str, Path)):
        raise ManipDynError(f"mechanism is {source!r}; expected a name or the path of a file")
    path = Path(source)
    if path.suffix not in (".yaml", ".yml"):
        known = shipped_mechanisms()
        if path.is_file() and str(source) not in known:
            raise ManipDynError(f"'{path}' has another ending; expected a .yaml file")
        if str(source) not in known:
            raise ManipDynError(f"mechanism '{source}' is unknown{closest(str(source), known)}")
        if str(source) in IN_PYTHON:
            return IN_PYTHON[str(source)]()
        path = _folder() / f"{source}.yaml"
    if not path.exists():
        raise ManipDynError(f"'{path}' does not exist; expected a .yaml file")
    return read_yaml(path, mechanism_from)


def shipped_mechanisms() -> list[str]:
    """Return the names of the mechanisms that come with the package."""
    return sorted([*IN_PYTHON, *(path.stem for path in _folder().glob("*.yaml"))])


def mechanism_from(content: Any) -> Mechanism:
    """Return the mechanism that a mapping describes, as YAML does."""
    known = ("gravity", "bodies", "joints", "forces")
    content = mapping("a mechanism", content, known, ("bodies",))
    bodies = _entries("bodies", content["bodies"])
    joints = _entries("joints", content.get("joints", {}))
    forces = content.get("forces", [])
    if not isinstance(forces, list):
        raise ManipDynError(f"forces is {forces!r}; expected a list")
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
        raise ManipDynError(f"{where} is of kind {kind!r}{closest(str(kind), FORCES)}")
    rest = {key: value for key, value in values.items() if key != "kind"}
    return _element(FORCES[kind], f"{where}, a {kind.replace('_', ' ')},", rest)


def _element(kind: type, where: str, values: Any, **given: Any) -> Any:
    """Return a body, joint or force from its attributes."""
    attributes = [each for each in fields(kind) if each.init and each.name not in given]
    needed = [each.name for each in attributes if each.default is MISSING]
    values = dict(mapping(where, values, [each.name for each in attributes], needed))
    if "bodies" in values:
        values["bodies"] = _pair(where, values["bodies"])
    return kind(**given, **values)


def _pair(where: str, value: Any) -> tuple[str, str]:
    if not (isinstance(value, list) and len(value) == 2 and {type(v) for v in value} == {str}):
        raise ManipDynError(f"{where} connects {value!r}; expected the names of two bodies")
    return value[0], value[1]


def _entries(where: str, value: Any) -> Iterable[tuple[str, Any]]:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise ManipDynError(f"{where} is {value!r}; expected entries by name")
    return value.items()
