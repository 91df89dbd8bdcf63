"""The arrays that a mechanism's compiled equations read and write.

A mechanism has b bodies, N = 7 b coordinates, m independent constraints and n = N - m freedoms.
The arrays are in groups, so that a function takes only those that it is about.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numba.core import types

Vector = Annotated[np.ndarray, types.float64[::1]]
Matrix = Annotated[np.ndarray, types.float64[:, ::1]]
Matrices = Annotated[np.ndarray, types.float64[:, :, ::1]]
Places = Annotated[np.ndarray, types.int64[::1]]
Rows = Annotated[np.ndarray, types.int64[:, ::1]]

FIRST, SECOND, KERNEL, LAW = 0, 1, 2, 5
"""Columns of a row about two bodies: where their coordinates begin in q, v and a, those of the
ground behind all others; from KERNEL on the addresses of its kernels of order 0, 1 and 2; the law
of a force."""
VALUES, DERIVATIVES = 1, 2
"""Orders of kernels: of which derivatives by the motion are written, or are not."""
SPRING, ROTATIONAL_SPRING, TYRE = range(3)
"""Laws of forces along a scalar x(q)."""
ASSEMBLED = 1
"""In `Links.flags[0]`: the factors belong to the present positions."""


class Links(NamedTuple):
    """The constraints.

    Attributes:
        rows: Bodies and kernels of each (m, 5), see `FIRST`.
        numbers: r of each (m, 12).
        targets: The value that each keeps (m,).
        dependent: Which coordinates follow (m,).
        independent: Which lead (n,).
        roles: Of each coordinate (N + 7,): its place k among the dependent ones, or -1 - k among
            the others, the ground's beyond those.
        slopes: Gradients of the constraints by their two bodies' coordinates (m, 14).
        bends: Their rates (m, 14).
        factors: LU factors of the gradients by the dependent coordinates (m, m).
        pivots: Row exchanges of that (m,).
        work: Scratch (m,).
        spare: More of it (m,).
        flags: Whether ASSEMBLED; iterations.
        limits: Tolerance of the constraints, condition number of the present partition.
        extra_rows: As `rows`, of constraints that follow from these (k, 5).
        extra_numbers: (k, 12).
        extra_targets: (k,).
    """

    rows: Rows
    numbers: Matrix
    targets: Vector
    dependent: Places
    independent: Places
    roles: Places
    slopes: Matrix
    bends: Matrix
    factors: Matrix
    pivots: Vector
    work: Vector
    spare: Vector
    flags: Places
    limits: Vector
    extra_rows: Rows
    extra_numbers: Matrix
    extra_targets: Vector


class Motion(NamedTuple):
    """All coordinates, the ground's last.

    Attributes:
        q: Positions (N + 7,).
        v: Velocities (N + 7,).
        a: Accelerations (N + 7,).
        result: What a kernel wrote (420,).
        across: What a second one wrote (239,).
    """

    q: Vector
    v: Vector
    a: Vector
    result: Vector
    across: Vector


class Bodies(NamedTuple):
    """The inertia.

    Attributes:
        rows: Kernels of each body (b, 5).
        mass: kg, (b,).
        inertia: About the centres of mass in body axes: ixx, iyy, izz, ixy, ixz, iyz (b, 6).
        turning: Inertia of Euler parameters (b, 4, 4).
        gravity: m/s^2, (3,).
    """

    rows: Rows
    mass: Vector
    inertia: Matrix
    turning: Matrices
    gravity: Vector


class Forces(NamedTuple):
    """What acts on the bodies.

    Attributes:
        rows: Bodies, kernels and law of each force (f, 6).
        numbers: r of each, and a second r for angles (f, 24).
        constants: Of the law (f, 8).
        angles: Of rotational springs against their rest where the last step ended (f,), rad.
        user_rows: Of the forces that users wrote (u, 5).
        time: What these read (1,), s.
    """

    rows: Rows
    numbers: Matrix
    constants: Matrix
    angles: Vector
    user_rows: Rows
    time: Vector


class Loads(NamedTuple):
    """Generalized forces less inertial ones, and their derivatives.

    Attributes:
        force: (N,).
        stiffness: By the positions, negative (N, N).
        damping: By the velocities, negative (N, N).
        by_time: (N,).
    """

    force: Vector
    stiffness: Matrix
    damping: Matrix
    by_time: Vector


class Reduced(NamedTuple):
    """The equations of the independent coordinates.

    Attributes:
        basis: Velocities of all coordinates by those of the independent ones (N, n).
        mass_basis: M times that (N, n).
        matrix: The mass matrix (n, n).
        factors: Its factors (n, n).
        pivots: Row exchanges of those (n,).
        acceleration: (n,).
        held: Accelerations of all while the independent ones rest (N, 1).
        moved: M times that (N, 1).
        place: Scratch (m, n).
        carried: Scratch (N, n).
        rates: Scratch (2 n,).
    """

    basis: Matrix
    mass_basis: Matrix
    matrix: Matrix
    factors: Matrix
    pivots: Vector
    acceleration: Vector
    held: Matrix
    moved: Matrix
    place: Matrix
    carried: Matrix
    rates: Vector


class Tables(NamedTuple):
    """All of them."""

    links: Links
    motion: Motion
    bodies: Bodies
    forces: Forces
    loads: Loads
    reduced: Reduced
