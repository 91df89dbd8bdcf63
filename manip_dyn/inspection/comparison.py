"""Comparison of the dynamics with other programs, and causes of differences.

If results differ, the equations of this package are evaluated with the parameters of the other
program. This shows whether different parameters explain the difference.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Protocol

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.codegen.rigid_body.equations import Equations
from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.inspection.findings import Agreement, Finding
from manip_dyn.inspection.peers import DrakePeer, MujocoPeer, PinocchioPeer
from manip_dyn.inspection.readings import (
    MASSLESS,
    Joint,
    Mass,
    Peer,
    Reading,
    merged_links,
    urdf_reading,
)
from manip_dyn.robot import Body, Oracle, Robot
from manip_dyn.robot.extras import Payload
from manip_dyn.robot.urdf import child_of, joints_of, links_of, movable_joints_of, path_to


class Dynamics(Protocol):
    """Interface of an implementation of the dynamics, without dry friction.

    All joint vectors have the shape (n,) and the units of `Robot`.
    """

    def mass_matrix(self, q: Vector) -> Matrix:
        """Return the joint-space inertia matrix (n, n)."""

    def inverse_dynamics(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return the efforts (n,)."""

    def forward_dynamics(self, q: Vector, v: Vector, tau: Vector) -> Vector:
        """Return the accelerations (n,)."""

    def forward_kinematics(self, q: Vector) -> Matrix:
        """Return the pose of the tip in the base frame (4, 4)."""


class ByEquations:
    """Dynamics by evaluating the equations in Python, without compilation."""

    def __init__(self, robot: Robot):
        """Create the equations of a robot."""
        self._equations = Equations(robot, robot.tip_frame)

    def mass_matrix(self, q: Vector) -> Matrix:
        """Return the joint-space inertia matrix (n, n)."""
        return np.array(self._equations.mass_matrix(q.tolist()))

    def inverse_dynamics(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return the efforts (n,)."""
        return np.array(self._equations.inverse_dynamics(q.tolist(), v.tolist(), a.tolist()))

    def forward_dynamics(self, q: Vector, v: Vector, tau: Vector) -> Vector:
        """Return the accelerations (n,)."""
        return np.array(self._equations.forward_dynamics(q.tolist(), v.tolist(), tau.tolist()))

    def forward_kinematics(self, q: Vector) -> Matrix:
        """Return the pose of the tip in the base frame (4, 4)."""
        return np.array(self._equations.forward_kinematics(q.tolist()))


def our_dynamics(robot: Robot, compiled: bool) -> Dynamics:
    """Return the compiled kernels of a robot, or its equations in Python."""
    kernels: Dynamics = customize(robot).unchecked if compiled else ByEquations(robot)
    return kernels


STATES = 5
DYNAMICS_TOLERANCE = 1e-9
"""Relative difference that rounding can explain. For accelerations, the tolerance may be larger,
because it is proportional to the condition number of the mass matrix."""
UNLIMITED = 10.0
"""Position limits (rad or m) beyond this value count as unlimited."""


def postures(robot: Robot, count: int) -> Matrix:
    """Return random postures (count, n) within the position limits, with a fixed seed.

    A limit beyond `UNLIMITED` is replaced with -pi or pi.
    """
    low = np.where(robot.q_min < -UNLIMITED, -np.pi, robot.q_min)
    high = np.where(robot.q_max > UNLIMITED, np.pi, robot.q_max)
    return np.random.default_rng(0).uniform(low, high, (count, robot.n))


def states_of(robot: Robot) -> Tensor:
    """Return the positions, velocities and accelerations (3, STATES, n) for comparisons."""
    rates = np.random.default_rng(1).uniform(-1.0, 1.0, (2, STATES, robot.n))
    return np.concatenate([postures(robot, STATES)[None], rates])


def agreements_with(peer: Peer, ours: Dynamics, robot: Robot) -> list[Agreement]:
    """Compare the dynamics and the tool pose of another program with this package.

    The result contains an entry for each of the mass matrix, gravity, inverse dynamics, forward
    dynamics and forward kinematics.
    """
    zero = np.zeros(robot.n)
    states = list(zip(*states_of(robot), strict=True))
    efforts = [ours.inverse_dynamics(*state) for state in states]
    inverse = [peer.inverse_dynamics(*state) for state in states]
    weight = [
        (ours.inverse_dynamics(q, zero, zero), peer.inverse_dynamics(q, zero, zero))
        for q, _, _ in states
    ]
    largest = float(np.abs([efforts, inverse]).max())
    mass = [(ours.mass_matrix(q), peer.mass_matrix(q)) for q, _, _ in states]
    forward = [
        (ours.forward_dynamics(q, v, tau), peer.forward_dynamics(q, v, tau))
        for (q, v, _), tau in zip(states, efforts, strict=True)
    ]
    poses = [(ours.forward_kinematics(q), peer.pose(robot.tip, q)) for q, _, _ in states]
    acceleration_tolerance = max(
        DYNAMICS_TOLERANCE,
        10.0 * np.finfo(float).eps * max(np.linalg.cond(matrix) for matrix, _ in mass),
    )
    efforts_of_both = list(zip(efforts, inverse, strict=True))
    return [
        Agreement(peer.name, "mass matrix", _difference(mass), DYNAMICS_TOLERANCE),
        Agreement(peer.name, "gravity", _difference(weight, largest), DYNAMICS_TOLERANCE),
        Agreement(peer.name, "inverse dynamics", _difference(efforts_of_both), DYNAMICS_TOLERANCE),
        Agreement(peer.name, "forward dynamics", _difference(forward), acceleration_tolerance),
        Agreement(peer.name, "forward kinematics", _difference(poses), DYNAMICS_TOLERANCE),
    ]


def largest_condition(robot: Robot, count: int) -> tuple[float, Matrix]:
    """Return the largest condition number of the mass matrix over random postures.

    Returns:
        The condition number and the mass matrix (n, n) with this condition number.
    """
    oracle = Oracle(robot)
    masses = [oracle.mass_matrix(q) for q in postures(robot, count)]
    conditions = [float(np.linalg.cond(mass)) for mass in masses]
    worst = int(np.argmax(conditions))
    return conditions[worst], masses[worst]


def _difference(pairs: list[tuple[Vector, Vector]], size: float = 0.0) -> float:
    """Return the largest difference of pairs, relative to their largest value.

    If `size` is larger, the difference is relative to `size`.
    """
    first, second = (np.array(values) for values in zip(*pairs, strict=True))
    size = max(size, float(np.abs(first).max()), float(np.abs(second).max()))
    difference = float(np.abs(first - second).max())
    return difference / size if size > 0.0 else difference


TERM_TOLERANCE = 1e-8
"""Relative difference that rounding of rotations can explain."""
NEGLIGIBLE = 1e-12
"""Squared radius of gyration (m^2) below which differences of inertia are ignored."""
REMEDIES = {
    "armature": "not part of a URDF: set it in that program",
    "stiffness": "not part of a URDF: set it in that program",
    "gravity": "not part of a URDF: set it in that program",
    "damping": "set it in that program, or remove it for the comparison",
    "friction": "set it in that program, or remove it for the comparison",
}
UNITS = {
    "damping": ("N m s/rad", "N s/m"),
    "friction": ("N m", "N"),
    "armature": ("kg m^2", "kg"),
    "stiffness": ("N m/rad", "N/m"),
}
"""Units of joint parameters for revolute and prismatic joints."""


def differing_terms(
    peer: str, level: str, expected: Reading, actual: Reading, urdf: str, merged: bool
) -> Iterator[Finding]:
    """Yield findings for parameters of moving links, joints and gravity that differ.

    Args:
        peer: Name of the other program.
        level: Level of the findings.
        expected: Parameters in the URDF and the YAML file.
        actual: Parameters in the other program.
        urdf: The URDF as a string.
        merged: Whether links of the other program include the links fixed to them.
    """
    links = merged_links(expected, urdf) if merged else _moving(expected.links, urdf)
    for name, mass in links.items():
        for what, value, reference, remedy in _mass_terms(mass, actual.links.get(name, MASSLESS)):
            yield Finding(level, "link", name, what, f"{value} in {peer}", reference, remedy)
    elements = joints_of(ElementTree.fromstring(urdf))
    for name, joint in expected.joints.items():
        for term, units in UNITS.items():
            unit = units[elements[name].get("type") == "prismatic"]
            reference, number = getattr(joint, term), getattr(actual.joints[name], term)
            if abs(reference - number) > TERM_TOLERANCE * max(abs(reference), abs(number)):
                value = f"{number:g} {unit} in {peer}"
                yield Finding(
                    level, "joint", name, term, value, f"{reference:g} {unit}", REMEDIES[term]
                )
    if not np.allclose(expected.gravity, actual.gravity, rtol=0.0, atol=1e-9):
        value = f"{_listed(actual.gravity)} m/s^2 in {peer}"
        gravity = f"{_listed(expected.gravity)} m/s^2"
        root = ElementTree.fromstring(urdf).get("name", "")
        yield Finding(level, "robot", root, "gravity", value, gravity, REMEDIES["gravity"])


def with_parameters(robot: Robot, reading: Reading, merged: bool) -> Robot:
    """Return a copy of a robot with the parameters of another program, except dry friction."""
    joints = joints_of(ElementTree.fromstring(robot.urdf))
    masses = reading.links if merged else merged_links(reading, robot.urdf)
    bodies: list[Body] = []
    for coupling, body in zip(robot.couplings, robot.bodies, strict=True):
        link = child_of(joints[coupling.name])
        frame = robot.frame(link)
        mass = masses[link].transformed(frame.rotation, frame.translation)
        bodies.append(body._replace(mass=mass.mass, com=mass.com, inertia=mass.inertia))
    columns = np.array([reading.joints[name] for name in robot.joint_names]).T
    resistances = dict(zip(Joint._fields, columns, strict=True))
    resistances.pop("friction")
    return replace(robot, bodies=tuple(bodies), gravity=reading.gravity, **resistances)


def _moving(links: Mapping[str, Mass], urdf: str) -> dict[str, Mass]:
    root = ElementTree.fromstring(urdf)
    movable = movable_joints_of(root)
    moving = [name for name in links_of(root) if any(j in movable for j in path_to(root, name))]
    return {name: links[name] for name in moving}


def _mass_terms(expected: Mass, actual: Mass) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, value, expected value and remedy for each mass parameter that differs."""
    largest = max(expected.mass, actual.mass)
    if abs(expected.mass - actual.mass) > TERM_TOLERANCE * largest:
        yield "mass", f"{actual.mass:g} kg", f"{expected.mass:g} kg", "add the mass to the URDF"
    distance = np.abs(expected.com - actual.com).max()
    if min(expected.mass, actual.mass) > 0.0 and distance > TERM_TOLERANCE:
        yield "centre of mass", f"{_listed(actual.com)} m", f"{_listed(expected.com)} m", ""
    size = max(np.abs(expected.inertia).max(), np.abs(actual.inertia).max())
    tolerance = max(TERM_TOLERANCE * size, NEGLIGIBLE * largest)
    if np.abs(expected.inertia - actual.inertia).max() > tolerance:
        what = f"inertia, {_inertia_difference(expected.inertia, actual.inertia, tolerance)}"
        yield what, f"{_six(actual.inertia)} kg m^2", f"{_six(expected.inertia)} kg m^2", ""


def _inertia_difference(expected: Matrix, actual: Matrix, tolerance: float) -> str:
    """Return a phrase that describes how an inertia differs from the expected one."""
    moments = [np.linalg.eigvalsh(inertia) for inertia in (expected, actual)]
    if not actual.any():
        return "dropped"
    if np.abs(moments[0] - moments[1]).max() <= tolerance:
        return "rotated"
    if np.abs(np.diag(np.diag(expected)) - actual).max() <= tolerance:
        return "without its products"
    return "different"


def _six(inertia: Matrix) -> str:
    """Format the elements ixx, iyy, izz, ixy, ixz, iyz of an inertia."""
    return _listed(np.array([*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]))


def _listed(values: Vector) -> str:
    return ", ".join(f"{value + 0.0:.5g}" for value in values)


OPTIONAL_PEERS: dict[str, tuple[str, type[MujocoPeer] | type[DrakePeer]]] = {
    "mujoco": ("mujoco", MujocoPeer),
    "drake": ("pydrake", DrakePeer),
}
"""Module and peer class by the name of the PyPI package."""


def compare(
    robot: Robot, payload: Payload | None, ours: Dynamics, peers: Sequence[Peer] | None = None
) -> tuple[list[Finding], list[Agreement]]:
    """Compare this package with other programs.

    Args:
        robot: The robot.
        payload: Payload in the YAML file of the robot.
        ours: Dynamics of the robot in this package.
        peers: Programs to compare with. Default: pinocchio and other installed programs.

    Returns:
        The findings, and the compared quantities of each program.
    """
    findings: list[Finding] = []
    if peers is None:
        peers, findings = _installed(robot)
    agreements: list[Agreement] = []
    expected = urdf_reading(robot, payload)
    for peer in peers:
        results = agreements_with(peer, ours, robot)
        level = "error" if isinstance(peer, PinocchioPeer) else "warning"
        terms = list(
            differing_terms(peer.name, level, expected, peer.reading, robot.urdf, peer.merged)
        )
        findings += terms
        if not all(agreement.holds for agreement in results):
            findings += _reasons(robot, peer, level, terms, results)
        agreements += results
    return findings, agreements


def _installed(robot: Robot) -> tuple[list[Peer], list[Finding]]:
    """Load the robot with all installed programs; return them, and notes about the others."""
    peers, notes = list[Peer]([PinocchioPeer(robot)]), list[Finding]()
    for package, (module, kind) in OPTIONAL_PEERS.items():
        value, remedy = "", ""
        if robot.has_mimic_joints:
            value = f"{kind.name} does not read mimic joints from a URDF as this package does"
        elif not find_spec(module):
            value, remedy = f"{kind.name} is not installed", f"pip install {package}"
        else:
            try:
                peers.append(kind(robot))
            except (RuntimeError, ValueError, KeyError, TypeError) as error:
                value = f"{kind.name} rejects the URDF: {' '.join(str(error).split())[:200]}"
        if value:
            notes.append(Finding("note", "robot", robot.name, "comparison", value, "", remedy))
    return peers, notes


def _reasons(
    robot: Robot, peer: Peer, level: str, terms: Sequence[Finding], results: Sequence[Agreement]
) -> Iterator[Finding]:
    """Yield a displaced link, or whether different parameters explain the different results."""
    misplaced = _first_misplaced(robot, peer)
    if misplaced:
        value = f"displaced in {peer.name}"
        expected = "the placement in the URDF"
        yield Finding(level, "link", misplaced, "placement", value, expected, "check its joint")
        return
    differing = [agreement for agreement in results if not agreement.holds]
    worst = max(differing, key=lambda agreement: agreement.difference)
    value = f"{worst.quantity} of {peer.name} differs by {worst.difference:.2g} (relative)"
    modified = ByEquations(with_parameters(robot, peer.reading, peer.merged))
    if terms and all(agreement.holds for agreement in agreements_with(peer, modified, robot)):
        expected = "this difference: the terms above explain it"
        yield Finding("note", "robot", robot.name, "comparison", value, expected)
    else:
        remedy = "the terms above do not explain it" if terms else "no term explains it"
        yield Finding(level, "robot", robot.name, "comparison", value, "rounding", remedy)


def _first_misplaced(robot: Robot, peer: Peer) -> str:
    """Return the first link of the URDF with a different pose in another program, or ""."""
    reference = PinocchioPeer(robot)
    q = states_of(robot)[0][0]
    for link in links_of(ElementTree.fromstring(robot.urdf)):
        difference = peer.pose(link, q) - reference.pose(link, q)
        if np.abs(difference).max() > 1e-8:
            return link
    return ""


POSTURES = 200
MAXIMUM_CONDITION = 1e6
"""Limit of the condition number of the mass matrix. Above it, accelerations lose more than 6 of 16
digits."""


def conditioning(robot: Robot) -> tuple[float, list[Finding]]:
    """Return the largest condition number of the mass matrix over random postures, and findings.

    There is one finding if the condition number is `MAXIMUM_CONDITION` or more.
    """
    condition, mass = largest_condition(robot, POSTURES)
    if condition < MAXIMUM_CONDITION:
        return condition, []
    values, vectors = np.linalg.eigh(mass)
    light, heavy = (int(np.argmax(np.abs(vectors[:, k]))) for k in (0, -1))
    unit = "kg" if robot.joint_types[light] == "prismatic" else "kg m^2"
    value = (
        f"condition number {condition:.2g}: {values[0]:.2g} {unit} along it, "
        f"{values[-1]:.2g} along '{robot.joint_names[heavy]}'"
    )
    remedy = "add the rotor inertia as armature in the YAML file, or check the masses behind it"
    name = robot.joint_names[light]
    expected = f"below {MAXIMUM_CONDITION:.0e}".replace("e+0", "e")
    return condition, [Finding("warning", "joint", name, "mass matrix", value, expected, remedy)]
