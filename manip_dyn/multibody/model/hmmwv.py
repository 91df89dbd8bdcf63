"""The HMMWV of Sandu et al. (2001), section 5.2, with 18 degrees of freedom.

The paper prints the number of joints, struts of 2e7 N/m and 2e6 N s/m between upper arms and
chassis, and tyres of 296325 N/m and 3502 N s/m. The car reaches a half-cylinder of 0.1 m diameter
at 10 mph, after 0.5 s and 1.2 s. The 14 bodies have 80 constraints: a translational joint for the
rack (5), its lock (1), Euler parameters (14), and 15 per corner (two revolute joints, one
spherical joint, two distance joints).

The fast eigenvalues equal the printed damping of the struts divided by the effective mass at their
lower ends: -2.6e5 per s corresponds to 7.7 kg. Neither this mass nor the positions of the struts
are printed.

Masses, inertias, hard points and the (linear, 2014) shock absorbers between lower arms and chassis
are those of the HMMWV of Project Chrono (chrono_models/vehicle/hmmwv, Serban, Madsen, Melanz, BSD
licence).

The other values are our assumptions. The spherical joint connects the spindle to the upper arm.
The distance joints are the tie rod and a short lateral rod from the lower arm, which is in
tension. The positions of the struts on the upper arms and the height of the chassis' centre of
mass are chosen to reproduce the eigenvalue and the settled height of the paper. The reference
frame moves with the car: the bump moves towards the wheels, which do not drive forward. The
damping of the tyres also acts fore and aft.

With only the printed forces, the lower arms (9 Hz) and the pitching of the spindles (11 Hz) are
not damped. The 15 constraints per corner leave three degrees of freedom, but a real suspension has
one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.multibody.equations.forces import BodyState, UserForce
from manip_dyn.multibody.model.elements import Force, Joint, MovingBody, Spring, Tyre
from manip_dyn.multibody.model.mechanism import Mechanism

INCH, MILE_PER_HOUR = 0.0254, 0.44704
STRUT_STIFFNESS, STRUT_DAMPING = 2e7, 2e6
TYRE_STIFFNESS, TYRE_DAMPING = 296325.0, 3502.0
BUMP, SPEED, FRONT_HIT, REAR_HIT = 0.05, 10.0 * MILE_PER_HOUR, 0.5, 1.2
GRAVITY = 9.81
TYRE_RADIUS = 18.5 * INCH
"""Unloaded radius of a 37 inch tyre, m."""
CHASSIS_MASS, CHASSIS_INERTIA = 2086.52, (1078.5, 2955.7, 3570.2)
UPPER_MASS, UPPER_INERTIA = 5.813, (0.03138, 0.03138, 0.06276)
LOWER_MASS, LOWER_INERTIA = 23.965, (0.4469, 0.4469, 0.8938)
"""Inertia of flat bodies: two principal moments add up to the third. Chrono's values violate this
by 10 %."""
SPINDLE_MASS, SPINDLE_INERTIA = 14.705, (0.04117, 0.07352, 0.04117)
RACK_MASS, RACK_INERTIA = 6.0, (0.5, 0.05, 0.5)
CHASSIS_HEIGHT = 0.26
"""Height of the centre of mass of the chassis above the wheel centres, m."""
ROD = 0.1
"""Length of the rod from the lower arm to the spindle, m."""
STRUT_LEVER, STRUT_LENGTH = 1.553, 0.4
"""Position of the strut as a fraction of the distance from the upper arm's axis to its ball
joint, and length of the strut, m. The effective mass at its lower end decreases with the square
of this fraction. At the ball joint, fraction 1, it is 18.5 kg, and the eigenvalue is -1.08e5
per s. The fraction is chosen to reproduce the eigenvalue of the paper."""

SHOCK_DAMPING = {"front": 22459.0, "rear": 35024.0}
"""Damping of the shock absorbers in Chrono, N s/m."""

# x forward, y left, z up, in inches, from the middle of the lower arm's axis; left side.
FRONT = {
    "spindle": (-1.59, 35.815, -1.035),
    "upper_front": (-1.8864, 17.5575, 9.6308),
    "upper_back": (-10.5596, 18.8085, 7.6992),
    "upper_end": (-2.088, 28.17, 8.484),
    "upper_center": (-4.155, 23.176, 8.575),
    "lower_front": (8.79, 12.09, 0.0),
    "lower_back": (-8.79, 12.09, 0.0),
    "lower_end": (-1.4, 30.965, -4.65),
    "lower_center": (0.0, 21.528, -2.325),
    "tie_inner": (-9.855, 17.655, 2.135),
    "tie_outer": (-6.922, 32.327, -0.643),
    "shock_top": (4.095, 19.598, 12.722),
    "shock_foot": (3.827, 21.385, -1.835),
}
REAR = {
    "spindle": (1.4, 35.815, -1.035),
    "upper_front": (13.7445, 18.1991, 8.9604),
    "upper_back": (3.0355, 18.1909, 8.8096),
    "upper_end": (1.4, 28.17, 8.5),
    "upper_center": (4.895, 23.183, 8.692),
    "lower_front": (8.79, 12.09, 0.0),
    "lower_back": (-8.79, 12.09, 0.0),
    "lower_end": (1.4, 30.965, -4.65),
    "lower_center": (0.0, 21.527, -2.325),
    "tie_inner": (8.79, 16.38, 2.31),
    "tie_outer": (6.704, 32.327, -0.365),
    "shock_top": (-4.095, 19.598, 12.722),
    "shock_foot": (-3.827, 21.415, -1.511),
}
AXLES = {"front": (FRONT, 1.688965, FRONT_HIT), "rear": (REAR, -1.688965, REAR_HIT)}
"""Hard points, position of the axle, m, and time at which its wheels touch the bump, s."""


def hmmwv(
    bump: float = BUMP, damped: bool = True, hit: float = FRONT_HIT, settled: bool = True
) -> Mechanism:
    """Return the HMMWV, the vehicle of Sandu et al. (2001), at rest on its tyres.

    Args:
        bump: Radius of the bump, m; 0 for a flat road.
        damped: Whether to add shock absorbers and longitudinal damping of the tyres, which the
            paper does not mention.
        hit: Time at which the front wheels touch the bump, s; the rear wheels follow 0.7 s later.
        settled: Whether the car starts in equilibrium. Otherwise the struts are unloaded at the
            start, and the car settles.
    """
    car = _assembled(bump, damped, hit - FRONT_HIT)
    return car.equilibrium(t=-1.0).mechanism if settled else car


def _assembled(bump: float, damped: bool, delay: float) -> Mechanism:
    """Return the car before it settles, with the hard points of `AXLES`."""
    weight = CHASSIS_MASS + RACK_MASS + 4 * (UPPER_MASS + LOWER_MASS + SPINDLE_MASS)
    level = TYRE_RADIUS - weight * GRAVITY / (4.0 * TYRE_STIFFNESS)
    chassis = np.array([0.0, 0.0, level + CHASSIS_HEIGHT])
    rack = np.array([AXLES["front"][1] - 0.25, 0.0, level + 0.08])
    bodies = [
        MovingBody("chassis", CHASSIS_MASS, CHASSIS_INERTIA, chassis),
        MovingBody("rack", RACK_MASS, RACK_INERTIA, rack),
    ]
    joints = [
        Joint("translational", ("chassis", "rack"), rack, (0.0, 1.0, 0.0), "rack"),
        Joint("component", ("chassis", "rack"), [chassis, rack], (0.0, 1.0, 0.0), "rack lock"),
    ]
    forces: list[Force] = []
    for axle, (_, _, hit) in AXLES.items():
        for side, sign in (("left", 1.0), ("right", -1.0)):
            where = _hard_points(axle, sign, level)
            names = {part: f"{axle} {side} {part}" for part in ("upper", "lower", "spindle")}
            bodies += _corner_bodies(names, where)
            joints += _corner_joints(names, where, "rack" if axle == "front" else "chassis")
            forces += _corner_forces(names, where, bump, hit + delay)
            if damped:
                forces += _dampers(names, where, SHOCK_DAMPING[axle])
    return Mechanism(bodies, joints, forces, (0.0, 0.0, -GRAVITY))


def _hard_points(axle: str, sign: float, level: float) -> dict[str, Vector]:
    """Return the hard points (3,) of a corner, m; `level` is the height of the wheel centre, m."""
    points, position, _ = AXLES[axle]
    lift = level - INCH * points["spindle"][2]
    return {
        name: np.array([position + INCH * x, sign * INCH * y, lift + INCH * z])
        for name, (x, y, z) in points.items()
    }


def _corner_bodies(names: dict[str, str], where: dict[str, Vector]) -> list[MovingBody]:
    return [
        MovingBody(names["upper"], UPPER_MASS, UPPER_INERTIA, where["upper_center"]),
        MovingBody(names["lower"], LOWER_MASS, LOWER_INERTIA, where["lower_center"]),
        MovingBody(names["spindle"], SPINDLE_MASS, SPINDLE_INERTIA, where["spindle"]),
    ]


def _corner_joints(
    names: dict[str, str], where: dict[str, Vector], carrier: str
) -> Iterator[Joint]:
    for part in ("upper", "lower"):
        middle = 0.5 * (where[f"{part}_front"] + where[f"{part}_back"])
        axis = where[f"{part}_front"] - where[f"{part}_back"]
        yield Joint("revolute", ("chassis", names[part]), middle, axis)
    yield Joint("spherical", (names["upper"], names["spindle"]), where["upper_end"])
    inner = where["lower_end"] - np.array([0.0, np.sign(where["lower_end"][1]) * ROD, 0.0])
    yield Joint("distance", (names["lower"], names["spindle"]), [inner, where["lower_end"]])
    ties = [where["tie_inner"], where["tie_outer"]]
    yield Joint("distance", (carrier, names["spindle"]), ties, name=f"tie rod {names['spindle']}")


def _corner_forces(
    names: dict[str, str], where: dict[str, Vector], bump: float, hit: float
) -> Iterator[Spring | Tyre]:
    middle = 0.5 * (where["upper_front"] + where["upper_back"])
    foot = middle + STRUT_LEVER * (where["upper_end"] - middle)
    top = foot + np.array([0.0, 0.0, STRUT_LENGTH])
    yield Spring(("chassis", names["upper"]), [top, foot], STRUT_STIFFNESS, STRUT_DAMPING)
    yield Tyre(
        names["spindle"], where["spindle"], TYRE_RADIUS, TYRE_STIFFNESS, TYRE_DAMPING,
        bump, SPEED, hit,
    )  # fmt: skip


def _dampers(names: dict[str, str], where: dict[str, Vector], damping: float) -> Iterator[Force]:
    ends = [where["shock_top"], where["shock_foot"]]
    yield Spring(("chassis", names["lower"]), ends, damping=damping)
    yield UserForce(("ground", names["spindle"]), _fore_and_aft, f"tyre of {names['spindle']}")


def _fore_and_aft(_t: float, _ground: BodyState, spindle: BodyState) -> tuple[list, list]:
    """Return the fore-and-aft damping force of a tyre (3,), N, at the spindle, and no moment."""
    return [-TYRE_DAMPING * spindle.velocity[0], 0.0, 0.0], [0.0, 0.0, 0.0]
