"""The function `check_urdf`."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

from manip_dyn.core.checks import truth
from manip_dyn.core.errors import ManipDynError
from manip_dyn.inspection.collision_rules import collision_findings
from manip_dyn.inspection.comparison import compare, conditioning, our_dynamics
from manip_dyn.inspection.findings import Agreement, Finding, Inspection, by_level
from manip_dyn.inspection.rules import rule_findings
from manip_dyn.robot import Robot, load_robot
from manip_dyn.robot.extras import read_extras
from manip_dyn.robot.source import VIEW, Source, read_source
from manip_dyn.robot.urdf import Description, joints_of


def check_urdf(
    source: str | Path,
    lock: Mapping[str, float] | None = None,
    tip: str | None = None,
    xacro_args: Mapping[str, object] | None = None,
    compiled: bool = True,
    srdf: str | Path | None = None,
) -> Inspection:
    """Check a URDF and return errors, warnings and notes.

    Rules check inertias, limits, axes, friction, mimic joints, spelling, mesh files and the
    condition number of the mass matrix. The mass matrix, gravity, inverse dynamics, forward
    dynamics and forward kinematics are then compared with pinocchio and, if installed, MuJoCo and
    Drake. Findings name the links, joints and parameters that another program reads differently.

    Args:
        source: Name, path or URDF string (see `load_robot`).
        lock: Positions (rad or m) of joints to lock (see `load_robot`).
        tip: Name of the tool link (see `load_robot`).
        xacro_args: Arguments of a xacro file by name.
        compiled: Whether to compare compiled kernels. Otherwise the equations are evaluated in
            Python, without compilation.
        srdf: SRDF with pairs of links that need no collision check (see `load_robot`).

    Returns:
        The inspection. Its `success` is False if `load_robot` rejects the robot with these
        arguments, or if this package and pinocchio disagree.

    Raises:
        ManipDynError: If the file does not exist, is not XML or not a URDF, or `lock`, `tip` or
            `xacro_args` do not match it.
    """
    content, compiled = read_source(source, xacro_args), truth("compiled", compiled)
    root, name = _processed(content, lock, tip)
    folder = None if content.extras is None else content.extras.resolve().parent
    findings = [
        replace(finding, remedy=finding.remedy.replace(VIEW, content.view))
        for finding in rule_findings(root, folder)
    ]
    agreements: list[Agreement] = []
    condition: float | None = None
    try:
        robot = load_robot(source, lock, tip, xacro_args=xacro_args, srdf=srdf)
        condition, condition_findings = conditioning(robot)
        differences, agreements = _compared(robot, content, compiled)
        findings += [*condition_findings, *differences, *collision_findings(robot)]
    except ManipDynError as error:
        findings.append(_load_finding(name, str(error), findings))
    return Inspection(name, by_level(findings), tuple(agreements), condition)


def _processed(
    content: Source, lock: Mapping[str, float] | None, tip: str | None
) -> tuple[Element, str]:
    """Return the root element and name of the URDF after applying `lock` and `tip`.

    They are not applied to a URDF that `Description` rejects.
    """
    where = f"robot {content.label}"
    try:
        root = ElementTree.fromstring(content.text)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise ManipDynError(f"{where} is not well-formed XML: {error}.") from error
    if root.tag != "robot":
        raise ManipDynError(f"{where}: root must be <robot>, got <{root.tag}>.")
    if not root.get("name"):
        root.set("name", content.stem)
    try:
        description = Description(content)
    except ManipDynError:  # the rules report the reason
        return root, root.get("name", "")
    if tip is not None:
        description.cut(tip)
    if not isinstance(lock or {}, Mapping):
        raise ManipDynError(f"lock must be a mapping of joint names to positions, got {lock!r}.")
    description.lock(lock or {})
    return description.root, description.name


def _compared(
    robot: Robot, content: Source, compiled: bool
) -> tuple[list[Finding], list[Agreement]]:
    root = ElementTree.fromstring(content.text)
    links = [link.get("name", "") for link in root.findall("link")]
    extras = read_extras(content.extras, joints_of(root), links)
    return compare(robot, extras.payload, our_dynamics(robot, compiled))


def _load_finding(name: str, message: str, findings: list[Finding]) -> Finding:
    """Return a finding that the robot cannot be loaded.

    It is a note if there are other errors, because these explain it, and otherwise an error.
    """
    explained = any(finding.level == "error" for finding in findings)
    level = "note" if explained else "error"
    remedy = "see the errors" if explained else ""
    value = f"not loaded, therefore not compared: {message.rstrip('.')}"
    return Finding(level, "robot", name, "dynamics", value, "", remedy)
