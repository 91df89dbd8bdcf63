"""Parameters of the CLIK tracker, and functions that create its objects from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from manip_dyn.clik import (
    ERRORS,
    INVERSES,
    ClikSettings,
    Path,
    PathFollower,
    dexterous_posture,
    posture_for,
    tool_pose,
    track,
)
from manip_dyn.clik.arm_driver import ArmDriver
from manip_dyn.clik.follower import unstable_gain
from manip_dyn.clik.joint_reference import JointReference
from manip_dyn.clik.paths.targets import SmoothTarget
from manip_dyn.control.computed_torque import (
    DAMPING,
    STIFFNESS,
    ComputedTorque,
    unstable_feedback,
)
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.integration import METHODS
from manip_dyn.integration.methods.taylor import Taylor
from manip_dyn.robot import Robot
from manip_dyn.ros.parameters.common import (
    CommandParameters,
    JointStateParameters,
    RecordedParameters,
    RobotParameters,
    SceneParameters,
    TransformParameters,
    excessive_delay,
    joint_array,
    scene_from,
)
from manip_dyn.ros.parameters.declaration import NumberOrWord, Numbers, default_of, parameter
from manip_dyn.ros.parameters.path import PathParameters, path_from


@dataclass(frozen=True)
class LawParameters:
    """Parameters of the control law. Each sets the field of `ClikSettings` with the same name."""

    gain: float = parameter(
        ClikSettings.gain, "Feedback gain K of the task error", "1/s", 1e-3, 1e4, dynamic=True
    )
    orientation_error: str = parameter(
        ClikSettings.orientation_error,
        "Definition of the orientation error",
        choices=ERRORS,
        dynamic=True,
    )
    inverse: str = parameter(
        ClikSettings.inverse,
        "Inverse of the Jacobian, see docs/clik.md",
        choices=INVERSES,
        dynamic=True,
    )
    damping_threshold: float = parameter(
        ClikSettings.damping_threshold,
        "Smallest singular value of the Jacobian below which damping starts; for the inverse "
        "manipulability, the manipulability below which it starts",
        "",
        1e-6,
        10.0,
        dynamic=True,
    )
    max_damping: float = parameter(
        ClikSettings.max_damping,
        "Damping at a singularity, or everywhere with the inverse constant",
        "",
        0.0,
        10.0,
        dynamic=True,
    )
    escape: bool = parameter(
        ClikSettings.escape,
        "Whether to leave singular postures that block the tool (inverse filtered)",
        dynamic=True,
    )
    weights: Numbers = parameter(
        (), "Weights of the joint velocities in the minimized norm", per_joint=1.0
    )
    controlled: Numbers = parameter(
        tuple(map(float, ClikSettings.controlled)),
        "1 for controlled task coordinates, 0 for others: x, y, z and the rotations about them",
    )
    posture: Numbers = parameter(
        (), "Desired joint positions for the null-space motion", "rad or m"
    )
    posture_gain: float = parameter(
        ClikSettings.posture_gain,
        "Null-space gain towards the posture",
        "1/s",
        0.0,
        1e4,
        dynamic=True,
    )
    limit_avoidance: float = parameter(
        ClikSettings.limit_avoidance,
        "Null-space gain towards the middle of the joint ranges",
        "1/s",
        0.0,
        1e4,
        dynamic=True,
    )
    manipulability: float = parameter(
        ClikSettings.manipulability,
        "Null-space gain along the gradient of the manipulability sqrt(det J J^T)",
        "",
        0.0,
        1e6,
        dynamic=True,
    )
    limit_gain: float = parameter(
        ClikSettings.limit_gain or 0.0,
        "Largest speed of a joint towards its limit, divided by its distance from the limit; 0: "
        "half the reciprocal of the step",
        "1/s",
        0.0,
        1e6,
        dynamic=True,
    )
    collision_gain: float = parameter(
        ClikSettings.collision_gain,
        "With a scene: largest speed at which two shapes approach each other, divided by their "
        "distance in excess of collision_margin; at most half the reciprocal of the step",
        "1/s",
        1e-3,
        1e6,
        dynamic=True,
    )
    collision_margin: float = parameter(
        ClikSettings.collision_margin,
        "With a scene: distance at which shapes do not approach each other",
        "m",
        0.0,
        1.0,
        dynamic=True,
    )


def settings_from(parameters: LawParameters) -> ClikSettings:
    """Return the settings of the control law, with defaults for parameters that are not set.

    Raises:
        ManipDynError: If the combination is invalid.
    """
    values = {row.name: getattr(parameters, row.name) for row in fields(LawParameters)}
    values |= {name: values[name] or None for name in ("weights", "posture", "limit_gain")}
    return ClikSettings(**values | {"controlled": _controlled(parameters.controlled)})


def _controlled(numbers: Numbers) -> tuple[bool, ...]:
    flags = list(numbers)
    if len(flags) != 6 or not set(flags) <= {0.0, 1.0}:
        raise ManipDynError(
            f"parameter 'controlled' must be six numbers, each 1.0 or 0.0, got {flags}."
        )
    return tuple(bool(flag) for flag in flags)


@dataclass(frozen=True)
class ClikTrackerParameters(
    CommandParameters,
    RecordedParameters,
    TransformParameters,
    JointStateParameters,
    PathParameters,
    LawParameters,
    SceneParameters,
    RobotParameters,
):
    """Parameters of the CLIK tracker node."""

    mode: str = parameter(
        "kinematic",
        "kinematic: publish joint_states; dynamic: read joint_states and publish effort commands",
        choices=("kinematic", "dynamic"),
    )
    method: str = parameter(
        default_of(PathFollower, "method"),
        "Integration method; docs/integration_methods.md lists them",
        choices=tuple(name for name, row in METHODS.items() if not isinstance(row, Taylor)),
    )
    step: float = parameter(
        default_of(PathFollower, "step"),
        "Step of the integration; in dynamic mode the time between joint states",
        "s",
        1e-5,
        10.0,
    )
    real_time_factor: float = parameter(
        1.0, "Path time per wall time in kinematic mode", "", 1e-3, 1e3, dynamic=True
    )
    initial_position: Numbers = parameter(
        (),
        "Initial joint positions in kinematic mode; not set: a posture on the path",
        "rad or m",
    )
    start_on_path: bool = parameter(
        True,
        "Move the initial posture to the first pose of the path before the motion starts; in "
        "dynamic mode along a straight line",
    )
    base_frame: str = parameter(
        "", "Frame of targets and of published poses; empty: the robot's root link"
    )
    command_timeout: float = parameter(
        0.5,
        "Path time after the last target twist at which the target halts; also the largest "
        "difference of a target's stamp from the current time",
        "s",
        1e-3,
        3600.0,
    )
    tolerance: float = parameter(
        default_of(track, "tolerance"),
        "Largest error of a tool that counts as on the path or at the target",
        "m and rad",
        1e-12,
        1.0,
    )
    joint_stiffness: float = parameter(
        STIFFNESS,
        "Position feedback gain of the joints in dynamic mode",
        "1/s^2",
        1e-3,
        1e8,
        dynamic=True,
    )
    joint_damping: float = parameter(
        DAMPING,
        "Velocity feedback gain of the joints in dynamic mode",
        "1/s",
        1e-3,
        1e6,
        dynamic=True,
    )
    transport_delay: NumberOrWord = parameter(
        "auto",
        "Delay from a joint state to the effect of its command in dynamic mode; auto: measured "
        "from the efforts in joint states; while it is unknown, the feedback is reduced to gains "
        "that are stable up to a delay of 0.06 s",
        "s",
        0.0,
        1.0,
        choices=("auto",),
    )
    effort_rate: float = parameter(
        default_of(ComputedTorque, "effort_rate"),
        "Largest rate of change of effort commands in dynamic mode; 0: unlimited",
        "N m/s or N/s",
        0.0,
        1e12,
    )
    max_joint_error: float = parameter(
        0.2,
        "Joint error above which the arm is picked up at its current position",
        "rad or m",
        1e-6,
        1e3,
    )
    max_pick_up_speed: float = parameter(
        default_of(ArmDriver, "max_speed"),
        "Joint speed above which the arm is braked, to half this speed, before it moves to the "
        "path",
        "rad/s or m/s",
        1e-3,
        1e3,
    )
    state_timeout: float = parameter(
        0.5,
        "Time without joint states after which the node logs a warning and picks up the arm at "
        "its next position",
        "s",
        1e-3,
        1e6,
    )
    command_topic: str = parameter("simulator/commands", "Topic of effort commands")
    publish_every: int = parameter(
        1, "Number of steps between messages with poses and errors", "", 1, 1000000
    )
    path_length: int = parameter(2000, "Number of poses on ~/actual_path", "", 1, 1000000)


def invalid_combination(parameters: ClikTrackerParameters, robot: Robot) -> str:
    """Return why a combination of individually valid parameters is invalid, or ""."""
    problem = unstable_gain(parameters.method, parameters.gain, parameters.step)
    if problem:
        return problem
    try:
        settings_from(parameters).joints(robot)
    except ManipDynError as error:
        return str(error)
    if parameters.mode == "kinematic":
        return ""
    stiffness, damping = parameters.joint_stiffness, parameters.joint_damping
    gains = {"joint_stiffness": stiffness, "joint_damping": damping}
    return unstable_feedback(stiffness, damping, parameters.step) or excessive_delay(
        parameters.transport_delay, gains, parameters.step
    )


def tracker_from(parameters: ClikTrackerParameters, robot: Robot) -> PathFollower:
    """Return a follower of the path at the initial posture.

    Raises:
        ManipDynError: If the combination of parameters is invalid, or the robot cannot follow
            the path.
    """
    problem = invalid_combination(parameters, robot)
    if problem:
        raise ManipDynError(problem)
    posture = _first_posture(parameters, robot)
    path = path_from(parameters, tool_pose(robot, posture))
    start = _on_path(parameters, robot, path, posture)
    return PathFollower(
        robot,
        path,
        start,
        parameters.step,
        settings_from(parameters),
        parameters.method,
        scene=scene_from(parameters),
    )


def driver_from(
    parameters: ClikTrackerParameters,
    reference: JointReference,
    begun: Callable[[int], None],
    before_step: Callable[[], None],
) -> ArmDriver:
    """Return the object that drives an arm along a reference in dynamic mode.

    Args:
        parameters: The tracker's parameters.
        reference: The reference.
        begun: Called with the stamp of path time zero (ns) when the path begins.
        before_step: Called before every step of the reference.
    """
    return ArmDriver(
        reference,
        ComputedTorque(
            reference.follower.robot,
            parameters.joint_stiffness,
            parameters.joint_damping,
            parameters.step,
            parameters.effort_rate,
        ),
        begun,
        before_step,
        straight=parameters.start_on_path,
        timeout=parameters.state_timeout,
        max_error=parameters.max_joint_error,
        max_speed=parameters.max_pick_up_speed,
    )


def _first_posture(parameters: ClikTrackerParameters, robot: Robot) -> Vector:
    if not parameters.initial_position:
        return dexterous_posture(robot)
    posture = joint_array("initial_position", parameters.initial_position, robot)
    robot.check_within_limits("initial position", posture)
    return posture


def _on_path(
    parameters: ClikTrackerParameters, robot: Robot, path: Path, posture: Vector
) -> Vector:
    """Return `posture`, or a posture at the first pose of the path if the arm must start there."""
    unchanged = parameters.initial_position and not parameters.start_on_path
    if isinstance(path, SmoothTarget) or unchanged:
        return posture
    return posture_for(robot, path.pose(0.0), posture)
