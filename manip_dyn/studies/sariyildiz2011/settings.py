"""Settings of the study from ``config/sariyildiz2011.yaml``: circles, gains and steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scipy.spatial.transform import Rotation

from manip_dyn.clik import ERRORS, Circle
from manip_dyn.core.checks import Vector, finite_vector, not_negative, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import load_robot
from manip_dyn.studies.report.settings import (
    boolean,
    check_names,
    checked,
    list_of,
    positive_integer,
    record_of,
    records_by_name,
    string,
)


def _three(name: str, value: Any) -> Vector:
    return finite_vector(name, value, 3)


def _posture(name: str, value: Any) -> Vector:
    return finite_vector(name, value, load_robot("pa10").n)


def _laps(name: str, value: Any) -> int:
    laps = positive_integer(name, value)
    if laps < 3:
        raise ManipDynError(f"{name} must be at least 3 to measure growth, got {laps}.")
    return laps


@dataclass(frozen=True)
class Placement:
    """Position and orientation of a circle, and a posture near its start.

    Attributes:
        center: Centre (3,), m.
        normal: Axis of the circle (3,).
        start: Direction of the first point from the centre (3,).
        tool_rpy: Initial roll, pitch and yaw of the tool (3,), rad.
        follow_tangent: Whether the tool rotates with the radius.
        posture: Joint positions (n,) near the start, rad.
    """

    center: Vector = checked(_three)
    normal: Vector = checked(_three)
    start: Vector = checked(_three)
    tool_rpy: Vector = checked(_three)
    follow_tangent: bool = checked(boolean)
    posture: Vector = checked(_posture)

    def path(self, linear_speed: float, angular_speed: float) -> Circle:
        """Return the path for a linear speed (m/s) and an angular speed (rad/s)."""
        tool = Rotation.from_euler("xyz", self.tool_rpy).as_matrix()
        return Circle(
            self.center,
            self.normal,
            self.start,
            tool,
            linear_speed,
            angular_speed,
            follow_tangent=self.follow_tangent,
        )


@dataclass(frozen=True)
class Singular:
    """Circles with singular postures.

    Attributes:
        shown: Name of the circle in Figures 15 to 18.
        gains: Feedback gains, 1/s. The figures use the first one.
        near: Limit of the smallest singular value of the Jacobian, below which a posture counts as
            singular.
        damping: Maximum damping of the damped inverses.
        circles: Circles by name.
    """

    shown: str = checked(string)
    gains: tuple[float, ...] = checked(list_of(positive))
    near: float = checked(positive)
    damping: float = checked(positive)
    circles: Mapping[str, Placement] = checked(records_by_name(Placement))

    def __post_init__(self) -> None:
        """Check the name of the shown circle."""
        check_names("shown of singular", [self.shown], self.circles)


@dataclass(frozen=True)
class Settings:
    """Settings of the study. The YAML file explains the choices.

    Attributes:
        gain: Feedback gain in the figures, 1/s.
        laps: Number of laps per run.
        lost: Position error from which the path counts as lost, m.
        circles: Circles by name.
        shown_circles: Names of the circles in the figures.
        gains: Feedback gains in the tables, 1/s.
        charted_gains: Feedback gains in the chart over K h, 1/s.
        offsets: Offsets of the start from the path, m.
        offset_gain: Feedback gain of runs with an offset, 1/s.
        orientation_errors: Orientation errors: names in `manip_dyn.clik.ERRORS`.
        order_steps: Steps for which orders are estimated, s.
        singular: Circles with singular postures.
        repeats: Number of timing rounds.
        slice: Smallest CPU time of a timing, s.
    """

    gain: float = checked(positive, unit="1/s")
    laps: int = checked(_laps)
    lost: float = checked(positive, unit="m")
    circles: Mapping[str, Placement] = checked(records_by_name(Placement))
    shown_circles: tuple[str, ...] = checked(list_of(string))
    gains: tuple[float, ...] = checked(list_of(positive))
    charted_gains: tuple[float, ...] = checked(list_of(positive))
    offsets: tuple[float, ...] = checked(list_of(not_negative))
    offset_gain: float = checked(positive, unit="1/s")
    orientation_errors: tuple[str, ...] = checked(list_of(string))
    order_steps: tuple[float, ...] = checked(list_of(positive))
    singular: Singular = checked(record_of(Singular))
    repeats: int = checked(positive_integer)
    slice: float = checked(positive, unit="s")

    def __post_init__(self) -> None:
        """Check the names of circles and orientation errors."""
        check_names("shown_circles", self.shown_circles, self.circles)
        check_names("orientation_errors", self.orientation_errors, ERRORS)

    @property
    def all_circles(self) -> dict[str, Placement]:
        """All circles, with and without singular postures."""
        return {**self.circles, **self.singular.circles}
