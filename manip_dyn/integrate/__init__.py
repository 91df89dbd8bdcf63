"""Initial value problems; knows nothing of robots."""

from manip_dyn.integrate.choices import Sampling, StepControl
from manip_dyn.integrate.events import Events
from manip_dyn.integrate.functions import right_hand_side
from manip_dyn.integrate.jacobian import Jacobian
from manip_dyn.integrate.loop.engine import Engine, compile_engine
from manip_dyn.integrate.loop.space import Space
from manip_dyn.integrate.methods.method import Method, Options
from manip_dyn.integrate.methods.registry import METHODS
from manip_dyn.integrate.methods.runge_kutta import RungeKutta
from manip_dyn.integrate.methods.taylor import Series
from manip_dyn.integrate.solution import Solution
from manip_dyn.integrate.solve import integrate
from manip_dyn.integrate.steps.single_step import RightHandSide, rk4_step
from manip_dyn.integrate.steps.status import Status
from manip_dyn.integrate.tableaus.tableau import Tableau, tableaus

__all__ = [
    "METHODS",
    "Engine",
    "Events",
    "Jacobian",
    "Method",
    "Options",
    "RightHandSide",
    "RungeKutta",
    "Sampling",
    "Series",
    "Solution",
    "Space",
    "Status",
    "StepControl",
    "Tableau",
    "compile_engine",
    "integrate",
    "right_hand_side",
    "rk4_step",
    "tableaus",
]
