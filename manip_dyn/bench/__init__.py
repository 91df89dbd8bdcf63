"""Benchmarks of this package and its peers in one process, with one module per suite."""

from manip_dyn.bench.record import SUITES, Record, bench, keep, read_record, suite
from manip_dyn.bench.timing import Candidate, Timing, compare

__all__ = [
    "SUITES",
    "Candidate",
    "Record",
    "Timing",
    "bench",
    "compare",
    "keep",
    "read_record",
    "suite",
]
