"""Sweeps: one function, or a task of a file, over many cases, on cores or on a cluster."""

from manip_dyn.ensembles.sweeps.cases import Cases
from manip_dyn.ensembles.sweeps.result import SweepResult, read_sweep
from manip_dyn.ensembles.sweeps.run import sweep

__all__ = ["Cases", "SweepResult", "read_sweep", "sweep"]
