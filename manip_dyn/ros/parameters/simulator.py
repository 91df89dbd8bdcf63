"""The simulator's parameters, and what its integrator and its disturbance are made of."""

from __future__ import annotations

from dataclasses import dataclass

from manip_dyn.integrate import METHODS
from manip_dyn.integrate.methods.taylor import HIGHEST_ORDER
from manip_dyn.robot import Robot, load_robot
from manip_dyn.ros.parameters.robot import RobotParameters, joint_array
from manip_dyn.ros.parameters.rows import Numbers, default_of, parameter
from manip_dyn.ros.parameters.stepping import SteppingParameters
from manip_dyn.ros.parameters.transforms import TransformParameters
from manip_dyn.simulation import Disturbance, Integrator

INTEGRATION = ("integrator", "step", "rtol", "atol", "taylor_order")
"""The parameters that can be set while the simulator is paused."""


@dataclass(frozen=True)
class SimulatorParameters(TransformParameters, SteppingParameters, RobotParameters):
    """The arm, its start, its integrator, and what happens to it."""

    integrator: str = parameter(
        Integrator.method,
        "Integration method; the list is in docs/integrators.md",
        choices=tuple(METHODS),
        dynamic=True,
    )
    step: float = parameter(
        Integrator.step, "Integration step, without tolerances", "s", 1e-6, 1.0, dynamic=True
    )
    rtol: float = parameter(
        Integrator.rtol,
        "Relative tolerance of methods with an error estimate; 0 with atol 0: fixed steps",
        "",
        0.0,
        0.1,
        dynamic=True,
    )
    atol: float = parameter(
        Integrator.atol,
        "Absolute tolerance; 0 beside an rtol: the same number",
        "rad or m (and per s)",
        0.0,
        0.1,
        dynamic=True,
    )
    taylor_order: int = parameter(
        Integrator.order,
        "Order of the integrator taylor; 0: what the tolerances ask for",
        "",
        0,
        HIGHEST_ORDER,
        dynamic=True,
    )
    energy_period: float = parameter(
        0.02, "Time between messages on ~/energy; 0: none", "s", 0.0, 10.0
    )
    initial_position: Numbers = parameter(
        (), "Joint positions at the start and after ~/reset", "rad or m", each=0.0
    )
    initial_velocity: Numbers = parameter(
        (), "Joint velocities at the start", "rad/s or m/s", each=0.0
    )
    mass_scale: float = parameter(
        default_of(load_robot, "mass_scale"),
        "Factor of all masses and inertias: an arm that is heavier or lighter than a planner "
        "thinks",
        "",
        0.01,
        100.0,
    )
    disturbance: Numbers = parameter(
        (),
        "Efforts that act beside the commands for a while, in joint order",
        "N m or N",
        each=0.0,
    )
    disturbance_start: float = parameter(
        0.0, "When they begin, in simulated time after the first command", "s", 0.0, 1e6
    )
    disturbance_duration: float = parameter(0.0, "How long they act", "s", 0.0, 1e6)
    command_timeout: float = parameter(
        0.0,
        "Simulated time without a command after which the safe command takes over; 0: the last "
        "command holds for good",
        "s",
        0.0,
        3600.0,
        dynamic=True,
    )
    safe_command: str = parameter(
        "zero",
        "Efforts before the first command and after a timeout",
        choices=("zero", "gravity_compensation"),
    )


def integrator_from(parameters: SimulatorParameters) -> Integrator:
    """Return the integrator that the parameters choose."""
    return Integrator(
        parameters.integrator,
        parameters.step,
        parameters.rtol,
        parameters.atol,
        parameters.taylor_order,
    )


def disturbance_from(parameters: SimulatorParameters, robot: Robot) -> Disturbance:
    """Return the disturbance that the parameters choose, its times after the first command."""
    effort = joint_array("disturbance", parameters.disturbance, robot)
    begin = round(1e9 * parameters.disturbance_start)
    return Disturbance(effort, begin, begin + round(1e9 * parameters.disturbance_duration))
