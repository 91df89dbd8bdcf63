"""Arrays of a time loop, owned by its caller, and the times at which steps must end."""

from __future__ import annotations

from ctypes import addressof, c_char
from typing import Any, NamedTuple

import numpy as np
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
        ("every_step", "i8"),
        ("order", "i8"),
        ("absolute_order", "i8"),
    ],
    align=True,
)
"""What rules the steps: the fixed step, the smallest, largest and first one, s; steps, failed
ones included, before giving up; the factors of the step control; how well events are found, s;
whether every step is recorded; the orders of a Taylor series while the relative and while the
absolute tolerance rules."""
STATE = np.dtype(
    [
        *((name, "f8") for name in ("t", "planned", "memory", "origin", "ahead")),
        *((name, "f8") for name in ("sign", "end", "step", "h")),
        *((name, "f8") for name in ("first", "last", "earliest", "latest", "error")),
        *((name, "f8") for name in ("low", "high", "probe")),
        *((name, "i8") for name in ("steps", "failures", "evaluations")),
        *((name, "i8") for name in ("stop", "since", "known", "armed")),
        *((name, "i8") for name in ("rows", "pieces", "found")),
        *((name, "i8") for name in ("rejected", "landing", "order")),
        *((name, "i8") for name in ("locating", "settled", "high_lands", "rounds")),
    ],
    align=True,
)
"""Where a loop is. First what it goes on from after a pause:

t, planned          time at the start of the step; the step that the control wants, s
memory              logarithm of the last error
origin, since       time from which fixed steps are counted, s, and how many have been taken
ahead               how far after an action a signal has been read, s
steps, failures, evaluations
stop                the stop that is next
known, armed        how many derivatives at the start of the step are up to date; whether the
                    signals are
rows, pieces, found rows, polynomials and events in the record

and then what belongs to one step:

sign, end, step     direction of time, 1 or -1; the last stop and the fixed step, s
h                   the step, with its sign, s
first, last         times at which its start and its end are evaluated, s: strictly inside the
                    piece between two switches, from `earliest` to `latest`, on whichever side
                    the jump counts
error               norm of the error estimate; 1 is what the tolerances allow
rejected, landing   whether a longer step has failed; whether it ends at the stop
order               of a Taylor series
locating, settled, low, high, high_lands, probe, rounds
                    the search for an event, see `search`
"""

_ZEROS = (0,) * (len(STATE.names or ()) - 4)

CACHE_LINE = 8
"""Numbers in it."""


class Record(NamedTuple):
    """What is kept of a motion with states (m,).

    Attributes:
        times: Times (k,), s.
        states: States at them (k, m).
        spans: Start and length of steps (j, 2), s.
        polynomials: The motion over each of them (j, degree + 1, m).
        event_times: Times of events (i,), s.
        event_states: States at them (i, m).
        event_indices: Which of the event functions each was (i,).
    """

    times: Any
    states: Any
    spans: Any
    polynomials: Any
    event_times: Any
    event_states: Any
    event_indices: Any


class Space(NamedTuple):
    """The arrays of a loop over states (m,).

    Attributes:
        rules: What rules the steps, one record of `LIMITS` (1,); Python reads `limits`.
        tolerances: Relative and absolute (2, m).
        clock: Where the loop is, one record of `STATE` (1,); Python reads `state`.
        stops: Where steps have to end, see `stops` (n, 4).
        work: Scratch (rows, m).
        scratch: More of it, of a shape that the method asks for.
        signals: Values of the event functions, see `events` (7, k).

    and those of a `Record`. They are not a tuple inside this one: Python would look longer at two
    tuples than at one whenever it calls a loop.
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
        """What is kept."""
        return Record(*self[-len(Record._fields) :])

    def keeping(self, record: Record) -> Space:
        """Return the same arrays with another record."""
        return self._replace(**record._asdict())

    @property
    def limits(self) -> Any:
        """What rules the steps, by name."""
        return _first_by_name(self.rules)

    @property
    def state(self) -> Any:
        """Where the loop is, by name."""
        return _first_by_name(self.clock)


@inlined
def _first(records):
    return records[0]


def _first_by_name(records):
    return records.view(np.recarray)[0]


only: Any = _first_by_name if PLAIN else _first
"""``only(records)``: the one record of an array (1,), whose fields can be read and written."""


@overload_attribute(types.NamedTuple, "state")
def _state(space):
    """Let compiled code read `state` as Python does."""
    return (lambda space: space.clock[0]) if space.instance_class is Space else None


def cleared(rows: int, columns: int) -> Vector:
    """Return zeros (rows, columns) that begin with a line of the cache.

    A vector of SIMD lanes that lies in two lines takes twice as long to read.
    """
    memory = np.zeros(rows * columns + CACHE_LINE)
    place = addressof(c_char.from_buffer(memory))  # type: ignore[arg-type]
    first = -(place // memory.itemsize) % CACHE_LINE
    return memory[first : first + rows * columns].reshape(rows, columns)


def record_of(size: int, rows: int, spans: int, events: int, degree: int) -> Record:
    """Return empty arrays for states (size,), polynomials of a degree and events."""
    return Record(
        np.empty(rows),
        np.empty((rows, size)),
        np.empty((spans, 2)),
        np.empty((spans, degree + 1, size)),
        np.empty(events),
        np.empty((events, size)),
        np.empty(events, dtype=np.int64),
    )


def begin(space: Space, t: float, stops: ArrayLike) -> None:
    """Set a space to the start of an integration from t, s, over `stops` (n, 4)."""
    planned = space.rules["first_step"][0]
    space.clock[0] = (t, planned, 0.0, t, *_ZEROS)  # t, planned, memory, origin: not by name,
    space.stops[:] = stops  # which takes ten times as long


RESTART, RECORD = 1.0, 2.0
TIME, EARLIEST, LATEST, MARK = range(4)
"""Columns of the stops."""


def planned_stops(span: Vector, switches: Vector, samples: Vector) -> Matrix:
    """Return the stops (n, 4) in the order of integration.

    A stop is its time, the earliest and the latest time at which the right-hand side is
    evaluated on the way to it, and RESTART for a switch plus RECORD for a sample. The times of
    evaluation are strictly between two switches, by one unit in the last place, so that it does
    not matter on which side of its jump a right-hand side counts the time of the switch.

    Args:
        span: Start and end (2,), s, forwards or backwards.
        switches: Times at which the right-hand side may jump (k,), s.
        samples: Times at which the state is recorded (j,), s, inside the span.
    """
    if not switches.size and not samples.size:
        return np.array([[span[1], -np.inf, np.inf, 0.0]])
    low, high = span.min(), span.max()
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
