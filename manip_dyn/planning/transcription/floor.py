"""The straight path in its fastest timing is a floor: no refined plan is slower."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from manip_dyn.planning.certificate import Convergence
from manip_dyn.planning.plan import Plan


def not_slower(plan: Plan, straight: Plan, again: Callable[[], Plan | None]) -> Plan:
    """Return a plan, or what is faster: one refined from the straight path, or that path.

    Args:
        plan: The plan.
        straight: The straight path in its fastest timing.
        again: Refines the straight path, if it can be; called only where the plan is slower.
    """
    if plan.t_final <= straight.t_final:
        return plan
    other = again()
    if other is not None:
        plan = min(plan, other, key=lambda each: each.t_final)
    proof = plan.certificate
    if plan.t_final <= straight.t_final or not isinstance(proof, Convergence):
        return plan
    gap = max(proof.gap - (plan.t_final - straight.t_final), 0.0)
    proof = replace(proof, gap=gap, t_final=straight.t_final)
    status, reason = (
        "converged",
        f"the straight path; motions near it are not faster by {gap:.2g} s",
    )
    if not proof.holds:
        status, reason = "uncertified", f"it arrives, but {'; '.join(proof.failures)}"
    return replace(straight, method=plan.method, status=status, reason=reason, certificate=proof)
