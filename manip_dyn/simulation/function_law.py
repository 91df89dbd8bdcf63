"""`Feedback`: efforts from a function of time and state, compiled by numba if possible."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import Kernels, customize
from manip_dyn.core.checks import Vector, finite_array
from manip_dyn.core.errors import ManipDynError
from manip_dyn.integration.user_functions import failing
from manip_dyn.robot import Robot
from manip_dyn.robot.model import checked_robot


def check_size(law: Any, start: tuple[Any, ...], n: int) -> None:
    """Try a law in Python: compiled code would read what lies behind arrays that are too short.

    What Python cannot compute, compiled code may.

    Args:
        law: ``law(t, q, v)`` or ``law(t, q, v, p)``.
        start: Some that it may be called with.
        n: How many efforts there should be.
    """
    try:
        with np.errstate(all="ignore"):
            shape = np.shape(law(*start))
    except IndexError as error:
        expected = f"q and v of {n} numbers"
        expected += f", p of {len(start[3])}" if start[3:] else ""
        raise failing("the effort law", law, error, expected) from error
    except Exception:
        return
    if shape != (n,):
        raise ManipDynError(f"the effort law returns an array of shape {shape}; expected {(n,)}")


class LawError(ManipDynError):
    """A law has raised: it has no efforts, and the motion ends there."""


class Feedback:
    """Efforts by a function of time (s) and state, without jumps that it would announce.

    The motion ends where it raises or gives NaN. What is infinite saturates as any other effort:
    divisions by zero are those of numpy, in compiled code and, by arguments that are numpy's
    numbers, in Python.

    Attributes:
        function: ``function(t, q, v)``, or ``function(t, q, v, p)`` with parameters, which returns
            the efforts (n,).
        weightless: Whether that is what holds the arm's weight, which is compiled already.
        parameters: p (k,), or None.
        efforts: Compiled ``efforts(t, y, p, tau)``, once a simulation has compiled it; None where
            the function runs in Python.
        arrays: Its parameters, see `saturated`.
    """

    efforts: Any = None
    arrays: tuple[Any, ...] = ()

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
        checked_robot(robot)
        plain = getattr(function, "py_func", function)
        own: list[Any] = [] if parameters is None else [_numbers(parameters)]
        try:
            inspect.signature(plain).bind(0.0, None, None, *own)
        except TypeError as error:
            expected = "(t, q, v, p)" if own else "(t, q, v)"
            raise ManipDynError(
                f"effort is a function of {inspect.signature(plain)}; expected {expected}"
            ) from error
        self._robot, self.function, self.weightless = robot, function, weightless
        self.parameters: Vector | None = own[0] if own else None

    @property
    def compilable(self) -> bool:
        """Whether it is a function, which numba may try; an object that is called is none."""
        return isinstance(getattr(self.function, "py_func", self.function), FunctionType)

    def arguments(self, t: float, q: Vector, v: Vector) -> tuple[Any, ...]:
        """Return what the function takes at time t, s, and a state."""
        own = () if self.parameters is None else (self.parameters,)
        return (np.float64(t), q, v, *own)  # whose quotients by zero are infinite

    def effort(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        """Return the efforts (n,) that act from `time_ns` on, saturated; NaN where it has none.

        Raises:
            LawError: If the function raises.
        """
        t = np.float64(time_ns * 1e-9)
        try:
            if self.efforts is None:
                with np.errstate(all="ignore"):
                    wanted = self.function(*self.arguments(t, q, v))
            else:
                tau = np.empty(self._robot.n)
                self.enter(time_ns, time_ns + 1)
                self.efforts(t, np.concatenate([q, v, [0.0]]), self.arrays, tau)
                return tau
        except ManipDynError:
            raise
        except Exception as error:
            raise self.failed(error) from error
        limits = self._robot.tau_max
        return np.clip(_of_size(wanted, self._robot.n), -limits, limits)

    def failed(self, error: Exception) -> LawError:
        """Return the error that says in which line the function raised what."""
        function = self.function if self.compilable else type(self.function).__call__
        expected = f"efforts ({self._robot.n},)"
        return LawError(str(failing("the effort law", function, error, expected)))

    def enter(self, begin_ns: int, end_ns: int) -> None:
        """Prepare for the time between two jumps."""

    def next_switch(self, time_ns: int) -> int | None:
        """Return None: there is no announced jump."""
        return None


def gravity_compensation(kernels: Kernels | Robot) -> Feedback:
    """Return the efforts that hold an arm's weight at every posture.

    Args:
        kernels: Those of the arm, or the robot itself.
    """
    if not isinstance(kernels, (Kernels, Robot)):
        raise ManipDynError(f"kernels is {kernels!r}; expected md.customize(robot), or a robot")
    kernels = customize(kernels) if isinstance(kernels, Robot) else kernels
    zero = np.zeros(kernels.robot.n)

    def weight(_t: float, q: Vector, _v: Vector) -> Vector:
        return kernels.unchecked.inverse_dynamics(q, zero, zero)

    return Feedback(kernels.robot, weight, weightless=True)


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
