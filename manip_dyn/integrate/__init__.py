"""Initial value problems; knows nothing of robots."""

from manip_dyn.integrate.engine import Engine, compile_engine
from manip_dyn.integrate.events import Events
from manip_dyn.integrate.functions import right_hand_side
from manip_dyn.integrate.jacobian import Jacobian
from manip_dyn.integrate.method import Method, Options
from manip_dyn.integrate.registry import METHODS
from manip_dyn.integrate.runge_kutta import RungeKutta
from manip_dyn.integrate.single_step import RightHandSide, rk4_step
from manip_dyn.integrate.solution import Solution
from manip_dyn.integrate.solve import integrate
from manip_dyn.integrate.space import Space
from manip_dyn.integrate.status import Status
from manip_dyn.integrate.tableau import Tableau, tableaus
from manip_dyn.integrate.taylor import Series

__all__ = [
    "METHODS",
    "Engine",
    "Events",
    "Jacobian",
    "Method",
    "Options",
    "RightHandSide",
    "RungeKutta",
    "Series",
    "Solution",
    "Space",
    "Status",
    "Tableau",
    "compile_engine",
    "integrate",
    "right_hand_side",
    "rk4_step",
    "tableaus",
]
