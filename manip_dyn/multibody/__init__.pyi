"""Constrained multibody systems in Cartesian coordinates; Sandu et al. (2001)."""

from manip_dyn.multibody.equations.forces import BodyState as BodyState
from manip_dyn.multibody.equations.forces import UserForce as UserForce
from manip_dyn.multibody.equations.state_space import linearized_rates as linearized_rates
from manip_dyn.multibody.first_order import FirstOrder as FirstOrder
from manip_dyn.multibody.first_order import simulate_by_adams as simulate_by_adams
from manip_dyn.multibody.model.description import load_mechanism as load_mechanism
from manip_dyn.multibody.model.description import shipped_mechanisms as shipped_mechanisms
from manip_dyn.multibody.model.elements import Joint as Joint
from manip_dyn.multibody.model.elements import MovingBody as MovingBody
from manip_dyn.multibody.model.elements import RotationalSpring as RotationalSpring
from manip_dyn.multibody.model.elements import Spring as Spring
from manip_dyn.multibody.model.elements import Tyre as Tyre
from manip_dyn.multibody.model.geometry import JointCoordinates as JointCoordinates
from manip_dyn.multibody.model.hmmwv import hmmwv as hmmwv
from manip_dyn.multibody.model.linearization import Linearization as Linearization
from manip_dyn.multibody.model.linearization import linearize as linearize
from manip_dyn.multibody.model.mechanism import Equilibrium as Equilibrium
from manip_dyn.multibody.model.mechanism import Mechanism as Mechanism
from manip_dyn.multibody.simulation import MechanismMotion as MechanismMotion
from manip_dyn.multibody.simulation import MechanismSimulation as MechanismSimulation
from manip_dyn.multibody.simulation import simulate_mechanism as simulate_mechanism

__all__ = [
    "BodyState",
    "Equilibrium",
    "FirstOrder",
    "Joint",
    "JointCoordinates",
    "Linearization",
    "Mechanism",
    "MechanismMotion",
    "MechanismSimulation",
    "MovingBody",
    "RotationalSpring",
    "Spring",
    "Tyre",
    "UserForce",
    "hmmwv",
    "linearize",
    "load_mechanism",
    "shipped_mechanisms",
    "simulate_by_adams",
    "simulate_mechanism",
]
