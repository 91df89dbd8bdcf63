"""Template of a kernel for states in rows, the layout of PyTorch and JAX.

Eight states at a time are copied from rows to the columns of a batched kernel.
"""

from __future__ import annotations

from typing import Any

from numba import carray, types
from numba.extending import intrinsic

from manip_dyn.codegen.backend.vectors import on_stack
from manip_dyn.core.compiled import compiled


def _pointer_to(kind: Any) -> Any:
    def make(_context, address):
        def generate(context, builder, signature, values):
            return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

        return types.CPointer(kind)(types.int64), generate

    return intrinsic(make)


words_at: Any = _pointer_to(types.int64)
"""``words_at(address)``: pointer to integers of eight bytes."""
numbers_at: Any = _pointer_to(types.float64)
"""``numbers_at(address)``: pointer to numbers in double precision."""


# Parameters of the template.
BATCH: Any = None
"""The batched kernel."""
INPUTS, OUTPUTS, LANES = 1, 1, 8
_columns: Any = on_stack(1, 8)
_results: Any = on_stack(1, 8)
"""Scratch: (INPUTS, LANES) and (OUTPUTS, LANES)."""


@compiled(counted=False)
def rows(x, out):
    """Write the results (m, OUTPUTS) for states x (m, INPUTS)."""
    columns, results = _columns(), _results()
    states = x.shape[0]
    for first in range(0, states, LANES):
        count = min(LANES, states - first)
        for i in range(INPUTS):
            for lane in range(count):
                columns[i, lane] = x[first + lane, i]
        BATCH(columns, results, 0, count)
        for i in range(OUTPUTS):
            for lane in range(count):
                out[first + lane, i] = results[i, lane]


# Offsets in the structures of XLA's C interface for custom calls, in words of eight bytes
# (xla/ffi/api/c_api.h: XLA_FFI_CallFrame, _Args, _Rets, _Buffer, _Metadata_Extension).
EXTENSION, ARGUMENTS, RESULTS = 1, 9, 14
DATA, RANK, EXTENTS = 3, 4, 5
KIND, METADATA, METADATA_KIND = 1, 3, 1
VERSION, TRAITS = 3, 4
INTERFACE = 0 | 1 << 32
"""Version 0.1 of the interface."""
HANDLER = types.int64(types.CPointer(types.int64))


def handler(frame):
    """Execute a call from XLA, or return the version of the interface."""
    if frame[EXTENSION] != 0:
        extension = words_at(frame[EXTENSION])
        if (extension[KIND] & 0xFFFFFFFF) == METADATA_KIND:
            metadata = words_at(extension[METADATA])
            metadata[VERSION] = INTERFACE
            return 0
    argument = words_at(words_at(frame[ARGUMENTS])[0])
    result = words_at(words_at(frame[RESULTS])[0])
    extents = words_at(argument[EXTENTS])
    states = 1
    for axis in range(argument[RANK] - 1):
        states *= extents[axis]
    rows(
        carray(numbers_at(argument[DATA]), (states, INPUTS)),
        carray(numbers_at(result[DATA]), (states, OUTPUTS)),
    )
    return 0
