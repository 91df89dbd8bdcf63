"""Arms for tests of planners: six known ones, and random ones with two or three joints.

Random arms are planar in a horizontal or vertical plane, or spatial. A joint may be prismatic.
Links are rods with uneven thickness. Limits of effort, speed and position are loose or tight.
Effort limits exceed the static efforts in `POSTURES` random postures, except for weak arms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pinocchio

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.robot import Robot, load_robot

HORIZONTAL, VERTICAL, SPATIAL = "horizontal", "vertical", "spatial"
AXES = {
    HORIZONTAL: ("0 0 1", "0 0 1", "0 0 1"),
    VERTICAL: ("0 -1 0", "0 -1 0", "0 -1 0"),
    SPATIAL: ("0 0 1", "0 -1 0", "0 -1 0"),
}
"""Axes of revolute joints; links extend along x."""
TILTED = 0.25
"""Probability that a random tilt of up to `TILT`, rad, is applied to a revolute axis of a spatial
arm."""
TILT = 0.6
POSTURES = 200
"""Number of random postures for the range of static efforts and inertias."""
WEAK, LOADED = (0.3, 0.95), 0.1
"""Range of the fraction of postures in which a joint of a weak arm can hold the arm, and smallest
ratio of the static effort to the effort limit of the strong arm at which a joint becomes weak."""


class Joint(NamedTuple):
    """A joint and its link, a rod along x.

    Attributes:
        kind: ``revolute`` or ``prismatic`` (along x).
        axis: Axis in the link frame.
        lower: Smallest position, rad or m.
        upper: Largest position, rad or m.
        damping: Viscous damping, N m s/rad or N s/m.
        length: Length of the link, m.
        mass: Mass of the link, kg.
        centre: Distance of the centre of mass from the joint, m.
        inertia: Principal moments of inertia (3,), kg m^2.
        effort: Effort limit, N m or N.
        velocity: Speed limit, rad/s or m/s.
    """

    kind: str
    axis: str
    lower: float
    upper: float
    damping: float
    length: float
    mass: float
    centre: float
    inertia: tuple[float, float, float]
    effort: float = 1.0
    velocity: float = 100.0


HANGING = (
    Joint("revolute", "0 -1 0", -1.8, 1.8, 0.8, 0.4, 5.0, 0.2, (0.0, 0.07, 0.07), 60.0, 40.0),
    Joint("revolute", "0 -1 0", -1.2, 1.2, 0.3, 0.4, 3.0, 0.17, (0.0, 0.03, 0.03), 18.0, 40.0),
)
"""Two joints with gravity, damping and tight position limits."""
EXTENDING = (
    Joint("revolute", "0 -1 0", -2.5, 2.5, 0.0, 0.3, 4.0, 0.2, (0.0, 0.1, 0.1), 40.0, 30.0),
    Joint("prismatic", "1 0 0", 0.0, 0.5, 0.0, 0.2, 3.0, 0.1, (0.0, 0.02, 0.02), 60.0, 10.0),
)
"""A turning and an extending joint with gravity."""
PLANAR = tuple(
    Joint("revolute", "0 0 1", -2.6, 2.6, 0.0, length, mass, 0.5 * length, (0.0, i, i), effort)
    for length, mass, i, effort in (
        (0.4, 5.0, 0.07, 30.0),
        (0.3, 3.0, 0.025, 12.0),
        (0.2, 1.5, 0.006, 3.0),
    )
)
"""Three joints in a horizontal plane."""


KNOWN = {
    "ibm7535": None,
    "cylindrical": None,
    "rr": None,
    "hanging": HANGING,
    "extending": EXTENDING,
    "planar": PLANAR,
}
"""The joints of known arms by name; None for shipped ones."""


def known_arm(name: str) -> Robot:
    """Return the robot of a name in `KNOWN`."""
    joints = KNOWN[name]
    return load_robot(name if joints is None else urdf(name, joints))


def random_arms(count: int, seed: int = 0, weak: bool = False) -> Iterator[Robot]:
    """Yield `count` random arms; each arm depends only on the other arguments and its index."""
    for index in range(count):
        yield load_robot(random_urdf(seed, index, weak))


def random_urdf(seed: int, index: int, weak: bool = False) -> str:
    """Return the URDF of a random arm; planes, and two or three joints, alternate with `index`.

    Weak arms cannot hold themselves in all postures. They are vertical, and some of those with
    three joints are spatial.
    """
    rng = np.random.default_rng([seed, index])
    count = 2 + index % 2
    plane = (HORIZONTAL, VERTICAL, SPATIAL)[index % 3]
    if weak and (plane == HORIZONTAL or count == 2):
        plane = VERTICAL
    prismatic = int(rng.integers(count)) if rng.random() < 0.35 else -1
    joints = [
        _joint(rng, _axis(rng, plane, i), i == prismatic, i, rng.random() < 0.4)
        for i in range(count)
    ]
    name = f"{'weak' if weak else 'random'}_{seed}_{index}"
    robot = load_robot(urdf(name, joints))
    loads, inertia = _samples(robot, rng)
    static = loads.max(axis=0)
    tight = rng.random(2) < 0.4
    rate = np.exp(rng.uniform(np.log(4.0), np.log(40.0), size=count)) / [1.0, 1.0, 0.7][:count]
    margin = rng.uniform(0.15, 0.4, count) if tight[0] else rng.uniform(0.8, 3.0, count)
    effort = static + margin * np.maximum(static, inertia * rate)
    travel = np.minimum([joint.upper - joint.lower for joint in joints], 2.0)
    fastest = np.sqrt((effort - static) / inertia * travel)
    velocity = rng.uniform(0.35, 0.7, count) * fastest if tight[1] else 20.0 * fastest
    damping = rng.uniform(0.02, 0.4, count) * (rng.random(count) < 0.5)
    damping *= (effort - static) / fastest
    if weak:
        limits = [np.quantile(load, rng.uniform(*WEAK)) for load in loads.T]
        effort = np.where(static > LOADED * effort, limits, effort)
    limited = [
        joint._replace(effort=_rounded(e), velocity=_rounded(v), damping=_rounded(d))
        for joint, e, v, d in zip(joints, effort, velocity, damping, strict=True)
    ]
    return urdf(name, limited)


def _axis(rng: np.random.Generator, plane: str, i: int) -> str:
    axis = np.array([float(x) for x in AXES[plane][i].split()])
    if plane == SPATIAL and rng.random() < TILTED:
        axis = axis + np.tan(rng.uniform(0.2, TILT)) * rng.permuted([0.0, 0.0, 1.0])
    return " ".join(f"{x:.4g}" for x in axis / np.linalg.norm(axis))


def _joint(rng: np.random.Generator, axis: str, prismatic: bool, i: int, tight: bool) -> Joint:
    length = rng.uniform(0.2, 0.6)
    mass = rng.uniform(2.0, 8.0) * 0.6**i
    radius = rng.uniform(0.03, 0.09)
    across = mass * (length**2 / 12.0 + radius**2 / 4.0) * rng.uniform(0.7, 1.4)
    along = mass * radius**2 / 2.0
    if prismatic:
        lower, upper = 0.0, rng.uniform(0.2, 0.35) if tight else rng.uniform(0.4, 0.8)
    else:
        upper = rng.uniform(0.6, 1.4) if tight else rng.uniform(2.2, 3.1)
        lower = -upper * rng.uniform(0.7, 1.0)
    kind, axis = ("prismatic", "1 0 0") if prismatic else ("revolute", axis)
    return Joint(
        kind,
        axis,
        _rounded(lower),
        _rounded(upper),
        0.0,
        _rounded(length),
        _rounded(mass),
        _rounded(rng.uniform(0.35, 0.65) * length),
        (_rounded(along), _rounded(across), _rounded(across - 0.3 * along)),
    )


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _samples(robot: Robot, rng: np.random.Generator) -> tuple[Matrix, Vector]:
    """Return static efforts (`POSTURES`, n) in random postures, and typical inertias (n,)."""
    data, zero, loads, inertias = robot.model.createData(), np.zeros(robot.n), [], []
    for q in rng.uniform(robot.q_min, robot.q_max, size=(POSTURES, robot.n)):
        loads.append(np.abs(pinocchio.rnea(robot.model, data, q, zero, zero)))
        inertias.append(np.diag(pinocchio.crba(robot.model, data, q)))
    return np.array(loads), np.median(inertias, axis=0)


def urdf(name: str, joints: tuple[Joint, ...] | list[Joint]) -> str:
    """Return the URDF of a chain of joints."""
    parts, at = ['<link name="link_0"/>'], 0.0
    for i, joint in enumerate(joints, start=1):
        ixx, iyy, izz = joint.inertia
        parts.append(
            f'<joint name="joint_{i}" type="{joint.kind}"><parent link="link_{i - 1}"/>'
            f'<child link="link_{i}"/><origin xyz="{at:g} 0 0"/><axis xyz="{joint.axis}"/>'
            f'<limit lower="{joint.lower:g}" upper="{joint.upper:g}" effort="{joint.effort:g}" '
            f'velocity="{joint.velocity:g}"/><dynamics damping="{joint.damping:g}"/></joint>'
            f'<link name="link_{i}"><inertial><origin xyz="{joint.centre:g} 0 0"/>'
            f'<mass value="{joint.mass:g}"/><inertia ixx="{ixx:g}" ixy="0" ixz="0" '
            f'iyy="{iyy:g}" iyz="0" izz="{izz:g}"/></inertial></link>'
        )
        at = joint.length
    return f'<robot name="{name}">{"".join(parts)}</robot>'
