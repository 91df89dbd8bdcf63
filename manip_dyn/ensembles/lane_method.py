"""An integrator as the numbers that the time loop works with."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.compiled import PLAIN
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ensembles.lanes.space import K, Method
from manip_dyn.ensembles.lanes.sums import terms_of
from manip_dyn.integration.loop_arrays import LIMITS
from manip_dyn.integration.methods.runge_kutta import RungeKutta
from manip_dyn.integration.methods.taylor import Taylor
from manip_dyn.integration.settings import StepControl
from manip_dyn.simulation.integrator import Integrator

EVENT_TOLERANCE = 1e-12
"""How well the time is found at which a joint reaches a limit, s; as in `md.simulate`."""


class LaneMethod(NamedTuple):
    """The numbers of a method, and what `lanes.space.Rules` says of it."""

    method: Method
    adaptive: bool
    fsal: bool
    stages: int
    power: float


def lane_method(integrator: Integrator, size: int) -> LaneMethod:
    """Return the numbers of an explicit Runge-Kutta method, or of a series, for states of `size`.

    Raises:
        ManipDynError: If it is of another family.
    """
    found = integrator.solver
    if isinstance(found, Taylor):
        return _series(integrator, size)
    if not isinstance(found, RungeKutta):
        raise ManipDynError(
            "method must be an explicit Runge-Kutta method or 'taylor' for many motions, got "
            f"'{found.name}' of the family {found.family}."
        )
    return _numbers(found, integrator, size)


@lru_cache(maxsize=64)
def _numbers(found: RungeKutta, integrator: Integrator, size: int) -> LaneMethod:
    table, adaptive = found.tableau, integrator.adaptive
    wrong = table.error_weights if adaptive else None
    live = table.needed(table.b, wrong)
    if table.fsal and table.stages - 1 not in live:
        live.append(table.stages - 1)
    sums = [_stages(table.a[i]) for i in live]
    sums += [[] if table.fsal else _stages(table.b), _stages(wrong or ())]
    abscissas = np.array([float(table.c[i]) for i in live])
    method = Method(np.array(live), abscissas, terms_of(sums), *_rules(integrator, size))
    power = min(found.order, found.embedded_order or 0) + 1
    return LaneMethod(method, adaptive, table.fsal, table.stages, float(power))


def _series(integrator: Integrator, size: int) -> LaneMethod:
    none = np.zeros(0, np.int64), np.zeros(0), terms_of([[]])
    method = Method(*none, *_rules(integrator, size))
    return LaneMethod(method, integrator.adaptive, False, 0, 1.0)


def _rules(integrator: Integrator, size: int) -> tuple[Any, Any]:
    """Return the limits of steps, and the tolerances (2, m)."""
    control, limits = integrator.control or StepControl(), np.zeros(1, LIMITS)
    if (control.controller, control.norm, control.estimate) != ("pi", "max", "plain"):
        raise ManipDynError(
            "control must have the default controller, norm and estimate for many motions, got "
            f"{control.controller!r}, {control.norm!r} and {control.estimate!r}."
        )
    limits["step"], limits["first_step"] = integrator.step, control.first_step or 0.0
    limits["min_step"], limits["max_step"] = control.min_step, control.max_step
    limits["max_steps"] = control.max_steps if integrator.control else np.inf
    limits["order"], limits["absolute_order"] = integrator.orders
    limits["event_tolerance"] = EVENT_TOLERANCE
    for name in ("fac", "facmin", "facmax"):
        limits[name] = getattr(control, name)
    tolerances = np.empty((2, size))
    tolerances[0], tolerances[1] = integrator.tolerances
    return limits.view(np.recarray) if PLAIN else limits, tolerances


def _stages(weights: Sequence[Fraction]) -> list[tuple[float, int]]:
    return [(float(weight), K + j) for j, weight in enumerate(weights)]
