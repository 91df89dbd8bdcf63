"""Comparison with other programs: differences of the dynamics, and the terms that cause them."""

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
    NOTHING,
    Joint,
    Mass,
    Peer,
    Reading,
    stated_reading,
    whole,
)
from manip_dyn.robot import Body, Oracle, Robot
from manip_dyn.robot.extras import Payload
from manip_dyn.robot.urdf import child_of, joints_of, links_of, movable_joints_of, path_to


class Dynamics(Protocol):
    """Functions of joint vectors (n,), without dry friction."""

    def mass_matrix(self, q: Vector) -> Matrix:
        """Return the joint-space inertia matrix (n, n)."""

    def inverse_dynamics(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return the efforts (n,)."""

    def forward_dynamics(self, q: Vector, v: Vector, tau: Vector) -> Vector:
        """Return the accelerations (n,)."""

    def forward_kinematics(self, q: Vector) -> Matrix:
        """Return the pose of the tip in the base frame (4, 4)."""


class ByEquations:
    """The equations over floats: nothing is compiled."""

    def __init__(self, robot: Robot):
        """Take a robot."""
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
    """Return the compiled kernels of a robot, or its equations over floats."""
    kernels: Dynamics = customize(robot).unchecked if compiled else ByEquations(robot)
    return kernels


STATES = 5
DYNAMICS_TOLERANCE = 1e-9
"""Relative difference that rounding explains; that of accelerations grows with the condition."""
UNLIMITED = 10.0
"""Positions beyond these count as no limit, rad or m."""


def postures(robot: Robot, count: int) -> Matrix:
    """Return postures (count, n) within the limits, from the first of always the same ones."""
    low = np.where(robot.q_min < -UNLIMITED, -np.pi, robot.q_min)
    high = np.where(robot.q_max > UNLIMITED, np.pi, robot.q_max)
    return np.random.default_rng(0).uniform(low, high, (count, robot.n))


def states_of(robot: Robot) -> Tensor:
    """Return positions, velocities and accelerations, (3, states, n)."""
    rates = np.random.default_rng(1).uniform(-1.0, 1.0, (2, STATES, robot.n))
    return np.concatenate([postures(robot, STATES)[None], rates])


def agreements_with(peer: Peer, ours: Dynamics, robot: Robot) -> list[Agreement]:
    """Return how far a program is from ours: M, gravity, ID, FD and the pose of the tip."""
    still = np.zeros(robot.n)
    states = list(zip(*states_of(robot), strict=True))
    efforts = [ours.inverse_dynamics(*state) for state in states]
    inverse = [peer.inverse_dynamics(*state) for state in states]
    weight = [
        (ours.inverse_dynamics(q, still, still), peer.inverse_dynamics(q, still, still))
        for q, _, _ in states
    ]
    largest = float(np.abs([efforts, inverse]).max())
    mass = [(ours.mass_matrix(q), peer.mass_matrix(q)) for q, _, _ in states]
    forward = [
        (ours.forward_dynamics(q, v, tau), peer.forward_dynamics(q, v, tau))
        for (q, v, _), tau in zip(states, efforts, strict=True)
    ]
    poses = [(ours.forward_kinematics(q), peer.pose(robot.tip, q)) for q, _, _ in states]
    loose = max(
        DYNAMICS_TOLERANCE,
        10.0 * np.finfo(float).eps * max(np.linalg.cond(each) for each, _ in mass),
    )
    efforts_of_both = list(zip(efforts, inverse, strict=True))
    return [
        Agreement(peer.name, "mass matrix", _difference(mass), DYNAMICS_TOLERANCE),
        Agreement(peer.name, "gravity", _difference(weight, largest), DYNAMICS_TOLERANCE),
        Agreement(peer.name, "inverse dynamics", _difference(efforts_of_both), DYNAMICS_TOLERANCE),
        Agreement(peer.name, "forward dynamics", _difference(forward), loose),
        Agreement(peer.name, "forward kinematics", _difference(poses), DYNAMICS_TOLERANCE),
    ]


def largest_condition(robot: Robot, count: int) -> tuple[float, Matrix]:
    """Return the largest condition number of M over postures, and M (n, n) there."""
    oracle = Oracle(robot)
    masses = [oracle.mass_matrix(q) for q in postures(robot, count)]
    conditions = [float(np.linalg.cond(mass)) for mass in masses]
    worst = int(np.argmax(conditions))
    return conditions[worst], masses[worst]


def _difference(pairs: list[tuple[Vector, Vector]], size: float = 0.0) -> float:
    """Return the largest difference of both, relative to the largest value, or to `size`."""
    first, second = (np.array(each) for each in zip(*pairs, strict=True))
    size = max(size, float(np.abs(first).max()), float(np.abs(second).max()))
    difference = float(np.abs(first - second).max())
    return difference / size if size > 0.0 else difference


TERM_TOLERANCE = 1e-8
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
            if abs(stated - has) > TERM_TOLERANCE * max(abs(stated), abs(has)):
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
    if abs(stated.mass - has.mass) > TERM_TOLERANCE * max(stated.mass, has.mass):
        yield "mass", f"{has.mass:g} kg", f"{stated.mass:g} kg", "masses belong into the URDF"
    if min(stated.mass, has.mass) > 0.0 and np.abs(stated.com - has.com).max() > TERM_TOLERANCE:
        yield "centre of mass", f"{_listed(has.com)} m", f"{_listed(stated.com)} m", ""
    close = TERM_TOLERANCE * max(np.abs(stated.inertia).max(), np.abs(has.inertia).max())
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


OPTIONAL_PEERS = {"mujoco": ("mujoco", MujocoPeer), "drake": ("pydrake", DrakePeer)}
"""Package on PyPI -> its module and the class of the peer."""


def compare(
    robot: Robot, payload: Payload | None, ours: Dynamics, peers: Sequence[Peer] | None = None
) -> tuple[list[Finding], list[Agreement]]:
    """Return what differs, by name, and how far, between this package and others.

    Args:
        robot: As `load_robot` gives it.
        payload: Of its YAML.
        ours: This package's dynamics of it.
        peers: What to compare with; None: pinocchio, and what else is installed.
    """
    findings: list[Finding] = []
    if peers is None:
        peers, findings = _installed(robot)
    agreements: list[Agreement] = []
    stated = stated_reading(robot, payload)
    for peer in peers:
        found = agreements_with(peer, ours, robot)
        level = "error" if isinstance(peer, PinocchioPeer) else "warning"
        terms = list(
            differing_terms(peer.name, level, stated, peer.reading, robot.urdf, peer.whole)
        )
        findings += terms
        if not all(each.holds for each in found):
            findings += _reasons(robot, peer, level, terms, found)
        agreements += found
    return findings, agreements


def _installed(robot: Robot) -> tuple[list[Peer], list[Finding]]:
    """Return the programs that have read the robot, and what those say that have not."""
    peers, notes = list[Peer]([PinocchioPeer(robot)]), list[Finding]()
    for package, (module, kind) in OPTIONAL_PEERS.items():
        value, remedy = "", ""
        if not find_spec(module):
            value, remedy = f"{kind.name} is not installed", f"pip install {package}"
        else:
            try:
                peers.append(kind(robot))
            except (RuntimeError, ValueError, KeyError, TypeError) as error:
                value = f"{kind.name} refuses the URDF: {' '.join(str(error).split())[:200]}"
        if value:
            notes.append(Finding("note", "robot", robot.name, "comparison", value, "", remedy))
    return peers, notes


def _reasons(
    robot: Robot, peer: Peer, level: str, terms: Sequence[Finding], found: Sequence[Agreement]
) -> Iterator[Finding]:
    """Yield whether the terms that differ are why the results do, and what else does."""
    misplaced = _first_misplaced(robot, peer)
    if misplaced:
        wanted = "where the URDF has it"
        value = f"elsewhere in {peer.name}"
        yield Finding(level, "link", misplaced, "placement", value, wanted, "look at its joint")
        return
    worst = max((each for each in found if not each.holds), key=lambda each: each.difference)
    told = f"{worst.quantity} of {peer.name} differs by {worst.difference:.2g} of its size"
    theirs = ByEquations(with_terms(robot, peer.reading, peer.whole))
    left = [each for each in agreements_with(peer, theirs, robot) if not each.holds]
    if terms and not left:
        wanted = "nothing else: with the terms above, all agrees"
        yield Finding("note", "robot", robot.name, "comparison", told, wanted)
    else:
        wanted = "rounding"
        remedy = "also with the terms that it has otherwise" if terms else "no term tells why"
        yield Finding(level, "robot", robot.name, "comparison", told, wanted, remedy)


def _first_misplaced(robot: Robot, peer: Peer) -> str:
    """Return the first link, base to tips, that a program has elsewhere; empty: none."""
    reference = PinocchioPeer(robot)
    q = states_of(robot)[0][0]
    for link in links_of(ElementTree.fromstring(robot.urdf)):
        apart = peer.pose(link, q) - reference.pose(link, q)
        if np.abs(apart).max() > 1e-8:
            return link
    return ""


POSTURES = 200
HIGH = 1e6
"""Condition number of M above which accelerations have lost six of sixteen digits, and an effort
that is nothing to one joint throws another one away."""


def conditioning(robot: Robot) -> tuple[float, list[Finding]]:
    """Return the largest condition number of M over sampled postures, and what to say of it."""
    condition, mass = largest_condition(robot, POSTURES)
    if condition < HIGH:
        return condition, []
    values, vectors = np.linalg.eigh(mass)
    light, heavy = (int(np.argmax(np.abs(vectors[:, k]))) for k in (0, -1))
    unit = "kg" if robot.joint_types[light] == "prismatic" else "kg m^2"
    value = (
        f"condition number {condition:.2g}: {values[0]:.2g} {unit} along it, "
        f"{values[-1]:.2g} along '{robot.joint_names[heavy]}'"
    )
    remedy = "state the rotor's inertia as armature in the YAML, or check the masses behind it"
    name = robot.joint_names[light]
    wanted = f"below {HIGH:.0e}".replace("e+0", "e")
    return condition, [Finding("warning", "joint", name, "mass matrix", value, wanted, remedy)]
