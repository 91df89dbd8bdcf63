"""Kernels of a robot, generated from its rigid-body equations."""

from typing import TYPE_CHECKING

from manip_dyn.codegen.kernels import Kernels, checked_payload, customize
from manip_dyn.core.imports import lazy_names

if TYPE_CHECKING:
    from manip_dyn.codegen.backend.statements import Program
    from manip_dyn.codegen.backend.straight_line import many_states, one_coefficient, one_state
    from manip_dyn.codegen.backend.vectors import LANES
    from manip_dyn.codegen.kernel_addresses import addresses, call_kernel
    from manip_dyn.codegen.operation_counts import operation_report
    from manip_dyn.codegen.rigid_body.catalogue import BY_NAME, DECLARATIONS, argument_size, trace
    from manip_dyn.codegen.rigid_body.equations import Equations
    from manip_dyn.codegen.rigid_body.graph import (
        Graph,
        Scalar,
        cosine,
        derivatives,
        gradient,
        rates,
        sine,
    )
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "backend.statements": ("Program",),
            "backend.straight_line": ("many_states", "one_coefficient", "one_state"),
            "backend.vectors": ("LANES",),
            "kernel_addresses": ("addresses", "call_kernel"),
            "operation_counts": ("operation_report",),
            "rigid_body.catalogue": ("BY_NAME", "DECLARATIONS", "argument_size", "trace"),
            "rigid_body.equations": ("Equations",),
            "rigid_body.graph": (
                "Graph",
                "Scalar",
                "cosine",
                "derivatives",
                "gradient",
                "rates",
                "sine",
            ),
        },
    )

__all__ = [
    "BY_NAME",
    "DECLARATIONS",
    "LANES",
    "Equations",
    "Graph",
    "Kernels",
    "Program",
    "Scalar",
    "addresses",
    "argument_size",
    "call_kernel",
    "checked_payload",
    "cosine",
    "customize",
    "derivatives",
    "gradient",
    "many_states",
    "one_coefficient",
    "one_state",
    "operation_report",
    "rates",
    "sine",
    "trace",
]
