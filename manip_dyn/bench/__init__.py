"""Timings of this package, most beside its peers in one process: a module for each suite."""

from manip_dyn.bench.record import SUITES, Record, bench

__all__ = ["SUITES", "Record", "bench"]
