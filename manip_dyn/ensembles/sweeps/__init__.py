"""Sweeps: one function, or a task of a file, over many cases, on cores or on a cluster."""

from typing import TYPE_CHECKING

from manip_dyn.core.imports import lazy_names
from manip_dyn.ensembles.sweeps.cases import Cases
from manip_dyn.ensembles.sweeps.result import SweepResult, read_sweep
from manip_dyn.ensembles.sweeps.run import sweep

if TYPE_CHECKING:
    from manip_dyn.ensembles.sweeps.closed_loop.conditions import Conditions
    from manip_dyn.ensembles.sweeps.closed_loop.execution import Execution, execute
else:
    # What takes the compiler is loaded when it is used: a worker may not need it.
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "closed_loop.conditions": ("Conditions",),
            "closed_loop.execution": ("Execution", "execute"),
        },
    )

__all__ = [
    "Cases",
    "Conditions",
    "Execution",
    "SweepResult",
    "execute",
    "read_sweep",
    "sweep",
]
