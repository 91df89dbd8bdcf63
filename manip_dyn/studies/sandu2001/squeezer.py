"""Comparison of several solvers for Andrews' squeezing mechanism, whose data are published.

Seven bodies in a plane are connected by ten revolute joints. A spring and a constant moment drive
them (Hairer, Wanner, Solving ordinary differential equations II, 1996, section VII.7; Mazzia,
Magherini, Test set for initial value problem solvers, release 2.4, 2008). The reference is the
state at 0.03 s in the test set (PSIDE, 1e-14). In this package the bodies move in space, where
nine of 57 constraints are redundant.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.multibody import (
    Joint,
    Mechanism,
    MovingBody,
    RotationalSpring,
    Spring,
    simulate_mechanism,
)
from manip_dyn.studies.sandu2001.findings import Point

DURATION = 0.03
CRANK, COUPLER, PAWL = (0.00092, 0.007), (0.0115, 0.028), (0.018, 0.02, 0.01874, 0.01043, 0.035)
"""Lengths (m) in the notation of the test set: (ra, rr), (da, d), (sc, sd, sa, sb, ss)."""
A, B, C = np.array([-0.06934, -0.00227]), np.array([-0.03635, 0.03273]), np.array([0.014, 0.072])
E_, EA, ZT, TA, TB = 0.02, 0.01421, 0.04, 0.02308, 0.00916
U, UA, UB, ZF, FA = 0.04, 0.01228, 0.00449, 0.02, 0.01421
MASSES = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
INERTIAS = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
STIFFNESS, LENGTH, MOMENT = 4530.0, 0.07785, 0.033
START = np.array(
    [
        *(-0.0617138900142764496, 0.0, 0.455279819163070380, 0.222668390165885885),
        *(0.487364979543842550, -0.222668390165885885, 1.23054744454982119),
    ]
)
"""Initial angles beta, theta, gamma, phi, delta, omega, epsilon, rad."""
END = np.array(
    [
        *(15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948),
        *(0.5244099658805304, 0.5347301163226948, 1.048080741042263),
    ]
)
TOLERANCES = tuple(10.0 ** (-k) for k in range(3, 10))
ABSOLUTE = np.zeros((7, 7))
"""Matrix (7, 7) that converts the angles to absolute angles of the bodies."""
ABSOLUTE[(0, 1, 1, 2, 3, 3, 4, 5, 5, 6), (0, 0, 1, 2, 3, 4, 4, 5, 6, 6)] = 1.0


class Positions(NamedTuple):
    """Positions of points of the seven-body mechanism, in m.

    Attributes:
        loops: Vectors (3, 2) from one end of each loop to the other, 0 if the loop is closed.
        crank_end: End (2,) of the crank.
        meeting: Point (2,) in which the three chains meet.
        spring_end: Point (2,) to which the spring is attached.
        delta_end: End (2,) of the chain with the angle delta.
        epsilon_end: End (2,) of the chain with the angle epsilon.
        centres: Centres of mass (7, 2) of the bodies.
    """

    loops: Matrix
    crank_end: Vector
    meeting: Vector
    spring_end: Vector
    delta_end: Vector
    epsilon_end: Vector
    centres: Matrix


def positions(angles: Vector) -> Positions:
    """Return the points for absolute body angles (7,). `loops` are 0 if the loops are closed."""
    return _positions(np.cos(angles), np.sin(angles))


def _positions(c: Vector, s: Vector) -> Positions:
    """Return the points, which are affine functions of cosines `c` and sines `s` (7,)."""
    along, across = np.column_stack([c, s]), np.column_stack([s, -c])
    sc, sd, sa, sb, ss = PAWL
    crank_end = CRANK[1] * along[0]
    meeting = crank_end - COUPLER[1] * along[1]
    delta_end, epsilon_end = A + ZT * along[4], A + U * across[6]
    return Positions(
        np.array(
            [
                meeting - B - ss * across[2],
                meeting - delta_end - E_ * across[3],
                meeting - epsilon_end - ZF * along[5],
            ]
        ),
        crank_end,
        meeting,
        B + sc * across[2] + sd * along[2],
        delta_end,
        epsilon_end,
        np.array(
            [
                CRANK[0] * along[0],
                crank_end - COUPLER[0] * along[1],
                B + sa * across[2] + sb * along[2],
                delta_end + (E_ - EA) * across[3],
                A + TA * across[4] - TB * along[4],
                epsilon_end + (ZF - FA) * along[5],
                A + UA * across[6] - UB * along[6],
            ]
        ),
    )


def squeezer() -> Mechanism:
    """Return the mechanism at rest, with bodies in the x-y plane of space."""
    angles = ABSOLUTE @ START
    at = positions(angles)
    bodies = [
        MovingBody(f"K{k + 1}", mass, [inertia] * 3, [*centre, 0.0], _about(angle))
        for k, (mass, inertia, centre, angle) in enumerate(
            zip(MASSES, INERTIAS, at.centres, angles, strict=True)
        )
    ]
    pins = [
        ("ground", "K1", np.zeros(2)), ("K1", "K2", at.crank_end), ("ground", "K3", B),
        ("ground", "K5", A), ("K5", "K4", at.delta_end), ("ground", "K7", A),
        ("K7", "K6", at.epsilon_end), ("K2", "K3", at.meeting), ("K2", "K4", at.meeting),
        ("K2", "K6", at.meeting),
    ]  # fmt: skip
    z = (0.0, 0.0, 1.0)
    joints = [Joint("revolute", (i, j), [*point, 0.0], z) for i, j, point in pins]
    ends = [[*C, 0.0], [*at.spring_end, 0.0]]
    forces: list[Spring | RotationalSpring] = [
        Spring(("ground", "K3"), ends, STIFFNESS, length=LENGTH),
        RotationalSpring(("ground", "K1"), z, force=-MOMENT),
    ]
    return Mechanism(bodies, joints, forces, (0.0, 0.0, 0.0))


def error_of(angles: Vector) -> float:
    """Return the largest error (rad) of the final absolute angles (7,), modulo 2 pi."""
    off = angles - ABSOLUTE @ END
    return float(np.abs(np.arctan2(np.sin(off), np.cos(off))).max())


def absolute_angles(q: Vector) -> Vector:
    """Return the absolute angles (7,) of the bodies for coordinates (49,)."""
    rows = np.reshape(q, (7, 7))
    return 2.0 * np.arctan2(rows[:, 6], rows[:, 3])


def points(
    progress: Callable[[str], None], tolerances: tuple[float, ...] = TOLERANCES
) -> Iterator[Point]:
    """Yield results of this package's methods in space, and of installed peers in the plane."""
    mechanism = squeezer()
    for method in ("rosenbrock_nystrom", "rodas5p", "rkdp54"):
        simulate_mechanism(mechanism, 1e-5, method=method, rtol=1e-3)
        for tolerance in tolerances:
            progress(f"squeezer, {method}, {tolerance:g}")
            began = time.process_time()
            motion = simulate_mechanism(mechanism, DURATION, method=method, rtol=tolerance)
            seconds = time.process_time() - began
            error = error_of(absolute_angles(motion.q[-1]))
            yield Point(method, tolerance, error, seconds, motion.statistics.evaluations)
    for name, solve in (("Radau (scipy)", by_radau), ("IDA (scikit-sundae)", by_ida)):
        for tolerance in tolerances:
            progress(f"squeezer, {name}, {tolerance:g}")
            began = time.process_time()
            result = solve(tolerance)
            if result is None:
                break
            seconds = time.process_time() - began
            yield Point(name, tolerance, error_of(ABSOLUTE @ result[0][:7]), seconds, result[1])


# -------------------------------------------------- equations in the plane for the peers
def planar(q: Vector, v: Vector) -> tuple[Matrix, Matrix, Vector]:
    """Return the mass matrix M (7, 7), the constraint Jacobian G (6, 7) and (f, c) (13,).

    The equations of motion are M q'' + G^T l = f and G q'' = c with multipliers l (6,). Primes
    denote time derivatives. The vector c = -G' q' contains the velocity-dependent accelerations of
    the loops.
    """
    absolute, rate = ABSOLUTE @ q, ABSOLUTE @ v
    c, s = np.cos(absolute), np.sin(absolute)
    constant, by_c, by_s = _coefficients()
    slopes = by_s * c - by_c * s
    bends = -(by_c * c + by_s * s) @ rate**2
    loops, end, centres = slice(0, 6), slice(6, 8), slice(8, 22)
    weights = np.repeat(MASSES, 2)
    mass = np.diag(INERTIAS) + slopes[centres].T @ (weights[:, np.newaxis] * slopes[centres])
    offset = (constant + by_c @ c + by_s @ s)[end] - C
    length = float(np.linalg.norm(offset))
    force = -slopes[centres].T @ (weights * bends[centres])
    force = force - slopes[end].T @ (STIFFNESS * (length - LENGTH) / length * offset)
    force[0] += MOMENT
    right = np.concatenate([ABSOLUTE.T @ force, -bends[loops]])
    return ABSOLUTE.T @ mass @ ABSOLUTE, slopes[loops] @ ABSOLUTE, right


@cache
def _coefficients() -> tuple[Vector, Matrix, Matrix]:
    """Return a (22,), b and d (22, 7) of the points a + b cos + d sin.

    The rows are the loops, the end of the spring and the centres of mass.
    """

    def flat(c: Vector, s: Vector) -> Vector:
        at = _positions(c, s)
        return np.concatenate([at.loops.ravel(), at.spring_end, at.centres.ravel()])

    none = np.zeros(7)
    constant = flat(none, none)
    by_c, by_s = (
        np.transpose([flat(*pair) - constant for pair in pairs])
        for pairs in ([(unit, none) for unit in np.eye(7)], [(none, unit) for unit in np.eye(7)])
    )
    return constant, by_c, by_s


def by_radau(tolerance: float) -> tuple[Vector, int]:
    """Return the final state (14,) and the evaluations of Radau IIA of order 5 (SciPy)."""
    from scipy.integrate import solve_ivp  # slow to load

    def rates(_t: float, y: Vector) -> Vector:
        mass, gradients, right = planar(y[:7], y[7:])
        matrix = np.block([[mass, gradients.T], [gradients, np.zeros((6, 6))]])
        return np.concatenate([y[7:], np.linalg.solve(matrix, right)[:7]])

    start = np.concatenate([START, np.zeros(7)])
    solution = solve_ivp(rates, (0.0, DURATION), start, "Radau", rtol=tolerance, atol=tolerance)
    return solution.y[:, -1], int(solution.nfev)


def by_ida(tolerance: float) -> tuple[Vector, int] | None:
    """Return the final state (20,) and the evaluations of IDA, or None if it is missing or fails.

    The state includes the multipliers. The equations have index 1.
    """
    try:
        from sksundae.ida import IDA  # optional extra
    except ImportError:
        return None
    count = 0

    def residual(_t: float, y: Vector, rate: Vector, out: Vector) -> None:
        nonlocal count
        count += 1
        mass, gradients, right = planar(y[:7], y[7:14])
        out[:7] = rate[:7] - y[7:14]
        out[7:14] = mass @ rate[7:14] + gradients.T @ y[14:] - right[:7]
        out[14:] = gradients @ rate[7:14] - right[7:]

    mass, gradients, right = planar(START, np.zeros(7))
    matrix = np.block([[mass, gradients.T], [gradients, np.zeros((6, 6))]])
    first = np.linalg.solve(matrix, right)
    y = np.concatenate([START, np.zeros(7), first[7:]])
    rate = np.concatenate([np.zeros(7), first[:7], np.zeros(6)])
    options: dict[str, Any] = {"rtol": tolerance, "atol": tolerance, "max_num_steps": 100_000}
    solver = IDA(residual, algebraic_idx=list(range(14, 20)), **options)
    solution = solver.solve(np.array([0.0, DURATION]), y, rate)
    return (solution.y[-1], count) if solution.success else None


def _about(angle: float) -> tuple[float, float, float, float]:
    return (float(np.cos(angle / 2)), 0.0, 0.0, float(np.sin(angle / 2)))
