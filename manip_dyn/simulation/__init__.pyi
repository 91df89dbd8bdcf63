"""Direct dynamics: trajectories from a robot, an effort law and an integrator."""

from manip_dyn.simulation.commanded_arm import (
    CommandedArm as CommandedArm,
)
from manip_dyn.simulation.commanded_arm import (
    Following as Following,
)
from manip_dyn.simulation.commanded_arm import (
    driven as driven,
)
from manip_dyn.simulation.effort_laws import (
    EffortLaw as EffortLaw,
)
from manip_dyn.simulation.effort_laws import (
    Schedule as Schedule,
)
from manip_dyn.simulation.effort_laws import (
    held as held,
)
from manip_dyn.simulation.feedback import of_pd as of_pd
from manip_dyn.simulation.function_law import (
    Feedback as Feedback,
)
from manip_dyn.simulation.function_law import (
    gravity_compensation as gravity_compensation,
)
from manip_dyn.simulation.integrator import (
    Integrator as Integrator,
)
from manip_dyn.simulation.joint_stops import (
    SimulationWithStops as SimulationWithStops,
)
from manip_dyn.simulation.pd_control import (
    PDControl as PDControl,
)
from manip_dyn.simulation.pd_control import (
    PDLaw as PDLaw,
)
from manip_dyn.simulation.simulation import (
    Disturbance as Disturbance,
)
from manip_dyn.simulation.simulation import (
    Energy as Energy,
)
from manip_dyn.simulation.simulation import (
    Simulation as Simulation,
)
from manip_dyn.simulation.trajectory import (
    Trajectory as Trajectory,
)
from manip_dyn.simulation.trajectory import (
    simulate as simulate,
)

__all__ = [
    "CommandedArm",
    "Disturbance",
    "EffortLaw",
    "Energy",
    "Feedback",
    "Following",
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
