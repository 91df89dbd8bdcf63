"""Direct dynamics: a robot, an effort law, an integrator, a trajectory."""

from manip_dyn.simulation.driven import driven
from manip_dyn.simulation.integrator import Integrator
from manip_dyn.simulation.laws.effort_laws import (
    EffortLaw,
    Schedule,
    held,
)
from manip_dyn.simulation.laws.function_law import Feedback, gravity_compensation
from manip_dyn.simulation.laws.pd_control import PDControl
from manip_dyn.simulation.simulate import Trajectory, simulate
from manip_dyn.simulation.simulation import Disturbance, Energy, Simulation
from manip_dyn.simulation.with_stops import SimulationWithStops

__all__ = [
    "Disturbance",
    "Energy",
    "EffortLaw",
    "Feedback",
    "Integrator",
    "PDControl",
    "Schedule",
    "Simulation",
    "SimulationWithStops",
    "Trajectory",
    "driven",
    "gravity_compensation",
    "held",
    "simulate",
]
