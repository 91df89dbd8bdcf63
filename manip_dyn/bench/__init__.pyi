"""Benchmarks of this package and its peers, with one module per suite."""

from manip_dyn.bench.record import SUITES as SUITES
from manip_dyn.bench.record import Record as Record
from manip_dyn.bench.record import bench as bench
from manip_dyn.bench.record import keep as keep
from manip_dyn.bench.record import read_record as read_record
from manip_dyn.bench.record import suite as suite
from manip_dyn.bench.timing import Candidate as Candidate
from manip_dyn.bench.timing import Timing as Timing
from manip_dyn.bench.timing import commit as commit
from manip_dyn.bench.timing import compare as compare
