"""Direct dynamics: a robot, an effort law, an integrator, a trajectory."""

from manip_dyn.simulation.commanded_arm import driven
from manip_dyn.simulation.effort_laws import EffortLaw, Schedule, held
from manip_dyn.simulation.function_law import Feedback, gravity_compensation
from manip_dyn.simulation.integrator import Integrator
from manip_dyn.simulation.joint_stops import SimulationWithStops
from manip_dyn.simulation.pd_control import PDControl
from manip_dyn.simulation.simulation import Disturbance, Energy, Simulation
from manip_dyn.simulation.trajectory import Trajectory, simulate

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
