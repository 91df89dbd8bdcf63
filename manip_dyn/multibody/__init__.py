"""Constrained multibody systems in Cartesian coordinates; Sandu et al. (2001)."""

from manip_dyn.multibody.description import load_mechanism, shipped_mechanisms
from manip_dyn.multibody.elements import Joint, MovingBody, RotationalSpring, Spring, Tyre
from manip_dyn.multibody.mechanism import Mechanism
from manip_dyn.multibody.simulate import MechanismMotion, simulate_mechanism
from manip_dyn.multibody.simulation import MechanismSimulation
from manip_dyn.multibody.user_force import BodyState, UserForce

__all__ = [
    "BodyState",
    "Joint",
    "Mechanism",
    "MechanismMotion",
    "MechanismSimulation",
    "MovingBody",
    "RotationalSpring",
    "Spring",
    "Tyre",
    "UserForce",
    "load_mechanism",
    "shipped_mechanisms",
    "simulate_mechanism",
]
