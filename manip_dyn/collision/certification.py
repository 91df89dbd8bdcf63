"""Compiled branch and bound over the time intervals of a motion; see docs/collision_proof.md.

A node is a time interval with the pairs of pieces whose clearance is not yet proved on it. At its
middle posture, distances are bounded from above. On the interval, they are bounded from below by
first-order and second-order bounds. Pairs without a sufficient bound are passed to both halves.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from manip_dyn.collision.convex import (
    ball_distance,
    centre_distance,
    gap,
    place_bodies,
    place_centres,
    separation,
)
from manip_dyn.collision.shapes import HALF_SPACE
from manip_dyn.core.arrays import Index, row
from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.core.compiled import compiled

ROUNDING = 1e-9
"""Bound of the rounding errors of a gap, m. Coordinates are at most 1e4 m."""
BAND = 1e-6
"""Clearance, m, below which a pair may remain undecided."""
UNKNOWN = 2.0
"""First component of a direction that is not yet known."""
LEVELS = 100
"""Largest number of bisections of the whole motion."""
LOWER, UPPER, UPPER_TIME, CONTACT_TIME, UNDECIDED_TIME = range(5)
"""Indices of `Outcome.numbers`."""
UPPER_PAIR, CONTACT_PAIR, UNDECIDED_PAIR, LOWER_PAIR, INTERVALS, EXCEEDED = range(6)
"""Indices of `Outcome.counts`."""


class Curve(NamedTuple):
    """A joint curve: breaks (k + 1,), coefficients (k, d + 1, n) and deviation (n,)."""

    breaks: Vector
    coefficients: Tensor
    deviation: Vector


class Outcome(NamedTuple):
    """Result of a search.

    Attributes:
        numbers: Bounds of the clearance (m) and times (s), with the indices LOWER to
            UNDECIDED_TIME.
        counts: Indices of pairs and numbers of nodes, with the indices UPPER_PAIR to EXCEEDED.
    """

    numbers: Vector
    counts: Index


class Workspace(NamedTuple):
    """Memory of a search with p pairs and n joints.

    Attributes:
        active: Pairs that are active on each level (LEVELS + 1, p).
        active_count: Numbers of active pairs (LEVELS + 1,).
        normal: Last direction of separation of each pair (p, 3).
        stack: Bernstein coefficients of the pending nodes (LEVELS + 2, d + 1, n).
        span: Start and end of the pending nodes (LEVELS + 2, 2).
        segments: First segment, end segment and level of the pending nodes (LEVELS + 2, 3).
        begin: Poses at the start of a node (n + 1, 12).
        middle: Poses at its middle (n + 1, 12).
        end: Poses at its end (n + 1, 12).
        q: Postures at the start, the middle and the end of a node (3, n).
        change: Bounds of displacement, velocity, acceleration and velocity jumps (4, n).
        reach: Velocities (n,) of the points of a body per unit of joint velocity.
        corners: Corners of a simplex (5, 6), see `separation`.
        kept: Indices of corners (3,) and the number of corners.
        centre: Centres of the balls around all pieces (k, 3) at the middle, base frame, m.
    """

    active: Index
    active_count: Index
    normal: Matrix
    stack: Tensor
    span: Matrix
    segments: Index
    begin: Matrix
    middle: Matrix
    end: Matrix
    q: Matrix
    change: Matrix
    reach: Vector
    corners: Matrix
    kept: Index
    centre: Matrix


@compiled(python=False, counted=False)
def bound_segments(curve, first, end, work):
    """Bound the motion on whole segments, and write the postures at start, middle and end."""
    c, breaks = curve.coefficients, curve.breaks
    d, n = c.shape[1] - 1, c.shape[2]
    middle = (first + end) // 2
    for j in range(n):
        work.q[0, j], work.q[1, j] = c[first, 0, j], c[middle, 0, j]
        work.q[2, j] = c[end - 1, d, j]
        work.change[0, j] = work.change[1, j] = work.change[2, j] = work.change[3, j] = 0.0
    for k in range(first, end):
        slope = d / (breaks[k + 1] - breaks[k])
        bend = slope * (d - 1) / (breaks[k + 1] - breaks[k])
        for i in range(d + 1):
            for j in range(n):
                away = abs(c[k, i, j] - work.q[1, j])
                work.change[0, j] = max(work.change[0, j], away)
        for i in range(d):
            for j in range(n):
                speed = abs(c[k, i + 1, j] - c[k, i, j]) * slope
                work.change[1, j] = max(work.change[1, j], speed)
        for i in range(d - 1):
            for j in range(n):
                rate = abs(c[k, i + 2, j] - 2.0 * c[k, i + 1, j] + c[k, i, j]) * bend
                work.change[2, j] = max(work.change[2, j], rate)
        if k > first and d > 0:
            before = d / (breaks[k] - breaks[k - 1])
            for j in range(n):
                jump = (c[k, 1, j] - c[k, 0, j]) * slope
                jump -= (c[k - 1, d, j] - c[k - 1, d - 1, j]) * before
                work.change[3, j] += abs(jump)


@compiled(python=False, counted=False)
def bound_part(row, width, d, work):
    """Bound the motion on a part of a segment, whose coefficients are in a row of the stack."""
    n = work.q.shape[1]
    c = work.stack
    for j in range(n):
        work.q[0, j], work.q[2, j] = c[row, 0, j], c[row, d, j]
        middle, binomial, total = 0.0, 1.0, 0.0
        for i in range(d + 1):
            middle += binomial * c[row, i, j]
            total += binomial
            binomial *= (d - i) / (i + 1.0)
        work.q[1, j] = middle / total
        away, speed, rate = 0.0, 0.0, 0.0
        for i in range(d + 1):
            away = max(away, abs(c[row, i, j] - work.q[1, j]))
        for i in range(d):
            speed = max(speed, abs(c[row, i + 1, j] - c[row, i, j]) * d / width)
        for i in range(d - 1):
            bend = c[row, i + 2, j] - 2.0 * c[row, i + 1, j] + c[row, i, j]
            rate = max(rate, abs(bend) * d * (d - 1) / (width * width))
        work.change[0, j], work.change[1, j] = away, speed
        work.change[2, j], work.change[3, j] = rate, 0.0


@compiled(python=False, counted=False)
def halve(c, row, d, left):
    """Replace the coefficients in a row by those of the second half, and write the first half.

    This is the algorithm of de Casteljau at 1/2.
    """
    for j in range(c.shape[2]):
        c[left, 0, j] = c[row, 0, j]
        for level in range(d):
            for i in range(d - level):
                c[row, i, j] = 0.5 * (c[row, i, j] + c[row, i + 1, j])
            c[left, level + 1, j] = c[row, 0, j]


@compiled(python=False, counted=False)
def bound_points(bodies, pieces, pairs, pair, poses, centres, change, deviation, width, reach):
    """Bound the motion of the second piece of a pair relative to the body of the first piece.

    The bounds hold for all points of the second piece and all times of a node.

    Returns:
        The largest displacement from the middle posture, m; the largest deviation of the distance
        in a fixed direction from its linear interpolation over the node, m; and the largest
        displacement due to the deviation of the curve, m.
    """
    piece = pairs.second[pair]
    cx, cy, cz = centres[piece, 0], centres[piece, 1], centres[piece, 2]
    moved, apart, curvature, kinks, inner = 0.0, 0.0, 0.0, 0.0, 0.0
    begin, end = pairs.begin[pairs.chain[pair]], pairs.begin[pairs.chain[pair] + 1]
    for k in range(end - 1, begin - 1, -1):
        j = pairs.joints[k]
        if bodies.prismatic[j]:
            r = 1.0
        else:
            zx, zy, zz = poses[j, 5], poses[j, 8], poses[j, 11]
            dx, dy, dz = cx - poses[j, 0], cy - poses[j, 1], cz - poses[j, 2]
            x, y, z = dy * zz - dz * zy, dz * zx - dx * zz, dx * zy - dy * zx
            r = sqrt(x * x + y * y + z * z) + pieces.ball[piece] + moved + apart + ROUNDING
        reach[j] = r
        moved += r * change[0, j]
        apart += r * deviation[j]
        kinks += r * change[3, j]
        curvature += r * change[2, j]
    for k in range(begin, end):
        j = pairs.joints[k]
        own = 0.0 if bodies.prismatic[j] else change[1, j]
        curvature += reach[j] * change[1, j] * (own + 2.0 * inner)
        inner += own
    return moved, width * (width * curvature / 8.0 + kinks / 4.0), apart


@compiled(python=False, counted=False)
def gap_at_ends(pieces, a, b, work, normal):
    """Return the smaller of the gaps at start and end of a node in a direction (3,), m."""
    x, y, z = normal[0], normal[1], normal[2]
    return min(gap(pieces, a, b, work.begin, x, y, z), gap(pieces, a, b, work.end, x, y, z))


@compiled
def search(bodies, pieces, pairs, curve, resolution, most, work, outcome):
    """Bound the clearance of all pairs over a whole motion.

    The search ends when the least clearance is proved to be positive and known to `resolution`, m;
    when a contact is found and the time before it is checked; or after `most` intervals. Nodes are
    processed in order of time.
    """
    numbers, counts = outcome.numbers, outcome.counts
    numbers[LOWER], numbers[UPPER] = np.inf, np.inf
    numbers[UPPER_TIME] = numbers[CONTACT_TIME] = numbers[UNDECIDED_TIME] = np.nan
    counts[UPPER_PAIR] = counts[CONTACT_PAIR] = counts[UNDECIDED_PAIR] = counts[LOWER_PAIR] = -1
    counts[INTERVALS] = counts[EXCEEDED] = 0
    d, breaks = curve.coefficients.shape[1] - 1, curve.breaks
    work.active_count[0] = pairs.first.size
    for pair in range(pairs.first.size):
        work.active[0, pair] = pair
    work.segments[0, 0], work.segments[0, 1], work.segments[0, 2] = 0, breaks.size - 1, 0
    top, collides = 0, False
    while top >= 0:
        here = top
        first, end, level = work.segments[here, 0], work.segments[here, 1], work.segments[here, 2]
        if end == first + 1:
            load_segment(curve, first, here, work)
            end = first
        if end > first:
            t0, t, t1 = breaks[first], breaks[(first + end) // 2], breaks[end]
            bound_segments(curve, first, end, work)
        else:
            t0, t1 = work.span[here, 0], work.span[here, 1]
            t = 0.5 * (t0 + t1)
            bound_part(here, t1 - t0, d, work)
        place_bodies(bodies, row(work.q, 0), work.begin)
        place_bodies(bodies, row(work.q, 1), work.middle)
        place_bodies(bodies, row(work.q, 2), work.end)
        counts[INTERVALS] += 1
        remaining, contact, tiny = 0, False, False
        middle = work.middle
        place_centres(pieces, middle, work.centre)
        for index in range(work.active_count[level]):
            pair = work.active[level, index]
            a, b = pairs.first[pair], pairs.second[pair]
            moved, bent, apart = bound_points(
                bodies, pieces, pairs, pair, middle, work.centre, work.change, curve.deviation,
                t1 - t0, work.reach,
            )  # fmt: skip
            first_loss, second_loss = moved + apart + ROUNDING, bent + apart + ROUNDING
            wanted = 0.0 if collides else max(numbers[UPPER] - resolution - 2.0 * apart, 0.0)
            normal = row(work.normal, pair)
            if pieces.kind[a] == HALF_SPACE:
                lower = ball_distance(pieces, a, b, middle, normal) - first_loss
            else:
                lower = centre_distance(pieces, a, b, work.centre) - first_loss
            if lower > 0.0 and lower >= wanted:
                note_lower(numbers, counts, lower, pair)
                continue
            if normal[0] == UNKNOWN:
                ball_distance(pieces, a, b, middle, normal)
            lower = max(lower, gap_at_ends(pieces, a, b, work, normal) - second_loss)
            if lower > 0.0 and lower >= wanted:
                note_lower(numbers, counts, lower, pair)
                continue
            upper = separation(pieces, a, b, middle, normal, work.corners, work.kept, np.inf)
            own = gap(pieces, a, b, middle, normal[0], normal[1], normal[2])
            lower = max(lower, own - first_loss)
            lower = max(lower, gap_at_ends(pieces, a, b, work, normal) - second_loss)
            if upper + apart < numbers[UPPER]:
                numbers[UPPER], numbers[UPPER_TIME] = upper + apart, t
                counts[UPPER_PAIR] = pair
            if upper <= ROUNDING:
                contact, collides = True, True
                tiny = tiny or moved < 0.1 * BAND
                numbers[CONTACT_TIME], counts[CONTACT_PAIR] = t, pair
            wanted = 0.0 if collides else max(numbers[UPPER] - resolution - 2.0 * apart, 0.0)
            decided = lower > 0.0 and lower >= wanted
            if not decided and upper > ROUNDING and upper - lower < BAND + apart:
                decided = True
                if lower <= 0.0 and counts[UNDECIDED_PAIR] < 0:
                    numbers[UNDECIDED_TIME], counts[UNDECIDED_PAIR] = t, pair
            if decided:
                note_lower(numbers, counts, lower, pair)
            else:
                work.active[level + 1, remaining] = pair
                remaining += 1
        # after a contact, only the time before it matters
        top = -1 if contact else here - 1
        if remaining == 0 or tiny:
            continue
        if counts[INTERVALS] >= most or level + 1 >= LEVELS:
            counts[EXCEEDED] = 1
            return
        work.active_count[level + 1] = remaining
        top = push_halves(first, end, here, contact, (t0, t, t1), d, work)


@compiled(python=False, counted=False)
def note_lower(numbers, counts, lower, pair):
    """Include the lower bound of a pair, m, in the least clearance."""
    if lower < numbers[LOWER]:
        numbers[LOWER], counts[LOWER_PAIR] = lower, pair


@compiled(python=False, counted=False)
def load_segment(curve, segment, top, work):
    """Write the coefficients of a whole segment to the stack."""
    for i in range(curve.coefficients.shape[1]):
        for j in range(curve.coefficients.shape[2]):
            work.stack[top, i, j] = curve.coefficients[segment, i, j]
    work.span[top, 0], work.span[top, 1] = curve.breaks[segment], curve.breaks[segment + 1]


@compiled(python=False, counted=False)
def push_halves(first, end, here, only_first, times, d, work):
    """Push both halves of a node, or only the first one; return the new top of the stack.

    The first half is on top.

    Args:
        first: First segment of the node.
        end: End of its segments; `first` for a part of a segment.
        here: Row of the node in the stack.
        only_first: Whether only the first half is pushed, onto an empty stack.
        times: Start, middle and end of the node.
        d: Degree of the segments.
        work: The workspace.
    """
    whole, level = end > first, work.segments[here, 2] + 1
    if not whole:
        halve(work.stack, here, d, here + 1)
    top = 0
    if not only_first:
        top = here + 1
        work.segments[here, 0], work.segments[here, 1] = (first + end) // 2, end
        work.segments[here, 2] = level
        work.span[here, 0], work.span[here, 1] = times[1], times[2]
    work.segments[top, 0], work.segments[top, 1] = first, (first + end) // 2
    work.segments[top, 2] = level
    work.span[top, 0], work.span[top, 1] = times[0], times[1]
    if not whole and top != here + 1:
        for i in range(d + 1):
            for j in range(work.stack.shape[2]):
                work.stack[top, i, j] = work.stack[here + 1, i, j]
    return top
