"""The fastest profile of speed on a grid, by a backward and a forward pass.

Let x be the square of the path's speed and u its acceleration, x' = 2 u. In an interval of width
h with the squares x and y at its ends, u is linear in s from (z - x) / h to (y - z) / h, so x(s)
is the parabola with the control points x, z, y: positive where they are. The rows (see `rows`)
hold at both ends; that is the trapezoidal rule, with errors of the order h^2 in time and of the
rows inside. It falls into two halves, from x to z with the rows of the near end and from z to y
with those of the far end. Where a row hardly depends on u (zero-inertia points; Shiller, Lu 1992)
that oscillates: such intervals are stiff, u is constant there, z in the middle of x and y, and
there is one step from x to y with the rows of both ends.

As in Pham, Pham (2018) the backward pass finds the squares from which the rest of the path can be
done, the forward pass the greatest that can be reached within them. They take linear rows; with
damping and friction that falls the rows are curved: those at the near end of a step are taken as
they are, those at its far end by their tangent, renewed until it fits.

For a given x the rows leave an interval of y, whose length is concave in x where rows are linear.
Its greatest root is found by Newton's method from above, in as many steps as rows take turns, so
a pass takes O(k r) for k intervals with r rows. Where friction bends the rows so that Newton's
method stops short of the edge, bisection goes on.
"""

from __future__ import annotations

import numpy as np

from manip_dyn.core.compiled import compiled, inlined

STEPS = 60
SCANNED = 40
SMALL = 1e-12
NEAR, FAR, BOTH = (0, 1), (1, 2), (0, 2)
"""Ends of a step whose rows hold, as a range."""


@inlined
def _bend(d, f, m, x):
    """Return damping and what friction falls by at a square x, and their derivative."""
    root = np.sqrt(x)
    left = f * np.exp(-m * m * x)
    return d * root + left, d / (2.0 * max(root, 1e-9)) - m * m * left


@compiled
def _window(rows, most, rough, ends, h, k, x, near, low, high, direction):
    """Return what y a square x leaves of [`low`, `high`], and where to look next.

    `ends` are the ends whose rows hold, of interval k; h is the width of the step; `near` is
    where the tangents at the far end touch; `direction` is the sign of the steps x may take.

    Returns:
        Ends of the interval of y; the step of x by which it will not be empty, 0 where it is
        not; whether there is no such step.
    """
    a, c, d, f, m, b = rows
    last = a.shape[1] - 1
    low_slope, high_slope = 0.0, 0.0
    step, dead = 0.0, False
    scale, per_width = x + high, 0.5 / h
    for end in range(ends[0], ends[1]):
        place = 0 if end == 0 else last
        for r in range(a.shape[2]):
            drive, square = a[k, place, r] * per_width, c[k, place, r]
            rest, slope, by_y = b[k, place, r] - drive * x, -drive, drive
            if end == 0:
                rest += square * x
                slope += square
                if rough:
                    bend, more = _bend(d[k, 0, r], f[k, 0, r], m[k, 0, r], x)
                    rest += bend
                    slope += more
            else:
                by_y += square
                if rough and near > 0.0:
                    bend, more = _bend(d[k, last, r], f[k, last, r], m[k, last, r], near)
                    rest += bend - more * near
                    by_y += more
            top = most[k, r]
            if abs(by_y) * scale < SMALL:
                lack = abs(rest) - top
                if lack > SMALL:
                    turn = slope if rest > 0.0 else -slope
                    if turn * direction >= 0.0:
                        dead = True
                    else:
                        step = direction * max(abs(step), lack / abs(turn))
                continue
            by_rest = 1.0 / by_y
            above, below = (top - rest) * by_rest, (-top - rest) * by_rest
            if by_y < 0.0:
                above, below = below, above
            if above < high:
                high, high_slope = above, -slope * by_rest
            if below > low:
                low, low_slope = below, -slope * by_rest
    gap = high - low
    if gap < -SMALL * (x + min(abs(low), abs(high))):
        turn = high_slope - low_slope
        if turn * direction <= 0.0:
            dead = True
        else:
            step = direction * max(abs(step), -gap / abs(turn))
    return low, high, step, dead


@compiled
def _edge(rows, most, rough, ends, h, k, start, stop, low, high):
    """Return the first square x from `start` on towards `stop` that leaves some y; -1: none."""
    direction = 1.0 if stop > start else -1.0
    x, outside, far = start, start, start
    found, dead = False, False
    for _ in range(STEPS):
        _, _, step, dead = _window(rows, most, rough, ends, h, k, x, high, low, high, direction)
        if dead:
            break
        if step == 0.0:
            if direction > 0.0 or x > 1e-3 * far:
                found = True
                break
            # What was left of a far larger number has lost its digits: once more from near.
            x *= 2.0
            far = outside = x
            continue
        outside = x
        x += step
        if rough and direction < 0.0 and x < 1e-3 * outside and outside > SMALL * start:
            x = 1e-3 * outside
        if (x - stop) * direction > SMALL * (abs(start) + abs(stop)):
            break
        if abs(step) <= 1e-14 * x:
            found = True
            break
    if not rough or (found and x == start):
        return min(max(x, 0.0), max(start, stop)) if found else -1.0
    if not found:
        for j in range(SCANNED + 1):
            part = j / SCANNED
            # Squares of equidistant speeds from the start on.
            root = (1.0 - part) * np.sqrt(start) + part * np.sqrt(stop)
            x = root * root
            _, _, step, dead = _window(
                rows, most, rough, ends, h, k, x, high, low, high, direction
            )
            if step == 0.0 and not dead:
                found = True
                break
            outside = x
        if not found:
            return -1.0
    inside = min(max(x, 0.0), max(start, stop))
    for _ in range(50):
        if abs(outside - inside) <= 1e-12 * (outside + inside):
            break
        x = 0.5 * (outside + inside)
        _, _, step, dead = _window(rows, most, rough, ends, h, k, x, high, low, high, direction)
        if step == 0.0 and not dead:
            inside = x
        else:
            outside = x
    return inside


@inlined
def _edges(rows, most, rough, ends, h, k, fastest, low, high):
    """Return the least and the greatest square that lead into [`low`, `high`]; -1: none.

    Beyond the speed limit, in the middle for steps from there, nothing is looked for.
    """
    speed = most.shape[1] - 1
    place = rows.c.shape[1] // 2 if ends == FAR else 0
    fastest = min(fastest, most[k, speed] / rows.c[k, place, speed])
    top = _edge(rows, most, rough, ends, h, k, fastest, 0.0, low, high)
    if top <= 0.0:
        return top, top
    bottom = _edge(rows, most, rough, ends, h, k, 0.0, top, low, high)
    return (bottom if bottom >= 0.0 else top), top


@compiled
def controllable(rows, most, rough, stiff, widths, end, fastest, out):
    """Write the squares (2 k + 1, 2), from and to, from which the rest of the path can be done.

    Args:
        rows: Of the intervals, see `rows.Rows`; the last one is the speed.
        most: Their limits (k, r), 1 less margins.
        rough: Whether there is damping, or friction that falls.
        stiff: Whether u is constant in an interval (k,).
        widths: Of the intervals (k,).
        end: Square of the speed at the end.
        fastest: A square beyond which nothing is looked for.
        out: The squares x, z, x, .., x; none for z of stiff intervals.

    Returns:
        -1; where there are none, the interval in which.
    """
    last = widths.shape[0]
    out[2 * last, 0] = out[2 * last, 1] = end
    for k in range(last - 1, -1, -1):
        low, high = out[2 * k + 2, 0], out[2 * k + 2, 1]
        if stiff[k]:
            ends, h = BOTH, widths[k]
        else:
            ends, h = NEAR, 0.5 * widths[k]
            low, high = _edges(rows, most, rough, FAR, h, k, fastest, low, high)
            if high < 0.0:
                return k
            out[2 * k + 1, 0], out[2 * k + 1, 1] = low, high
        low, high = _edges(rows, most, rough, ends, h, k, fastest, low, high)
        if high < 0.0:
            return k
        out[2 * k, 0], out[2 * k, 1] = low, high
    return -1


@inlined
def _farthest(rows, most, rough, ends, h, k, x, low, high):
    """Return the greatest square in [`low`, `high`] that is reached from x."""
    near, y = high, high
    for _ in range(8 if rough else 1):
        below, above, _, _ = _window(rows, most, rough, ends, h, k, x, near, low, high, 1.0)
        y = above if above >= below else 0.5 * (above + below)
        y = min(max(y, low), high)
        if abs(y - near) <= 1e-12 * y:
            break
        near = y
    return y


@compiled
def greatest(rows, most, rough, stiff, widths, begin, reach, out):
    """Write the greatest squares (2 k + 1,) within `reach` that begin with `begin`.

    Returns:
        -1; where the path would stand still, the interval.
    """
    out[0] = begin
    for k in range(widths.shape[0]):
        x, h = out[2 * k], widths[k]
        low, high = reach[2 * k + 2, 0], reach[2 * k + 2, 1]
        if stiff[k]:
            y = _farthest(rows, most, rough, BOTH, h, k, x, low, high)
            z = 0.5 * (x + y)
        else:
            h *= 0.5
            between, most_between = reach[2 * k + 1, 0], reach[2 * k + 1, 1]
            z = _farthest(rows, most, rough, NEAR, h, k, x, between, most_between)
            y = _farthest(rows, most, rough, FAR, h, k, z, low, high)
        if not x + y > 0.0:
            return k
        out[2 * k + 1], out[2 * k + 2] = z, y
    return -1
