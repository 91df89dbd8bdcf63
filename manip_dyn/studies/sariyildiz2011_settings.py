"""What `study sariyildiz2011` tracks and with what: ``config/sariyildiz2011.yaml``, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from scipy.spatial.transform import Rotation

from manip_dyn.clik import ERRORS, Circle
from manip_dyn.errors import ManipDynError, closest
from manip_dyn.robot import load_robot
from manip_dyn.studies.yaml_file import count, mapping, read_yaml
from manip_dyn.validate import Vector, finite_vector, not_negative, positive


@dataclass(frozen=True)
class Place:
    """Where a circle is.

    Attributes:
        center: m, (3,).
        normal: Axis (3,).
        start: Direction of its first point from the centre (3,).
        tool_rpy: Orientation of the tool at the start: roll, pitch, yaw, rad, (3,).
        follow_tangent: Whether the tool turns with the radius.
        posture: Joint positions (n,), rad, near which the arm starts.
    """

    center: Vector
    normal: Vector
    start: Vector
    tool_rpy: Vector
    follow_tangent: bool
    posture: Vector

    def path(self, linear_speed: float, angular_speed: float) -> Circle:
        """Return the circle at speeds in m/s and rad/s."""
        tool = Rotation.from_euler("xyz", self.tool_rpy).as_matrix()
        return Circle(
            self.center, self.normal, self.start, tool, linear_speed, angular_speed,
            follow_tangent=self.follow_tangent,
        )  # fmt: skip


@dataclass(frozen=True)
class Singular:
    """Circles with singular postures.

    Attributes:
        shown: The circle of Figures 15 to 18.
        gains: Feedback, 1/s; the first is that of the figures.
        near: Smallest singular value of J below which a posture is near a singular one.
        damping: Largest damping of the damped inverses.
        circles: Name -> where it is.
    """

    shown: str
    gains: tuple[float, ...]
    near: float
    damping: float
    circles: Mapping[str, Place]


@dataclass(frozen=True)
class Settings:
    """The study's settings; the file says why each is what it is.

    Attributes:
        gain: Feedback of the figures, 1/s.
        rounds: Full circles per run.
        lost: Position error at which the path counts as lost, m.
        circles: Name -> where it is.
        shown_circles: Those that figures show.
        gains: Feedback that is tried on every circle, 1/s.
        charted_gains: Feedback of the figure over K h, 1/s.
        offsets: Of the start from the path, m.
        offset_gain: Feedback that brings the tool from there, 1/s.
        orientation_errors: Names in `manip_dyn.clik.ERRORS`.
        order_steps: Steps over which the orders are measured, s.
        singular: Circles with singular postures.
        repeats: Timings of which the median counts.
        slice: Least CPU time of each, s.
    """

    gain: float
    rounds: int
    lost: float
    circles: Mapping[str, Place]
    shown_circles: tuple[str, ...]
    gains: tuple[float, ...]
    charted_gains: tuple[float, ...]
    offsets: tuple[float, ...]
    offset_gain: float
    orientation_errors: tuple[str, ...]
    order_steps: tuple[float, ...]
    singular: Singular
    repeats: int
    slice: float

    @property
    def places(self) -> dict[str, Place]:
        """All circles, with and without singular postures."""
        return {**self.circles, **self.singular.circles}


def read_settings(path: str | Path | None = None) -> Settings:
    """Return the settings in a YAML file; default: the shipped one."""
    file, content = read_yaml("sariyildiz2011", path)
    values = mapping(f"'{file}'", content, [field.name for field in fields(Settings)])
    circles = _places("circles", values["circles"])
    rounds = count("rounds", values["rounds"])
    if rounds < 3:
        raise ManipDynError(f"rounds is {rounds}; expected 3 or more: growth is read between two")
    return Settings(
        gain=positive("gain", values["gain"], "1/s"),
        rounds=rounds,
        lost=positive("lost", values["lost"], "m"),
        circles=circles,
        shown_circles=_names("shown_circles", values["shown_circles"], circles),
        gains=_numbers("gains", values["gains"]),
        charted_gains=_numbers("charted_gains", values["charted_gains"]),
        offsets=tuple(not_negative("offsets", each, "m") for each in values["offsets"]),
        offset_gain=positive("offset_gain", values["offset_gain"], "1/s"),
        orientation_errors=_names("orientation_errors", values["orientation_errors"], ERRORS),
        order_steps=_numbers("order_steps", values["order_steps"]),
        singular=_singular(values["singular"]),
        repeats=count("repeats", values["repeats"]),
        slice=positive("slice", values["slice"], "s"),
    )


def _singular(content: Any) -> Singular:
    values = mapping("singular", content, [field.name for field in fields(Singular)])
    circles = _places("singular circles", values["circles"])
    return Singular(
        shown=_names("singular", [values["shown"]], circles)[0],
        gains=_numbers("singular gains", values["gains"]),
        near=positive("near", values["near"]),
        damping=positive("damping", values["damping"]),
        circles=circles,
    )


def _places(what: str, content: Any) -> dict[str, Place]:
    if not isinstance(content, dict) or not content:
        raise ManipDynError(f"{what} is {content!r}; expected names with circles")
    return {name: _place(name, each) for name, each in content.items()}


def _place(name: str, content: Any) -> Place:
    values = mapping(f"circle {name}", content, [field.name for field in fields(Place)])
    arrays = {
        key: finite_vector(f"{key} of {name}", values[key], 3)
        for key in ("center", "normal", "start", "tool_rpy")
    }
    posture = finite_vector(f"posture of {name}", values["posture"], load_robot("pa10").n)
    follow = values["follow_tangent"]
    if not isinstance(follow, bool):
        raise ManipDynError(f"follow_tangent of {name} is {follow!r}; expected true or false")
    return Place(**arrays, follow_tangent=follow, posture=posture)


def _numbers(what: str, content: Any) -> tuple[float, ...]:
    if not isinstance(content, list) or not content:
        raise ManipDynError(f"{what} is {content!r}; expected a list of numbers")
    return tuple(positive(what, each) for each in content)


def _names(what: str, content: Any, known: Any) -> tuple[str, ...]:
    for name in content:
        if name not in known:
            raise ManipDynError(f"{what} has '{name}'{closest(str(name), known)}")
    return tuple(content)
