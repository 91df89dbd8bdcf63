"""Initial value problems; knows nothing of robots."""

from manip_dyn.integration.engine import Engine, compile_engine
from manip_dyn.integration.loop_arrays import Space
from manip_dyn.integration.methods.method import Method, Options
from manip_dyn.integration.methods.registry import METHODS
from manip_dyn.integration.methods.runge_kutta import RightHandSide, RungeKutta, rk4_step
from manip_dyn.integration.methods.step_control import Status
from manip_dyn.integration.methods.tableaus import Tableau, tableaus
from manip_dyn.integration.methods.taylor import Series
from manip_dyn.integration.settings import Events, Jacobian, Sampling, StepControl
from manip_dyn.integration.solver import Solution, integrate
from manip_dyn.integration.user_functions import right_hand_side

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
