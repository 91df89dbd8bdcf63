"""Arrays of a time loop, which the caller owns, and the times at which steps must end."""

from __future__ import annotations

import math
from collections import namedtuple
from ctypes import addressof, c_char
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
from numba import from_dtype
from numba.core import types
from numba.extending import overload_attribute
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import PLAIN, inlined

LIMITS = np.dtype(
    [
        ("step", "f8"),
        ("min_step", "f8"),
        ("max_step", "f8"),
        ("first_step", "f8"),
        ("max_steps", "f8"),
        ("fac", "f8"),
        ("facmin", "f8"),
        ("facmax", "f8"),
        ("event_tolerance", "f8"),
        ("quiet", "f8"),
        ("cell", "f8"),
        ("every_step", "i8"),
        ("order", "i8"),
        ("absolute_order", "i8"),
    ],
    align=True,
)
"""Step limits: fixed, smallest, largest and first step, s; maximum number of steps; factors of
the step control; tolerance of event times, s; error estimate below which steps are
inspected, and length of the intervals, s; whether every step is recorded; orders of a Taylor
series if the relative or the absolute tolerance dominates, see `Engine.space`."""
STATE = np.dtype(
    [
        *((name, "f8") for name in ("t", "planned", "memory", "origin", "ahead")),
        *((name, "f8") for name in ("sign", "end", "step", "h")),
        *((name, "f8") for name in ("first", "last", "earliest", "latest", "error")),
        *((name, "f8") for name in ("low", "high", "probe", "unseen")),
        *((name, "i8") for name in ("steps", "failures", "evaluations")),
        *((name, "i8") for name in ("stop", "since", "known", "armed")),
        *((name, "i8") for name in ("rows", "pieces", "found")),
        *((name, "i8") for name in ("rejected", "landing", "order")),
        *((name, "i8") for name in ("locating", "settled", "high_lands", "rounds")),
    ],
    align=True,
)
"""State of a loop. These fields persist during a pause:

t, planned          time at the start of the step; the planned step, s
memory              logarithm of the error of the last accepted step
origin, since       time from which fixed steps are counted, s; number of steps since then
ahead               time between an action and the evaluation of its signal, s
steps, failures, evaluations
stop                index of the next stop
known, armed        number of valid derivatives (of a Rosenbrock method: 2 with the Jacobian;
                    of a Taylor series: 1); whether the signals at the start are valid
rows, pieces, found numbers of rows, polynomials and events in the record
unseen              longest step that could miss a force and was not inspected, s

These fields describe one step:

sign, end, step     direction of time, 1 or -1; last stop and fixed step, s
h                   signed step, s
first, last         times of evaluation at the start and the end, s: strictly inside the interval
                    between two switches, from `earliest` to `latest`
error               norm of the error estimate divided by the tolerances
rejected, landing   whether a longer step was rejected; whether the step ends at the stop
order               order of a Taylor series
locating, settled, low, high, high_lands, probe, rounds
                    search for an event, see `event_search`
"""

_READ = "t planned unseen steps failures evaluations rows pieces found"
_Clock = namedtuple("_Clock", _READ)  # type: ignore[misc]
# A `Struct` reads these numbers faster than the fields of a structured array.
_CLOCK = Struct(
    "".join(STATE[name].char if name in _Clock._fields else "8x" for name in STATE.names or ())
)
_BEFORE = STATE.fields["rows"][1]  # type: ignore[index]
_START = Struct(f"4d{_BEFORE - 32}xq{STATE.itemsize - _BEFORE - 8}x")

CACHE_LINE = 8
"""Number of floats per cache line."""


class Record(NamedTuple):
    """Recorded samples, polynomials and events of states (m,).

    The lengths are capacities. `STATE` contains the numbers of valid rows.

    Attributes:
        times: Sample times (k,), s.
        states: States at the sample times (k, m).
        spans: Start time and length of each step (j, 2), s.
        polynomials: Coefficients of the dense output (j, degree + 1, m).
        event_times: Event times (i,), s.
        event_states: States at the event times (i, m).
        event_indices: Indices of the event functions (i,).
    """

    times: Any
    states: Any
    spans: Any
    polynomials: Any
    event_times: Any
    event_states: Any
    event_indices: Any


class Space(NamedTuple):
    """The arrays of a time loop; states are (m,).

    Attributes:
        rules: Step limits (1,) of type `LIMITS`; Python code reads `limits`.
        tolerances: Relative and absolute tolerances (2, m).
        clock: State of the loop (1,) of type `STATE`; Python code reads `state`.
        stops: Stops (n, 4), at which steps end, see `planned_stops`.
        work: States and derivatives of a step (rows, m).
        scratch: Scratch with a method-dependent shape.
        signals: Signals (7, k) of the event functions, see `event_search`.

    The arrays of a `Record` follow. They are fields of this tuple because a nested tuple would
    slow down each call of a loop from Python.
    """

    rules: Any
    tolerances: Any
    clock: Any
    stops: Any
    work: Any
    scratch: Any
    signals: Any
    times: Any
    states: Any
    spans: Any
    polynomials: Any
    event_times: Any
    event_states: Any
    event_indices: Any

    @property
    def record(self) -> Record:
        """The recorded samples, polynomials and events."""
        return Record(*self[-len(Record._fields) :])

    def keeping(self, record: Record) -> Space:
        """Return the same arrays with a different record."""
        return self._replace(**record._asdict())

    @property
    def limits(self) -> Any:
        """Step limits as a record with named fields."""
        return _first_by_name(self.rules)

    @property
    def state(self) -> Any:
        """State of the loop as a record with named fields."""
        return _first_by_name(self.clock)


def _space_type() -> types.NamedTuple:
    """Return the numba type of `Space`."""
    rank = {"scratch": 2, "work": 2, "tolerances": 2, "stops": 2, "signals": 2, "states": 2}
    rank |= {"spans": 2, "polynomials": 3, "event_states": 2}
    kinds: dict[str, Any] = {"rules": from_dtype(LIMITS), "clock": from_dtype(STATE)}
    kinds["event_indices"] = types.int64
    arrays = [
        types.Array(kinds.get(name, types.float64), rank.get(name, 1), "C")
        for name in Space._fields
    ]
    return types.NamedTuple(arrays, Space)


SPACE = _space_type()
"""Numba type of `Space`."""


@inlined
def _first(records):
    return records[0]


def _first_by_name(records):
    return records.view(np.recarray)[0]


only: Any = _first_by_name if PLAIN else _first
"""``only(records)`` returns the single record of an array (1,). Its fields are writable."""


def clock_of(space: Space) -> Any:
    """Return the state after a solution as a named tuple, faster than `Space.state`."""
    return _Clock._make(_CLOCK.unpack(space.clock))


@overload_attribute(types.NamedTuple, "state")
def _state(space):
    """Provide the attribute `Space.state` in compiled code."""
    return (lambda space: space.clock[0]) if space.instance_class is Space else None


def cleared(rows: int, columns: int) -> Vector:
    """Return a zero array (rows, columns) that is aligned to a cache line.

    Loading a SIMD vector that crosses a cache line takes longer.
    """
    memory = np.zeros(rows * columns + CACHE_LINE)
    address = addressof(c_char.from_buffer(memory))  # type: ignore[arg-type]
    first = -(address // memory.itemsize) % CACHE_LINE
    return memory[first : first + rows * columns].reshape(rows, columns)


def record_of(size: int, rows: int, spans: int, events: int, degree: int) -> Record:
    """Create a record of states (size,) with the given capacities and polynomial degree."""
    return Record(
        np.empty(rows),
        np.empty((rows, size)),
        np.empty((spans, 2)),
        np.empty((spans, degree + 1, size)),
        np.empty(events),
        np.empty((events, size)),
        np.empty(events, dtype=np.int64),
    )


def begin(space: Space, t: float, stops: ArrayLike, rows: int = 0) -> None:
    """Prepare a space to integrate from time `t` (s) to the last of the stops (n, 4).

    The record begins after its first `rows` samples.
    """
    planned = space.rules["first_step"][0]
    _START.pack_into(space.clock, 0, t, planned, 0.0, t, rows)  # t to origin, rows, and zeros
    space.stops[:] = stops


RESTART, RECORD = 1.0, 2.0
TIME, EARLIEST, LATEST, MARK = range(4)
"""Columns of the stops."""
_UNBOUNDED = np.array([[0.0, -math.inf, math.inf, 0.0]])


Span = tuple[float, float]
"""Start and end of an integration, s, forwards or backwards."""


def planned_stops(span: Span, switches: Vector, samples: Vector) -> Matrix:
    """Return the stops (n, 4) in the order of integration.

    The columns are the time of the stop, the earliest and the latest evaluation time of a step
    that ends there, and the sum of RESTART for a switch and RECORD for a sample. Evaluation times
    differ from switches by at least one unit in the last place, so the right-hand side is never
    evaluated at a switch.

    Args:
        span: Start and end, s, forwards or backwards.
        switches: Times (k,) at which the right-hand side is discontinuous, s.
        samples: Times (j,) at which the state is recorded, s, inside the span. The start needs no
            stop and is omitted.
    """
    if not switches.size and not samples.size:
        stops = _UNBOUNDED.copy()
        stops[0, TIME] = span[1]
        return stops
    low, high = sorted(span)
    jumps = np.unique(switches[(switches >= low) & (switches <= high)])
    inside = jumps[(jumps > low) & (jumps < high)]
    times = np.unique(np.concatenate([inside, samples[samples != span[0]], span[1:]]))
    if span[1] < span[0]:
        times = times[::-1]
    before = np.concatenate([span[:1], times[:-1]])
    middle = 0.5 * (before + times)
    borders = np.concatenate([[-np.inf], jumps, [np.inf]])
    piece = np.searchsorted(borders, middle)
    stops = np.empty((len(times), 4))
    stops[:, 0] = times
    stops[:, 1] = np.nextafter(borders[piece - 1], borders[piece])
    stops[:, 2] = np.nextafter(borders[piece], borders[piece - 1])
    stops[:, 3] = RESTART * np.isin(times, inside) + RECORD * np.isin(times, samples)
    return stops
