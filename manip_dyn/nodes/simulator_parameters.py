"""The simulator's parameters, and what its integrator is made of."""

from __future__ import annotations

from typing import Any

from manip_dyn.integrate import METHODS
from manip_dyn.nodes.messages import joint_array
from manip_dyn.nodes.parameters import NUMBERS, Parameter
from manip_dyn.nodes.robot_parameters import ROBOT_PARAMETERS
from manip_dyn.robot import Robot
from manip_dyn.simulation import Disturbance, Integrator

PARAMETERS = (
    *ROBOT_PARAMETERS,
    Parameter("mode", "real_time", "How time advances: paced by the wall clock, as fast as "
              "possible, or one control period per command",
              choices=("real_time", "fast", "lockstep")),
    Parameter("real_time_factor", 1.0, "Simulated per wall time in real_time mode",
              minimum=1e-3, maximum=1e3, dynamic=True),
    Parameter("integrator", "rk4", "Integration method; the list is in docs/integrators.md",
              choices=tuple(METHODS), dynamic=True),
    Parameter("step", 1e-3, "Integration step, without tolerances", "s", 1e-6, 1.0,
              dynamic=True),
    Parameter("rtol", 0.0, "Relative tolerance of methods with an error estimate; 0 with atol 0: "
              "fixed steps", minimum=0.0, maximum=0.1, dynamic=True),
    Parameter("atol", 0.0, "Absolute tolerance; 0 beside an rtol: the same number",
              "rad or m (and per s)", 0.0, 0.1, dynamic=True),
    Parameter("taylor_order", 0, "Order of the integrator taylor; 0: what the tolerances ask for",
              minimum=0, maximum=60, dynamic=True),
    Parameter("control_period", 1e-3, "Time between joint states, and what one command or "
              "~/step advances in lockstep", "s", 1e-6, 10.0),
    Parameter("energy_period", 0.02, "Time between messages on ~/energy; 0: none", "s", 0.0, 10.0),
    Parameter("initial_position", NUMBERS, "Joint positions at the start and after ~/reset; "
              "empty: all zero", "rad or m"),
    Parameter("initial_velocity", NUMBERS, "Joint velocities at the start; not set: all zero",
              "rad/s or m/s"),
    Parameter("mass_scale", 1.0, "Factor of all masses and inertias: an arm that is heavier or "
              "lighter than a planner thinks", "", 0.01, 100.0),
    Parameter("disturbance", NUMBERS, "Efforts that act beside the commands for a while, in joint "
              "order; not set: none", "N m or N"),
    Parameter("disturbance_start", 0.0, "When they begin, in simulated time after the first "
              "command", "s", 0.0, 1e6),
    Parameter("disturbance_duration", 0.0, "How long they act", "s", 0.0, 1e6),
    Parameter("command_timeout", 0.0, "Simulated time without a command after which the safe "
              "command takes over; 0: the last command holds for good", "s", 0.0, 3600.0,
              dynamic=True),
    Parameter("safe_command", "zero", "Efforts before the first command and after a timeout",
              choices=("zero", "gravity_compensation")),
    Parameter("publish_clock", False, "Publish simulated time on /clock and stamp with it"),
)  # fmt: skip

INTEGRATION = ("integrator", "step", "rtol", "atol", "taylor_order")
"""The parameters that can be set while the simulator is paused."""


def disturbance_from(values: dict[str, Any], robot: Robot, first_ns: int) -> Disturbance:
    """Return the disturbance that parameters choose, for a first command at `first_ns`."""
    begin = first_ns + round(1e9 * values["disturbance_start"])
    effort = joint_array("disturbance", values["disturbance"], robot)
    return Disturbance(effort, begin, begin + round(1e9 * values["disturbance_duration"]))


def integrator_from(values: dict[str, Any]) -> Integrator:
    """Return the integrator that parameters choose."""
    return Integrator(
        values["integrator"],
        values["step"],
        values["rtol"],
        values["atol"],
        values["taylor_order"],
    )
