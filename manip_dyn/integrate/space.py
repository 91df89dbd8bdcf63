"""The arrays that a time loop works with, by name; the caller owns them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manip_dyn.validate import Vector

LIMITS = np.dtype(
    [
        ("step", "f8"),
        ("min_step", "f8"),
        ("max_step", "f8"),
        ("first_step", "f8"),
        ("max_steps", "f8"),
        ("event_tolerance", "f8"),
        ("every_step", "i8"),
        ("order", "i8"),
        ("absolute_order", "i8"),
    ]
)
"""What rules the steps: the fixed step, the smallest, largest and first one, s; steps, failed
ones included, before giving up; how well events are found, s; whether every step is recorded; the
orders of a Taylor series while the relative and while the absolute tolerance rules."""
STATE = np.dtype(
    [
        ("t", "f8"),
        ("planned", "f8"),
        ("memory", "f8"),
        ("origin", "f8"),
        ("ahead", "f8"),
        ("steps", "i8"),
        ("failures", "i8"),
        ("evaluations", "i8"),
        ("stop", "i8"),
        ("since", "i8"),
        ("known", "i8"),
        ("armed", "i8"),
        ("rows", "i8"),
        ("pieces", "i8"),
        ("found", "i8"),
    ]
)
"""Where a loop is: the time, the step that the control wants, what it remembers of the last error,
the time from which fixed steps are counted, how far after an action a signal has been read, s;
steps, failures and evaluations; the stop that is next and the steps since the last one; how many
derivatives at the start of the step are up to date and whether the signals are; rows, polynomials
and events in the record."""


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
        limits: What rules the steps, of `LIMITS`.
        tolerances: Relative and absolute (2, m).
        state: Where the loop is, of `STATE`.
        stops: Where steps have to end, see `stops` (n, 4).
        work: Scratch (rows, m).
        scratch: More of it, of a shape that the method asks for.
        signals: Values of the event functions, see `events` (7, k).
        record: What is kept.
    """

    limits: Any
    tolerances: Any
    state: Any
    stops: Any
    work: Any
    scratch: Any
    signals: Any
    record: Record


def blank(kind: np.dtype) -> Any:
    """Return one record of a kind, all zero."""
    return np.zeros(1, kind).view(np.recarray)[0]


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


def begin(space: Space, t: float, stops: Vector) -> None:
    """Set a space to the start of an integration from t, s, over `stops` (n, 4)."""
    fresh = blank(STATE)
    fresh.t = fresh.origin = t
    fresh.planned = space.limits.first_step
    for name in STATE.names or ():
        setattr(space.state, name, getattr(fresh, name))
    space.stops[:] = stops
