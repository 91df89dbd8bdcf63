"""Kernels of a robot, generated from its rigid-body equations."""

from manip_dyn.codegen.array_arguments import MISMATCH as MISMATCH
from manip_dyn.codegen.array_arguments import STATES as STATES
from manip_dyn.codegen.array_arguments import array_function as array_function
from manip_dyn.codegen.backend.lanes import (
    many_states as many_states,
)
from manip_dyn.codegen.backend.statements import (
    Program as Program,
)
from manip_dyn.codegen.backend.straight_line import (
    one_coefficient as one_coefficient,
)
from manip_dyn.codegen.backend.straight_line import (
    one_state as one_state,
)
from manip_dyn.codegen.backend.vectors import (
    LANES as LANES,
)
from manip_dyn.codegen.generation.kernel_source import program_text as program_text
from manip_dyn.codegen.generation.kernel_source import trace as trace
from manip_dyn.codegen.generation.kernel_source import traced_program as traced_program
from manip_dyn.codegen.generation.long_chain_dynamics import linear_motion as linear_motion
from manip_dyn.codegen.kernel_addresses import (
    addresses as addresses,
)
from manip_dyn.codegen.kernel_addresses import (
    call_kernel as call_kernel,
)
from manip_dyn.codegen.kernels import (
    Kernels as Kernels,
)
from manip_dyn.codegen.kernels import (
    checked_payload as checked_payload,
)
from manip_dyn.codegen.kernels import (
    customize as customize,
)
from manip_dyn.codegen.operation_counts import (
    operation_report as operation_report,
)
from manip_dyn.codegen.rigid_body.catalogue import (
    BY_NAME as BY_NAME,
)
from manip_dyn.codegen.rigid_body.catalogue import (
    DECLARATIONS as DECLARATIONS,
)
from manip_dyn.codegen.rigid_body.catalogue import (
    argument_size as argument_size,
)
from manip_dyn.codegen.rigid_body.equations import (
    Equations as Equations,
)
from manip_dyn.codegen.rigid_body.graph import (
    Graph as Graph,
)
from manip_dyn.codegen.rigid_body.graph import (
    Scalar as Scalar,
)
from manip_dyn.codegen.rigid_body.graph import (
    cosine as cosine,
)
from manip_dyn.codegen.rigid_body.graph import (
    derivatives as derivatives,
)
from manip_dyn.codegen.rigid_body.graph import (
    gradient as gradient,
)
from manip_dyn.codegen.rigid_body.graph import (
    rates as rates,
)
from manip_dyn.codegen.rigid_body.graph import (
    sine as sine,
)

__all__ = [
    "BY_NAME",
    "DECLARATIONS",
    "Equations",
    "Graph",
    "Kernels",
    "LANES",
    "MISMATCH",
    "Program",
    "STATES",
    "Scalar",
    "addresses",
    "argument_size",
    "array_function",
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
    "program_text",
    "rates",
    "sine",
    "trace",
    "traced_program",
]
