"""The task ``track``: a circle followed by closed-loop inverse kinematics."""

from __future__ import annotations

from typing import Any

from scipy.spatial.transform import Rotation

from manip_dyn.clik import Circle, ClikSettings, middle_posture, posture_for, track
from manip_dyn.core.checks import finite_vector
from manip_dyn.ensembles.sweeps.tasks.plan import ending
from manip_dyn.ensembles.sweeps.tasks.problem import Settings, posture, some
from manip_dyn.robot import Robot

OF_CIRCLE, OF_LAW = ("ramp", "follow_tangent"), ("gain", "inverse", "orientation_error")
CHOICES = ("method", "step", "duration")
PLACES = ("center", "normal", "first", "rpy", "speed", "rate", "start")
SETTINGS = (*PLACES, *OF_CIRCLE, *OF_LAW, *CHOICES)
NEEDED, VECTORS = ("center",), ("start",)
TEXTS = ("inverse", "orientation_error", "method")
COLUMNS = {
    "time": "number",
    "position_error": "number",
    "orientation_error_max": "number",
    "smallest_singular_value": "number",
    "smallest_speed_scale": "number",
}
AXES = {"normal": (0.0, 0.0, 1.0), "first": (1.0, 0.0, 0.0), "rpy": (0.0, 0.0, 0.0)}


def run(robot: Robot, settings: Settings) -> dict[str, Any]:
    """Return the largest errors of the tool, and how near to singular the arm came."""
    center = finite_vector("center", settings["center"], 3)
    normal, first, rpy = (finite_vector(k, settings.get(k, v), 3) for k, v in AXES.items())
    tool = Rotation.from_euler("xyz", rpy).as_matrix()
    speed, rate = settings.get("speed", 0.1), settings.get("rate", 0.2)
    circle = Circle(center, normal, first, tool, speed, rate, **some(settings, *OF_CIRCLE))
    guess = posture(robot, settings, "start") if "start" in settings else middle_posture(robot)
    law = ClikSettings(**some(settings, *OF_LAW))
    q0 = posture_for(robot, circle.pose(0.0), guess)
    result = track(robot, circle, q0=q0, settings=law, **some(settings, *CHOICES))
    return {
        "time": float(result.t[-1]),
        "position_error": float(result.position_error.max()),
        "orientation_error_max": float(result.orientation_error.max()),
        "smallest_singular_value": float(result.smallest_singular_value.min()),
        "smallest_speed_scale": float(result.scale.min()),
        **ending(result),
    }
