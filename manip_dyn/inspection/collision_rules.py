"""Findings about the collision shapes of a robot."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from manip_dyn.core.errors import ManipDynError
from manip_dyn.inspection.findings import Finding
from manip_dyn.robot import Robot


def collision_findings(robot: Robot) -> Iterator[Finding]:
    """Yield findings for links without shapes, and for pairs of links that always touch.

    Without any collision shape, or with missing meshes, there is a single note.
    """
    from manip_dyn.collision import PostureCheck, collision_model

    try:
        model = collision_model(robot)
    except ManipDynError as error:
        yield Finding("note", "robot", robot.name, "collision shapes", str(error).rstrip("."), "")
        return
    if not model.geometries:
        yield Finding("note", "robot", robot.name, "collision shapes", "none", "")
        return
    for link in model.without_shape:
        yield Finding("note", "link", link, "collision shape", "none", "")
    for (first, second), reason in model.unchecked.items():
        if "random postures" in reason:
            value = f"with '{second}' {reason}"
            yield Finding("note", "link", first, "collision", value, "none")
    if not model.pairs:
        return
    check = PostureCheck(robot)
    if check.distance(np.clip(np.zeros(robot.n), robot.q_min, robot.q_max)) <= 0.0:
        first, second = check.closest
        value = f"with '{second}' at zero"
        remedy = "if they may touch, disable the pair in an SRDF"
        yield Finding("note", "link", first, "collision", value, "none", remedy)
