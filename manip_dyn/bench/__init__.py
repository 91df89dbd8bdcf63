"""Timings of this package beside its peers, in one process."""

from manip_dyn.bench.dynamics import bench_dynamics
from manip_dyn.bench.robots import usual_robots

SUITES = {"dynamics": bench_dynamics}

__all__ = ["SUITES", "bench_dynamics", "usual_robots"]
