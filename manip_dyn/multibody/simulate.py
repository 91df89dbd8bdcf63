"""`simulate_mechanism`: from a mechanism to its motion, by coordinate partitioning.

Algorithm 1 of Sandu et al. (2001) with the Rosenbrock methods, their algorithm 2 with explicit
ones; a new partition whenever the condition number has grown by a quarter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from manip_dyn.errors import ManipDynError
from manip_dyn.integrate import METHODS, Events, Jacobian, Solution, Status, integrate
from manip_dyn.integrate.rosenbrock import Rosenbrock
from manip_dyn.multibody.compiled import tools
from manip_dyn.multibody.mechanism import Mechanism
from manip_dyn.multibody.partition import Partition, partition
from manip_dyn.multibody.state_space import linearized, rates, worn
from manip_dyn.multibody.tables import Tables
from manip_dyn.validate import Vector, positive

AT_ONCE = 1e9
"""Tolerance of the event that asks for a new partition: it need not be found in time."""


@dataclass(frozen=True)
class MechanismMotion:
    """A motion of k samples.

    Attributes:
        t: Times of the steps (k,), s.
        q: Coordinates (k, N): position and Euler parameters of each body, m.
        v: Their rates (k, N).
        success: Whether the whole duration was simulated.
        reason: One sentence.
        steps: Steps that passed.
        failures: Steps that were tried again.
        evaluations: Evaluations of the accelerations.
        partitions: How many partitions were used.
        violation: Largest violation of a constraint over all samples.
    """

    t: Vector
    q: Vector
    v: Vector
    success: bool
    reason: str
    steps: int
    failures: int
    evaluations: int
    partitions: int
    violation: float


def simulate_mechanism(
    mechanism: Mechanism,
    duration: float,
    *,
    method: str = "rosenbrock_nystrom",
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    **options: Any,
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
        **options: More arguments of `md.integrate`, such as ``estimate`` or ``max_step``.
    """
    if not isinstance(mechanism, Mechanism):
        raise ManipDynError(f"mechanism is {mechanism!r}; expected a Mechanism")
    positive("duration", duration, "s")
    if step is None:
        rtol = 1e-6 if rtol is None else rtol
        options |= {"rtol": rtol, "atol": rtol if atol is None else atol}
    else:
        options |= {"step": step}
    if isinstance(METHODS.get(method), Rosenbrock):
        options["jacobian"] = Jacobian(linearized, mechanism.freedoms, mass=True)
    return _moved(mechanism, duration, method, options)


def prepared(
    mechanism: Mechanism, q: Vector, v: Vector, roles: Partition
) -> tuple[Tables, Vector]:
    """Return tables and state y (2 n,) of a partition, with consistent velocities."""
    tables = mechanism.tables(q, roles)
    y = np.concatenate([q[roles.independent], v[roles.independent]])
    if not tools().begin(y, tables):
        raise ManipDynError("the mechanism cannot be assembled in its position")
    return tables, y


def _moved(mechanism: Mechanism, duration: float, method: str, options: dict) -> MechanismMotion:
    """Integrate from partition to partition."""
    t, roles = 0.0, mechanism.partition
    q, v = mechanism.q0, mechanism.v0
    parts: list[tuple[Vector, Vector, Vector]] = []
    worst = np.zeros(1)
    found: list[Solution] = []
    reason = ""
    while t < duration and not reason:
        tables, y = prepared(mechanism, q, v, roles)
        events = Events(worn, terminal=True, direction=1, tolerance=AT_ONCE)
        switches = [time for time in mechanism.switches if t < time < duration]
        solution = integrate(
            rates, (t, duration), y, method=method, p=tables, events=events,
            t_switch=switches or None, **options,
        )  # fmt: skip
        found.append(solution)
        parts.append(_expanded(mechanism, solution, tables, q, worst))
        t, q, v = solution.t_last, parts[-1][1][-1], parts[-1][2][-1]
        if solution.status is Status.EVENT:
            roles = partition(mechanism.gradients(q))
            if roles.redundant.size:
                reason = f"the mechanism is in a singular position at t = {t:.9g} s"
            if len(solution.t) > 2 and "rtol" in options:
                options["first_step"] = float(solution.t[-1] - solution.t[-2])
        elif not solution.success:
            reason = solution.reason
    rows = [slice(None), *([slice(1, None)] * (len(parts) - 1))]
    times, positions, velocities = (
        np.concatenate([part[k][row] for part, row in zip(parts, rows, strict=True)])
        for k in range(3)
    )
    return MechanismMotion(
        t=times,
        q=positions,
        v=velocities,
        success=not reason,
        reason=reason or f"t = {duration:.9g} s was reached",
        steps=sum(each.steps for each in found),
        failures=sum(each.failures for each in found),
        evaluations=sum(each.evaluations for each in found),
        partitions=len(parts),
        violation=float(worst[0]),
    )


def _expanded(
    mechanism: Mechanism, solution: Solution, tables: Tables, start: Vector, worst: Vector
) -> tuple[Vector, Vector, Vector]:
    """Return times, all coordinates and all velocities of a solution's samples."""
    size = mechanism.size
    q, v = np.empty((len(solution.t), size)), np.empty((len(solution.t), size))
    tables.flags[0] = 0
    tables.q[:size] = start
    done = tools().expand(solution.y, tables, q, v, worst)
    if done < len(q):
        raise ManipDynError(f"the mechanism cannot be assembled at t = {solution.t[done]:g} s")
    return solution.t, q, v
