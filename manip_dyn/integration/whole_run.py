"""The time loop from a start time to an end time."""

from __future__ import annotations

from math import inf

from manip_dyn.core.compiled import compiled
from manip_dyn.integration.loop_arrays import EARLIEST, LATEST, MARK, TIME, only
from manip_dyn.integration.methods.template_parameters import advance


@compiled(counted=False)
def run(t, t_end, p, y, space):
    """Integrate the state y (m,) from t to t_end, s; return the status."""
    now, stops = only(space.clock), space.stops
    now.t = now.origin = t
    now.planned = only(space.rules).first_step
    now.memory = now.ahead = 0.0
    now.steps = now.failures = now.evaluations = 0
    now.stop = now.since = now.known = now.armed = 0
    now.rows = now.pieces = now.found = 0
    stops[0, TIME], stops[0, EARLIEST], stops[0, LATEST] = t_end, -inf, inf
    stops[0, MARK] = 2.0
    return advance(p, y, space)
