"""The parameters of the node that simulates a mechanism."""

from __future__ import annotations

from dataclasses import dataclass

from manip_dyn.integration import METHODS
from manip_dyn.multibody.simulation import RTOL, MechanismSimulation
from manip_dyn.ros.parameters.recorded import RecordedParameters
from manip_dyn.ros.parameters.rows import default_of, parameter
from manip_dyn.ros.parameters.stepping import SteppingParameters


@dataclass(frozen=True)
class MechanismParameters(RecordedParameters, SteppingParameters):
    """The mechanism and how it is simulated."""

    control_period: float = parameter(
        0.02, "Time between messages, and what one ~/step advances", "s", 1e-6, 10.0
    )
    mechanism: str = parameter("four_bar", "Name of a shipped mechanism or path of a YAML file")
    integrator: str = parameter(
        default_of(MechanismSimulation, "method"),
        "Integration method with an error estimate; the list is in docs/integrators.md",
        choices=tuple(METHODS),
    )
    rtol: float = parameter(
        RTOL, "Relative tolerance of the independent coordinates and velocities", "", 1e-14, 0.1
    )
    atol: float = parameter(
        0.0, "Absolute tolerance; 0: the same number as rtol", "m (and per s)", 0.0, 0.1
    )
    frame: str = parameter("world", "Frame of poses and markers")
