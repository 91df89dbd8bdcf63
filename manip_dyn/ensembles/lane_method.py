"""An integrator as the numbers that the time loop works with."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.plain import PLAIN
from manip_dyn.ensembles.lanes.space import K, Method
from manip_dyn.ensembles.lanes.sums import terms_of
from manip_dyn.integrate.choices import StepControl
from manip_dyn.integrate.loop.space import LIMITS
from manip_dyn.integrate.methods.runge_kutta import RungeKutta
from manip_dyn.simulation.integrator import Integrator


class LaneMethod(NamedTuple):
    """The numbers of a method, and what `lanes.space.Rules` says of it."""

    method: Method
    adaptive: bool
    fsal: bool
    stages: int
    power: float


def lane_method(integrator: Integrator, size: int) -> LaneMethod:
    """Return the numbers of an explicit Runge-Kutta method for states of `size`.

    Raises:
        ManipDynError: If it is of another family.
    """
    found = integrator.found
    if not isinstance(found, RungeKutta):
        raise ManipDynError(
            f"method is '{integrator.method}', a method of the family {found.family}; expected an "
            "explicit Runge-Kutta method, such as rk4, or rkdp87 with tolerances, for many motions"
        )
    return _numbers(found, integrator, size)


@lru_cache(maxsize=64)
def _numbers(found: RungeKutta, integrator: Integrator, size: int) -> LaneMethod:
    table, adaptive, control = found.tableau, integrator.adaptive, StepControl()
    wrong = table.error_weights if adaptive else None
    live = table.needed(table.b, wrong)
    if table.fsal and table.stages - 1 not in live:
        live.append(table.stages - 1)
    sums = [_stages(table.a[i]) for i in live]
    sums += [[] if table.fsal else _stages(table.b), _stages(wrong or ())]
    limits = np.zeros(1, LIMITS)
    limits["step"], limits["max_step"], limits["max_steps"] = integrator.step, np.inf, np.inf
    for name in ("fac", "facmin", "facmax"):
        limits[name] = getattr(control, name)
    tolerances = np.empty((2, size))
    tolerances[0], tolerances[1] = integrator.tolerances
    abscissas = np.array([float(table.c[i]) for i in live])
    rules: Any = limits.view(np.recarray) if PLAIN else limits
    method = Method(np.array(live), abscissas, terms_of(sums), rules, tolerances)
    power = min(found.order, found.embedded_order or 0) + 1
    return LaneMethod(method, adaptive, table.fsal, table.stages, float(power))


def _stages(weights: Sequence[Fraction]) -> list[tuple[float, int]]:
    return [(float(weight), K + j) for j, weight in enumerate(weights)]
