"""The parameters of the node that simulates a mechanism."""

from __future__ import annotations

from manip_dyn.integrate import METHODS
from manip_dyn.nodes.parameters import Parameter

PARAMETERS = (
    Parameter("mechanism", "four_bar", "Name of a shipped mechanism or path of a YAML file"),
    Parameter("mode", "real_time", "How time advances: paced by the wall clock, as fast as "
              "possible, or one control period per ~/step",
              choices=("real_time", "fast", "lockstep")),
    Parameter("real_time_factor", 1.0, "Simulated per wall time in real_time mode",
              minimum=1e-3, maximum=1e3, dynamic=True),
    Parameter("integrator", "rosenbrock_nystrom", "Integration method with an error estimate; "
              "the list is in docs/integrators.md", choices=tuple(METHODS)),
    Parameter("rtol", 1e-6, "Relative tolerance of the independent coordinates and velocities",
              minimum=1e-14, maximum=0.1),
    Parameter("atol", 0.0, "Absolute tolerance; 0: the same number as rtol", "m (and per s)",
              0.0, 0.1),
    Parameter("control_period", 0.02, "Time between messages, and what one ~/step advances", "s",
              1e-6, 10.0),
    Parameter("frame", "world", "Frame of poses and markers"),
    Parameter("publish_clock", False, "Publish simulated time on /clock and stamp with it"),
)  # fmt: skip
