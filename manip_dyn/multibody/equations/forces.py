"""Forces along scalar functions of two bodies, and their derivatives, compiled.

A force f(x, x', t) against the quantity x(q) adds -f x_q to the generalized forces; with the
gradient's rate and the Hessian of x from the expression graph come the derivatives of that.
"""

from __future__ import annotations

from math import atan2, floor, pi, sqrt

from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.multibody.equations.memory import bodies_of, forces_of, loads_of, motion_of
from manip_dyn.multibody.equations.road import height
from manip_dyn.multibody.equations.tables import (
    DERIVATIVES,
    FIRST,
    KERNEL,
    LAW,
    ROTATIONAL_SPRING,
    SECOND,
    SPRING,
    TYRE,
)
from manip_dyn.multibody.kernels.kernel import run_kernel
from manip_dyn.multibody.kernels.primitives import PLACE_CURVATURE, PLACE_RATE, PLACE_SLOPE, SIZE
from manip_dyn.multibody.kernels.user_force import BY_POSITION, BY_TIME, BY_VELOCITY


@inlined
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


@inlined
def nearest_turn(angle, last):
    """Return the angle by as many whole turns as bring it within half a turn of the last."""
    return angle + 2.0 * pi * floor((last - angle) / (2.0 * pi) + 0.5)


@compiled(short=True, python=False, counted=False)
def count_turns(p):
    """Keep the angles of all rotational springs at the present positions, through turns."""
    forces, motion = forces_of(p), motion_of(p)
    rows, numbers, angles = forces.rows, forces.numbers, forces.angles
    q, along, across = motion.q, motion.result, motion.across
    for k in range(rows.shape[0]):
        if rows[k, LAW] == ROTATIONAL_SPRING:
            kernel, first, second = rows[k, KERNEL], rows[k, FIRST], rows[k, SECOND]
            run_kernel(kernel, q, q, q, first, second, numbers, 24 * k, along)
            run_kernel(kernel, q, q, q, first, second, numbers, 24 * k + 12, across)
            angles[k] = nearest_turn(atan2(across[0], along[0]), angles[k])


@compiled(short=True, python=False, counted=False)
def bend_to_angle(along, across, last, v, row, order):
    """Replace a quantity, its gradient, and with DERIVATIVES its curvature, by an angle's.

    It is atan2 of two dot products, of what is fixed to j along and across a direction of i, by
    as many turns as bring it next to the angle `last`. Return its rate.

    Args:
        along: What a kernel wrote for the one product, is written.
        across: What it wrote for the other.
        last: rad.
        v: Velocities of all bodies.
        row: Whose bodies count (6,).
        order: VALUES or DERIVATIVES.
    """
    c, s = along[0], across[0]
    size = c * c + s * s
    turn, c_rate, s_rate = nearest_turn(atan2(s, c), last), 0.0, 0.0
    for i in range(SIZE):
        speed = v[row[FIRST + i // 7] + i % 7]
        c_rate += along[PLACE_SLOPE + i] * speed
        s_rate += across[PLACE_SLOPE + i] * speed
    rate = (c * s_rate - s * c_rate) / size
    growth = 2.0 * (c * c_rate + s * s_rate) / size
    if order == DERIVATIVES:
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


@compiled(short=True, python=False, counted=False)
def add_user_forces(t, p, order):
    """Add the forces that Python functions describe, as `add_forces` does."""
    forces, motion, loads = forces_of(p), motion_of(p), loads_of(p)
    rows, time, q, v, found = forces.user_rows, forces.time, motion.q, motion.v, motion.result
    force, by_time = loads.force, loads.by_time
    stiffness, damping = loads.stiffness, loads.damping
    size = force.shape[0]
    time[0] = t
    for k in range(rows.shape[0]):
        row = rows[k]
        run_kernel(row[KERNEL + order], q, v, v, row[FIRST], row[SECOND], time, 0, found)
        for i in range(SIZE):
            place = row[FIRST + i // 7] + i % 7
            if place >= size:
                continue
            force[place] += found[i]
            if order < DERIVATIVES:
                continue
            by_time[place] += found[BY_TIME + i]
            for j in range(SIZE):
                column = row[FIRST + j // 7] + j % 7
                if column < size:
                    stiffness[place, column] -= found[BY_POSITION + SIZE * i + j]
                    damping[place, column] -= found[BY_VELOCITY + SIZE * i + j]


@compiled(short=True, python=False, counted=False)
def add_forces(t, p, order):
    """Add gravity and all forces; with DERIVATIVES those of forces, too."""
    add_user_forces(t, p, order)
    forces, motion, loads, bodies = forces_of(p), motion_of(p), loads_of(p), bodies_of(p)
    rows, numbers, constants = forces.rows, forces.numbers, forces.constants
    angles, q, v, a = forces.angles, motion.q, motion.v, motion.a
    result, across = motion.result, motion.across
    force, by_time = loads.force, loads.by_time
    stiffness, damping = loads.stiffness, loads.damping
    mass, gravity, size = bodies.mass, bodies.gravity, force.shape[0]
    for b in range(mass.shape[0]):
        for i in range(gravity.shape[0]):
            force[7 * b + i] += mass[b] * gravity[i]
    for k in range(rows.shape[0]):
        row = rows[k]
        kernel, first, second = row[KERNEL + order], row[FIRST], row[SECOND]
        run_kernel(kernel, q, v, a, first, second, numbers, 24 * k, result)
        rate = 0.0
        if row[LAW] == ROTATIONAL_SPRING:
            run_kernel(kernel, q, v, a, first, second, numbers, 24 * k + 12, across)
            rate = bend_to_angle(result, across, angles[k], v, row, order)
        else:
            for i in range(SIZE):
                rate += result[PLACE_SLOPE + i] * v[row[FIRST + i // 7] + i % 7]
        f, by_x, by_rate, by_t = law(row[LAW], constants[k], t, result[0], rate)
        for i in range(SIZE):
            place, slope = row[FIRST + i // 7] + i % 7, result[PLACE_SLOPE + i]
            if place >= size:
                continue
            force[place] -= f * slope
            if order < DERIVATIVES:
                continue
            by_time[place] -= by_t * slope
            for j in range(SIZE):
                column, its = row[FIRST + j // 7] + j % 7, result[PLACE_SLOPE + j]
                if column >= size:
                    continue
                bent = by_x * its + by_rate * result[PLACE_RATE + j]
                bent = slope * bent + f * result[PLACE_CURVATURE + SIZE * i + j]
                stiffness[place, column] += bent
                damping[place, column] += by_rate * slope * its
