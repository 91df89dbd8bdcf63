"""What `integrate` can be asked for beside the problem: how steps are chosen, what is kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from manip_dyn.core.checks import not_negative, positive
from manip_dyn.core.digits import apart
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.integrate.steps.control import CONTROLLERS, ESTIMATES, NORMS


@dataclass(frozen=True)
class StepControl:
    """How the steps of an integration with tolerances are chosen, and how many there may be.

    Attributes:
        controller: ``"pi"`` (Gustafsson 1991) or ``"paper"`` (Galhano, Machado 1994), see
            `control`.
        norm: ``"max"`` or ``"rms"``: norm of the error over the tolerances.
        estimate: ``"plain"``, or ``"scaled"``: the error estimate of a Rosenbrock method after
            one more solution with its matrix, which takes out what stiff parts exaggerate.
        first_step: First step, s. Default: found.
        min_step: Smallest step, s; what needs a smaller one ends with STEP_UNDERFLOW.
        max_step: Largest step, s.
        max_steps: Steps, failed ones included, before TOO_MANY_STEPS; with fixed steps, too.
        fac: Safety factor: a step is so much shorter than the error estimate allows; sigma in
            Galhano, Machado (1994).
        facmin: Least factor from a step to the next.
        facmax: Largest factor from a step to the next.
    """

    controller: str = "pi"
    norm: str = "max"
    estimate: str = "plain"
    first_step: float | None = None
    min_step: float = 0.0
    max_step: float = math.inf
    max_steps: int = 10_000_000
    fac: float = 0.9
    facmin: float = 0.1
    facmax: float = 5.0

    def __post_init__(self) -> None:
        """Refuse what no step can follow."""
        for name, allowed in (
            ("controller", CONTROLLERS),
            ("norm", NORMS),
            ("estimate", ESTIMATES),
        ):
            _one_of(name, getattr(self, name), allowed)
        if self.first_step is not None:
            positive("first_step", self.first_step, "s")
        not_negative("min_step", self.min_step, "s")
        if self.max_step != math.inf:
            positive("max_step", self.max_step, "s")
        positive("max_steps", self.max_steps)
        for name in ("fac", "facmin", "facmax"):
            positive(name, getattr(self, name))
        if not (self.fac <= 1.0 and self.facmin < 1.0 < self.facmax):
            raise ManipDynError(
                f"fac, facmin and facmax are {self.fac:g}, {self.facmin:g} and {self.facmax:g}; "
                "expected fac up to 1, facmin below 1 and facmax above"
            )
        if self.max_step < self.min_step:
            most, least = apart(self.max_step, self.min_step)
            raise ManipDynError(f"max_step is {most} s; expected min_step ({least} s) or more")


@dataclass(frozen=True, eq=False)
class Sampling:
    """What is kept of a motion.

    Attributes:
        times: Times of the samples (k,), s, from the start towards the end. Default: every step.
        land: Whether steps end at the times, which keeps the full accuracy; otherwise the
            samples come from the dense output.
        dense: Whether the solution can be called with any time in the span.
    """

    times: ArrayLike | None = None
    land: bool = True
    dense: bool = False


def chosen_control(control: Any) -> StepControl:
    """Return a step control, the usual one for None."""
    if control is not None and not isinstance(control, StepControl):
        raise ManipDynError(f"control is {control!r}; expected an md.StepControl")
    return control or StepControl()


def chosen_sampling(sampling: Any) -> Sampling:
    """Return a sampling; times alone are one, and None is every step."""
    return sampling if isinstance(sampling, Sampling) else Sampling(sampling)


def _one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        hint = closest(str(value), allowed)
        raise ManipDynError(f"{name} is {value!r}; expected {' or '.join(allowed)}{hint}")
