"""Timings of this package beside its peers, in one process."""

from collections.abc import Callable
from typing import Any

from manip_dyn.bench.clik import bench_clik
from manip_dyn.bench.dynamics import bench_dynamics
from manip_dyn.bench.growth import bench_growth
from manip_dyn.bench.integrators import bench_integrators
from manip_dyn.bench.planning import bench_planning
from manip_dyn.bench.robots import usual_robots
from manip_dyn.bench.stiff import bench_stiff

SUITES: dict[str, Callable[..., Any]] = {
    "dynamics": bench_dynamics,
    "growth": bench_growth,
    "clik": bench_clik,
    "integrators": bench_integrators,
    "planning": bench_planning,
    "stiff": bench_stiff,
}

__all__ = [
    "SUITES",
    "bench_clik",
    "bench_dynamics",
    "bench_growth",
    "bench_integrators",
    "bench_planning",
    "bench_stiff",
    "usual_robots",
]
