"""Kernels for many states at once: SIMD lanes, and threads if asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.codegen.in_place import InPlace
from manip_dyn.codegen.programs.description import describe_batch
from manip_dyn.codegen.rigid_body.catalogue import BATCH, BY_NAME, Declaration, argument_size
from manip_dyn.core.checks import Vector, finite_array
from manip_dyn.core.errors import ManipDynError


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
