"""The time loop of all methods, linked with the step of a method and a right-hand side.

The functions that this module imports from `template_parameters` are placeholders, which
`engine.assembled` replaces. Five of them are the step of a method. They are defined in the module
`explicit_step`, `multistep` (Adams), `series_step` (Taylor) or `implicit_step` (Rosenbrock) of
`integration.methods`. Their arguments are the state y (m,), the parameters p, and the arrays of
the `Space`:

    prepare(y, p, now, limits, tolerances, work, scratch)
        computes the derivatives at the start of the step, unless they are valid, and plans the
        first step
    attempt(y, p, now, limits, tolerances, work, scratch)
        computes the step ``now.h`` and writes its end state to the first row of `work`
    interpolate(y, p, now, work, spans, polynomials)
        stores the polynomial of the step, for dense output
    close(now, work)
        stores the derivatives for the next step, and their count in ``now.known``
    adapt(now, limits)
        plans the next step

The step module also defines RATE, the row of `work` with the derivative at the start of the step.
The first two functions return PASSED or the status with which the integration ends. `attempt`
returns FAILED after it has planned a shorter step.
"""

from __future__ import annotations

from math import inf, log

from manip_dyn.core.arrays import row, unowned
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.integration.event_search import (
    ACTED,
    AFTER,
    BEFORE,
    KINDS,
    another_trial,
    copy_row,
    crosses,
)
from manip_dyn.integration.loop_arrays import EARLIEST, LATEST, MARK, TIME, only
from manip_dyn.integration.methods.step_control import (
    EVENT,
    FAILED,
    PASSED,
    PAUSED,
    ROUNDING,
    STEP_UNDERFLOW,
    SUCCESS,
    TOO_MANY_STEPS,
)
from manip_dyn.integration.methods.template_parameters import (
    act,
    adapt,
    adaptive,
    arm,
    attempt,
    close,
    dense,
    event_count,
    happen,
    has_actions,
    inspected,
    interpolate,
    look,
    prepare,
    rate_row,
    search,
    signal,
    size,
)
from manip_dyn.integration.methods.template_parameters import advance as advance_loop
from manip_dyn.integration.step_inspection import NARROW

WIDTHS_AHEAD = 8
"""Time between an action and the evaluation of its signals, in tolerances of event times."""


@compiled(counted=False)
def advance(p, y, space):
    """Advance the state y (m,) from the loop state in `space`; return the status."""
    p, y, space = unowned(p), unowned(y), unowned(space)
    limits, now = only(space.rules), only(space.clock)
    tolerances, stops = space.tolerances, space.stops
    work, scratch, signals = space.work, space.scratch, space.signals
    times, spans, event_times = space.times, space.spans, space.event_times
    now.end = stops[-1, TIME]
    now.sign = 1.0 if now.end > now.t else -1.0
    now.step = limits.step
    now.planned = now.sign * abs(now.planned)
    now.rejected = now.locating = now.settled = 0
    log_quiet = log(limits.quiet)
    while True:
        if now.stop == stops.shape[0]:
            return SUCCESS
        if now.steps + now.failures >= limits.max_steps:
            return TOO_MANY_STEPS
        if (
            0 < times.shape[0] <= now.rows
            or 0 < spans.shape[0] <= now.pieces
            or 0 < event_times.shape[0] < now.found + event_count()
        ):
            return PAUSED  # a record is full
        target, remaining = stops[now.stop, TIME], stops[now.stop, TIME] - now.t
        now.earliest, now.latest = stops[now.stop, EARLIEST], stops[now.stop, LATEST]
        now.first = min(max(now.t, now.earliest), now.latest)
        verdict = prepare(y, p, now, limits, tolerances, work, scratch)
        if verdict != PASSED:
            return verdict
        if now.armed == 0:
            arm(y, p, now, work, signals)
        if adaptive():
            if abs(now.planned) < ROUNDING * abs(now.t) + 1e-30:
                return STEP_UNDERFLOW
            now.landing = abs(remaining) <= 1.01 * abs(now.planned)
            now.h = now.planned
        else:  # multiples of fixed steps do not accumulate rounding errors
            left = target - now.origin - (now.since + 1) * (now.sign * now.step)
            now.landing = left * now.sign <= 1e-6 * now.step
            now.h = now.sign * now.step
        if now.landing != 0:
            now.h = remaining
        while True:
            reached = target if now.landing != 0 else now.t + now.h
            now.last = min(max(reached, now.earliest), now.latest)
            verdict = attempt(y, p, now, limits, tolerances, work, scratch)
            if (
                inspected()
                and verdict == PASSED
                and now.locating == 0
                and (now.error < limits.quiet or now.memory < log_quiet)
                and abs(now.h) > NARROW * limits.cell
                and look(y, p, now, tolerances, work, limits.cell)
            ):
                verdict = FAILED
            if verdict != PASSED or not search(p, now, limits, work, signals):
                break
        if verdict == FAILED:
            now.settled = 0
            continue
        if verdict != PASSED:
            return verdict
        now.steps += 1
        if inspected() and now.error >= limits.quiet and now.memory >= log_quiet:
            now.unseen = max(now.unseen, abs(now.h))
        if dense():
            interpolate(y, p, now, work, spans, space.polynomials)
        close(now, work)
        now.since += 1
        if now.landing == 0 and not adaptive() and now.locating == 0:
            now.t = now.origin + now.since * (now.sign * now.step)
        else:
            now.t = reached
            if now.locating != 0:
                now.origin = reached
                now.since = 0
        for i in range(size()):
            y[i] = work[0, i]
        mark = int(stops[now.stop, MARK]) if now.landing != 0 else 0
        if (limits.every_step != 0 or mark >= 2) and now.rows < times.shape[0]:
            times[now.rows] = now.t
            for i in range(size()):
                space.states[now.rows, i] = y[i]
            now.rows += 1
        adapt(now, limits)
        if now.landing != 0:
            now.stop += 1
            now.origin = now.t
            now.since = 0
            if mark % 2 == 1:
                now.known = 0
                now.memory = 0.0
        if happen(y, p, now, limits, signals, space):
            return EVENT


@inlined(counted=False)
def arm_events(y, p, now, work, signals):
    """Evaluate the signals at the start of the step.

    The action of an impact reverses the motion, but leaves the signal at or beyond zero. A signal
    with a direction is therefore evaluated shortly after its action.
    """
    signal(now.first, y, p, row(signals, BEFORE))
    now.armed = 1
    if has_actions() and now.ahead != 0.0:
        u, rate = row(work, 0), row(work, rate_row())
        for i in range(size()):
            u[i] = y[i] + now.ahead * rate[i]
        signal(now.first + now.ahead, u, p, row(signals, AFTER))
        for j in range(event_count()):
            if signals[ACTED, j] != 0.0:
                signals[BEFORE, j] = signals[AFTER, j]


@inlined(counted=False)
def search_event(p, now, limits, work, signals):
    """Return whether the trial step must be repeated with another length to locate an event."""
    signal(now.last, row(work, 0), p, row(signals, AFTER))
    return another_trial(now, signals, limits.event_tolerance)


@inlined(counted=False)
def record_events(y, p, now, limits, signals, space):
    """Record the events of the step and call their actions; return whether one is terminal."""
    ended = False
    now.ahead = 0.0
    for j in range(event_count()):
        signals[ACTED, j] = 0.0
    for j in range(event_count()):
        direction = signals[KINDS, j]
        if not crosses(signals[BEFORE, j], signals[AFTER, j], direction):
            continue
        if now.found < space.event_times.shape[0]:
            space.event_times[now.found] = now.t
            space.event_indices[now.found] = j
            for i in range(size()):
                space.event_states[now.found, i] = y[i]
            now.found += 1
        now.known = 0
        now.memory = 0.0
        ended = ended or signals[KINDS + 1, j] != 0.0
        if has_actions() and not ended:
            act(j, now.t, y, p)
            now.armed = 0
            if direction != 0.0:
                width = max(limits.event_tolerance, ROUNDING * abs(now.t))
                signals[ACTED, j] = 1.0
                now.ahead = now.sign * WIDTHS_AHEAD * width
    now.locating = now.settled = 0
    copy_row(signals, AFTER, BEFORE)
    return ended


@inlined(counted=False)
def restart(t, t_end, space):
    """Prepare a space with one stop to integrate from t to t_end, s."""
    now, stops = only(space.clock), space.stops
    now.t = now.origin = t
    now.planned = only(space.rules).first_step
    now.memory = now.ahead = now.unseen = 0.0
    now.steps = now.failures = now.evaluations = 0
    now.stop = now.since = now.known = now.armed = 0
    now.rows = now.pieces = now.found = 0
    stops[0, TIME], stops[0, EARLIEST], stops[0, LATEST] = t_end, -inf, inf
    stops[0, MARK] = 2.0


@compiled(counted=False)
def run(t, t_end, p, y, space):
    """Integrate the state y (m,) from t to t_end, s; return the status.

    The arrays in `space` must have one stop.
    """
    restart(t, t_end, space)
    return advance_loop(p, y, space)
