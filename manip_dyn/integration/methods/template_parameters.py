"""Template parameters of time loops and steps: numbers, tables and functions to be linked.

LLVM treats the numbers as constants and removes the branches that they exclude. Flags are 0 or 1.
With the compiler disabled, functions with these names return the numbers. The coefficients of
implicit methods are those of `RosenbrockTableau`.
"""

from __future__ import annotations

from numba.core import types

from manip_dyn.core.linking import function_parameter, number_parameter, table_parameter


@number_parameter()
def size():
    """Return the length m of the state."""
    return 1


@number_parameter()
def rate_row():
    """Return the row of `work` with the derivative at the start of the step."""
    return 1


@number_parameter()
def event_count():
    """Return the number of event functions."""
    return 0


@number_parameter()
def acts():
    """Return whether events have an action."""
    return 0


@number_parameter()
def adaptive():
    """Return whether tolerances determine the steps."""
    return 0


@number_parameter()
def dense():
    """Return whether steps store polynomials."""
    return 0


@number_parameter()
def rms():
    """Return whether the error norm is "rms" instead of "max"."""
    return 0


@number_parameter()
def paper():
    """Return whether the step controller is "paper" instead of "pi"."""
    return 0


@number_parameter(types.float64)
def power():
    """Return the order of the error in the step length, see `step_control`."""
    return 1.0


@number_parameter(types.float64)
def paper_power():
    """Return the exponent of the step controller "paper", see `step_control`."""
    return 1.0


@number_parameter()
def stage_count():
    """Return the number of stages."""
    return 1


@number_parameter()
def evaluations():
    """Return the evaluations per step without the first stage."""
    return 0


@number_parameter()
def fsal():
    """Return whether the last stage is the first stage of the next step."""
    return 0


@number_parameter()
def bumped():
    """Return whether dense output is a quartic."""
    return 0


@number_parameter()
def positions():
    """Return the number n of positions of a second-order system, see `Jacobian`."""
    return 0


@number_parameter()
def exact():
    """Return whether a function computes the Jacobian; otherwise differences are used."""
    return 0


@number_parameter()
def mass():
    """Return whether the rows of the Jacobian are multiplied by a mass matrix."""
    return 0


@number_parameter()
def scaled():
    """Return whether the error estimate of a Rosenbrock method is damped."""
    return 0


@number_parameter(types.float64)
def gamma():
    """Return the diagonal entry of gamma."""
    return 1.0


@table_parameter
def of_stage(row, i):
    """Return a row sum of alpha or gamma, or whether stage i repeats, see `implicit_step`."""
    return 0.0


@table_parameter
def a(i, j):
    """Return the weight of stage j in the argument of stage i."""
    return 0.0


@table_parameter
def c(i, j):
    """Return the weight of stage j in the linear system of stage i."""
    return 0.0


@table_parameter
def theta(i, j):
    """Return the weight of stage j in the positions of the argument of stage i."""
    return 0.0


@table_parameter
def delta(i, j):
    """Return the weight of stage j in the positions of the linear system of stage i."""
    return 0.0


@table_parameter
def moves(row, j):
    """Return a weight of stage j in the result or in the estimate, see `implicit_step`."""
    return 0.0


@function_parameter()
def rhs(t, y, p, out):
    """Write the derivative of the state y (m,) at time t, s, with parameters p into `out` (m,)."""
    for i in range(y.size):
        out[i] = 0.0


@function_parameter()
def series(t, y, p, order, work, out):
    """Write the coefficients of y about t into `out` (order + 1, m), see `Series`."""
    for k in range(order + 1):
        for i in range(y.size):
            out[k, i] = y[i] if k == 0 else 0.0


@function_parameter()
def jacobian(t, y, p, out, by_time):
    """Write the derivatives of the rates by state and time, see `Jacobian`."""


@function_parameter()
def signal(t, y, p, out):
    """Write the values (k,) of event functions into `out`."""


@function_parameter()
def act(index, t, y, p):
    """Apply the action of event `index`, which changes y (m,) and p."""


@function_parameter()
def stages(t, h, first, last, y, p, work, size):
    """Write the stages of a step and the state at its end, see `explicit_stages`."""


@function_parameter()
def estimate(base, factor, work, size, out):
    """Write the sum of stages for the error estimate, see `weighted_sum`."""


@function_parameter()
def bump(base, factor, work, size, out):
    """Write the sum of stages for the quartic dense output, see `weighted_sum`."""


@function_parameter(returns=types.int64)
def prepare(y, p, now, limits, tolerances, work, scratch):
    """Compute the derivatives at the start of the step."""
    return 0


@function_parameter(returns=types.int64)
def attempt(y, p, now, limits, tolerances, work, scratch):
    """Compute a trial step."""
    return 0


@function_parameter()
def interpolate(y, p, now, work, spans, polynomials):
    """Store the polynomial of the step."""


@function_parameter()
def close(now, work):
    """Store the derivatives for the next step."""


@function_parameter()
def adapt(now, limits):
    """Plan the next step."""


@function_parameter()
def arm(y, p, now, work, signals):
    """Evaluate the event functions at the start of the step."""


@function_parameter(returns=types.int64)
def search(p, now, limits, work, signals):
    """Return whether the step must be repeated to locate an event."""
    return 0


@function_parameter(returns=types.int64)
def happen(y, p, now, limits, signals, space):
    """Record the events at the end of the step; return whether one is terminal."""
    return 0


@function_parameter()
def sum_up(h, order, terms, out):
    """Write the sum of a power series, see `power_sum`."""


@function_parameter(returns=types.int64)
def advance(p, y, space):
    """Advance the state y (m,) from the loop state in `space`; return the status."""
    return 0
