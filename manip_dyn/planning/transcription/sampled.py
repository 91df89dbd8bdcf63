"""Plans of any kind as splines on a grid."""

from __future__ import annotations

import numpy as np

from manip_dyn.planning.plan import Plan
from manip_dyn.planning.transcription.spline import Ends, Spline


def on_grid(ends: Ends, plan: Plan, cells: int) -> Spline:
    """Return the cubic spline through the positions of a plan at equal times."""
    from scipy.interpolate import CubicSpline

    times = np.linspace(0.0, plan.t_final, cells + 1)
    places = np.array([plan.state(t)[0] for t in times.tolist()])
    through = CubicSpline(times, places, bc_type=((1, ends.v0), (1, ends.vf)))
    h = plan.t_final / cells
    control = places - h * h / 6.0 * through(times, 2)
    return Spline.between(ends, control[1:-1], plan.t_final)
