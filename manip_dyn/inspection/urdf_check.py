"""`check_urdf`: an inspection of a URDF, its dynamics and its use in other programs."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from xml.etree.ElementTree import Element

from manip_dyn.core.checks import truth
from manip_dyn.core.errors import ManipDynError
from manip_dyn.inspection.comparison import compare, conditioning, our_dynamics
from manip_dyn.inspection.findings import Agreement, Finding, Inspection, by_level
from manip_dyn.inspection.readings import number
from manip_dyn.inspection.rules import rule_findings
from manip_dyn.robot import Robot, load_robot
from manip_dyn.robot.description import Description
from manip_dyn.robot.extras import read_extras
from manip_dyn.robot.source import Source, read_source
from manip_dyn.robot.urdf import MOVABLE, joints_of


def check_urdf(
    source: str | Path,
    lock: Mapping[str, float] | None = None,
    tip: str | None = None,
    xacro_args: Mapping[str, object] | None = None,
    compiled: bool = True,
) -> Inspection:
    """Tell what is wrong, doubtful or worth knowing about a URDF.

    Inertias that no body can have, limits, axes, friction, mimic joints, misspelt words, meshes
    that are not there; the condition of the mass matrix; then mass matrix, gravity, inverse and
    forward dynamics and forward kinematics beside pinocchio and, where they are installed,
    MuJoCo and Drake, with the link and the term that one of them has otherwise.

    Args:
        source: As `load_robot` takes it.
        lock: As `load_robot` takes it: joints to hold fixed, in rad or m.
        tip: As `load_robot` takes it.
        xacro_args: Arguments of a xacro file, by name.
        compiled: Whether the compiled kernels are compared, or, without waiting for a compiler,
            the equations that they are made of.

    Returns:
        The findings. An error is what `load_robot` refuses with these arguments, or what this
        package and pinocchio disagree in; `success` says that there is none. Joints that mimic
        others are errors, and are held still for the rest of the check.

    Raises:
        ManipDynError: If there is no such file, it is no XML or no URDF, or `lock`, `tip` and
            `xacro_args` do not fit it.
    """
    found, compiled = read_source(source, xacro_args), truth("compiled", compiled)
    root, name = _described(found, lock, tip)
    folder = None if found.extras is None else found.extras.resolve().parent
    findings = rule_findings(root, folder)
    agreements: list[Agreement] = []
    condition: float | None = None
    try:
        robot = load_robot(source, {**(lock or {}), **_held(root)}, tip, xacro_args=xacro_args)
        condition, light = conditioning(robot)
        differing, agreements = _compared(robot, found, compiled)
        findings += light + differing
    except ManipDynError as error:
        findings.append(_without_dynamics(name, str(error), findings))
    return Inspection(name, by_level(findings), tuple(agreements), condition)


def _described(
    found: Source, lock: Mapping[str, float] | None, tip: str | None
) -> tuple[Element, str]:
    """Return the URDF after `lock` and `tip`, or as it stands where it is no sound tree."""
    where = f"robot {found.label}"
    try:
        root = ElementTree.fromstring(found.text)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise ManipDynError(f"{where} is not well-formed XML: {error}") from error
    if root.tag != "robot":
        raise ManipDynError(f"{where}: root is <{root.tag}>; expected <robot>")
    if not root.get("name"):
        root.set("name", found.stem)
    try:
        description = Description(found)
    except ManipDynError:  # the rules say why
        return root, root.get("name", "")
    if tip is not None:
        description.cut(tip)
    if not isinstance(lock or {}, Mapping):
        raise ManipDynError(f"lock is {lock!r}; expected joint names with their positions")
    description.lock(lock or {})
    return description.root, description.name


def _held(root: Element) -> dict[str, float]:
    """Return a position within its limits, as near to zero as can be, for each mimic joint."""
    positions = {}
    for name, joint in joints_of(root).items():
        if joint.find("mimic") is not None and joint.get("type") in MOVABLE:
            limit = joint.find("limit")
            low, high = number(limit, "lower"), number(limit, "upper")
            free = joint.get("type") == "continuous" or limit is None
            positions[name] = 0.0 if free else min(max(0.0, low), high)
    return positions


def _compared(
    robot: Robot, found: Source, compiled: bool
) -> tuple[list[Finding], list[Agreement]]:
    root = ElementTree.fromstring(found.text)
    links = [link.get("name", "") for link in root.findall("link")]
    extras = read_extras(found.extras, joints_of(root), links)
    return compare(robot, extras.payload, our_dynamics(robot, compiled))


def _without_dynamics(name: str, sentence: str, findings: list[Finding]) -> Finding:
    """Return that the robot cannot be loaded: an error, unless one above says why."""
    explained = any(each.level == "error" for each in findings)
    level = "note" if explained else "error"
    remedy = "see the errors" if explained else ""
    value = f"not loaded, so not compared: {sentence}"
    return Finding(level, "robot", name, "dynamics", value, "", remedy)
