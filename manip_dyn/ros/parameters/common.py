"""Parameters that several nodes have: the robot, time, transforms and the recorder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.collision import Scene, load_scene
from manip_dyn.control.computed_torque import delay_margin, reduced_feedback
from manip_dyn.control.state_estimation import VELOCITY_WINDOW
from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.robot import Robot, load_robot, lock_from, xacro_arguments_from
from manip_dyn.ros.parameters.declaration import Numbers, parameter

SELF = Scene()
"""Scene without objects."""
TOPIC = "topic"
"""Value of `robot` or `srdf` for a description that another node publishes."""


@dataclass(frozen=True)
class RobotParameters:
    """Parameters of the arm."""

    robot: str = parameter(
        "pa10",
        "Name of a shipped robot; path or package://PACKAGE/PATH of a URDF or xacro file; or "
        "topic: the URDF on robot_description",
    )
    xacro_arguments: str = parameter("", "Arguments of a xacro file, as NAME:=VALUE NAME:=VALUE")
    robot_description: str = parameter(
        "",
        "The URDF as a string, as for robot_state_publisher; has priority over robot",
    )
    lock: str = parameter(
        "", "Joints to hold fixed, as JOINT=POSITION, separated by commas", "rad or m"
    )
    tip: str = parameter("", "Link of the tool frame; empty: tool0 or the last link")
    gravity: str = parameter(
        "model",
        "Gravity compensation; model: it is part of the effort commands; robot: the robot's own "
        "controller adds it",
        choices=("model", "robot"),
    )
    viscous_friction: Numbers = parameter(
        (), "Damping of the joints; not set: from the URDF", "N m s/rad or N s/m"
    )
    coulomb_friction: Numbers = parameter(
        (),
        "Dry friction of the joints; the simulator includes it, the tracker compensates it, and "
        "planning methods without friction reject it; not set: from the URDF and the YAML file",
        "N m or N",
    )
    armature: Numbers = parameter(
        (),
        "Rotor inertia at the joints; not set: from the YAML file next to the URDF, or none",
        "kg m^2 or kg",
    )


@dataclass(frozen=True)
class SceneParameters:
    """Parameters of nodes that consider collisions."""

    scene: str = parameter(
        "",
        "YAML file of the objects around the arm, see docs/collisions.md; self: none, so that "
        "only the arm itself is checked; empty: collisions are not considered. Unless it is "
        "empty, messages on ~/scene change the objects",
    )
    srdf: str = parameter(
        "",
        "SRDF with the pairs of links that need no collision check: its path, package:// URI or "
        "text; topic: the SRDF on robot_description_semantic, which MoveIt publishes; empty: the "
        "pairs are found automatically",
    )


def robot_from(parameters: RobotParameters, *kernels: str, mass_scale: float = 1.0) -> Robot:
    """Load the robot that the parameters specify, and compile the named kernels.

    Args:
        parameters: Parameters of the arm.
        kernels: Names of the kernels to compile.
        mass_scale: Factor for all masses and inertias.

    Raises:
        ManipDynError: If the robot cannot be loaded.
    """
    robot = load_robot(
        parameters.robot_description or parameters.robot,
        lock_from(parameters.lock),
        parameters.tip or None,
        mass_scale,
        xacro_arguments_from(parameters.xacro_arguments),
        holds_itself=parameters.gravity == "robot",
        viscous_friction=parameters.viscous_friction or None,
        coulomb_friction=parameters.coulomb_friction or None,
        armature=parameters.armature or None,
        srdf=(parameters.srdf or None) if isinstance(parameters, SceneParameters) else None,
    )
    prepare(robot, *kernels)
    return robot


def prepare(robot: Robot, *kernels: str) -> None:
    """Compile the named kernels of a robot."""
    if kernels:  # `compile` without names compiles all kernels
        customize(robot).in_place.compile(*kernels)


def joint_array(name: str, numbers: Sequence[float], robot: Robot) -> Vector:
    """Return the numbers of parameter `name` as an array (n,), or zeros if there are none."""
    return finite_vector(name, numbers, robot.n) if numbers else np.zeros(robot.n)


@dataclass(frozen=True)
class JointStateParameters:
    """Parameter of nodes that control an arm by its joint states."""

    velocity_window: float = parameter(
        VELOCITY_WINDOW,
        "Time over which positions are averaged to velocities if joint states lack them; half of "
        "it is the delay of the velocities",
        "s",
        0.0,
        0.5,
    )


@lru_cache(maxsize=8)
def _loaded_scene(path: str) -> Scene:
    return load_scene(path)


def scene_from(parameters: SceneParameters) -> Scene | None:
    """Return the scene that the parameter specifies, or None. A file is read once.

    Raises:
        ManipDynError: If the file cannot be read or is invalid.
    """
    if parameters.scene == "self":
        return SELF
    return _loaded_scene(parameters.scene) if parameters.scene else None


@dataclass(frozen=True)
class CommandParameters:
    """Parameter of nodes that send efforts for each joint state."""

    command_periods: int = parameter(
        5,
        "Number of control periods from a joint state to the end of its command, at which the "
        "simulator's safe command acts; the delay of the control loop is added; 0: the command "
        "holds until the simulator's command_timeout",
        "",
        0,
        1000000,
    )


@dataclass(frozen=True)
class RecordedParameters:
    """Parameter of nodes that may wait for a recorder."""

    await_recorder: float = parameter(
        0.0,
        "Longest wall time for which the node waits before its start until a recorder in its "
        "namespace has subscribed; 0: it does not wait",
        "s",
        0.0,
        3600.0,
    )


MODES = ("real_time", "fast", "lockstep")


@dataclass(frozen=True)
class SteppingParameters:
    """Parameters of simulated time."""

    mode: str = parameter(
        "real_time",
        "real_time: simulated time follows the wall clock; fast: it runs as fast as possible; "
        "lockstep: it advances by one control period per command or ~/step",
        choices=MODES,
    )
    real_time_factor: float = parameter(
        1.0, "Simulated time per wall time in real_time mode", "", 1e-3, 1e3, dynamic=True
    )
    control_period: float = parameter(
        1e-3,
        "Time between joint states; in lockstep, each command or ~/step advances time by it",
        "s",
        1e-6,
        10.0,
    )
    publish_clock: bool = parameter(
        False, "Whether to publish simulated time on the topic clock and use it for all stamps"
    )


@dataclass(frozen=True)
class TransformParameters:
    """Parameter of nodes that publish transforms."""

    publish_tf: str = parameter(
        "auto",
        "Whether to publish tf and tf_static of the links; auto: if tf2_msgs is installed, while "
        "no other node publishes tf",
        choices=("auto", "always", "never"),
    )


def excessive_delay(delay: float | str, gains: Mapping[str, float], period: float) -> str:
    """Return an error message if the delay of a control loop exceeds its margin, otherwise "".

    Args:
        delay: The parameter `transport_delay`, s. Words are no delay.
        gains: Names and values of stiffness (1/s^2) and damping (1/s), and, if there is one, of
            the gain of an integral (1/s^3).
        period: Time for which each effort is held, s.
    """
    stiffness, damping, *integral = gains.values()
    margin = delay_margin(stiffness, damping, period)
    if isinstance(delay, str) or delay <= margin:
        return ""
    reduced = reduced_feedback(stiffness, damping, period, 2.0 * delay)
    factor = reduced[1] / damping if damping else 1.0
    values = zip(gains, (*reduced, *(factor**3 * gain for gain in integral)), strict=True)
    names = list(gains)
    return (
        f"transport_delay must be at most {margin:.3g} s, the delay margin of {names[0]} "
        f"{stiffness:g} and {names[1]} {damping:g}, got {delay:g} s. Set "
        f"{' '.join(f'{name}:={value:.3g}' for name, value in values)}."
    )
