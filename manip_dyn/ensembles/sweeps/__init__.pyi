"""Parameter sweeps: a function or a task from a file, over many cases, on cores or a cluster."""

from manip_dyn.ensembles.sweeps.cases import Cases as Cases
from manip_dyn.ensembles.sweeps.closed_loop.conditions import Conditions as Conditions
from manip_dyn.ensembles.sweeps.closed_loop.execution import Execution as Execution
from manip_dyn.ensembles.sweeps.closed_loop.execution import execute as execute
from manip_dyn.ensembles.sweeps.results import SweepResult as SweepResult
from manip_dyn.ensembles.sweeps.results import read_sweep as read_sweep
from manip_dyn.ensembles.sweeps.scheduling import sweep as sweep
from manip_dyn.ensembles.sweeps.sweep_file import read_sweep_file as read_sweep_file
from manip_dyn.ensembles.sweeps.sweep_file import shipped_sweeps as shipped_sweeps
from manip_dyn.ensembles.sweeps.tasks import TASKS as TASKS
from manip_dyn.ensembles.sweeps.tasks import Task as Task
