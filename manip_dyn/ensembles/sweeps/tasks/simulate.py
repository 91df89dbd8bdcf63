"""The task ``simulate``: an arm under constant efforts."""

from __future__ import annotations

from typing import Any

import numpy as np

from manip_dyn.core.checks import positive
from manip_dyn.ensembles.sweeps.tasks.plan import ending
from manip_dyn.ensembles.sweeps.tasks.problem import Settings, posture, some
from manip_dyn.robot import Robot
from manip_dyn.simulation import simulate

CHOICES = ("step", "method", "rtol", "atol", "order", "taylor_order", "stop_at_limits")
SETTINGS = ("start", "velocity", "effort", "duration", *CHOICES)
NEEDED, VECTORS = ("duration",), ("start", "velocity", "effort")
TEXTS = ("method",)
COLUMNS = {
    "time": "number",
    "q": "numbers",
    "v": "numbers",
    "energy_residual": "number",
    "saturated": "yes",
    "steps": "whole",
    "evaluations": "whole",
}


def run(robot: Robot, settings: Settings) -> dict[str, Any]:
    """Return the last state, energy's balance, whether efforts were cut off, what it took."""
    q0, v0, tau = (posture(robot, settings, name) for name in ("start", "velocity", "effort"))
    duration = positive("duration", settings["duration"], "s")
    more = some(settings, *CHOICES)
    result = simulate(robot, q0, v0, tau, duration, sample_period=duration, **more)
    return {
        "time": float(result.t[-1]),
        "q": result.q[-1],
        "v": result.v[-1],
        "energy_residual": float(np.abs(result.energy[:, 3]).max()),
        "saturated": bool(result.saturated.any()),
        "steps": result.statistics.steps,
        "evaluations": result.statistics.evaluations,
        **ending(result),
    }
