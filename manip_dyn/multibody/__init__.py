"""Constrained multibody systems in Cartesian coordinates; Sandu et al. (2001)."""

from manip_dyn.multibody.equations.forces import BodyState, UserForce
from manip_dyn.multibody.first_order import FirstOrder, simulate_by_adams
from manip_dyn.multibody.model.description import load_mechanism, shipped_mechanisms
from manip_dyn.multibody.model.elements import Joint, MovingBody, RotationalSpring, Spring, Tyre
from manip_dyn.multibody.model.geometry import JointCoordinates
from manip_dyn.multibody.model.linearization import linearize
from manip_dyn.multibody.model.mechanism import Equilibrium, Mechanism
from manip_dyn.multibody.simulation import MechanismMotion, MechanismSimulation, simulate_mechanism

__all__ = [
    "Equilibrium",
    "FirstOrder",
    "linearize",
    "simulate_by_adams",
    "BodyState",
    "Joint",
    "JointCoordinates",
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
