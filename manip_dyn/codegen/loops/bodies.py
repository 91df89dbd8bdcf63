"""Motions, inertias and forces of a robot's bodies, in loops from base to tips and back.

All is seen from the base: spatial vectors (angular part, then linear part of what is at the
base's origin), in its axes, so that composite bodies are plain sums.
"""

from __future__ import annotations

from math import cos, sin

from manip_dyn.codegen.loops.spatial import (
    accelerated,
    added,
    column,
    cross,
    crossed,
    dot,
    keep,
    less_trace,
    scaled,
    three,
    times,
    transposed_times,
)
from manip_dyn.core.compiled import inlined


# --------------------------------------------------------------------------- bodies, base to tips
@inlined(counted=False)
def place_bodies(tree, space, q):
    """Set the bodies' axes and origins and the joints' axes."""
    for i in range(q.shape[0]):
        k = tree.parent[i]
        local, placed, origin = tree.rotation[i], space.rotation[i], space.origin[i]
        along = 0.0
        c, s = 1.0, 0.0
        if tree.prismatic[i]:
            along = q[i]
        else:
            c, s = cos(q[i]), sin(q[i])
        for r in range(3):
            x, y, z = local[r, 0], local[r, 1], local[r, 2]
            shift = tree.translation[i, r] + along * z
            x, y = c * x + s * y, c * y - s * x
            placed[r, 0], placed[r, 1], placed[r, 2] = x, y, z
            origin[r] = shift
        if k >= 0:
            above = space.rotation[k]
            for axis in range(3):
                turned = times(above, (placed[0, axis], placed[1, axis], placed[2, axis]))
                placed[0, axis], placed[1, axis], placed[2, axis] = turned
            moved = added(three(space.origin[k], 0), times(above, three(origin, 0)))
            origin[0], origin[1], origin[2] = moved
        z_axis = (placed[0, 2], placed[1, 2], placed[2, 2])
        if tree.prismatic[i]:
            keep(space.axis, i, (0.0, 0.0, 0.0), z_axis)
        else:
            keep(space.axis, i, z_axis, cross(three(origin, 0), z_axis))


@inlined(counted=False)
def weigh(tree, space, n):
    """Set the bodies' moments of mass, and begin the composite bodies with them."""
    for i in range(n):
        mass, rotation, origin = tree.mass[i], space.rotation[i], three(space.origin[i], 0)
        h = times(rotation, three(tree.moment[i], 0))
        own, spread = tree.spread[i], space.spread[i]
        first = times(rotation, three(own[0], 0))
        second = times(rotation, three(own[1], 0))
        third = times(rotation, three(own[2], 0))
        for r in range(3):
            across = (first[r], second[r], third[r])
            for s in range(r + 1):
                turned = dot(rotation[s], across)
                shifted = h[r] * origin[s] + origin[r] * h[s] + mass * origin[r] * origin[s]
                spread[r, s] = spread[s, r] = turned + shifted
        for r in range(3):
            space.moment[i, r] = h[r] + mass * origin[r]
            space.composite_moment[i, r] = space.moment[i, r]
            for s in range(3):
                space.composite_spread[i, r, s] = spread[r, s]
        space.composite_mass[i] = mass


@inlined(counted=False)
def compose(tree, space, n):
    """Add every composite body to its parent, and set what their joints' accelerations take."""
    for i in range(n - 1, -1, -1):
        mass = space.composite_mass[i]
        moment, spread = space.composite_moment[i], space.composite_spread[i]
        force = accelerated(mass, moment, spread, column(space.axis, i))
        keep(space.weight, i, force[0], force[1])
        k = tree.parent[i]
        if k >= 0:
            space.composite_mass[k] += mass
            for r in range(3):
                space.composite_moment[k, r] += moment[r]
                for s in range(3):
                    space.composite_spread[k, r, s] += spread[r, s]


@inlined(counted=False)
def move(tree, space, v):
    """Set the bodies' velocities, the axes' rates, and the flow of the bodies alone."""
    for i in range(v.shape[0]):
        k = tree.parent[i]
        axis = column(space.axis, i)
        above = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        if k >= 0:
            above = three(space.velocity[k], 0), three(space.velocity[k], 3)
        rate = crossed(above, axis)
        keep(space.rate, i, rate[0], rate[1])
        omega = added(above[0], scaled(v[i], axis[0]))
        linear = added(above[1], scaled(v[i], axis[1]))
        velocity, h, spread = space.velocity[i], three(space.moment[i], 0), space.spread[i]
        velocity[0], velocity[1], velocity[2] = omega
        velocity[3], velocity[4], velocity[5] = linear
        momentum = added(scaled(tree.mass[i], linear), cross(omega, h))
        for r in range(3):
            space.momentum[i, r] = 2.0 * momentum[r]
            turned = cross(omega, (spread[0, r], spread[1, r], spread[2, r]))
            space.flow[i, 0, r] = 2.0 * (turned[0] + linear[0] * h[r])
            space.flow[i, 1, r] = 2.0 * (turned[1] + linear[1] * h[r])
            space.flow[i, 2, r] = 2.0 * (turned[2] + linear[2] * h[r])


@inlined(counted=False)
def accelerate(tree, space, v, a):
    """Set accelerations, the axes' second rates, and the forces on the bodies alone."""
    for i in range(v.shape[0]):
        k = tree.parent[i]
        axis, rate = column(space.axis, i), column(space.rate, i)
        below = scaled(-1.0, three(tree.gravity, 0))
        above, carried = ((0.0, 0.0, 0.0), below), ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        if k >= 0:
            above = three(space.acceleration[k], 0), three(space.acceleration[k], 3)
            carried = three(space.velocity[k], 0), three(space.velocity[k], 3)
        pulled, swung = crossed(above, axis), crossed(carried, rate)
        keep(space.second_rate, i, added(pulled[0], swung[0]), added(pulled[1], swung[1]))
        alpha = added(added(above[0], scaled(a[i], axis[0])), scaled(v[i], rate[0]))
        linear = added(added(above[1], scaled(a[i], axis[1])), scaled(v[i], rate[1]))
        acceleration, moment = space.acceleration[i], space.moment[i]
        acceleration[0], acceleration[1], acceleration[2] = alpha
        acceleration[3], acceleration[4], acceleration[5] = linear
        mass, spread = tree.mass[i], space.spread[i]
        velocity = three(space.velocity[i], 0), three(space.velocity[i], 3)
        resting = accelerated(mass, moment, spread, (alpha, linear))
        spin, momentum = accelerated(mass, moment, spread, velocity)
        gyral = added(cross(velocity[0], spin), cross(velocity[1], momentum))
        force = space.force[i]
        force[0], force[1], force[2] = added(resting[0], gyral)
        force[3], force[4], force[5] = added(resting[1], cross(velocity[0], momentum))


# --------------------------------------------------------------------------- bodies, tips to base
@inlined(counted=False)
def gather_flows(tree, space, n):
    """Add momentum and flow of every composite body to its parent's."""
    for i in range(n - 1, 0, -1):
        k = tree.parent[i]
        if k >= 0:
            for r in range(3):
                space.momentum[k, r] += space.momentum[i, r]
                for s in range(3):
                    space.flow[k, r, s] += space.flow[i, r, s]


@inlined(counted=False)
def gather_forces(tree, space, q, v, a):
    """Add the force on every composite body to its parent's, and set the joints' efforts."""
    for i in range(q.shape[0] - 1, -1, -1):
        force, axis = space.force[i], column(space.axis, i)
        passive = tree.damping[i] * v[i] + tree.stiffness[i] * (q[i] - tree.rest[i])
        along = dot(axis[0], three(force, 0)) + dot(axis[1], three(force, 3))
        space.effort[i] = along + tree.armature[i] * a[i] + passive
        k = tree.parent[i]
        if k >= 0:
            for r in range(6):
                space.force[k, r] += force[r]


@inlined(counted=False)
def push(space, n):
    """Set the forces that changes of the joints' positions and velocities make."""
    for i in range(n):
        axis, rate = column(space.axis, i), column(space.rate, i)
        mass = space.composite_mass[i]
        moment, spread = space.composite_moment[i], space.composite_spread[i]
        flow, momentum = space.flow[i], three(space.momentum[i], 0)
        load = three(space.force[i], 0), three(space.force[i], 3)

        turned = less_trace(flow, times(flow, rate[0]), rate[0])
        pulled = accelerated(mass, moment, spread, column(space.second_rate, i))
        swung = added(cross(axis[0], load[0]), cross(axis[1], load[1]))
        linear = added(cross(rate[0], momentum), cross(axis[0], load[1]))
        keep(
            space.by_position, i, added(added(turned, pulled[0]), swung), added(linear, pulled[1])
        )
        turned = less_trace(flow, times(flow, axis[0]), axis[0])
        doubled = accelerated(mass, moment, spread, rate)
        keep(
            space.by_velocity,
            i,
            added(turned, scaled(2.0, doubled[0])),
            added(cross(axis[0], momentum), scaled(2.0, doubled[1])),
        )
        row = less_trace(flow, transposed_times(flow, axis[0]), axis[0])
        row = added(row, cross(momentum, axis[1]))
        space.turned[i, 0], space.turned[i, 1], space.turned[i, 2] = row
