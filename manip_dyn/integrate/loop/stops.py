"""Where steps must end: at the end of the span, at switches, at times that are asked for."""

from __future__ import annotations

import numpy as np

from manip_dyn.validate import Vector

RESTART, RECORD = 1.0, 2.0
TIME, EARLIEST, LATEST, MARK = range(4)
"""Columns of the stops."""


def planned_stops(span: Vector, switches: Vector, samples: Vector) -> Vector:
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
