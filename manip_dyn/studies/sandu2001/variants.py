"""Why table 4 grows by 32 from 1e-2 to 1e-5 where ours grows less: what was tried.

Evaluations go with the tolerance to the power -1/(q + 1) where errors of a step go with h^(q+1):
10^(3/4) for the formula's embedded order 3. The printed 32 is 10^(3/2): errors of order 1, those
of a Rosenbrock formula with an inexact Jacobian. Step control, norm, method, start and dampers
are varied here one by one, and the Jacobian is made inexact in three ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from manip_dyn.integration import Jacobian, StepControl
from manip_dyn.multibody.equations.state_space import linearized_rates
from manip_dyn.multibody.model.hmmwv import hmmwv
from manip_dyn.multibody.model.mechanism import Mechanism
from manip_dyn.multibody.simulation import MechanismSimulation
from manip_dyn.studies.sandu2001.rows import PUBLISHED, VariantRow
from manip_dyn.studies.sandu2001.settings import Settings

DURATION = 4.0
TOLERANCES = tuple(PUBLISHED["tolerances"])


def without_time(t, y, p, out, by_time):
    """Write derivatives without those by time, which the bump has; compiled by `integrate`."""
    linearized_rates(t, y, p, out, by_time)
    for i in range(by_time.shape[0]):
        by_time[i] = 0.0


def too_small(t, y, p, out, by_time):
    """Write derivatives 10 % too small."""
    linearized_rates(t, y, p, out, by_time)
    n = by_time.shape[0]
    for i in range(n):
        for k in range(2 * n):
            out[i, k] *= 0.9


def without_positions(t, y, p, out, by_time):
    """Write derivatives without those by positions."""
    linearized_rates(t, y, p, out, by_time)
    n = by_time.shape[0]
    for i in range(n):
        for k in range(n):
            out[i, k] = 0.0


INEXACT = {
    "Jacobian without time": without_time,
    "Jacobian 10 % too small": too_small,
    "Jacobian without positions": without_positions,
}


def rows(settings: Settings, progress: Callable[[str], None]) -> Iterator[VariantRow]:
    """Yield the evaluations over 4 s with each variant of method, control, car and Jacobian."""
    control, car = settings.control(), hmmwv()
    variants: dict[str, dict[str, Any]] = {
        "as table 4": {},
        "our control": {"control": StepControl()},
        "largest error for the norm": {"control": replace(control, norm="max")},
        "scaled estimate": {"control": settings.control("scaled")},
        "facmax 2": {"control": replace(control, facmax=2.0)},
        "rodas5p": {"method": "rodas5p"},
        "W-method": {"method": "rosenbrock_w"},
    }
    for name, jacobian in INEXACT.items():
        variants[name] = {"jacobian": Jacobian(jacobian, car.freedoms, mass=True)}
    published = [PUBLISHED["implicit"]["4"][k] for k in range(len(TOLERANCES))]
    yield _row("published, s", published)
    for name, options in variants.items():
        progress(f"growth, {name}")
        yield _row(name, [_cost(car, each, {"control": control} | options) for each in TOLERANCES])
    progress("growth, without shock absorbers")
    bare = hmmwv(damped=False)
    costs = [_cost(bare, each, {"control": control}) for each in TOLERANCES]
    yield _row("without shock absorbers", costs)


def _cost(car: Mechanism, tolerance: float, options: dict[str, Any]) -> int:
    simulation = MechanismSimulation(car, rtol=tolerance, **options)
    simulation.advance_to(DURATION)
    return simulation.statistics["evaluations"]


def _row(name: str, costs: Sequence[float]) -> VariantRow:
    first, second, third, last = costs
    return VariantRow(name, first, second, third, last, last / first, last / third)
