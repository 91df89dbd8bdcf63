"""Numbers that a time loop and its steps are compiled without: linking says what they are.

LLVM then knows them, and leaves out what they rule out; flags are 0 or 1. With the compiler off
functions of these names are bound that return them. The coefficients of implicit methods are
those of `RosenbrockTableau`.
"""

from __future__ import annotations

from numba.core import types

from manip_dyn.core.linking.slots import number, table


@number()
def size():
    """Return the length m of the state."""
    return 1


@number()
def rate_row():
    """Return the row of `work` with the derivative at the start of the step."""
    return 1


@number()
def event_count():
    """Return the number of event functions."""
    return 0


@number()
def acts():
    """Return whether events have an action."""
    return 0


@number()
def adaptive():
    """Return whether tolerances rule the steps."""
    return 0


@number()
def dense():
    """Return whether steps leave polynomials."""
    return 0


@number()
def rms():
    """Return whether the error's norm is "rms", otherwise "max"."""
    return 0


@number()
def paper():
    """Return whether the step size control is "paper", otherwise "pi"."""
    return 0


@number(types.float64)
def power():
    """Return the power of the step that the error goes with, see `control`."""
    return 1.0


@number(types.float64)
def paper_power():
    """Return the power of the step in "paper", see `control`."""
    return 1.0


@number()
def stage_count():
    """Return the stages of a method."""
    return 1


@number()
def evaluations():
    """Return the evaluations of a step besides the first stage."""
    return 0


@number()
def fsal():
    """Return whether the last stage is the first one of the next step."""
    return 0


@number()
def bumped():
    """Return whether dense output is a quartic."""
    return 0


@number()
def positions():
    """Return the number n of positions of a second-order system, see `Jacobian`."""
    return 0


@number()
def exact():
    """Return whether a function gives the Jacobian, otherwise differences."""
    return 0


@number()
def mass():
    """Return whether its rows come multiplied by a mass matrix."""
    return 0


@number()
def scaled():
    """Return whether the error estimate of a Rosenbrock method is damped."""
    return 0


@number(types.float64)
def gamma():
    """Return the diagonal of gamma."""
    return 1.0


@table
def of_stage(row, i):
    """Return of stage i the sum of alpha or of gamma, or whether it repeats, see `implicit`."""
    return 0.0


@table
def a(i, j):
    """Return what stage j adds to the argument of stage i."""
    return 0.0


@table
def c(i, j):
    """Return what stage j adds to the linear system of stage i."""
    return 0.0


@table
def theta(i, j):
    """Return what stage j adds to the positions in the argument of stage i."""
    return 0.0


@table
def delta(i, j):
    """Return what stage j adds to the positions in the linear system of stage i."""
    return 0.0


@table
def moves(row, j):
    """Return a weight of stage j in the result or in the estimate, see `implicit`."""
    return 0.0
