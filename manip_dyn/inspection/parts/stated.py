"""What a URDF states, read by ourselves and without refusing anything."""

from __future__ import annotations

import math
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
from scipy.spatial.transform import Rotation

from manip_dyn.core.checks import Matrix, Vector

INERTIA_KEYS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


class Mass(NamedTuple):
    """A body's mass distribution in a frame of its own.

    Attributes:
        mass: kg.
        com: Centre of mass (3,), m.
        inertia: About the centre of mass, in the frame's axes, (3, 3), kg m^2.
    """

    mass: float
    com: Vector
    inertia: Matrix

    def seen(self, rotation: Matrix, origin: Vector) -> Mass:
        """Return it in a frame in which its own has this rotation (3, 3) and origin (3,)."""
        turned = rotation @ self.inertia @ rotation.T
        return Mass(self.mass, origin + rotation @ self.com, turned)

    def plus(self, other: Mass) -> Mass:
        """Return both as one rigid body."""
        mass = self.mass + other.mass
        if mass == 0.0:
            return Mass(0.0, self.com, self.inertia + other.inertia)
        com = (self.mass * self.com + other.mass * other.com) / mass
        inertia = np.zeros((3, 3))
        for each in (self, other):
            arm = each.com - com
            inertia = inertia + each.inertia
            inertia += each.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return Mass(mass, com, inertia)


NOTHING = Mass(0.0, np.zeros(3), np.zeros((3, 3)))


def number(element: Element | None, key: str, without: float = 0.0) -> float:
    """Return a number of an element, `without` where none is stated, NaN where it is none."""
    if element is None or element.get(key) is None:
        return without
    try:
        return float(element.get(key, ""))
    except ValueError:
        return math.nan


def triple(element: Element | None, key: str, without: str = "0 0 0") -> Vector:
    """Return three numbers (3,) of an element, NaN where it has other things."""
    text = without if element is None else element.get(key, without)
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.empty(0)
    return values if len(values) == 3 else np.full(3, math.nan)


def origin_of(element: Element) -> tuple[Matrix, Vector]:
    """Return rotation (3, 3) and translation (3,) of an element's <origin>."""
    origin = element.find("origin")
    rpy = triple(origin, "rpy")
    turned = Rotation.from_euler("xyz", rpy if np.all(np.isfinite(rpy)) else np.zeros(3))
    return turned.as_matrix(), triple(origin, "xyz")


def mass_of(link: Element) -> Mass | None:
    """Return a link's mass in its own frame; None where it states none, or no numbers."""
    inertial = link.find("inertial")
    if inertial is None or inertial.find("mass") is None:
        return None
    tensor = inertial.find("inertia")
    ixx, ixy, ixz, iyy, iyz, izz = (number(tensor, key) for key in INERTIA_KEYS)
    about = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    stated = Mass(number(inertial.find("mass"), "value"), np.zeros(3), about)
    seen = stated.seen(*origin_of(inertial))
    readable = np.isfinite(seen.mass) and np.all(np.isfinite(seen.com))
    return seen if readable and np.all(np.isfinite(about)) else None
