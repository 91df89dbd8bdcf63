"""What a time loop is about until it is linked with that: a motion that stands still.

And what an explicit step has of its method, see `stages`.
"""

from __future__ import annotations

from manip_dyn.core.linking.slots import slot


@slot()
def rhs(t, y, p, out):
    """Write the derivative of the state y (m,) at time t, s, with parameters p into `out` (m,)."""
    for i in range(y.size):
        out[i] = 0.0


@slot()
def series(t, y, p, order, work, out):
    """Write the coefficients of y about t into `out` (order + 1, m), see `Series`."""
    for k in range(order + 1):
        for i in range(y.size):
            out[k, i] = y[i] if k == 0 else 0.0


@slot()
def jacobian(t, y, p, out, by_time):
    """Write the derivatives of the rates by the state and by time, see `Jacobian`."""


@slot()
def signal(t, y, p, out):
    """Write the values (k,) of event functions into `out`."""


@slot()
def act(index, t, y, p):
    """Change y (m,) and p where event `index` was found."""


@slot()
def stages(t, h, first, last, y, p, work):
    """Write the stages of a step and the state at its end, see `explicit_stages`."""


@slot()
def estimate(base, factor, work, out):
    """Write the sum of the stages that is the error, see `weighted_sum`."""


@slot()
def bump(base, factor, work, out):
    """Write the sum of the stages that dense output needs besides, see `weighted_sum`."""
