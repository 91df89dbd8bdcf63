"""The robots that are timed: the PA-10, and one that nobody here wrote."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from manip_dyn.robot import Robot, load_robot

_PANDA = "cmeel.prefix/share/example-robot-data/robots/panda_description/urdf/panda.urdf"


def usual_robots() -> list[Robot]:
    """Return the PA-10 and, where example-robot-data is installed, the Panda with hand."""
    robots = [load_robot("pa10")]
    try:
        path = Path(str(distribution("example-robot-data").locate_file(_PANDA)))
    except PackageNotFoundError:
        return robots
    return [*robots, load_robot(path, lock={"panda_finger_joint1": 0.02})]
