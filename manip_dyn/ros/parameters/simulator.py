"""Parameters of the simulator, and functions that create its objects from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manip_dyn.control import Brake, JointDrive
from manip_dyn.core.checks import distinct_digits
from manip_dyn.core.errors import ManipDynError
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
"""Parameters that can be set only while the simulator is paused."""
LARGEST_DISTURBANCE = 100.0
"""Largest effort of a disturbance, relative to the largest effort limit."""


@dataclass(frozen=True)
class SimulatorParameters(
    RecordedParameters, TransformParameters, SteppingParameters, RobotParameters
):
    """Parameters of the simulator node."""

    integrator: str = parameter(
        Integrator.method,
        "Integration method; docs/integration_methods.md lists them",
        choices=tuple(METHODS),
        dynamic=True,
    )
    step: float = parameter(
        Integrator.step,
        "Integration step if no tolerances are set",
        "s",
        1e-6,
        1.0,
        dynamic=True,
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
        "Absolute tolerance; 0: equal to rtol",
        "rad or m, and rad/s or m/s",
        0.0,
        0.1,
        dynamic=True,
    )
    taylor_order: int = parameter(
        0,
        "Order of the integrator taylor; 0: chosen from the tolerances",
        "",
        0,
        HIGHEST_ORDER,
        dynamic=True,
    )
    energy_period: float = parameter(
        0.02, "Time between messages on ~/energy; 0: none", "s", 0.0, 10.0
    )
    initial_position: Numbers = parameter(
        (), "Joint positions at the start and after ~/reset", "rad or m", per_joint=0.0
    )
    initial_velocity: Numbers = parameter(
        (), "Joint velocities at the start and after ~/reset", "rad/s or m/s", per_joint=0.0
    )
    mass_scale: float = parameter(
        default_of(load_robot, "mass_scale"),
        "Factor of all masses and inertias, to simulate a model error; a change takes effect "
        "after compilation",
        "",
        0.01,
        100.0,
        dynamic=True,
    )
    disturbance: Numbers = parameter(
        (),
        "Efforts that are added to the commands for a limited time, in joint order; a change "
        "takes effect immediately",
        "N m or N",
        dynamic=True,
        per_joint=0.0,
    )
    disturbance_start: float = parameter(
        0.0, "Start of the disturbance in simulated time after the first command", "s", 0.0, 1e6
    )
    disturbance_duration: float = parameter(
        0.0, "Duration of the disturbance", "s", 0.0, 1e6, dynamic=True
    )
    joint_limits: str = parameter(
        "mechanical_stops",
        "Effect of position limits; mechanical_stops: stiff, damped stops; stop_at_limits: a "
        "fault that stops the simulation; ignore: none",
        choices=("mechanical_stops", "stop_at_limits", "ignore"),
    )
    speed_limits: str = parameter(
        "report",
        "Effect of a speed more than 5 % beyond its limit; report: an error in /diagnostics; "
        "brake: the safe command acts, too, and other commands are ignored until the arm rests",
        choices=("report", "brake"),
        dynamic=True,
    )
    command_timeout: float = parameter(
        0.5,
        "Simulated time without a command after which the safe command acts; 0: the last command "
        "remains active",
        "s",
        0.0,
        3600.0,
        dynamic=True,
    )
    safe_command: str = parameter(
        "brake",
        "Effort before the first command and after a timeout; brake: gravity compensation with "
        "damping; gravity_compensation: without damping; zero: no effort",
        choices=("brake", "gravity_compensation", "zero"),
    )
    command_bandwidth: float = parameter(
        default_of(JointDrive, "bandwidth"),
        "Bandwidth of the joint drives for positions and velocities on ~/joint_commands; without "
        "a velocity, a moving position is followed with a delay of 2 / bandwidth",
        "1/s",
        1.0,
        1e3,
        dynamic=True,
    )
    brake_rate: float = parameter(
        default_of(Brake, "rate"),
        "Decay rate of joint speeds under the safe command brake, within the effort limits",
        "1/s",
        0.1,
        1e3,
    )


def integrator_from(parameters: SimulatorParameters) -> Integrator:
    """Return the integrator that the parameters specify."""
    return Integrator(
        parameters.integrator,
        parameters.step,
        parameters.rtol,
        parameters.atol,
        parameters.taylor_order or None,
        stop_at_limits=parameters.joint_limits == "stop_at_limits",
    )


def simulation_from(parameters: SimulatorParameters, robot: Robot) -> Simulation:
    """Return the simulation of the arm at its initial state, with mechanical stops if selected."""
    stops = parameters.joint_limits == "mechanical_stops"
    kind = SimulationWithStops if stops else Simulation
    return kind(
        robot,
        joint_array("initial_position", parameters.initial_position, robot),
        joint_array("initial_velocity", parameters.initial_velocity, robot),
        integrator_from(parameters),
    )


def safe_law_from(parameters: SimulatorParameters, simulation: Simulation) -> EffortLaw:
    """Return the effort law of the safe command."""
    if parameters.safe_command == "zero":
        return held(simulation.robot, np.zeros(simulation.robot.n))
    rate = parameters.brake_rate if parameters.safe_command == "brake" else 0.0
    return Brake(simulation.kernels, rate)


def disturbance_from(parameters: SimulatorParameters, robot: Robot) -> Disturbance:
    """Return the disturbance that the parameters specify. Its times start at the first command.

    Raises:
        ManipDynError: If an effort exceeds the largest effort limit by the factor
            `LARGEST_DISTURBANCE`.
    """
    effort = joint_array("disturbance", parameters.disturbance, robot)
    largest = LARGEST_DISTURBANCE * robot.tau_max.max()
    for i in np.flatnonzero(np.abs(effort) > largest).tolist():
        got, limit = distinct_digits(effort[i], largest)
        unit = robot.effort_unit(i)
        raise ManipDynError(
            f"disturbance of joint '{robot.joint_names[i]}' must be from -{limit} to {limit} "
            f"{unit}, {LARGEST_DISTURBANCE:g} times the largest effort limit, got {got} {unit}."
        )
    begin = round(1e9 * parameters.disturbance_start)
    return Disturbance(effort, begin, begin + round(1e9 * parameters.disturbance_duration))
