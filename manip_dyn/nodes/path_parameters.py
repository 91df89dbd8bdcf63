"""The tracker's parameters that describe a path, and the path that they describe."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from manip_dyn import clik
from manip_dyn.clik.paths.follower import Bounds, Follower
from manip_dyn.errors import ManipDynError
from manip_dyn.nodes.parameters import NUMBERS, Parameter
from manip_dyn.validate import Vector, finite_vector

PATHS = ("circle", "line", "lissajous", "waypoints", "csv", "target")
_SPEED = ("Speed of the tool", "m/s", 1e-6, 100.0)
_TURN = ("Angular speed of the tool", "rad/s", 1e-6, 100.0)
_RPY = "roll, pitch, yaw about the fixed base axes (3 numbers)"

PATH_PARAMETERS = (
    Parameter("path", "circle", "What the tool follows; target: what arrives on ~/target_pose "
              "and ~/target_twist", choices=PATHS),
    Parameter("ramp", 1.0, "Duration of the smooth start, and of the stop where there is one; 0: "
              "at full speed from the first moment", "s", 0.0, 1e4),
    Parameter("rounds", 0, "Rounds of a closed path; 0: circles and Lissajous figures without "
              "end, others once", minimum=0, maximum=1000000),
    Parameter("circle.center", NUMBERS, "Centre of the circle in the base frame (3 numbers)", "m"),
    Parameter("circle.normal", NUMBERS, "Axis of the circle in the base frame (3 numbers)"),
    Parameter("circle.start", NUMBERS, "Direction from the centre to the first point (3 numbers)"),
    Parameter("circle.tool_rpy", NUMBERS, f"Orientation of the tool: {_RPY}", "rad"),
    Parameter("circle.linear_speed", 0.1, *_SPEED),
    Parameter("circle.angular_speed", 0.2, "Speed of the radius; radius = linear_speed / "
              "angular_speed", "rad/s", 1e-6, 100.0),
    Parameter("circle.follow_tangent", False, "Turn the tool with the radius"),
    Parameter("line.start", NUMBERS, "First point in the base frame (3 numbers)", "m"),
    Parameter("line.start_rpy", NUMBERS, f"Orientation there: {_RPY}", "rad"),
    Parameter("line.end", NUMBERS, "Last point in the base frame (3 numbers)", "m"),
    Parameter("line.end_rpy", NUMBERS, f"Orientation there; not set: as at the start: {_RPY}",
              "rad"),
    Parameter("line.linear_speed", 0.1, *_SPEED),
    Parameter("line.angular_speed", 0.5, *_TURN),
    Parameter("lissajous.center", NUMBERS, "Centre of the figure in the base frame (3 numbers); "
              "not set: so that it begins where the tool is", "m"),
    Parameter("lissajous.amplitudes", NUMBERS, "Amplitudes of the three motions", "m"),
    Parameter("lissajous.frequencies", NUMBERS, "Oscillations per period, whole numbers (3)"),
    Parameter("lissajous.phases", NUMBERS, "Phases of the three motions; not set: 0", "rad"),
    Parameter("lissajous.axes_rpy", NUMBERS, "Directions of the three motions; not set: the base "
              f"axes: {_RPY}", "rad"),
    Parameter("lissajous.tool_rpy", NUMBERS, "Orientation of the tool; not set: as it is at the "
              f"start: {_RPY}", "rad"),
    Parameter("lissajous.period", 20.0, "Time of one round", "s", 1e-3, 1e6),
    Parameter("waypoints.poses", NUMBERS, "Six numbers per waypoint in the base frame: x, y, z, "
              "roll, pitch, yaw", "m and rad"),
    Parameter("waypoints.times", NUMBERS, "When they are passed; not set: from the speeds", "s"),
    Parameter("waypoints.linear_speed", 0.1, *_SPEED),
    Parameter("waypoints.angular_speed", 0.5, *_TURN),
    Parameter("csv.file", "", "Path of a CSV file: t, x, y, z, qx, qy, qz, qw"),
    Parameter("csv.max_linear_speed", 5.0, "What is faster between two lines is a jump", "m/s",
              1e-6, 1e3),
    Parameter("csv.max_angular_speed", 20.0, "The same for the orientation", "rad/s", 1e-6, 1e3),
    Parameter("target.linear_speed", 0.25, "Speed on the way to a target, at most", "m/s", 1e-6,
              100.0),
    Parameter("target.angular_speed", 1.0, "The same for the orientation", "rad/s", 1e-6, 100.0),
    Parameter("target.linear_acceleration", 1.0, "Acceleration on the way, at most", "m/s^2",
              1e-6, 1e3),
    Parameter("target.angular_acceleration", 4.0, "The same for the orientation", "rad/s^2",
              1e-6, 1e3),
)  # fmt: skip


def path_from(values: dict[str, Any], tool: clik.Pose) -> clik.Path:
    """Return the path that the parameters describe.

    Args:
        values: Of all parameters by name.
        tool: Where the tool is at first, for what begins there.

    Raises:
        ManipDynError: Naming the parameter or the group of them that gives no path.
    """
    kind = values["path"]
    try:
        return _MAKERS[kind](_Group(kind, values), tool)
    except ManipDynError as error:
        if f"'{kind}." in str(error):
            raise
        raise ManipDynError(f"parameters '{kind}.*': {error}") from error


class _Group:
    """The parameters of one kind of path."""

    def __init__(self, kind: str, values: dict[str, Any]):
        self._kind, self._values = kind, values
        self.ramp: float = values["ramp"]
        self.rounds: int = values["rounds"]

    def __getitem__(self, name: str) -> Any:
        return self._values[f"{self._kind}.{name}"]

    def vector(self, name: str, default: Vector | None = None) -> Vector:
        """Return three numbers."""
        given = self[name]
        if not len(given):
            if default is None:
                raise ManipDynError(
                    f"parameter '{self._kind}.{name}' is not set; expected 3 numbers"
                )
            return default
        return finite_vector(f"parameter '{self._kind}.{name}'", given, 3)

    def rotation(self, name: str, default: Vector | None = None) -> Vector:
        """Return a rotation matrix from roll, pitch and yaw."""
        if default is not None and not len(self[name]):
            return default
        return Rotation.from_euler("xyz", self.vector(name, np.zeros(3))).as_matrix()


def _circle(given: _Group, _tool: clik.Pose) -> clik.Path:
    return clik.Circle(
        center=given.vector("center"),
        normal=given.vector("normal"),
        start=given.vector("start"),
        rotation=given.rotation("tool_rpy"),
        linear_speed=given["linear_speed"],
        angular_speed=given["angular_speed"],
        ramp=given.ramp,
        rounds=given.rounds or None,
        follow_tangent=given["follow_tangent"],
    )


def _line(given: _Group, _tool: clik.Pose) -> clik.Path:
    first = given.rotation("start_rpy")
    return clik.Line(
        (given.vector("start"), first),
        (given.vector("end"), given.rotation("end_rpy", first)),
        given["linear_speed"],
        given["angular_speed"],
        ramp=given.ramp,
    )


def _lissajous(given: _Group, tool: clik.Pose) -> clik.Path:
    amplitudes, axes = given.vector("amplitudes"), given.rotation("axes_rpy")
    phases = given.vector("phases", np.zeros(3))
    center = tool.position - axes @ (amplitudes * np.sin(phases))
    return clik.Lissajous(
        center=given.vector("center", center),
        amplitudes=amplitudes,
        frequencies=given.vector("frequencies"),
        rotation=given.rotation("tool_rpy", tool.rotation),
        period=given["period"],
        phases=phases,
        axes=axes,
        ramp=given.ramp,
        rounds=given.rounds or None,
    )


def _waypoints(given: _Group, _tool: clik.Pose) -> clik.Path:
    numbers = given["poses"]
    if len(numbers) < 12 or len(numbers) % 6:
        raise ManipDynError(
            f"parameter 'waypoints.poses' has {len(numbers)} numbers; expected 6 per waypoint, "
            "12 or more"
        )
    rows = finite_vector("parameter 'waypoints.poses'", numbers, len(numbers)).reshape(-1, 6)
    rotations = Rotation.from_euler("xyz", rows[:, 3:]).as_matrix()
    times = given["times"]
    return clik.Waypoints(
        list(zip(rows[:, :3], rotations, strict=True)),
        times if len(times) else None,
        linear_speed=given["linear_speed"],
        angular_speed=given["angular_speed"],
        ramp=given.ramp,
        rounds=given.rounds or 1,
    )


def _csv(given: _Group, _tool: clik.Pose) -> clik.Path:
    if not given["file"]:
        raise ManipDynError("parameter 'csv.file' is not set; expected the path of a CSV file")
    return clik.path_from_csv(
        given["file"],
        ramp=given.ramp,
        rounds=given.rounds or 1,
        max_linear_speed=given["max_linear_speed"],
        max_angular_speed=given["max_angular_speed"],
    )


def _target(given: _Group, tool: clik.Pose) -> clik.Path:
    names = ("linear_speed", "angular_speed", "linear_acceleration", "angular_acceleration")
    return Follower(tool, Bounds(**{name: given[name] for name in names}))


_MAKERS = {
    "circle": _circle,
    "line": _line,
    "lissajous": _lissajous,
    "waypoints": _waypoints,
    "csv": _csv,
    "target": _target,
}
