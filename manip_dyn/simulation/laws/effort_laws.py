"""What drives the joints: effort laws as functions of time and state, saturated at the limits.

Time is a whole number of nanoseconds, so that a switch happens exactly where it was asked for
and two runs agree bit for bit.
"""

from __future__ import annotations

import inspect
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import FunctionType
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import Kernels
from manip_dyn.core.checks import Vector, finite_array, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.integrate.functions import failing
from manip_dyn.robot import Robot


@runtime_checkable
class EffortLaw(Protocol):
    """Joint efforts over time."""

    def effort(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        """Return the efforts (n,) that act from `time_ns` on, N m or N."""

    def next_switch(self, time_ns: int) -> int | None:
        """Return the first jump of the efforts after `time_ns`, or None."""


class Schedule:
    """Piecewise constant efforts: each holds until the next begins, the last one for good.

    Before its first time the first effort acts.
    """

    def __init__(self, robot: Robot, times_ns: Sequence[int], efforts: Sequence[ArrayLike]):
        """Take efforts (k, n) from `times_ns` (k,) on; rising times, finite efforts."""
        given: Any
        for name, given in (("times", times_ns), ("efforts", efforts)):
            if not hasattr(given, "__len__"):
                raise ManipDynError(f"an effort schedule has {name} {given!r}; expected a list")
        if len(times_ns) != len(efforts) or len(times_ns) == 0:
            raise ManipDynError(
                f"an effort schedule has {len(times_ns)} times and {len(efforts)} efforts; "
                "expected as many of both, and at least one"
            )
        for time in times_ns:
            if not isinstance(time, (int, float, np.number)) or time % 1 != 0:
                raise ManipDynError(
                    f"an effort schedule has the time {time} ns; expected whole nanoseconds"
                )
        for before, after in pairwise(times_ns):
            if after <= before:
                raise ManipDynError(
                    f"an effort schedule has the time {after} ns after {before} ns; "
                    "expected rising times"
                )
        self._robot = robot
        self.times_ns = [int(time) for time in times_ns]
        self.efforts = [
            np.clip(finite_vector("effort", effort, robot.n), -robot.tau_max, robot.tau_max)
            for effort in efforts
        ]

    def effort(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        """Return the efforts that act from `time_ns` on."""
        return self.efforts[max(bisect_right(self.times_ns, time_ns) - 1, 0)]

    def next_switch(self, time_ns: int) -> int | None:
        """Return the time of the next effort after `time_ns`."""
        place = max(bisect_right(self.times_ns, time_ns), 1)
        return self.times_ns[place] if place < len(self.times_ns) else None

    def preceded_by(self, time_ns: int, effort: Vector) -> Schedule:
        """Return the schedule with `effort` (n,) acting from `time_ns` until its first time."""
        return Schedule(
            self._robot, [time_ns, *self.times_ns], [np.asarray(effort), *self.efforts]
        )


class Feedback:
    """Efforts by a function of time (s) and state, without jumps that it would announce.

    Attributes:
        function: ``function(t, q, v)``, or ``function(t, q, v, p)`` with parameters, which returns
            the efforts (n,).
        weightless: Whether that is what holds the arm's weight, which is compiled already.
        parameters: p (k,), or None.
    """

    def __init__(
        self,
        robot: Robot,
        function: Callable[..., Vector],
        weightless: bool = False,
        parameters: ArrayLike | None = None,
    ):
        """Take the function; numba compiles it if it can.

        Raises:
            ManipDynError: If it does not take (t, q, v), or with parameters (t, q, v, p).
        """
        plain = getattr(function, "py_func", function)
        own: list[Any] = [] if parameters is None else [_numbers(parameters)]
        try:
            inspect.signature(plain).bind(0.0, None, None, *own)
        except TypeError as error:
            expected = "(t, q, v, p)" if own else "(t, q, v)"
            raise ManipDynError(
                f"effort is a function of {inspect.signature(plain)}; expected {expected}"
            ) from error
        self._robot = robot
        # numba compiles functions; an object that is called runs in Python.
        self.function = function if isinstance(plain, FunctionType) else _calling(function)
        self.weightless = weightless
        self.parameters: Vector | None = own[0] if own else None

    def effort(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        """Return the function's efforts, saturated; NaN where it has none."""
        own = () if self.parameters is None else (self.parameters,)
        try:
            with np.errstate(all="ignore"):
                efforts = self.function(time_ns * 1e-9, q, v, *own)
        except ManipDynError:
            raise
        except Exception as error:
            expected = f"efforts ({self._robot.n},)"
            raise failing("the effort law", self.function, error, expected) from error
        return np.clip(_of_size(efforts, self._robot.n), -self._robot.tau_max, self._robot.tau_max)

    def enter(self, begin_ns: int, end_ns: int) -> None:
        """Prepare for the time between two jumps."""

    def next_switch(self, time_ns: int) -> int | None:
        """Return None: there is no announced jump."""
        return None


def _numbers(parameters: Any) -> Vector:
    if not hasattr(parameters, "__len__") or isinstance(parameters, str):
        raise ManipDynError(f"parameters is {parameters!r}; expected numbers (k,)")
    return finite_array("parameters", parameters, (len(parameters),))


def _of_size(efforts: Any, n: int) -> Vector:
    """Return efforts as (n,), which may be infinite or NaN: then the motion ends there."""
    try:
        array = np.array(efforts, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ManipDynError(f"effort is {efforts!r}; expected {n} numbers") from error
    if array.shape != (n,):
        raise ManipDynError(f"effort has shape {array.shape}; expected {(n,)}")
    return array


def _calling(target: Callable[..., Vector]) -> Callable[..., Vector]:
    def function(t, q, v, *p):
        return target(t, q, v, *p)

    return function


def held(robot: Robot, effort: ArrayLike) -> Schedule:
    """Return a constant effort."""
    return Schedule(robot, [0], [effort])


def gravity_compensation(kernels: Kernels) -> Feedback:
    """Return the efforts that hold the arm's weight at every posture."""
    zero = np.zeros(kernels.robot.n)

    def weight(_t: float, q: Vector, _v: Vector) -> Vector:
        return kernels.unchecked.inverse_dynamics(q, zero, zero)

    return Feedback(kernels.robot, weight, weightless=True)
