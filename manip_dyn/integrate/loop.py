"""The time loop that all methods share, as text; a method's pieces go where ``# [name]`` stands.

The generated module is compiled as a whole, the right-hand side inside it. What pieces may use:

    t, y, p         time, state (m,) and parameters at the start of the step
    h, sign         the step (negative backwards in time) and its sign
    first, last     times at which the start and the end of the step are evaluated: strictly
                    inside the piece between two switches, on whichever side the jump counts
    known           how many derivatives at the start of the step are up to date
    planned         the step that the control wants, h without the stops
    step            the fixed step, with its sign
    ahead           how far after an action a signal has been read
    locating        whether h is a trial in the search for an event
    error, memory   norm of the error estimate (1 is what the tolerances allow); the control's
    evaluations, failures, status, the limits and the arrays of `workspace`
"""

from __future__ import annotations

import re

from manip_dyn.integrate.control import CONTROL_CONSTANTS
from manip_dyn.integrate.events import AHEAD, event_lines
from manip_dyn.integrate.method import Method, Options
from manip_dyn.integrate.status import Status

OPTIONS = '{"error_model": "numpy", "fastmath": {"contract"}, "cache": %s}'

_TEMPLATE = '''"""{title}

Written by manip_dyn.integrate.loop; do not edit.
"""

from math import exp, inf, isfinite, log, sqrt

from manip_dyn.core.compiled import compiled

# [imports]
# [crossing]
# [constants]


@compiled
def advance(p, y, space):
    limits, tolerances, now, stops, work, scratch, signals, record = space
    times, states, spans, polynomials, event_times, event_states, event_indices = record
    step, smallest, largest = limits.step, limits.min_step, limits.max_step
    event_tolerance, most, every = limits.event_tolerance, limits.max_steps, limits.every_step != 0
    t, planned, memory, origin, ahead = now.t, now.planned, now.memory, now.origin, now.ahead
    steps, failures, evaluations = now.steps, now.failures, now.evaluations
    stop, since, known, armed = now.stop, now.since, now.known, now.armed
    rows, pieces, found = now.rows, now.pieces, now.found
    sign = 1.0 if stops[-1, 0] > t else -1.0
    step *= sign
    planned = sign * abs(planned)
    status = PAUSED
    rejected = False
    locating = False
    settled = False
    low = high = probe = 0.0
    high_lands = False
    rounds = 0
    # [views]
    # [signals]
    while True:
        if stop == stops.shape[0]:
            status = SUCCESS
            break
        if steps + failures >= most:
            status = TOO_MANY_STEPS
            break
        if not locating and (
            0 < times.shape[0] <= rows
            or 0 < spans.shape[0] <= pieces
            or 0 < event_times.shape[0] < found + EVENTS
        ):
            break
        target, earliest, latest = stops[stop, 0], stops[stop, 1], stops[stop, 2]
        remaining = target - t
        first = min(max(t, earliest), latest)
        # [prepare]
        # [arm]
        # [choose]
        # [probe]
        reached = target if landing else t + h
        last = min(max(reached, earliest), latest)
        # [attempt]
        # [judge]
        # [locate]
        steps += 1
        # [polynomial]
        # [closing]
        since += 1
        # [clock]
        for i in range(SIZE):
            y[i] = u[i]
        marked = int(stops[stop, 3]) if landing else 0
        if (every or marked >= 2) and rows < times.shape[0]:
            times[rows] = t
            for i in range(SIZE):
                states[rows, i] = y[i]
            rows += 1
        # [adapt]
        if landing:
            stop += 1
            origin = t
            since = 0
            if marked % 2 == 1:
                known = 0
                memory = 0.0
        # [act]
    now.t, now.planned, now.memory, now.origin, now.ahead = t, planned, memory, origin, ahead
    now.steps, now.failures, now.evaluations = steps, failures, evaluations
    now.stop, now.since, now.known, now.armed = stop, since, known, armed
    now.rows, now.pieces, now.found = rows, pieces, found
    return status


@compiled
def run(t, t_end, p, y, space):
    now, stops = space.state, space.stops
    now.t, now.planned, now.memory, now.origin, now.ahead = t, space.limits.first_step, 0.0, t, 0.0
    now.steps = now.failures = now.evaluations = 0
    now.stop = now.since = now.known = now.armed = 0
    now.rows = now.pieces = now.found = 0
    stops[0, 0], stops[0, 1], stops[0, 2], stops[0, 3] = t_end, -inf, inf, 2.0
    return advance(p, y, space)
'''

_CHOOSE_FIXED = """
landing = (target - origin - (since + 1) * step) * sign <= 1e-6 * abs(step)
h = remaining if landing else step
""".strip().splitlines()

_CHOOSE_ADAPTIVE = """
if abs(planned) < ROUNDING * abs(t) + 1e-30:
    status = STEP_UNDERFLOW
    break
landing = abs(remaining) <= 1.01 * abs(planned)
h = remaining if landing else planned
""".strip().splitlines()

_CLOCK_FIXED = ["t = target if landing else origin + since * step"]
_CLOCK_ADAPTIVE = ["t = reached"]
_CLOCK_FIXED_EVENTS = """
if locating and not landing:
    t = reached
    origin = t
    since = 0
else:
    t = target if landing else origin + since * step
""".strip().splitlines()


def module_text(method: Method, options: Options, imports: list[str], cache: bool) -> str:
    """Return the source of the module that holds `advance` and `run`.

    Args:
        method: Whose pieces fill the loop.
        options: What the loop is for.
        imports: Lines that bring the functions `rhs`, `jacobian` if there is one, and `signal`
            and `act` for events.
        cache: Whether numba may keep the machine code on disk.
    """
    pieces = method.pieces(options)
    clock = _CLOCK_FIXED_EVENTS if options.events else _CLOCK_FIXED
    blocks = {
        "imports": [*imports, *pieces.imports],
        "constants": _constants(options),
        "views": pieces.views,
        "prepare": pieces.prepare,
        "choose": _CHOOSE_ADAPTIVE if options.adaptive else _CHOOSE_FIXED,
        "attempt": pieces.attempt,
        "judge": pieces.judge,
        "polynomial": pieces.polynomial if options.dense else [],
        "closing": pieces.closing,
        "clock": _CLOCK_ADAPTIVE if options.adaptive else clock,
        "adapt": pieces.adapt,
        **event_lines(options, pieces.slope),
    }
    title = f"{method.name} for states of {options.size} numbers."
    text = _TEMPLATE.replace("{title}", title).replace("{options}", OPTIONS % cache)
    lines = [line for row in text.splitlines() for line in _filled(row, blocks)]
    return "\n".join(_numbered(lines)) + "\n"


def _filled(row: str, blocks: dict[str, list[str]]) -> list[str]:
    """Return a row of the template, or the block that it stands for at its indentation."""
    marker = row.strip()
    if not marker.startswith("# ["):
        return [row]
    indent = " " * (len(row) - len(row.lstrip()))
    return [indent + line for line in blocks[marker[3:-1]]]


def _numbered(lines: list[str]) -> list[str]:
    """Return the lines with an index of its own, i1, i2, .., in every loop over components.

    Numba compiles that a fifth faster than one index that many loops share.
    """
    loops, numbered = 0, []
    for line in lines:
        loops += line.strip().startswith("for i in range(")
        numbered.append(re.sub(r"(?<=[\[ ])i(?=[\],]| in range)", f"i{loops}", line))
    return numbered


def _constants(options: Options) -> list[str]:
    codes = [f"{status.name} = {int(status)}" for status in Status]
    return [
        *codes,
        *CONTROL_CONSTANTS,
        f"SIZE = {options.size}",
        f"EVENTS = {options.events}",
        f"AHEAD = {AHEAD}",
    ]
