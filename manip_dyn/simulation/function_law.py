"""`Feedback`: efforts from a function of time and state, compiled by numba if possible."""

from __future__ import annotations

import inspect
from bisect import bisect_right
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import Kernels, customize
from manip_dyn.core.checks import Vector, finite_array
from manip_dyn.core.compiled import inlined, plain_function
from manip_dyn.core.errors import ManipDynError
from manip_dyn.integration.user_functions import failing
from manip_dyn.robot import Robot
from manip_dyn.robot.model import checked_robot


def check_size(law: Any, start: tuple[Any, ...], n: int) -> None:
    """Call a law once in Python to check its indices and the number of efforts.

    Compiled code does not check indices. Other exceptions are ignored, because code that fails in
    Python may work when compiled.

    Args:
        law: ``law(t, q, v)`` or ``law(t, q, v, p)``.
        start: Valid arguments of the law.
        n: Number of efforts.

    Raises:
        ManipDynError: If an index is out of range or the number of efforts is not n.
    """
    try:
        with np.errstate(all="ignore"):
            efforts = law(*start)
            shape = np.shape(efforts)
    except IndexError as error:
        expected = f"q and v of {n} numbers"
        expected += f", p of {len(start[3])}" if start[3:] else ""
        raise failing("the effort law", law, error, expected) from error
    except Exception:
        return
    if shape != (n,):
        raise ManipDynError(
            f"the effort law must return an array of shape {(n,)}, got shape {shape}."
        )
    if np.iscomplexobj(efforts):
        raise ManipDynError("the effort law must return real numbers, got complex ones.")


def with_parameters(law: Any, has_parameters: bool) -> Any:
    """Return a compiled law as a function of (t, q, v, p)."""
    if has_parameters:
        return law
    return inlined(lambda t, q, v, p: law(t, q, v))


def law_parameters(robot: Robot, own: Vector | None = None) -> tuple[Any, ...]:
    """Return the parameters of compiled efforts (see `feedback`), with those of the law (k,)."""
    scratch = (np.zeros(robot.n) for _ in range(3))
    return np.array(robot.tau_max), *scratch, np.zeros(0) if own is None else own


class LawError(ManipDynError):
    """An exception raised by an effort law, which ends the motion."""


class Feedback:
    """Efforts from a function of time (s) and state.

    The motion ends if the function raises an exception or returns NaN. Infinite efforts saturate.
    A division by zero follows numpy's rules in compiled code and in Python, where the arguments
    are numpy numbers.

    Attributes:
        function: ``function(t, q, v)``, or ``function(t, q, v, p)`` with parameters; returns the
            efforts (n,).
        weightless: Whether the law is gravity compensation, which has its own compiled code.
        parameters: Parameters p (k,) of the function, or None.
        efforts: Compiled ``efforts(t, y, p, tau)``, set by a simulation; None before that, for
            gravity compensation, and if the function runs in Python.
        arrays: Parameters of `efforts`, see `feedback`.
        switches_ns: Times at which steps end, ns, see `find_switches`.
    """

    efforts: Any = None
    arrays: tuple[Any, ...] = ()
    switches_ns: Sequence[int] = ()

    def __init__(
        self,
        robot: Robot,
        function: Callable[..., Vector],
        weightless: bool = False,
        parameters: ArrayLike | None = None,
    ):
        """Set the function; a simulation compiles it if numba supports it.

        Raises:
            ManipDynError: If the arguments are not (t, q, v), or (t, q, v, p) with parameters.
        """
        checked_robot(robot)
        plain = plain_function(function)
        own: list[Any] = [] if parameters is None else [_numbers(parameters)]
        try:
            inspect.signature(plain).bind(0.0, None, None, *own)
        except TypeError as error:
            expected = "(t, q, v, p)" if own else "(t, q, v)"
            raise ManipDynError(
                f"effort must be a function of {expected}, got {inspect.signature(plain)}."
            ) from error
        self._robot, self.function, self.weightless = robot, function, weightless
        self.parameters: Vector | None = own[0] if own else None

    @property
    def compilable(self) -> bool:
        """Whether the law is a function, which numba may compile, and not a callable object."""
        return isinstance(getattr(self.function, "py_func", self.function), FunctionType)

    def arguments(self, t: float, q: Vector, v: Vector) -> tuple[Any, ...]:
        """Return the arguments of the function for time `t` (s) and the state (q, v)."""
        own = () if self.parameters is None else (self.parameters,)
        return (np.float64(t), q, v, *own)  # numpy numbers: a division by zero is infinite

    def effort(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        """Return the saturated efforts (n,) that act after `time_ns`; they may be NaN.

        Raises:
            LawError: If the function raises an exception.
            ManipDynError: If the number of efforts is not n.
        """
        t = np.float64(time_ns * 1e-9)
        try:
            if self.efforts is None:
                with np.errstate(all="ignore"):
                    efforts = self.function(*self.arguments(t, q, v))
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
        return np.clip(_of_size(efforts, self._robot.n), -limits, limits)

    def failed(self, error: Exception) -> LawError:
        """Return an error that contains the line in which the function raised an exception."""
        function = self.function if self.compilable else type(self.function).__call__
        expected = f"efforts ({self._robot.n},)"
        return LawError(str(failing("the effort law", function, error, expected)))

    def enter(self, begin_ns: int, end_ns: int) -> None:
        """Prepare for an interval between two switches, if a subclass requires it."""

    def next_switch(self, time_ns: int) -> int | None:
        """Return the first time (ns) of `find_switches` after `time_ns`, or None."""
        index = bisect_right(self.switches_ns, time_ns)
        return self.switches_ns[index] if index < len(self.switches_ns) else None

    def find_switches(self, duration: float, q: Vector, v: Vector) -> None:
        """Find the times up to `duration` (s) at which conditions of the function on time change.

        Adaptive steps then end 1 ns before and after these times. The function must be compiled.

        Args:
            duration: Duration of the motion, s.
            q: Positions (n,) for the calls of the function.
            v: Velocities (n,).
        """
        # Imported here, because only adaptive methods with conditional laws require them.
        from manip_dyn.integration.code_analysis import has_conditions
        from manip_dyn.integration.time_conditions import condition_times

        if not has_conditions(self.function):
            return
        others = self.arguments(0.0, q, v)[1:]
        times = condition_times(self.function, (0.0, duration), *others)
        edges = np.add.outer(np.round(1e9 * np.array(times)), (-1, 1))
        self.switches_ns = np.unique(edges[edges > 0.0].astype(np.int64)).tolist()


def gravity_compensation(kernels: Kernels | Robot) -> Feedback:
    """Return the effort law that holds the weight of an arm in every posture.

    Args:
        kernels: Kernels of the arm, or the robot.
    """
    if not isinstance(kernels, (Kernels, Robot)):
        raise ManipDynError(f"kernels must be md.customize(robot) or a robot, got {kernels!r}.")
    kernels = customize(kernels) if isinstance(kernels, Robot) else kernels
    zero = np.zeros(kernels.robot.n)

    def weight(_t: float, q: Vector, _v: Vector) -> Vector:
        return kernels.unchecked.inverse_dynamics(q, zero, zero)

    return Feedback(kernels.robot, weight, weightless=True)


def _numbers(parameters: Any) -> Vector:
    if not hasattr(parameters, "__len__") or isinstance(parameters, str):
        raise ManipDynError(f"parameters must be numbers (k,), got {parameters!r}.")
    return finite_array("parameters", parameters, (len(parameters),))


def _of_size(efforts: Any, n: int) -> Vector:
    """Convert efforts to an array (n,), which may contain infinity and NaN."""
    try:
        array = np.array(efforts, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ManipDynError(f"effort must be {n} numbers, got {efforts!r}.") from error
    if array.shape != (n,):
        raise ManipDynError(f"effort must have shape {(n,)}, got {array.shape}.")
    return array
