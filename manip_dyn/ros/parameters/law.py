"""The parameters of the CLIK law, with the defaults of `ClikSettings`."""

from __future__ import annotations

from dataclasses import dataclass, fields

from manip_dyn.clik import ERRORS, INVERSES, ClikSettings
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ros.parameters.rows import Numbers, parameter


@dataclass(frozen=True)
class LawParameters:
    """The law's constants; each is the setting of the same name."""

    gain: float = parameter(
        ClikSettings.gain, "Feedback gain K of the task error", "1/s", 1e-3, 1e4, dynamic=True
    )
    orientation_error: str = parameter(
        ClikSettings.orientation_error,
        "How an orientation error is measured",
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
        "Smallest singular value of the Jacobian (inverse manipulability: the measure) below "
        "which damping begins",
        "",
        1e-6,
        10.0,
        dynamic=True,
    )
    max_damping: float = parameter(
        ClikSettings.max_damping,
        "Damping at a singularity; constant: the damping",
        "",
        0.0,
        10.0,
        dynamic=True,
    )
    escape: bool = parameter(
        ClikSettings.escape,
        "Leave singular postures that block the tool (inverse filtered)",
        dynamic=True,
    )
    weights: Numbers = parameter(
        (), "Weights of the joint velocities in the norm that is minimized", each=1.0
    )
    controlled: Numbers = parameter(
        tuple(map(float, ClikSettings.controlled)),
        "1 or 0 for each of x, y, z and the rotations about them",
    )
    posture: Numbers = parameter((), "Joint positions that the null space is to keep", "rad or m")
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
        "Null-space gain up the gradient of sqrt(det J J^T)",
        "",
        0.0,
        1e6,
        dynamic=True,
    )
    limit_gain: float = parameter(
        ClikSettings.limit_gain or 0.0,
        "A joint moves towards its limit at most at this rate times its distance; 0: half the "
        "reciprocal of the step",
        "1/s",
        0.0,
        1e6,
        dynamic=True,
    )


def settings_from(parameters: LawParameters) -> ClikSettings:
    """Return the law that the parameters describe; what is not set has its default.

    Raises:
        ManipDynError: If they do not fit together.
    """
    given = {each.name: getattr(parameters, each.name) for each in fields(LawParameters)}
    given |= {name: given[name] or None for name in ("weights", "posture", "limit_gain")}
    return ClikSettings(**given | {"controlled": _controlled(parameters.controlled)})


def _controlled(numbers: Numbers) -> tuple[bool, ...]:
    rows = list(numbers)
    if len(rows) != 6 or not set(rows) <= {0.0, 1.0}:
        raise ManipDynError(
            f"parameter 'controlled' is {rows}; expected six numbers, each 1.0 or 0.0"
        )
    return tuple(bool(row) for row in rows)
