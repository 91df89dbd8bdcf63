"""`PDControl`: joint feedback as an effort law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import shortened
from manip_dyn.core.errors import ManipDynError
from manip_dyn.simulation.laws.references import Planned

COMPENSATIONS = ("none", "gravity", "computed_torque")


@dataclass(frozen=True, eq=False)
class PDControl:
    """Feedback of positions and velocities to a target, continuous in time and saturated.

    With e = stiffness (q_r - q) + damping (v_r - v) the efforts are, by `compensation`,

        none              s(t) + e, where s are the efforts of a plan that is followed, else 0
        gravity           g(q) + e
        computed_torque   M(q) (a_r + e) + h(q, v), the inverse dynamics of the robot

    and no larger than the robot's limits. Siciliano et al., Robotics (2009), sections 8.5.1 and
    8.5.2. g, M and h are those of the robot that is given to `simulate` or `simulate_many`,
    whatever payload or masses a motion has beside: so control with a wrong model is simulated.

    Attributes:
        target: Positions (n,) or (N, n), rad or m, or a `Plan`, or a list of N plans, whose
            motion is followed and whose goal is held.
        stiffness: A number, (n,) or (N, n), 0 or more: N m/rad or N/m; 1/s^2 with computed torque.
        damping: A number, (n,) or (N, n), 0 or more: N m s/rad or N s/m; 1/s with computed torque.
        compensation: What of the dynamics is compensated.
    """

    target: ArrayLike | Planned | Sequence[Planned]
    stiffness: ArrayLike
    damping: ArrayLike
    compensation: str = "none"

    def __post_init__(self) -> None:
        """Check target and gains, and refuse a compensation that there is not."""
        _check_target(self.target)
        choice: Any = self.compensation
        if choice not in COMPENSATIONS:
            raise ManipDynError(
                f"compensation is {choice!r}; expected one of {', '.join(COMPENSATIONS)}"
            )
        for name in ("stiffness", "damping"):
            given: Any = getattr(self, name)
            try:
                numbers = np.array(given, dtype=np.float64)
            except (TypeError, ValueError, OverflowError) as error:
                raise ManipDynError(f"{name} is {given!r}; expected numbers, 0 or more") from error
            wrong = numbers[~(np.isfinite(numbers) & (numbers >= 0.0))]
            if wrong.size:
                raise ManipDynError(f"{name} has {wrong[0]:g}; expected numbers, 0 or more")


def _check_target(target: Any) -> None:
    listed = target if isinstance(target, (list, tuple)) else [target]
    if listed and all(isinstance(each, Planned) for each in listed):
        return
    try:
        numbers = np.array(target if target is not None else "none", dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ManipDynError(
            f"target is {shortened(target)}; expected positions (n,) or (N, n), a plan, or a "
            "list of plans"
        ) from error
    wrong = numbers[~np.isfinite(numbers)]
    if wrong.size or not numbers.size:
        shown = f"has {wrong[0]}" if wrong.size else "is empty"
        raise ManipDynError(f"target {shown}; expected finite positions, rad or m")
