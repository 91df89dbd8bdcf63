"""Call interfaces of a robot's kernels: in place, batched and checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from inspect import Parameter, Signature
from threading import Lock
from typing import Any

import numpy as np
from numba import types

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.codegen.generation.kernel_modules import kernel_of
from manip_dyn.codegen.rigid_body.catalogue import (
    BATCH,
    BY_NAME,
    DECLARATIONS,
    Declaration,
    argument_size,
)
from manip_dyn.codegen.rigid_body.equations import Equations
from manip_dyn.core.arrays import address_for, call_writing
from manip_dyn.core.checks import Vector, finite_array, finite_vector
from manip_dyn.core.compiled import PLAIN, compiled, inlined
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot import Frame, Robot

ARGUMENTS = {
    "q": "joint positions, rad or m",
    "v": "joint velocities, rad/s or m/s",
    "a": "joint accelerations, rad/s^2 or m/s^2",
    "tau": "joint efforts, N m or N",
    "y": "positions and velocities, (q, v)",
    "payload": "mass, centre of mass (3) and moments of inertia about it (6) in the tool's axes, "
    "kg, m, kg m^2",
    "wrench": "force and moment on the tool at its origin, base axes, N, N m",
    "drive": "efforts, and 1 for each joint that they drive, 0 for each that is locked",
    "inertias": "inertial parameters of the bodies, 10 of each",
    "adjoint": "factors of the accelerations",
    "p_q": "costates of the positions",
    "p_v": "costates of the velocities",
}


def describe(function: Any, name: str, n: int, owner: str) -> None:
    """Describe a function that returns a kernel's result, and checks nothing.

    Args:
        function: Of the arrays of the kernel's declaration.
        name: The kernel's.
        n: Number of joints.
        owner: The class that has it.
    """
    _named(function, name, owner, ())
    function.__doc__ = f"{_purpose(name)}\n\nNothing is checked.\n\n{_arguments(name, n)}\n"


def describe_batch(function: Any, name: str, n: int, owner: str) -> None:
    """Describe one that does so for many states side by side; it checks its arguments."""
    _named(function, name, owner, [Parameter("threads", Parameter.KEYWORD_ONLY, default=1)])
    function.__doc__ = (
        f"{_purpose(name)}\n\nAll arrays have one axis more, with a column for each state.\n\n"
        f"{_arguments(name, n)}\n    threads: how many run side by side, each with its columns.\n"
    )


def describe_in_place(function: Any, name: str, n: int) -> None:
    """Describe a compiled kernel that writes into an array, or its form for many states."""
    kernel = name.removesuffix(BATCH)
    shape, rows = BY_NAME[kernel].shape(n), _arguments(kernel, n)
    told = "Nothing is checked; arrays are float64 and C-contiguous"
    rows += f"\n    out: what is written, {shape}."
    if kernel != name:
        told += ", with one axis more: a column for each state"
        rows += "\n    first: the first column to compute.\n    last: the one after the last."
    written = _purpose(kernel).replace("Return", "Write", 1)
    function.__doc__ = f"{written}\n\n{told}.\n\n{rows}\n"


def _named(function: Any, name: str, owner: str, others: Sequence[Parameter]) -> None:
    function.__name__, function.__qualname__ = name, f"{owner}.{name}"
    arrays = [Parameter(each, Parameter.POSITIONAL_OR_KEYWORD) for each in BY_NAME[name].arguments]
    function.__signature__ = Signature([*arrays, *others])


def _purpose(name: str) -> str:
    return (getattr(Equations, name).__doc__ or "").strip().replace("\n        ", "\n")


def _arguments(name: str, n: int) -> str:
    rows = [
        f"    {each}: {ARGUMENTS[each]}, ({argument_size(each, n)},)."
        for each in BY_NAME[name].arguments
    ]
    return "\n".join(["Args:", *rows])


class InPlace:
    """Jitted functions that write into the caller's array ``out``, allocate and check nothing.

    Every kernel of `Kernels` is here under its name, as ``kernel(*arguments, out)``, and once
    more for many states side by side, as ``kernel_batch(*arguments, out, first, last)``, whose
    arrays have a last axis with a column per state and which does the columns from `first` up
    to `last`. Other numba code can call both.

    Arrays must be C-contiguous float64 (anything else is numba's TypingError) of the right
    sizes (which nobody checks); ``out`` may be one of the inputs. Numbers that are not finite
    come out as such. Generated and compiled at the first use, from the cache afterwards.
    """

    def __init__(self, robot: Robot, frame: Frame):
        """Take the robot and the frame that the kinematic functions are about."""
        self._robot = robot
        self._frame = frame

    def __repr__(self) -> str:
        """Say whose kernels they are."""
        return f"{type(self).__name__}(robot '{self._robot.name}', {self._robot.n} joints)"

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Return a kernel; its module is generated now if it is the first of it."""
        if name.removesuffix(BATCH) not in BY_NAME:
            raise AttributeError(f"there is no kernel '{name}'")
        function = kernel_of(self._robot, self._frame, name)
        describe_in_place(function, name, self._robot.n)
        setattr(self, name, function)
        return function

    def __dir__(self) -> list[str]:
        """Return the kernels' names."""
        return [each.name + end for each in DECLARATIONS for end in ("", BATCH)]

    def compile(self, *names: str) -> None:
        """Compile kernels now, or load them from the cache; by default all of the dynamics.

        For loops with deadlines: afterwards no first call is slow.

        Raises:
            ManipDynError: If there is no such kernel.
        """
        for name in names:
            if name not in BY_NAME:
                raise ManipDynError(f"there is no kernel '{name}'{closest(name, BY_NAME)}")
        dynamics = [each.name for each in DECLARATIONS if each.module == "dynamics"]
        for name in names or dynamics:
            declaration = BY_NAME[name]
            axes = ["float64[::1]"] * len(declaration.arguments)
            rank = len(declaration.shape(self._robot.n))
            axes.append(f"float64[{','.join([':'] * (rank - 1) + ['::1'])}]")
            kernel: Any = getattr(self, name)
            kernel.compile(f"void({', '.join(axes)})")


class Batch:
    """Every kernel of `Kernels` under its name, for arrays with a column per state.

    ``batch.forward_dynamics(q, v, tau)`` takes arrays (n, m) of m states and returns (n, m);
    matrices come back as (rows, columns, m). ``threads=2`` runs halves on two cores.
    """

    def __init__(self, in_place: InPlace, n: int):
        """Take the jitted kernels of a robot with n joints."""
        self._in_place = in_place
        self._n = n

    def __repr__(self) -> str:
        """Return of which robot they are."""
        return repr(self._in_place).replace("InPlace", "Batch")

    def __getattr__(self, name: str) -> Callable[..., Vector]:
        """Return the batched form of a kernel."""
        declaration = BY_NAME.get(name)
        if declaration is None:
            raise AttributeError(f"there is no kernel '{name}'")

        def call(*arguments: Any, threads: int = 1, **named: Any) -> Vector:
            unknown = set(named) - set(declaration.arguments[len(arguments) :])
            if unknown:
                raise ManipDynError(
                    f"{name} got {', '.join(sorted(unknown))}; expected "
                    f"{', '.join(declaration.arguments)}"
                )
            rest = [named[each] for each in declaration.arguments if each in named]
            return self._run(declaration, [*arguments, *rest], threads)

        describe_batch(call, name, self._n, "Batch")
        setattr(self, name, call)
        return call

    def __dir__(self) -> list[str]:
        """Return the kernels' names."""
        return list(BY_NAME)

    def _run(self, declaration: Declaration, arguments: Sequence[Any], threads: int) -> Vector:
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise ManipDynError(f"threads is {threads!r}; expected a whole number above 0")
        arrays = self._checked(declaration, arguments)
        states = arrays[0].shape[1]
        out = np.empty((*declaration.shape(self._n), states))
        kernel = getattr(self._in_place, declaration.name + BATCH)
        if threads == 1:
            kernel(*arrays, out, 0, states)
            return out
        # Whole blocks of lanes for each thread; the kernels release the interpreter lock.
        share = -(-states // (threads * LANES)) * LANES
        starts = range(0, states, max(share, 1))
        kernel(*arrays, out, 0, 0)  # none: this thread compiles, where Ctrl-C is heard meanwhile
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda k: kernel(*arrays, out, k, min(k + share, states)), starts))
        return out

    def _checked(self, declaration: Declaration, arguments: Sequence[Any]) -> list[Vector]:
        names = declaration.arguments
        if len(arguments) != len(names):
            raise ManipDynError(
                f"{declaration.name} got {len(arguments)} arrays; expected {', '.join(names)}"
            )
        first, size = arguments[0], argument_size(names[0], self._n)
        if np.ndim(first) != 2 or len(first) != size:
            shape = f"has shape {np.shape(first)}" if np.ndim(first) else f"is {first!r}"
            raise ManipDynError(f"{names[0]} {shape}; expected ({size}, m) with m states")
        states = np.shape(first)[1]
        return [
            finite_array(name, value, (argument_size(name, self._n), states))
            for name, value in zip(names, arguments, strict=True)
        ]


FLOAT = np.dtype(np.float64)
BYTES = FLOAT.itemsize
_compiling = Lock()
PAYLOAD, WRENCH = argument_size("payload", 0), argument_size("wrench", 0)


class Checked:
    """Every kernel under its name, with checked arguments and results in new arrays.

    Arguments go by their places: ``checked.forward_dynamics(q, v, tau)``.
    """

    def __init__(self, in_place: InPlace, n: int):
        """Take the jitted kernels of a robot with n joints."""
        self._in_place = in_place
        self._n = n

    def __getattr__(self, name: str) -> Callable[..., Vector]:
        """Return the checked form of a kernel, compiled now if it is new."""
        declaration = BY_NAME.get(name)
        if declaration is None:
            raise AttributeError(f"there is no kernel '{name}'")
        call = checked_call(declaration, getattr(self._in_place, name), self._n)
        setattr(self, name, call)
        return call


def checked_call(declaration: Declaration, kernel: Any, n: int) -> Callable[..., Vector]:
    """Return a kernel of a robot with n joints as a function of checked arguments."""
    arguments, shape = declaration.arguments, declaration.shape(n)

    def check_one_by_one(values: tuple[Any, ...]) -> Vector:
        checked = [
            finite_vector(name, value, argument_size(name, n))
            for name, value in zip(arguments, values, strict=True)
        ]
        out = np.empty(shape)
        kernel(*checked, out)
        return out

    if PLAIN:
        return lambda *values: check_one_by_one(values)
    vectors = [types.Array(types.float64, 1, "C")] * len(arguments)
    address = address_for(kernel, (*vectors, _output(len(shape))))
    loads = tuple(name for name in arguments if name in ("payload", "wrench"))
    entry = LOADED[loads] if loads else UNLOADED[len(arguments)]
    with _compiling:
        run = _compiled(entry, len(arguments), len(shape))
    # Names of the enclosing function are found faster than those of modules and packages.
    empty, array, number = np.empty, np.ndarray, FLOAT

    def call(*values: Any) -> Vector:
        for value in values:
            if type(value) is not array or value.dtype is not number:
                return check_one_by_one(values)
        out = empty(shape)
        try:
            good = run(address, n, *values, out)
        except TypeError:  # more than one axis, or numbers that lie across words of memory
            good = False
        return out if good else check_one_by_one(values)

    call.__name__ = declaration.name
    return call


@lru_cache
def _compiled(run: Callable[..., bool], count: int, axes: int) -> Callable[..., bool]:
    """Return `run` compiled for `count` vectors and an output of so many axes, and for no others.

    Each of its own, and compiled before anyone has it: so any thread may ask for one any time.
    """
    # Any vector of numbers, also a strided or a read-only one, converts to this type.
    vector = types.Array(types.float64, 1, "A", readonly=True)
    kinds = (types.int64, types.int64, *[vector] * count, _output(axes))
    made: Any = compiled(run)
    made.compile(types.boolean(*kinds))
    made.disable_compile()
    return made


def _output(axes: int) -> types.Array:
    return types.Array(types.float64, axes, "C")


@inlined
def _is_good(x, size):
    """Return whether x is a dense array of `size` finite numbers."""
    if x.shape[0] != size or x.strides[0] != BYTES:
        return False
    nothing = 0.0  # which times infinity, or NaN, is NaN
    for i in range(size):
        nothing += 0.0 * x[i]
    return nothing == 0.0


def _run_1(address, n, a, out):
    good = _is_good(a, n)
    if good:
        call_writing(address, (a, out))
    return good


def _run_2(address, n, a, b, out):
    good = _is_good(a, n) and _is_good(b, n)
    if good:
        call_writing(address, (a, b, out))
    return good


def _run_3(address, n, a, b, c, out):
    good = _is_good(a, n) and _is_good(b, n) and _is_good(c, n)
    if good:
        call_writing(address, (a, b, c, out))
    return good


def _run_4(address, n, a, b, c, d, out):
    good = _is_good(a, n) and _is_good(b, n) and _is_good(c, n) and _is_good(d, n)
    if good:
        call_writing(address, (a, b, c, d, out))
    return good


def _run_with_payload(address, n, q, payload, out):
    good = _is_good(q, n) and _is_good(payload, PAYLOAD)
    if good:
        call_writing(address, (q, payload, out))
    return good


def _run_loaded(address, n, a, b, c, payload, wrench, out):
    good = _is_good(a, n) and _is_good(b, n) and _is_good(c, n)
    good = good and _is_good(payload, PAYLOAD) and _is_good(wrench, WRENCH)
    if good:
        call_writing(address, (a, b, c, payload, wrench, out))
    return good


UNLOADED: dict[int, Callable[..., bool]] = {1: _run_1, 2: _run_2, 3: _run_3, 4: _run_4}
"""By the number of arguments, each of n numbers."""
LOADED: dict[tuple[str, ...], Callable[..., bool]] = {
    ("payload",): _run_with_payload,
    ("payload", "wrench"): _run_loaded,
}
"""By the arguments that are not of n numbers."""
