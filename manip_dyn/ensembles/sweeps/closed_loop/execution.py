"""`execute`: a plan in closed loop under wrong masses, disturbances, delays and noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import Result
from manip_dyn.ensembles.sweeps.closed_loop.closed_loop import ClosedLoop
from manip_dyn.ensembles.sweeps.closed_loop.conditions import Conditions
from manip_dyn.planning import Plan, Tuning

LASTING = 0.1
"""For how long an arm has to be at its goal at last, s."""


@dataclass(frozen=True, eq=False, repr=False)
class Execution(Result):
    """What became of a plan.

    Attributes:
        t: Times of the measurements (k,), s.
        q: Positions then (k, n), rad or m, without noise.
        v: Velocities (k, n), per s.
        arrival_time: From when on the arm stayed at the goal, s; NaN if it does not.
        returns: How often a new motion was needed.
        status: ``arrived``, ``missed`` or ``diverged``.
        reason: The same in a sentence.
    """

    t: Vector
    q: Matrix
    v: Matrix
    arrival_time: float
    returns: int
    status: str
    reason: str

    @property
    def success(self) -> bool:
        """Whether the arm is at its goal at last."""
        return self.status == "arrived"


def execute(
    plan: Plan,
    conditions: Conditions | None = None,
    tuning: Tuning | None = None,
    compiled: bool = True,
) -> Execution:
    """Execute a plan on an arm that differs from the plan's.

    The arm is measured every control period and answered by `PlanExecutor`, whose usual work is
    done in compiled code.

    Args:
        plan: From rest to rest; its robot is the arm as it is planned for.
        conditions: What differs.
        tuning: Of the feedback.
        compiled: Whether the loop is; else every measurement asks `PlanExecutor`.

    Raises:
        ManipDynError: If the arm has dry friction, or the plan ends with velocities.
    """
    about, robot = conditions or Conditions(), plan.robot
    if robot.rubs:
        raise ManipDynError(
            f"robot '{robot.name}' has dry friction; expected coulomb_friction of zeros for a "
            "closed loop that is swept"
        )
    if plan.vf is not None and np.any(plan.vf):
        raise ManipDynError("the plan ends with velocities; expected one to rest")
    closed = ClosedLoop(plan, about, tuning or Tuning())
    count = closed.go(compiled)
    states = closed.loop.states[: count + 1]
    t: Vector = about.control_period * np.arange(count + 1.0)
    q, v = states[:, : robot.n], states[:, robot.n :]
    arrival = _arrival(t, np.abs(q - plan.qf).max(axis=1), about.tolerance)
    returns = closed.executor.returns
    if count < closed.last:
        reason = f"the arm's state had no bounds at {t[-1]:.3f} s"
        return Execution(t, q, v, np.nan, returns, "diverged", reason)
    if t[-1] - arrival >= LASTING:
        reason = f"at the goal from {arrival:.3f} s on"
        return Execution(t, q, v, arrival, returns, "arrived", reason)
    off = float(np.abs(q[-1] - plan.qf).max())
    reason = f"{off:.3g} from the goal after {t[-1]:.3f} s, or not there for {LASTING:g} s"
    return Execution(t, q, v, np.nan, returns, "missed", reason)


def _arrival(t: Vector, off: Vector, tolerance: float) -> float:
    away = np.flatnonzero(~(off <= tolerance))
    return float(t[0] if away.size == 0 else t[min(away[-1] + 1, len(t) - 1)])
