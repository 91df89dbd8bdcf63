"""Initial value problems with known solutions, as global functions that can be cached."""

import numpy as np
from numba import njit
from numba.core.runtime import _nrt_python, rtsys

from manip_dyn.integration import ALIASES, METHODS, Options, compile_engine

CLASSICAL = [name for name in METHODS if name not in ALIASES and name != "taylor"]
"""All methods that take a right-hand side."""
EMBEDDED = [name for name in CLASSICAL if METHODS[name].adaptive]


@njit
def scripted(t, y, p, out):
    """Write p's row of this call and log the call, or the derivative of `curve`.

    p is (call (1,), rows (s, 2), log (s, 2)); no rows: the derivative.
    """
    call, rows, log = p
    if rows.shape[0] == 0:
        out[0] = y[0] * y[0] * np.cos(t)
        out[1] = y[0] * (1.0 + y[1]) * np.cos(t)
    else:
        log[call[0], 0] = t
        log[call[0], 1] = y[0]
        out[0] = rows[call[0], 0]
        out[1] = rows[call[0], 1]
        call[0] += 1


def curve(t):
    """Return the motion (2, ...) of `scripted`: non-linear, non-autonomous, of period 2 pi."""
    return np.array([1.0 + 0.0 * t, np.sin(t)]) / (2.0 - np.sin(t))


NO_SCRIPT = (np.zeros(1, dtype=np.int64), np.empty((0, 2)), np.empty((0, 2)))


def scripted_engine(name):
    """Return the engine of `scripted`; embedded methods with their error estimate."""
    method = METHODS[name]
    return compile_engine(scripted, method, Options(size=2, adaptive=method.adaptive))


def allocations(function, *arguments):
    """Return how many pieces of memory numba's code takes in a second call of a function."""
    function(*arguments)
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats().alloc
    function(*arguments)
    return rtsys.get_allocation_stats().alloc - before


def advance(engine, y, t, t_end, p, **settings):
    """Advance `y` (2,) in place; return the status and the space."""
    space = engine.space(**settings)
    engine.start(space, t, np.array([t_end, -np.inf, np.inf, 0.0]))
    return engine.advance(p, y, space), space


def advance_evenly(engine, y, t, t_end, count, p, tolerance=1e9):
    """Advance `y` (2,) in `count` equal steps, whatever the error; return the space."""
    step = abs(t_end - t) / count
    settings = {"step": step}
    if engine.options.adaptive:
        longest = step * (1.0 + 1e-12)
        settings = {"first_step": step, "min_step": step, "max_step": longest, "atol": tolerance}
    status, space = advance(engine, y, t, t_end, p, **settings)
    assert status == 0
    assert space.state.steps == count
    return space


def curve_error(engine, start, length, count):
    """Return the error (2,) on `curve` after `count` steps over `length`."""
    y = curve(start)
    advance_evenly(engine, y, start, start + length, count, NO_SCRIPT)
    return y - curve(start + length)


@njit
def oscillator(t, y, p, out):
    """y'' = -y."""
    out[0] = y[1]
    out[1] = -y[0]


@njit
def pendulum(t, y, p, out):
    """y'' = -sin y."""
    out[0] = y[1]
    out[1] = -np.sin(y[0])


@njit
def pendulum_series(t, y, p, order, work, out):
    """Coefficients of y'' = -sin y, by those of the sine and cosine of y (Jorba, Zou, table 1)."""
    sine, cosine = work[:, 0], work[:, 1]
    out[0, 0], out[0, 1] = y[0], y[1]
    sine[0], cosine[0] = np.sin(y[0]), np.cos(y[0])
    for k in range(order):
        out[k + 1, 0] = out[k, 1] / (k + 1)
        out[k + 1, 1] = -sine[k] / (k + 1)
        new_sine = new_cosine = 0.0
        for j in range(1, k + 2):
            new_sine += j * out[j, 0] * cosine[k + 1 - j]
            new_cosine -= j * out[j, 0] * sine[k + 1 - j]
        sine[k + 1] = new_sine / (k + 1)
        cosine[k + 1] = new_cosine / (k + 1)
