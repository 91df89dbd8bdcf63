"""Execution of plans in simulation, like that of the nodes."""

import manip_dyn as md
from manip_dyn.planning import mean_effort
from manip_dyn.simulation import held


def execute(simulation, executor, period, duration, sampled=False):
    """Apply the executor's efforts for the state at every control period."""
    period_ns = round(period * 1e9)
    while simulation.time_ns < duration * 1e9 - 1.0:
        segments = executor.segments(simulation.time_ns * 1e-9, simulation.q, simulation.v)
        if sampled:
            simulation.law = held(simulation.robot, mean_effort(segments, period))
        else:
            times = [simulation.time_ns + round(segment.offset * 1e9) for segment in segments]
            efforts = [segment.effort for segment in segments]
            simulation.law = md.Schedule(simulation.robot, times, efforts)
        simulation.advance(period_ns)
