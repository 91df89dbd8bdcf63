"""The arrays that a mechanism's compiled equations read and write."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SPRING, ROTATIONAL_SPRING, TYRE = range(3)
"""Laws of forces along a scalar x(q)."""
ASSEMBLED = 1
"""In `Tables.flags[0]`: the factors belong to the present positions."""


class Tables(NamedTuple):
    """A mechanism of b bodies with N = 7 b coordinates, m constraints and n = N - m freedoms.

    Attributes:
        rows: Primitive, body i, body j of each constraint (m, 3); body b is the ground.
        numbers: r of each (m, 12).
        targets: The value that each keeps (m,).
        mass: Of the bodies (b,), kg.
        inertia: About the centres of mass in body axes: ixx, iyy, izz, ixy, ixz, iyz (b, 6).
        gravity: m/s^2, (3,).
        force_rows: Law, body i, body j of each force (f, 3).
        force_numbers: r of each, and a second r for angles (f, 24).
        force_constants: Of the law (f, 8).
        angles: Of rotational springs against their rest where the last step ended (f,), rad.
        user_rows: 0, body i, body j of each user force (u, 3).
        user_calls: Addresses of its machine code, without and with derivatives (u, 2).
        user_result: Scratch for it, the time last (421,).
        dependent: Which coordinates follow (m,).
        independent: Which lead (n,).
        roles: Of each coordinate (N + 7,): its place k among the dependent ones, or -1 - k among
            the others, the ground's beyond those.
        q: Positions, the ground's last (N + 7,).
        v: Velocities (N + 7,).
        a: Accelerations (N + 7,).
        slopes: Gradients of the constraints by their two bodies' coordinates (m, 14).
        bends: Their rates (m, 14).
        factors: LU factors of the gradients by the dependent coordinates (m, m).
        pivots: Row exchanges of that (m,).
        basis: Velocities of all coordinates by those of the independent ones (N, n).
        mass_basis: M times that (N, n).
        turning: Inertia of Euler parameters (b, 4, 4).
        force: Generalized forces less inertial ones (N,).
        reduced: The mass matrix of the independent coordinates (n, n).
        small: Its factors (n, n).
        place: Scratch (m, n).
        carried: Scratch (N, n).
        stiffness: Scratch (N, N).
        damping: Scratch (N, N).
        by_time: Derivative of the forces by time (N,).
        held: Accelerations of all while the independent ones rest (N, 1).
        moved: M times that (N, 1).
        work: Scratch vectors (4, N).
        result: Scratch for primitives (2, 239).
        local: Scratch for two bodies (3, 14).
        flags: Whether ASSEMBLED; iterations.
        limits: Tolerance of the constraints, condition number of the present partition.
    """

    rows: np.ndarray
    numbers: np.ndarray
    targets: np.ndarray
    mass: np.ndarray
    inertia: np.ndarray
    gravity: np.ndarray
    force_rows: np.ndarray
    force_numbers: np.ndarray
    force_constants: np.ndarray
    angles: np.ndarray
    user_rows: np.ndarray
    user_calls: np.ndarray
    user_result: np.ndarray
    dependent: np.ndarray
    independent: np.ndarray
    roles: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    slopes: np.ndarray
    bends: np.ndarray
    factors: np.ndarray
    pivots: np.ndarray
    basis: np.ndarray
    mass_basis: np.ndarray
    turning: np.ndarray
    force: np.ndarray
    reduced: np.ndarray
    small: np.ndarray
    place: np.ndarray
    carried: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    by_time: np.ndarray
    held: np.ndarray
    moved: np.ndarray
    work: np.ndarray
    result: np.ndarray
    local: np.ndarray
    flags: np.ndarray
    limits: np.ndarray
