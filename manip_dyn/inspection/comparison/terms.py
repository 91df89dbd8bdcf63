"""The terms that two readings of a URDF differ in, and an arm with the other's terms."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.inspection.comparison.reading import Joint, Reading, whole
from manip_dyn.inspection.parts.finding import Finding
from manip_dyn.inspection.parts.stated import NOTHING, Mass
from manip_dyn.robot import Body, Robot
from manip_dyn.robot.tree import child_of, joints_of, links_of, movable_joints_of, path_to

CLOSE = 1e-8
"""Relative difference that rounded rotations explain."""
NEGLIGIBLE = 1e-12
"""Inertia of a mass, m^2, below which it is a point whatever is stated: a micrometre squared."""
REMEDIES = {
    "armature": "URDF has no such number: set it in that program",
    "stiffness": "URDF has no such number: set it in that program",
    "gravity": "URDF has no such number: set it in that program",
    "damping": "set it in that program, or keep it out of the comparison",
    "friction": "set it in that program, or keep it out of the comparison",
}
UNITS = {
    "damping": ("N m s/rad", "N s/m"),
    "friction": ("N m", "N"),
    "armature": ("kg m^2", "kg"),
    "stiffness": ("N m/rad", "N/m"),
}
"""Of a hinge, and of a sliding joint."""


def differing_terms(
    peer: str, level: str, expected: Reading, theirs: Reading, urdf: str, as_whole: bool
) -> Iterator[Finding]:
    """Yield each number of a moving link, a joint or gravity that a program has otherwise.

    Args:
        peer: Its name.
        level: Of the findings.
        expected: What URDF and YAML state.
        theirs: What the program has.
        urdf: The URDF.
        as_whole: Whether its links are those behind the joints, with what is fixed to them.
    """
    links = whole(expected, urdf) if as_whole else _moving(expected.links, urdf)
    for name, mass in links.items():
        for what, value, wanted, remedy in _mass_terms(mass, theirs.links.get(name, NOTHING)):
            told = f"{value} in {peer}"
            yield Finding(level, "link", name, what, told, wanted, remedy)
    elements = joints_of(ElementTree.fromstring(urdf))
    for name, joint in expected.joints.items():
        for term, units in UNITS.items():
            unit = units[elements[name].get("type") == "prismatic"]
            stated, has = getattr(joint, term), getattr(theirs.joints[name], term)
            if abs(stated - has) > CLOSE * max(abs(stated), abs(has)):
                told = f"{has:g} {unit} in {peer}"
                wanted = f"{stated:g} {unit}"
                yield Finding(level, "joint", name, term, told, wanted, REMEDIES[term])
    if not np.allclose(expected.gravity, theirs.gravity, rtol=0.0, atol=1e-9):
        told = f"{_listed(theirs.gravity)} m/s^2 in {peer}"
        wanted = f"{_listed(expected.gravity)} m/s^2"
        root = ElementTree.fromstring(urdf).get("name", "")
        yield Finding(level, "robot", root, "gravity", told, wanted, REMEDIES["gravity"])


def with_terms(robot: Robot, theirs: Reading, as_whole: bool) -> Robot:
    """Return the robot with another reading's masses, resistances and gravity."""
    joints = joints_of(ElementTree.fromstring(robot.urdf))
    masses = theirs.links if as_whole else whole(theirs, robot.urdf)
    bodies: list[Body] = []
    for name, body in zip(robot.joint_names, robot.bodies, strict=True):
        link = child_of(joints[name])
        frame = robot.frame(link)
        mass = masses[link].seen(frame.rotation, frame.translation)
        bodies.append(body._replace(mass=mass.mass, com=mass.com, inertia=mass.inertia))
    columns = np.array([theirs.joints[name] for name in robot.joint_names]).T
    resists = dict(zip(Joint._fields, columns, strict=True))
    resists.pop("friction")
    return replace(robot, bodies=tuple(bodies), gravity=theirs.gravity, **resists)


def _moving(links: Mapping[str, Mass], urdf: str) -> dict[str, Mass]:
    root = ElementTree.fromstring(urdf)
    movable = movable_joints_of(root)
    moving = [name for name in links_of(root) if any(j in movable for j in path_to(root, name))]
    return {name: links[name] for name in moving}


def _mass_terms(stated: Mass, has: Mass) -> Iterator[tuple[str, str, str, str]]:
    """Yield term, value, what was expected and what to do for each part of a mass."""
    if abs(stated.mass - has.mass) > CLOSE * max(stated.mass, has.mass):
        yield "mass", f"{has.mass:g} kg", f"{stated.mass:g} kg", "masses belong into the URDF"
    if min(stated.mass, has.mass) > 0.0 and np.abs(stated.com - has.com).max() > CLOSE:
        yield "centre of mass", f"{_listed(has.com)} m", f"{_listed(stated.com)} m", ""
    close = CLOSE * max(np.abs(stated.inertia).max(), np.abs(has.inertia).max())
    close = max(close, NEGLIGIBLE * max(stated.mass, has.mass))
    if np.abs(stated.inertia - has.inertia).max() > close:
        what = f"inertia, {_how(stated.inertia, has.inertia, close)}"
        yield what, f"{_six(has.inertia)} kg m^2", f"{_six(stated.inertia)} kg m^2", ""


def _how(stated: Matrix, has: Matrix, close: float) -> str:
    """Return in a word how one inertia differs from another."""
    moments = [np.linalg.eigvalsh(each) for each in (stated, has)]
    if not has.any():
        return "dropped"
    if np.abs(moments[0] - moments[1]).max() <= close:
        return "rotated"
    if np.abs(np.diag(np.diag(stated)) - has).max() <= close:
        return "without its products"
    return "another"


def _six(inertia: Matrix) -> str:
    """Return ixx, iyy, izz, ixy, ixz, iyz."""
    return _listed(np.array([*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]))


def _listed(values: Vector) -> str:
    return ", ".join(f"{each + 0.0:.5g}" for each in values)
