"""Parameters of paths. Each kind of path is a group of parameters that creates the path.

To add a kind of path, define its group in this module, and add it to `KINDS` and to the fields of
`PathParameters`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from manip_dyn.clik import Circle, Line, Lissajous, Path, Pose, Waypoints, path_from_csv
from manip_dyn.clik.paths.targets import SmoothTarget, TargetBounds
from manip_dyn.core.checks import Matrix, Vector, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ros.parameters.declaration import Numbers, default_of, group, parameter

RPY = "roll, pitch, yaw about the fixed base axes (3 numbers)"
SPEEDS, RATES = (1e-6, 100.0), (1e-6, 1e3)
"""Ranges of the speeds, and of the accelerations and the speed limits for files."""
BOUNDS = TargetBounds()


class PathKind(ABC):
    """Base class of the parameters of one kind of path."""

    kind: ClassVar[str]
    """Name of the kind, and prefix of its parameters."""

    @abstractmethod
    def make(self, tool: Pose, ramp: float, laps: int) -> Path:
        """Create the path.

        Args:
            tool: Initial pose of the tool, for paths that start there.
            ramp: Duration of the smooth start, s.
            laps: Number of laps, if the kind has laps. With 0, the default of the kind is used.
        """

    def vector(self, name: str, default: Vector | None = None) -> Vector:
        """Return the three numbers of a parameter, or the default if it is not set.

        Raises:
            ManipDynError: If there are not three numbers, or neither a value nor a default.
        """
        numbers = getattr(self, name)
        if numbers:
            return finite_vector(f"parameter '{self.kind}.{name}'", numbers, 3)
        if default is None:
            raise ManipDynError(f"parameter '{self.kind}.{name}' must have 3 numbers, got none.")
        return default

    def rotation(self, name: str, default: Matrix | None = None) -> Matrix:
        """Return the rotation matrix (3, 3) of a parameter with roll, pitch and yaw.

        If the parameter is not set, return the default matrix, or else the identity.
        """
        if default is not None and not getattr(self, name):
            return default
        return Rotation.from_euler("xyz", self.vector(name, np.zeros(3))).as_matrix()


@dataclass(frozen=True)
class CircleParameters(PathKind):
    """Parameters of a circle in any plane."""

    kind: ClassVar[str] = "circle"
    center: Numbers = parameter((), "Centre of the circle in the base frame (3 numbers)", "m")
    normal: Numbers = parameter((), "Axis of the circle in the base frame (3 numbers)")
    start: Numbers = parameter((), "Direction from the centre to the first point (3 numbers)")
    tool_rpy: Numbers = parameter((), f"Orientation of the tool: {RPY}", "rad")
    linear_speed: float = parameter(
        default_of(Circle, "linear_speed"), "Speed of the tool", "m/s", *SPEEDS
    )
    angular_speed: float = parameter(
        default_of(Circle, "angular_speed"),
        "Angular speed on the circle, whose radius is linear_speed / angular_speed",
        "rad/s",
        *SPEEDS,
    )
    follow_tangent: bool = parameter(
        default_of(Circle, "follow_tangent"), "Rotate the tool with the radius"
    )

    def make(self, tool: Pose, ramp: float, laps: int) -> Path:
        """Create the circle. It is endless if `laps` is 0."""
        return Circle(
            center=self.vector("center"),
            normal=self.vector("normal"),
            start=self.vector("start"),
            rotation=self.rotation("tool_rpy"),
            linear_speed=self.linear_speed,
            angular_speed=self.angular_speed,
            ramp=ramp,
            rounds=laps or None,
            follow_tangent=self.follow_tangent,
        )


@dataclass(frozen=True)
class LineParameters(PathKind):
    """Parameters of a straight line."""

    kind: ClassVar[str] = "line"
    start: Numbers = parameter((), "First point in the base frame (3 numbers)", "m")
    start_rpy: Numbers = parameter((), f"Orientation there: {RPY}", "rad")
    end: Numbers = parameter((), "Last point in the base frame (3 numbers)", "m")
    end_rpy: Numbers = parameter((), f"Orientation there: {RPY}; not set: as at the start", "rad")
    linear_speed: float = parameter(
        default_of(Line, "linear_speed"), "Largest speed of the tool", "m/s", *SPEEDS
    )
    angular_speed: float = parameter(
        default_of(Line, "angular_speed"), "Largest angular speed of the tool", "rad/s", *SPEEDS
    )

    def make(self, tool: Pose, ramp: float, laps: int) -> Path:
        """Create the line. The number of laps is ignored."""
        first = self.rotation("start_rpy")
        return Line(
            (self.vector("start"), first),
            (self.vector("end"), self.rotation("end_rpy", first)),
            self.linear_speed,
            self.angular_speed,
            ramp=ramp,
        )


@dataclass(frozen=True)
class LissajousParameters(PathKind):
    """Parameters of a Lissajous figure."""

    kind: ClassVar[str] = "lissajous"
    center: Numbers = parameter(
        (),
        "Centre of the figure in the base frame (3 numbers); not set: the figure starts at the "
        "tool",
        "m",
    )
    amplitudes: Numbers = parameter((), "Amplitudes of the three motions", "m")
    frequencies: Numbers = parameter((), "Oscillations per period, whole numbers (3)")
    phases: Numbers = parameter((0.0,) * 3, "Phases of the three motions", "rad")
    axes_rpy: Numbers = parameter((0.0,) * 3, f"Directions of the three motions: {RPY}", "rad")
    tool_rpy: Numbers = parameter(
        (), f"Orientation of the tool: {RPY}; not set: its initial orientation", "rad"
    )
    period: float = parameter(default_of(Lissajous, "period"), "Time of one lap", "s", 1e-3, 1e6)

    def make(self, tool: Pose, ramp: float, laps: int) -> Path:
        """Create the figure. It is endless if `laps` is 0."""
        amplitudes, axes = self.vector("amplitudes"), self.rotation("axes_rpy")
        phases = self.vector("phases")
        center = tool.position - axes @ (amplitudes * np.sin(phases))
        return Lissajous(
            center=self.vector("center", center),
            amplitudes=amplitudes,
            frequencies=self.vector("frequencies"),
            rotation=self.rotation("tool_rpy", tool.rotation),
            period=self.period,
            phases=phases,
            axes=axes,
            ramp=ramp,
            rounds=laps or None,
        )


@dataclass(frozen=True)
class WaypointsParameters(PathKind):
    """Parameters of a smooth curve through poses."""

    kind: ClassVar[str] = "waypoints"
    poses: Numbers = parameter(
        (), "Six numbers per waypoint in the base frame: x, y, z, roll, pitch, yaw", "m and rad"
    )
    times: Numbers = parameter((), "Times of the waypoints; not set: from the speeds", "s")
    linear_speed: float = parameter(
        default_of(Waypoints, "linear_speed"), "Speed of the tool", "m/s", *SPEEDS
    )
    angular_speed: float = parameter(
        default_of(Waypoints, "angular_speed"), "Angular speed of the tool", "rad/s", *SPEEDS
    )

    def make(self, tool: Pose, ramp: float, laps: int) -> Path:
        """Create the curve. It has one lap if `laps` is 0."""
        count = len(self.poses)
        if count < 12 or count % 6:
            raise ManipDynError(
                "parameter 'waypoints.poses' must have 6 numbers per waypoint, at least 12, got "
                f"{count}."
            )
        rows = finite_vector("parameter 'waypoints.poses'", self.poses, count).reshape(-1, 6)
        rotations = Rotation.from_euler("xyz", rows[:, 3:]).as_matrix()
        return Waypoints(
            list(zip(rows[:, :3], rotations, strict=True)),
            self.times or None,
            linear_speed=self.linear_speed,
            angular_speed=self.angular_speed,
            ramp=ramp,
            rounds=laps or 1,
        )


@dataclass(frozen=True)
class CsvParameters(PathKind):
    """Parameters of waypoints from a file."""

    kind: ClassVar[str] = "csv"
    file: str = parameter("", "Path of a CSV file: t, x, y, z, qx, qy, qz, qw")
    max_linear_speed: float = parameter(
        default_of(path_from_csv, "max_linear_speed"),
        "Largest speed between two rows; a file with a higher speed is rejected",
        "m/s",
        *RATES,
    )
    max_angular_speed: float = parameter(
        default_of(path_from_csv, "max_angular_speed"),
        "Largest angular speed between two rows",
        "rad/s",
        *RATES,
    )

    def make(self, tool: Pose, ramp: float, laps: int) -> Path:
        """Create the curve. It has one lap if `laps` is 0."""
        if not self.file:
            raise ManipDynError("parameter 'csv.file' must be the path of a CSV file, got ''.")
        return path_from_csv(
            self.file,
            ramp=ramp,
            rounds=laps or 1,
            max_linear_speed=self.max_linear_speed,
            max_angular_speed=self.max_angular_speed,
        )


@dataclass(frozen=True)
class TargetParameters(PathKind):
    """Parameters of the motion to targets on ~/target_pose and ~/target_twist."""

    kind: ClassVar[str] = "target"
    linear_speed: float = parameter(
        BOUNDS.linear_speed, "Largest speed towards a target", "m/s", *SPEEDS
    )
    angular_speed: float = parameter(
        BOUNDS.angular_speed, "Largest angular speed towards a target", "rad/s", *SPEEDS
    )
    linear_acceleration: float = parameter(
        BOUNDS.linear_acceleration, "Largest acceleration towards a target", "m/s^2", *RATES
    )
    angular_acceleration: float = parameter(
        BOUNDS.angular_acceleration,
        "Largest angular acceleration towards a target",
        "rad/s^2",
        *RATES,
    )

    def make(self, tool: Pose, ramp: float, laps: int) -> Path:
        """Create a path that remains at the initial pose of the tool until a target arrives."""
        return SmoothTarget(tool, TargetBounds(**asdict(self)))


KINDS: tuple[type[PathKind], ...] = (
    CircleParameters,
    LineParameters,
    LissajousParameters,
    WaypointsParameters,
    CsvParameters,
    TargetParameters,
)


@dataclass(frozen=True)
class PathParameters:
    """The kind of path, and the parameters of each kind."""

    path: str = parameter(
        CircleParameters.kind,
        "Kind of path; target: the tool follows ~/target_pose and ~/target_twist",
        choices=tuple(row.kind for row in KINDS),
    )
    ramp: float = parameter(
        default_of(Line, "ramp"),
        "Duration of the smooth start, and of the smooth stop if the path has an end; 0: full "
        "speed immediately; not for the path target",
        "s",
        0.0,
        1e4,
    )
    rounds: int = parameter(
        0,
        "Number of laps; 0: endless circles and Lissajous figures, one lap of other paths; not "
        "for the paths line and target",
        "",
        0,
        1000000,
    )
    circle: CircleParameters = group(CircleParameters)
    line: LineParameters = group(LineParameters)
    lissajous: LissajousParameters = group(LissajousParameters)
    waypoints: WaypointsParameters = group(WaypointsParameters)
    csv: CsvParameters = group(CsvParameters)
    target: TargetParameters = group(TargetParameters)


def path_from(parameters: PathParameters, tool: Pose) -> Path:
    """Create the path that the parameters specify.

    Args:
        parameters: The parameters of all kinds of paths.
        tool: Initial pose of the tool, for paths that start there.

    Raises:
        ManipDynError: If a parameter or a combination is invalid. The message names it.
    """
    kind: PathKind = getattr(parameters, parameters.path)
    try:
        return kind.make(tool, parameters.ramp, parameters.rounds)
    except ManipDynError as error:
        if f"'{kind.kind}." in str(error):
            raise
        raise ManipDynError(f"parameters '{kind.kind}.*': {error}") from error
