"""Vectors of three numbers, and spatial vectors as two of them, for loops over the joints.

All are tuples, which compiled code keeps in registers.
"""

from __future__ import annotations

from manip_dyn.core.compiled import inlined


@inlined(counted=False)
def cross(a, b):
    """Return a x b of triples."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@inlined(counted=False)
def added(a, b):
    """Return a + b of triples."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined(counted=False)
def scaled(x, a):
    """Return x a for a triple."""
    return x * a[0], x * a[1], x * a[2]


@inlined(counted=False)
def dot(a, b):
    """Return the inner product of triples."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined(counted=False)
def three(row, first):
    """Return three entries of an array with one axis."""
    return row[first], row[first + 1], row[first + 2]


@inlined(counted=False)
def times(matrix, a):
    """Return a matrix (3, 3) times a triple."""
    return dot(matrix[0], a), dot(matrix[1], a), dot(matrix[2], a)


@inlined(counted=False)
def transposed_times(matrix, a):
    """Return a matrix (3, 3), transposed, times a triple."""
    return (
        matrix[0, 0] * a[0] + matrix[1, 0] * a[1] + matrix[2, 0] * a[2],
        matrix[0, 1] * a[0] + matrix[1, 1] * a[1] + matrix[2, 1] * a[2],
        matrix[0, 2] * a[0] + matrix[1, 2] * a[1] + matrix[2, 2] * a[2],
    )


@inlined(counted=False)
def less_trace(matrix, turned, a):
    """Return tr(A) a - A a, from A and `turned`, A a."""
    trace = matrix[0, 0] + matrix[1, 1] + matrix[2, 2]
    return trace * a[0] - turned[0], trace * a[1] - turned[1], trace * a[2] - turned[2]


@inlined(counted=False)
def column(columns, i):
    """Return a spatial vector as two triples."""
    return (columns[0, i], columns[1, i], columns[2, i]), (
        columns[3, i],
        columns[4, i],
        columns[5, i],
    )


@inlined(counted=False)
def keep(columns, i, angular, linear):
    """Set column i, a spatial vector, from two triples."""
    columns[0, i], columns[1, i], columns[2, i] = angular
    columns[3, i], columns[4, i], columns[5, i] = linear


@inlined(counted=False)
def crossed(a, b):
    """Return the rate of the motion b (two triples) that the motion a carries."""
    return cross(a[0], b[0]), added(cross(a[0], b[1]), cross(a[1], b[0]))


@inlined(counted=False)
def accelerated(mass, moment, spread, motion):
    """Return moment and force that accelerate a resting body by a motion (two triples)."""
    angular, linear = motion
    h = three(moment, 0)
    inertial = less_trace(spread, times(spread, angular), angular)
    return added(inertial, cross(h, linear)), added(scaled(mass, linear), cross(angular, h))
