"""`simulate_mechanism`: from a mechanism to its motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manip_dyn.core.checks import Matrix, Vector, positive
from manip_dyn.core.result import Result
from manip_dyn.integration import Status, StepControl
from manip_dyn.multibody.model.mechanism import Mechanism
from manip_dyn.multibody.simulation import MechanismSimulation


@dataclass(frozen=True, eq=False, repr=False)
class MechanismMotion(Result):
    """A motion of k samples.

    Attributes:
        t: Times of the steps (k,), s.
        q: Coordinates (k, N): position and Euler parameters of each body, m.
        v: Their rates (k, N).
        status: How it ended; EVENT in a position that it cannot leave.
        reason: The same in one sentence.
        steps: Steps that passed.
        failures: Steps that were tried again.
        evaluations: Evaluations of the accelerations.
        partitions: How many partitions were used.
        violation: Largest violation of a constraint over all samples, redundant ones included.
        redundant: The constraints that were left out last because they follow from the others,
            by name.
    """

    t: Vector
    q: Matrix
    v: Matrix
    status: Status
    reason: str
    steps: int
    failures: int
    evaluations: int
    partitions: int
    violation: float
    redundant: tuple[str, ...] = ()

    @property
    def success(self) -> bool:
        """Whether the whole duration was simulated."""
        return self.status is Status.SUCCESS


def simulate_mechanism(
    mechanism: Mechanism,
    duration: float,
    *,
    method: str = "rosenbrock_nystrom",
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    control: StepControl | None = None,
) -> MechanismMotion:
    """Simulate a mechanism from its assembly on.

    Args:
        mechanism: What moves.
        duration: s.
        method: Name in `md.METHODS`; those of Rosenbrock for stiff mechanisms.
        rtol: Relative tolerance of the independent coordinates and velocities. Default: 1e-6
            without a step.
        atol: Absolute tolerance, m and per s. Default: as much as rtol.
        step: Fixed step, s, instead.
        control: How steps are chosen.
    """
    positive("duration", duration, "s")
    simulation = MechanismSimulation(
        mechanism, method=method, rtol=rtol, atol=atol, step=step, control=control
    )
    parts = simulation.advance_to(duration)
    rows = [slice(None), *([slice(1, None)] * (len(parts) - 1))]
    t, q, v = (
        np.concatenate([part[k][row] for part, row in zip(parts, rows, strict=True)])
        for k in range(3)
    )
    return MechanismMotion(
        t=t,
        q=q,
        v=v,
        status=simulation.status,
        reason=simulation.reason or f"t = {duration:.9g} s was reached",
        violation=simulation.violation,
        redundant=simulation.redundant,
        **simulation.statistics,
    )
