"""Plans executed in simulation, as the nodes do it."""

import numpy as np

import manip_dyn as md
from manip_dyn.planning import mean_effort
from manip_dyn.simulation import held


def execute(simulation, executor, period, duration, sampled=False, settle=np.inf):
    """Answer the state at every control period with efforts, as the nodes do.

    It ends after `duration` s, or `settle` s after the arrival.
    """
    period_ns, end_ns = round(period * 1e9), duration * 1e9 - 1.0
    while simulation.time_ns < end_ns:
        if executor.arrived and settle < np.inf:
            end_ns, settle = min(end_ns, simulation.time_ns + settle * 1e9), np.inf
        segments = executor.segments(simulation.time_ns * 1e-9, simulation.q, simulation.v)
        if sampled:
            simulation.law = held(simulation.robot, mean_effort(segments, period))
        else:
            times = [simulation.time_ns + round(each.offset * 1e9) for each in segments]
            efforts = [each.effort for each in segments]
            simulation.law = md.Schedule(simulation.robot, times, efforts)
        simulation.advance(period_ns)
