"""From a function of one vector to machine code for states in rows."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.codegen.backend.vectors import on_stack
from manip_dyn.codegen.generation.kernel_modules import module_text, robot_module
from manip_dyn.codegen.rigid_body.catalogue import BATCH
from manip_dyn.core.cache.generated import source_of
from manip_dyn.core.checks import Matrix
from manip_dyn.core.compiled.specialized import specialized
from manip_dyn.export.differentiable import rows
from manip_dyn.export.differentiable.vector import Vector


@lru_cache(maxsize=256)
def rows_module(made: Vector) -> ModuleType:
    """Return the functions of `rows` for a function of one vector, generated at need."""
    source = hashlib.sha256(source_of(Path(__file__).parent)).hexdigest()[:8]
    module = robot_module(
        made.robot,
        made.robot.frame(made.frame),
        f"{made.name}_{source}",
        lambda: module_text(made.robot.name, [made.function()]),
    )
    return specialized(
        rows,
        BATCH=getattr(module, made.name + BATCH),
        INPUTS=made.inputs,
        OUTPUTS=made.outputs,
        LANES=LANES,
        _columns=on_stack(made.inputs, LANES),
        _results=on_stack(made.outputs, LANES),
    )


def write_rows(made: Vector, x: Matrix, out: Matrix) -> None:
    """Write the results (m, outputs) for states x (m, inputs), both C-contiguous float64."""
    function: Any = rows_module(made).rows
    function(x, out)
