"""The peers of `bench integrators`: whatever of them is installed.

All integrate the same free motion, with the same operations on the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numba
import numpy as np
from scipy.integrate import solve_ivp

from manip_dyn.bench.graphs import motion
from manip_dyn.bench.peers import installed
from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

Solver = Callable[[], Vector]
Candidates = Iterator[tuple[str, Iterable[Solver]]]


def candidates(
    robot: Robot, start: Vector, duration: float, tolerances: Sequence[float]
) -> Candidates:
    """Yield names of peers, each with a solver per tolerance."""
    yield from _scipy(robot, start, duration, tolerances)
    if installed("numbalsoda"):
        yield from _numbalsoda(robot, start, duration, tolerances)
    if installed("heyoka"):
        yield from _heyoka(robot, start, duration, tolerances)
    if installed("diffrax"):
        yield from _diffrax(robot, start, duration, tolerances)


def _scipy(robot, start, duration, tolerances) -> Candidates:
    rhs, tau = customize(robot).right_hand_side, np.zeros(robot.n)

    @numba.njit
    def rates(t, y):
        out = np.empty_like(y)
        rhs(t, y, tau, out)
        return out

    for method in ("DOP853", "LSODA"):

        def solver(tolerance: float, method: str = method) -> Solver:
            return lambda: solve_ivp(
                rates,
                (0.0, duration),
                start,
                method=method,
                rtol=max(tolerance, 3e-14),
                atol=tolerance,
            ).y[:, -1]

        yield f"scipy {method}, numba rhs", map(solver, tolerances)


def _numbalsoda(robot, start, duration, tolerances) -> Candidates:
    import numbalsoda

    rhs, tau, size = customize(robot).right_hand_side, np.zeros(robot.n), 2 * robot.n

    @numba.cfunc(numbalsoda.lsoda_sig)
    def rates(t, y, out, _p):
        rhs(t, numba.carray(y, (size,)), tau, numba.carray(out, (size,)))

    times, address = np.array([0.0, duration]), rates.address
    for method in ("dop853", "lsoda"):
        run = getattr(numbalsoda, method)

        def solver(tolerance: float, run: Callable = run) -> Solver:
            def solve() -> Vector:
                states, done = run(address, start, times, rtol=tolerance, atol=tolerance)
                return states[-1] if done else np.full_like(start, np.nan)

            return solve

        yield f"numbalsoda {method}", map(solver, tolerances)


def _heyoka(robot, start, duration, tolerances) -> Candidates:
    import heyoka

    names = [f"y{i}" for i in range(2 * robot.n)]
    variables = heyoka.make_vars(*names)
    rates = motion(robot, heyoka.sin, heyoka.cos, heyoka.expression)(variables)
    system = list(zip(variables, rates, strict=True))
    # Long systems are compiled in heyoka's compact mode; the other takes minutes.
    compact = robot.n > 3
    for fast in (False, True):

        def solver(tolerance: float, fast: bool = fast) -> Solver:
            integrator = heyoka.taylor_adaptive(
                system, start.tolist(), tol=tolerance, fast_math=fast, compact_mode=compact
            )

            def solve() -> Vector:
                integrator.time = 0.0
                integrator.state[:] = start
                integrator.propagate_until(duration)
                return integrator.state

            return solve

        # Compiled anew for every tolerance, whose order it unrolls.
        chosen = tolerances if not compact else tolerances[::4]
        yield f"heyoka{', fast_math' if fast else ''}", map(solver, chosen)


def _diffrax(robot, start, duration, tolerances) -> Candidates:
    import diffrax
    import jax

    jax.config.update("jax_enable_x64", True)
    rates = motion(robot, jax.numpy.sin, jax.numpy.cos)
    term = diffrax.ODETerm(lambda _t, y, _p: jax.numpy.stack(rates(y)))

    @jax.jit
    def run(y, tolerance):
        control = diffrax.PIDController(rtol=tolerance, atol=tolerance)
        return diffrax.diffeqsolve(
            term,
            diffrax.Dopri8(),
            0.0,
            duration,
            None,
            y,
            stepsize_controller=control,
            max_steps=None,
            adjoint=diffrax.ForwardMode(),
        ).ys[-1]

    def solver(tolerance: float) -> Solver:
        return lambda: np.asarray(run(start, tolerance))

    yield "diffrax Dopri8", map(solver, [each for each in tolerances if each >= 1e-14])
