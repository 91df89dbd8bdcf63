"""Simulation of many motions: in SIMD lanes, on all cores, and as parameter sweeps."""

from manip_dyn.ensembles.batch_simulation import (
    simulate_many as simulate_many,
)
from manip_dyn.ensembles.ensemble import (
    Ensemble as Ensemble,
)
from manip_dyn.ensembles.ensemble import (
    OverTime as OverTime,
)
from manip_dyn.ensembles.lanes.runge_kutta_loop import run_lanes as run_lanes
from manip_dyn.ensembles.sweeps.closed_loop.conditions import Conditions as Conditions
from manip_dyn.ensembles.sweeps.closed_loop.execution import execute as execute
from manip_dyn.ensembles.sweeps.sweep_file import read_sweep_file as read_sweep_file
from manip_dyn.ensembles.sweeps.sweep_file import shipped_sweeps as shipped_sweeps
from manip_dyn.ensembles.sweeps.tasks import TASKS as TASKS
from manip_dyn.ensembles.sweeps.tasks import Task as Task

__all__ = [
    "Ensemble",
    "OverTime",
    "simulate_many",
]
