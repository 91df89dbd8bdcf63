"""Engines: a method and a right-hand side compiled together into one time loop.

Numba code can run an engine in place::

    engine = compile_engine(rhs, METHODS["rk4"], Options(size=2))
    space = engine.space(step=1e-3)
    run = engine.run                # njit: run(t, t_end, p, y, space) -> status

    @njit
    def advance_one_second(p, y, space):
        status = run(0.0, 1.0, p, y, space)   # y is now the state at space.state.t

The caller owns the arrays in `space` (see `Space`), and the loop allocates no memory. After the
call, ``space.state`` contains the final time ``t`` and the counters ``steps``, ``failures`` and
``evaluations``.

The loop, the step of the method and the user's functions are compiled separately. LLVM then links
them into one function (see `core.linking`). If the compiler is disabled, they are bound by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import STOCK, is_cacheable, is_compiled
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.linking import instantiate
from manip_dyn.integration import time_loop
from manip_dyn.integration.event_search import SIGNAL_ROWS
from manip_dyn.integration.loop_arrays import (
    LIMITS,
    RECORD,
    STATE,
    Record,
    Space,
    begin,
    cleared,
    record_of,
)
from manip_dyn.integration.methods import template_parameters as template
from manip_dyn.integration.methods.method import Method, Options, Step
from manip_dyn.integration.step_inspection import QUIET, ROWS, inspect

Loop = Callable[..., int]


def assembled(
    method: Method, options: Options, functions: Mapping[str, Any]
) -> tuple[Loop, Loop, Step]:
    """Link the time loop and return `advance`, `run` (see `Engine`) and the method's step.

    Args:
        method: The integration method.
        options: Options of the loop.
        functions: Compiled ``rhs``, ``signal``, ``act`` and ``jacobian`` by name, or None.
    """
    # An intrinsic emits the stages. Stock numba cannot replace template parameters inside it.
    step = method.step(options, functions["rhs"] if STOCK else method.stand_in)
    parts = {**step.arguments, **_event_functions(options)}
    parts[template.look] = inspect if options.inspected else template.look
    if not options.dense:
        parts[template.interpolate] = template.interpolate
    motion = {getattr(template, name): function for name, function in functions.items()}
    motion[method.stand_in] = functions["rhs"]
    arguments = {slot: slot if x is None else x for slot, x in motion.items()} | _numbers(options)
    advance = instantiate(instantiate(time_loop.advance, parts), arguments)
    return advance, instantiate(time_loop.run, {template.advance: advance}), step


def _event_functions(options: Options) -> dict[Any, Any]:
    """Return the arguments of the event search, which is compiled only if there are events."""
    slots = {
        template.arm: time_loop.arm_events,
        template.search: time_loop.search_event,
        template.happen: time_loop.record_events,
    }
    return slots if options.events else {slot: slot for slot in slots}


def _numbers(options: Options) -> dict[Any, int]:
    """Return the values of the number parameters that are determined by the options."""
    return {
        template.size: options.size,
        template.event_count: options.events,
        template.adaptive: int(options.adaptive),
        template.dense: int(options.dense),
        template.has_actions: int(options.has_actions),
        template.inspected: int(options.inspected),
        template.positions: options.positions,
        template.exact: int(options.jacobian),
        template.mass: int(options.mass),
        template.rms: int(options.norm == "rms"),
        template.paper: int(options.controller == "paper"),
        template.scaled: int(options.estimate == "scaled"),
    }


@dataclass(frozen=True)
class Engine:
    """A compiled time loop.

    Attributes:
        method: The integration method.
        options: Options for which the loop was compiled.
        advance: ``advance(p, y, space) -> status``: continues from the state in `space`.
        run: ``run(t, t_end, p, y, space) -> status``: integrates from t to t_end, with a space
            for one stop. For compiled code; call `go` from Python.
        rows: Number of rows of the work array, without those of a Taylor series.
        degree: Degree of the dense output; 0 for a Taylor series, whose degree is its order.
        scratch: Shape of the scratch array. For a Taylor series, it is (0, columns), and the array
            has one row per term.
    """

    method: Method
    options: Options
    advance: Callable[..., int]
    run: Callable[..., int]
    rows: int
    degree: int
    scratch: tuple[int, int]

    @property
    def cached(self) -> bool:
        """Whether the machine code can be cached on disk."""
        return is_cacheable(self.advance)

    def space(
        self,
        *,
        step: float = 0.0,
        rtol: ArrayLike = 0.0,
        atol: ArrayLike = 0.0,
        first_step: float = 0.0,
        min_step: float = 0.0,
        max_step: float = np.inf,
        max_steps: float = np.inf,
        fac: float = 0.9,
        facmin: float = 0.1,
        facmax: float = 5.0,
        event_tolerance: float = 1e-12,
        quiet: float = QUIET,
        cell: float = np.inf,
        kinds: ArrayLike = (0, 1),
        orders: tuple[int, int] = (0, 0),
        stops: int = 1,
        every_step: bool = False,
        room: tuple[int, int, int] = (0, 0, 0),
    ) -> Space:
        """Create the arrays of the loop.

        Args:
            step: Fixed step, s.
            rtol: Relative tolerance, scalar or (m,).
            atol: Absolute tolerance, scalar or (m,), in the units of the state.
            first_step: First adaptive step, s; 0 to estimate it.
            min_step: Smallest step, s.
            max_step: Largest step, s.
            max_steps: Maximum number of accepted and rejected steps.
            fac: Safety factor of the step control.
            facmin: Smallest ratio of consecutive steps.
            facmax: Largest ratio of consecutive steps.
            event_tolerance: Tolerance of event times, s.
            quiet: Error estimate below which this step and the next are inspected; see
                `Options.inspected`.
            cell: Length of the intervals at which inspected steps are evaluated, s.
            kinds: Directions and terminal flags of the events, (2,) or (2, k).
            orders: Orders of a Taylor series: the first is used if ``rtol * max(abs(y))`` exceeds
                `atol` for any component, otherwise the second. Fixed steps use the first.
            stops: Number of stops.
            every_step: Whether to record every step, not only the marked stops.
            room: Capacities for states, polynomials and events. A capacity of 0 disables the
                record of states or events. Dense output requires a capacity for polynomials. A
                full record pauses the loop.

        Raises:
            ManipDynError: If a fixed step, or the sum of the tolerances, is not positive.
        """
        if not self.options.adaptive and not step > 0.0:
            raise ManipDynError(f"step must be above 0, got {step!r} s.")
        if self.options.adaptive and not np.all(np.add(rtol, atol) > 0.0):
            raise ManipDynError("rtol or atol must be above 0, got 0 for both.")
        size, events = self.options.size, max(self.options.events, 1)
        rules = np.zeros(1, LIMITS)
        rules[0] = (
            *(step, min_step, max_step, first_step, max_steps, fac, facmin, facmax),
            *(event_tolerance, quiet, cell, every_step, *orders),
        )
        terms = max(orders) + 1 if max(orders) else 0
        tolerances = np.empty((2, size))
        tolerances[0], tolerances[1] = rtol, atol
        signals = np.zeros((SIGNAL_ROWS, events))
        signals[4:6].T[:] = np.transpose(kinds)
        return Space(
            rules,
            tolerances,
            np.zeros(1, STATE),
            np.zeros((stops, 4)),
            cleared(self.rows + terms, size),
            cleared(self.scratch[0] or terms, self.scratch[1]),
            signals,
            *self.record(*room, degree=max(self.degree, *orders)),
        )

    @staticmethod
    def start(space: Space, t: float, stops: ArrayLike, rows: int = 0) -> None:
        """Prepare `space` to integrate from time `t` (s) to the last of the stops (n, 4).

        The record begins after its first `rows` samples.
        """
        begin(space, t, stops, rows)

    def go(self, t: float, t_end: float, p: Any, y: Vector, space: Space) -> int:
        """Integrate from Python, without compiling `run`; return the status.

        Args:
            t: Start time, s.
            t_end: End time, s.
            p: Parameters.
            y: State (m,), changed in place.
            space: Arrays for one stop.
        """
        self.start(space, t, (t_end, -np.inf, np.inf, RECORD))
        return self.advance(p, y, space)

    def record(self, rows: int, spans: int, events: int, degree: int) -> Record:
        """Create a record with capacities for states, polynomials (spans) and events."""
        return record_of(self.options.size, rows, spans, events, degree)


@lru_cache(maxsize=256)
def compile_engine(
    rhs: Any,
    method: Method,
    options: Options,
    signal: Any = None,
    act: Any = None,
    scratch: int = 0,
    jacobian: Any = None,
) -> Engine:
    """Return the engine for these arguments, which is compiled on its first call.

    Args:
        rhs: ``rhs(t, y, p, out)``, or the function of a `Series`.
        method: The integration method.
        options: Options of the time loop.
        signal: Function of the `Events`, or None.
        act: Action of the `Events`, or None.
        scratch: Number of scratch columns of the `Series`.
        jacobian: Function of the `Jacobian`, or None.

    Raises:
        ManipDynError: If a function is not compiled.
    """
    functions = {"rhs": rhs, "signal": signal, "act": act, "jacobian": jacobian}
    for name, function in functions.items():
        if function is not None and not is_compiled(function):
            raise ManipDynError(f"{name} must be compiled by numba, got {function!r}.")
    advance, run, step = assembled(method, options, functions)
    return Engine(
        method,
        options,
        advance,
        run,
        step.rows + (ROWS if options.inspected else 0),
        step.degree,
        step.scratch if any(step.scratch) else (0, scratch),
    )
