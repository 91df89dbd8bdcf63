"""`manip_dyn bench stiff`: the stiff double pendulum at equal measured error, compared with peers.

The motion is that of Sandu et al. (2001), section 5.1. It takes 2 s. Initially, the joint with the
spring of 3e5 N m/rad is deflected by 15 degrees and rotates at 10 rad/s. All candidates use the
same compiled right-hand side and, if they accept a Jacobian, an exact one. Times are interpolated
as in `integrators`. The error is the largest component of the error of the final state. Its
reference is RK8 with 400 000 steps, which resolve the fastest mode.

There is a row for each of four methods of manip_dyn and each installed peer, with CPU milliseconds
at four errors. Rows of manip_dyn time `md.problem(...).solve()`, which returns every step. Takes
about 50 s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

import numba
import numpy as np
from scipy.integrate import solve_ivp

from manip_dyn.bench.integrators import CALL, Row, call_of, error_and_time, table, time_at
from manip_dyn.bench.peers import installed
from manip_dyn.bench.timing import documented
from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.integration import Jacobian, integrate
from manip_dyn.integration import problem as prepare
from manip_dyn.robot import Robot, load_robot

START = np.array([2.0 * math.pi, -math.pi / 12, 0.0, 10.0])
DURATION, REFERENCE_STEPS = 2.0, 400_000
TARGETS = (1e-2, 1e-4, 1e-6, 1e-8)
TOLERANCES = tuple(10.0 ** (-k / 2) for k in range(3, 25))
PACKAGES = ("manip_dyn", "numba", "scipy", "scikit-sundae", "numbalsoda")

__all__ = ["PACKAGES", "Row", "measure", "table"]

Solver = Callable[[], Vector]
Candidates = Iterator[tuple[str, Iterable[Solver]]]


def measure() -> list[Row]:
    """Time methods of this package and of the installed peers on the stiff pendulum."""
    robot = load_robot("stiff_pendulum")
    exact = _reference(robot)
    name = f"{robot.name}, {DURATION:g} s"
    rows = []
    for candidate, solvers in _candidates(robot):
        points = list(until_exact(solvers, exact))
        times = tuple(time_at(points, target) for target in TARGETS)
        rows.append(Row(name, candidate, TARGETS, times, call_of(candidate)))
    return rows


def until_exact(solvers: Iterable[Solver], exact: Vector) -> Iterator[tuple[float, float]]:
    """Yield the error and CPU time (s) of each solver until an error is below all `TARGETS`."""
    for solve in solvers:
        yield (point := error_and_time(solve, exact))
        if point[0] < TARGETS[-1]:
            return


def _reference(robot: Robot) -> Vector:
    return integrate(
        customize(robot).right_hand_side,
        (0.0, DURATION),
        START,
        method="rk8",
        step=DURATION / REFERENCE_STEPS,
        sampling=[DURATION],
        p=np.zeros(robot.n),
    ).y_last


def _candidates(robot: Robot) -> Candidates:
    for method in ("rodas5p", "rosenbrock_nystrom", "rosenbrock_w", "rkdp54"):
        yield (
            f"manip_dyn {method}",
            (_our_solver(robot, method, tolerance) for tolerance in TOLERANCES),
        )
    yield from _scipy(robot)
    if installed("sksundae"):
        yield from _cvode(robot)
    if installed("numbalsoda"):
        yield from _numbalsoda(robot)


def _our_solver(robot: Robot, method: str, tolerance: float) -> Solver:
    kernels = customize(robot)
    jacobian = Jacobian(kernels.linearization, robot.n, mass=True)
    prepared = prepare(
        kernels.right_hand_side,
        (0.0, DURATION),
        START,
        method=method,
        rtol=tolerance,
        atol=tolerance,
        p=np.zeros(robot.n),
        jacobian=None if method == "rkdp54" else jacobian,
    )
    return documented(CALL, {"problem": prepared, "y0": START})


def _scipy(robot: Robot) -> Candidates:
    rates, slopes = _functions(robot)
    jacobian = numba.njit(lambda t, y: slopes(y))
    for method in ("LSODA", "Radau", "BDF"):

        def solver(tolerance: float, method: str = method) -> Solver:
            return lambda: solve_ivp(
                rates,
                (0.0, DURATION),
                START,
                method=method,
                rtol=tolerance,
                atol=tolerance,
                jac=jacobian,
            ).y[:, -1]

        yield f"scipy {method}, numba rhs", map(solver, TOLERANCES)


def _cvode(robot: Robot) -> Candidates:
    from sksundae.cvode import CVODE

    rates, slopes = _functions(robot)

    @numba.njit
    def rhs(t, y, out):
        out[:] = rates(t, y)

    @numba.njit
    def jacobian(t, y, yp, out):
        out[:] = slopes(y)

    def solver(tolerance: float) -> Solver:
        cvode = CVODE(
            lambda t, y, yp: rhs(t, y, yp),
            method="BDF",
            rtol=tolerance,
            atol=tolerance,
            jacfn=lambda t, y, yp, out: jacobian(t, y, yp, out),
            max_num_steps=100_000,
        )
        return lambda: cvode.solve([0.0, DURATION], START).y[-1]

    yield "CVODE (scikit-sundae), numba rhs", map(solver, TOLERANCES)


def _numbalsoda(robot: Robot) -> Candidates:
    import numbalsoda

    rates, _ = _functions(robot)
    size = 2 * robot.n

    @numba.cfunc(numbalsoda.lsoda_sig)
    def rhs(t, y, out, _p):
        numba.carray(out, (size,))[:] = rates(t, numba.carray(y, (size,)))

    times, address = np.array([0.0, DURATION]), rhs.address

    def solver(tolerance: float) -> Solver:
        return lambda: numbalsoda.lsoda(address, START, times, rtol=tolerance, atol=tolerance)[0][
            -1
        ]

    yield "numbalsoda lsoda", map(solver, TOLERANCES)


def _functions(robot: Robot) -> tuple[Callable, Callable]:
    """Return compiled functions of the free motion: its rates (2 n,) and Jacobian (2 n, 2 n).

    Their signatures are ``rates(t, y)`` and ``slopes(y)``.
    """
    kernels, n, still = customize(robot), robot.n, np.zeros(robot.n)
    rhs, derivatives = kernels.right_hand_side, kernels.in_place.forward_dynamics_derivatives

    @numba.njit
    def rates(t, y):
        out = np.empty_like(y)
        rhs(t, y, still, out)
        return out

    @numba.njit
    def slopes(y):
        parts, out = np.empty((3, n, n)), np.zeros((2 * n, 2 * n))
        derivatives(y[:n], y[n:], still, parts)
        for i in range(n):
            out[i, n + i] = 1.0
            for j in range(n):
                out[n + i, j], out[n + i, n + j] = parts[0, i, j], parts[1, i, j]
        return out

    return rates, slopes
