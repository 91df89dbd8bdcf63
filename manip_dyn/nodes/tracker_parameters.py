"""The tracker's parameters but those of its path, and the law that they describe."""

from __future__ import annotations

from typing import Any

from manip_dyn import clik
from manip_dyn.clik.control.computed_torque import unstable_feedback
from manip_dyn.clik.tracking.tracker import unstable_gain
from manip_dyn.errors import ManipDynError
from manip_dyn.integrate import METHODS
from manip_dyn.integrate.methods.taylor import Taylor
from manip_dyn.nodes.parameters import NUMBERS, Parameter
from manip_dyn.nodes.path_parameters import PATH_PARAMETERS
from manip_dyn.nodes.robot_parameters import ROBOT_PARAMETERS

METHOD_NAMES = tuple(name for name, each in METHODS.items() if not isinstance(each, Taylor))

LAW_PARAMETERS = (
    Parameter("gain", 2.0, "Feedback gain K of the task error", "1/s", 1e-3, 1e4, dynamic=True),
    Parameter("orientation_error", "columns", "How an orientation error is measured",
              choices=clik.ERRORS, dynamic=True),
    Parameter("inverse", "filtered", "Inverse of the Jacobian, see docs/clik.md",
              choices=clik.INVERSES, dynamic=True),
    Parameter("damping_threshold", 0.04, "Smallest singular value of the Jacobian (inverse "
              "manipulability: the measure) below which damping begins", "", 1e-6, 10.0,
              dynamic=True),
    Parameter("max_damping", 0.04, "Damping at a singularity; constant: the damping", "", 0.0,
              10.0, dynamic=True),
    Parameter("escape", True, "Leave singular postures that block the tool (inverse filtered)",
              dynamic=True),
    Parameter("weights", NUMBERS, "Weights of the joint velocities in the norm that is minimized; "
              "not set: 1"),
    Parameter("controlled", NUMBERS, "1 or 0 for each of x, y, z and the rotations about them; "
              "not set: all are followed"),
    Parameter("posture", NUMBERS, "Joint positions that the null space is to keep", "rad or m"),
    Parameter("posture_gain", 0.0, "Null-space gain towards the posture", "1/s", 0.0, 1e4,
              dynamic=True),
    Parameter("limit_avoidance", 0.0, "Null-space gain towards the middle of the joint ranges",
              "1/s", 0.0, 1e4, dynamic=True),
    Parameter("manipulability", 0.0, "Null-space gain up the gradient of sqrt(det J J^T)",
              minimum=0.0, maximum=1e6, dynamic=True),
    Parameter("limit_gain", 0.0, "A joint moves towards its limit at most at this rate times its "
              "distance; 0: half the reciprocal of the step", "1/s", 0.0, 1e6, dynamic=True),
)  # fmt: skip

PARAMETERS = (
    *ROBOT_PARAMETERS,
    Parameter("mode", "kinematic", "kinematic: publish joint states; dynamic: drive the arm on "
              "joint_states by effort commands", choices=("kinematic", "dynamic")),
    Parameter("method", "rk4", "Integration method; the list is in docs/integrators.md",
              choices=METHOD_NAMES),
    Parameter("step", 0.1, "Step of the integration; in dynamic mode the time between joint "
              "states", "s", 1e-5, 10.0),
    Parameter("real_time_factor", 1.0, "Path time per wall time, kinematic mode", minimum=1e-3,
              maximum=1e3, dynamic=True),
    *LAW_PARAMETERS,
    Parameter("initial_position", NUMBERS, "Joint positions to start from in kinematic mode; not "
              "set: a posture on the path", "rad or m"),
    Parameter("start_on_path", True, "Move the initial posture onto the path's first pose before "
              "the motion begins; dynamic mode: go there on a straight line"),
    *PATH_PARAMETERS,
    Parameter("base_frame", "", "Frame of targets and of what is published; empty: the robot's "
              "root link"),
    Parameter("command_timeout", 0.5, "Path time after which a twist without news falls to zero, "
              "and age or lead above which targets are dropped", "s", 1e-3, 3600.0),
    Parameter("tolerance", 1e-3, "Errors that count as being on the path or at the target, m and "
              "rad", minimum=1e-12, maximum=1.0),
    Parameter("joint_stiffness", 400.0, "Position feedback of the joints, dynamic mode", "1/s^2",
              1e-3, 1e8, dynamic=True),
    Parameter("joint_damping", 40.0, "Velocity feedback of the joints, dynamic mode", "1/s", 1e-3,
              1e6, dynamic=True),
    Parameter("max_joint_error", 0.2, "Joint error from which the arm counts as lost: it is "
              "picked up where it is", "rad or m", 1e-6, 1e3),
    Parameter("state_timeout", 0.5, "Time without joint states that is an error; after it the "
              "arm is picked up where it is", "s", 1e-3, 1e6),
    Parameter("command_topic", "simulator/commands", "Where effort commands go"),
    Parameter("publish_every", 1, "Poses and errors are published every so many steps",
              minimum=1, maximum=1000000),
    Parameter("path_length", 2000, "Poses kept on ~/actual_path", "", 1, 1000000),
)  # fmt: skip


def settings_from(values: dict[str, Any]) -> clik.ClikSettings:
    """Return the law that the parameters describe.

    Raises:
        ManipDynError: If they do not fit together, or gain and step are unstable.
    """
    problem = unstable_gain(values["method"], values["gain"], values["step"])
    if problem:
        raise ManipDynError(problem)
    lists = {name: list(values[name]) or None for name in ("weights", "posture")}
    names = {row.name for row in LAW_PARAMETERS} - {*lists, "controlled", "limit_gain"}
    return clik.ClikSettings(
        **{name: values[name] for name in names},
        **lists,
        controlled=_controlled(values["controlled"]),
        limit_gain=values["limit_gain"] or None,
    )


def refused_together(values: dict[str, Any], robot) -> str:
    """Return what is wrong with values that are good each for itself, or nothing."""
    try:
        settings_from(values).joints(robot)
    except ManipDynError as error:
        return str(error)
    if values["mode"] == "kinematic":
        return ""
    return unstable_feedback(values["joint_stiffness"], values["joint_damping"], values["step"])


def _controlled(given: Any) -> tuple[bool, ...]:
    rows = list(given) or [1.0] * 6
    if len(rows) != 6 or not set(rows) <= {0.0, 1.0}:
        raise ManipDynError(
            f"parameter 'controlled' is {rows}; expected six numbers, each 1.0 or 0.0"
        )
    return tuple(bool(row) for row in rows)
