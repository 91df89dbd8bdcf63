"""The simulator's parameters, and what they choose: integrator, disturbance, safe command."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manip_dyn.control import Brake, JointDrive
from manip_dyn.integration import METHODS
from manip_dyn.integration.methods.method import HIGHEST_ORDER
from manip_dyn.robot import Robot, load_robot
from manip_dyn.ros.parameters.common import (
    RecordedParameters,
    RobotParameters,
    SteppingParameters,
    TransformParameters,
    joint_array,
)
from manip_dyn.ros.parameters.declaration import Numbers, default_of, parameter
from manip_dyn.simulation import (
    Disturbance,
    EffortLaw,
    Integrator,
    Simulation,
    SimulationWithStops,
    held,
)

INTEGRATION = ("integrator", "step", "rtol", "atol", "taylor_order")
"""The parameters that can be set while the simulator is paused."""


@dataclass(frozen=True)
class SimulatorParameters(
    RecordedParameters, TransformParameters, SteppingParameters, RobotParameters
):
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
        0,
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
        "thinks; set while the node runs, from when its equations are compiled",
        "",
        0.01,
        100.0,
        dynamic=True,
    )
    disturbance: Numbers = parameter(
        (),
        "Efforts that act beside the commands for a while, in joint order; set while the node "
        "runs, from then on",
        "N m or N",
        dynamic=True,
        each=0.0,
    )
    disturbance_start: float = parameter(
        0.0, "When they begin, in simulated time after the first command", "s", 0.0, 1e6
    )
    disturbance_duration: float = parameter(0.0, "How long they act", "s", 0.0, 1e6, dynamic=True)
    joint_limits: str = parameter(
        "mechanical_stops",
        "What a joint meets at a position limit: a stiff, damped stop; the end of the run, with a "
        "fault; or nothing",
        choices=("mechanical_stops", "stop_at_limits", "ignore"),
    )
    command_timeout: float = parameter(
        0.5,
        "Simulated time without a command after which the safe command takes over; 0: the last "
        "command holds for good",
        "s",
        0.0,
        3600.0,
        dynamic=True,
    )
    safe_command: str = parameter(
        "brake",
        "What acts before the first command and after a timeout: gravity compensation minus "
        "damping, gravity compensation, or no effort",
        choices=("brake", "gravity_compensation", "zero"),
    )
    command_bandwidth: float = parameter(
        default_of(JointDrive, "bandwidth"),
        "How fast the joint drives correct what is wrong, for positions and velocities on "
        "~/joint_commands; a position that moves on without a velocity is followed 2 / bandwidth "
        "behind",
        "1/s",
        1.0,
        1e3,
        dynamic=True,
    )
    brake_rate: float = parameter(
        default_of(Brake, "rate"),
        "How fast the brake lets speeds fall where the efforts suffice: by the factor e in the "
        "reciprocal",
        "1/s",
        0.1,
        1e3,
    )


def integrator_from(parameters: SimulatorParameters) -> Integrator:
    """Return the integrator that the parameters choose."""
    return Integrator(
        parameters.integrator,
        parameters.step,
        parameters.rtol,
        parameters.atol,
        parameters.taylor_order or None,
        stop_at_limits=parameters.joint_limits == "stop_at_limits",
    )


def simulation_from(parameters: SimulatorParameters, robot: Robot) -> Simulation:
    """Return the arm at its start, with what it meets at its limits."""
    stops = parameters.joint_limits == "mechanical_stops"
    kind = SimulationWithStops if stops else Simulation
    return kind(
        robot,
        joint_array("initial_position", parameters.initial_position, robot),
        joint_array("initial_velocity", parameters.initial_velocity, robot),
        integrator_from(parameters),
    )


def safe_law_from(parameters: SimulatorParameters, simulation: Simulation) -> EffortLaw:
    """Return what acts where no command does."""
    if parameters.safe_command == "zero":
        return held(simulation.robot, np.zeros(simulation.robot.n))
    braked = parameters.safe_command == "brake"
    return Brake(simulation.kernels, parameters.brake_rate if braked else 0.0)


def disturbance_from(parameters: SimulatorParameters, robot: Robot) -> Disturbance:
    """Return the disturbance that the parameters choose, its times after the first command."""
    effort = joint_array("disturbance", parameters.disturbance, robot)
    begin = round(1e9 * parameters.disturbance_start)
    return Disturbance(effort, begin, begin + round(1e9 * parameters.disturbance_duration))
