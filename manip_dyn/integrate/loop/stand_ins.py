"""What the time loop calls until it is linked with a method's part, and what calls the loop."""

from __future__ import annotations

from numba.core import types

from manip_dyn.core.linking.slots import slot


@slot(returns=types.int64)
def prepare(y, p, now, limits, tolerances, work, scratch):
    """Bring what is known at the start of the step up to date."""
    return 0


@slot(returns=types.int64)
def attempt(y, p, now, limits, tolerances, work, scratch):
    """Try the step."""
    return 0


@slot()
def interpolate(y, p, now, work, spans, polynomials):
    """Keep a polynomial over the step."""


@slot()
def close(now, work):
    """Keep what the next step can use."""


@slot()
def adapt(now, limits):
    """Plan the next step."""


@slot(returns=types.int64)
def advance(p, y, space):
    """Move the state y (m,) on from where `space` says; return how it ended."""
    return 0
