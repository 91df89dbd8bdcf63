"""The motion of an arm under efforts that are piecewise linear in time, compiled for n joints."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from manip_dyn.codegen.kernel_addresses import addresses, call_kernel
from manip_dyn.core.arrays import address_of, call_returning
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.core.results import PickledByArguments
from manip_dyn.integration import METHODS, Engine, Options, compile_engine
from manip_dyn.robot import Robot


class Ramp(NamedTuple):
    """Efforts that are linear in time, and the arm that they move.

    Attributes:
        motion: Address of the robot's kernel.
        first: Efforts (n,) at 0 s, N m or N.
        slope: What they change by (n,), N m/s or N/s.
        tau: Efforts (n,) now; work space.
    """

    motion: int
    first: Vector
    slope: Vector
    tau: Vector


@compiled(merge=True)
def rates(t, y, p, out):
    """Write the rates (2 n,) of y = (q, v) along a `Ramp`."""
    for i in range(p.tau.shape[0]):
        p.tau[i] = p.first[i] + t * p.slope[i]
    call_kernel(p.motion, (y, p.tau, out))


@compiled(short=True)
def follow(run, times, efforts, space, ramp, states):
    """Write the states (k, 2 n) at `times` (k,) from the first one on; return whether it went.

    The efforts (k, n) at the times are linear between them; `run` is the address of the loop.
    """
    for k in range(times.shape[0] - 1):
        for i in range(states.shape[1]):
            states[k + 1, i] = states[k, i]
        duration = times[k + 1] - times[k]
        if duration > 0.0:
            for i in range(efforts.shape[1]):
                ramp.first[i] = efforts[k, i]
                ramp.slope[i] = (efforts[k + 1, i] - efforts[k, i]) / duration
            if call_returning(run, (0.0, duration, ramp, states[k + 1], space)) != 0:
                return False
    return True


class RampedFlow(PickledByArguments):
    """What a robot does under ramps, integrated from node to node."""

    def __init__(self, robot: Robot):
        """Compile it, or load it from the cache."""
        self._n, engine = robot.n, _engine(robot.n)
        self._space = engine.space(rtol=1e-12, atol=1e-13, max_steps=5000)
        (motion,), first = addresses(robot, "motion"), np.zeros((3, robot.n))
        self._ramp = Ramp(motion, *first)
        y = np.empty(2 * robot.n)
        self._run = address_of(engine.run, 0.0, 0.0, self._ramp, y, self._space)

    def states(self, start: Vector, times: Vector, efforts: Matrix) -> Matrix:
        """Return the states (k, 2 n) at `times` (k,), nan from where integration failed on.

        Args:
            start: The state (2 n,) at the first time.
            times: Rising, s.
            efforts: Those at the times (k, n), linear between them.
        """
        states = np.full((len(times), 2 * self._n), np.nan)
        states[0] = start
        if not follow(self._run, times, efforts, self._space, self._ramp, states):
            states[-1] = np.nan
        return states


@lru_cache(maxsize=64)
def _engine(n: int) -> Engine:
    return compile_engine(rates, METHODS["rkdp87"], Options(size=2 * n, adaptive=True))
