"""Forces along scalar functions of two bodies, and their derivatives, compiled.

A force f(x, x', t) against the quantity x(q) adds -f x_q to the generalized forces; with the
gradient's rate and the Hessian of x from the expression graph come the derivatives of that.
"""

from __future__ import annotations

from math import atan2, floor, pi, sqrt

from numba import njit

from manip_dyn.codegen.by_address import call
from manip_dyn.multibody.constraints import (
    OPTIONS,
    gather,
    primitive_0,
    primitive_1,
    primitive_2,
)
from manip_dyn.multibody.primitives import (
    DISTANCE,
    DOT_1,
    PLACE_CURVATURE,
    PLACE_RATE,
    PLACE_SLOPE,
    POINT,
    SIZE,
)
from manip_dyn.multibody.road import height
from manip_dyn.multibody.tables import ROTATIONAL_SPRING, SPRING, TYRE
from manip_dyn.multibody.user_force import (
    BY_POSITION,
    BY_TIME,
    BY_VELOCITY,
    USER_RESULT,
)


@njit(**OPTIONS)
def law(kind, c, t, x, rate):
    """Return a force against x, and its derivatives by x, by its rate and by time.

    `c` holds stiffness, damping, x or length without force, constant force, and the road's.
    """
    if kind == SPRING:  # x is the square of the length
        length = sqrt(x)
        pull = c[0] * (length - c[2]) + c[1] * rate / (2.0 * length) + c[3]
        by_x = c[0] / (2.0 * length) - c[1] * rate / (4.0 * x * length)
        return (
            pull / (2.0 * length),
            by_x / (2.0 * length) - pull / (4.0 * x * length),
            c[1] / (4.0 * x),
            0.0,
        )
    if kind == TYRE:
        road, slope, bend = height(c, t)
        push = c[0] * (x - c[2] - road) + c[1] * (rate - slope) + c[3]
        return push, c[0], c[1], -c[0] * slope - c[1] * bend
    return c[0] * x + c[1] * rate + c[3], c[0], c[1], 0.0


@njit(**OPTIONS)
def nearest_turn(angle, last):
    """Return the angle by as many whole turns as bring it within half a turn of the last."""
    return angle + 2.0 * pi * floor((last - angle) / (2.0 * pi) + 0.5)


@njit(**OPTIONS)
def count_turns(p):
    """Keep the angles of all rotational springs at the present positions, through turns."""
    x, along, across = p.local[0], p.result[0], p.result[1]
    for k in range(p.force_rows.shape[0]):
        if p.force_rows[k, 0] == ROTATIONAL_SPRING:
            gather(p.q, p.force_rows[k], x)
            primitive_0(DOT_1, x, p.force_numbers[k][:12], along)
            primitive_0(DOT_1, x, p.force_numbers[k][12:], across)
            p.angles[k] = nearest_turn(atan2(across[0], along[0]), p.angles[k])


@njit(**OPTIONS)
def angle(p, k, order):
    """Write the angle of force k, its gradient, and for order 2 its curvature, into result[0].

    It is atan2 of two dot products, of what is fixed to j along and across a direction of i, by
    as many turns as bring it next to the angle that `count_turns` wrote last.
    """
    x, v, a = p.local[0], p.local[1], p.local[2]
    along, across = p.result[0], p.result[1]
    if order == 2:
        primitive_2(DOT_1, x, v, a, p.force_numbers[k][:12], along)
        primitive_2(DOT_1, x, v, a, p.force_numbers[k][12:], across)
    else:
        primitive_1(DOT_1, x, v, p.force_numbers[k][:12], along)
        primitive_1(DOT_1, x, v, p.force_numbers[k][12:], across)
    c, s = along[0], across[0]
    size = c * c + s * s
    turn, c_rate, s_rate = nearest_turn(atan2(s, c), p.angles[k]), 0.0, 0.0
    for i in range(SIZE):
        c_rate += along[PLACE_SLOPE + i] * v[i]
        s_rate += across[PLACE_SLOPE + i] * v[i]
    rate = (c * s_rate - s * c_rate) / size
    growth = 2.0 * (c * c_rate + s * s_rate) / size
    if order == 2:
        for i in range(SIZE):
            c_i, s_i = along[PLACE_SLOPE + i], across[PLACE_SLOPE + i]
            for j in range(SIZE):
                place = PLACE_CURVATURE + SIZE * i + j
                c_j, s_j = along[PLACE_SLOPE + j], across[PLACE_SLOPE + j]
                bent = c_j * s_i - s_j * c_i + c * across[place] - s * along[place]
                bent -= (c * s_i - s * c_i) * 2.0 * (c * c_j + s * s_j) / size
                along[place] = bent / size
    for i in range(SIZE):
        c_i, s_i = along[PLACE_SLOPE + i], across[PLACE_SLOPE + i]
        c_i_rate, s_i_rate = along[PLACE_RATE + i], across[PLACE_RATE + i]
        slope = (c * s_i - s * c_i) / size
        bent = c_rate * s_i - s_rate * c_i + c * s_i_rate - s * c_i_rate
        along[PLACE_SLOPE + i] = slope
        along[PLACE_RATE + i] = bent / size - slope * growth
    along[0] = turn
    return rate


@njit(**OPTIONS)
def add_user_forces(t, p, order):
    """Add the forces that Python functions describe, as `add_forces` does."""
    bodies, found = p.mass.shape[0], p.user_result
    x, v = p.local[0], p.local[1]
    for k in range(p.user_rows.shape[0]):
        row = p.user_rows[k]
        gather(p.q, row, x)
        gather(p.v, row, v)
        found[USER_RESULT] = t
        user = p.user_calls[k, order - 1]
        call(user, (found[USER_RESULT:], x, v, found))  # type: ignore[call-arg]
        for i in range(SIZE):
            body = row[1 + i // 7]
            if body == bodies:
                continue
            place = 7 * body + i % 7
            p.force[place] += found[i]
            if order < 2:
                continue
            p.by_time[place] += found[BY_TIME + i]
            for j in range(SIZE):
                other = row[1 + j // 7]
                if other < bodies:
                    column = 7 * other + j % 7
                    p.stiffness[place, column] -= found[BY_POSITION + SIZE * i + j]
                    p.damping[place, column] -= found[BY_VELOCITY + SIZE * i + j]


@njit(**OPTIONS)
def add_forces(t, p, order):
    """Add gravity and all forces to `force`; for order 2 their derivatives, negative, too."""
    bodies = p.mass.shape[0]
    for b in range(bodies):
        for i in range(3):
            p.force[7 * b + i] += p.mass[b] * p.gravity[i]
    add_user_forces(t, p, order)
    x, v, a = p.local[0], p.local[1], p.local[2]
    result = p.result[0]
    for k in range(p.force_rows.shape[0]):
        row = p.force_rows[k]
        gather(p.q, row, x)
        gather(p.v, row, v)
        rate = 0.0
        if row[0] == ROTATIONAL_SPRING:
            rate = angle(p, k, order)
        else:
            kind = DISTANCE if row[0] == SPRING else POINT
            if order == 2:
                primitive_2(kind, x, v, a, p.force_numbers[k][:12], result)
            else:
                primitive_1(kind, x, v, p.force_numbers[k][:12], result)
            for i in range(SIZE):
                rate += result[PLACE_SLOPE + i] * v[i]
        f, by_x, by_rate, by_time = law(row[0], p.force_constants[k], t, result[0], rate)
        for i in range(SIZE):
            body = row[1 + i // 7]
            if body == bodies:
                continue
            place, slope = 7 * body + i % 7, result[PLACE_SLOPE + i]
            p.force[place] -= f * slope
            if order < 2:
                continue
            p.by_time[place] -= by_time * slope
            for j in range(SIZE):
                other = row[1 + j // 7]
                if other == bodies:
                    continue
                column, its = 7 * other + j % 7, result[PLACE_SLOPE + j]
                bent = by_x * its + by_rate * result[PLACE_RATE + j]
                bent = slope * bent + f * result[PLACE_CURVATURE + SIZE * i + j]
                p.stiffness[place, column] += bent
                p.damping[place, column] += by_rate * slope * its
