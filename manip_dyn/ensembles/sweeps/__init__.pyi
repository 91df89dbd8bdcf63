"""Sweeps: one function, or a task of a file, over many cases, on cores or on a cluster."""

from manip_dyn.ensembles.sweeps.cases import (
    Cases as Cases,
)
from manip_dyn.ensembles.sweeps.closed_loop.conditions import (
    Conditions as Conditions,
)
from manip_dyn.ensembles.sweeps.closed_loop.execution import (
    Execution as Execution,
)
from manip_dyn.ensembles.sweeps.closed_loop.execution import (
    execute as execute,
)
from manip_dyn.ensembles.sweeps.result import (
    SweepResult as SweepResult,
)
from manip_dyn.ensembles.sweeps.result import (
    read_sweep as read_sweep,
)
from manip_dyn.ensembles.sweeps.run import (
    sweep as sweep,
)
