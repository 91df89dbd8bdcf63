"""`manip_dyn bench mechanisms`: chains of rigid bodies at equal measured error, and Exudyn.

The chains have 25 to 400 bodies with revolute joints about alternating axes and swing for 0.5 s
from a horizontal position. Both candidates use redundant coordinates with constraints: manip_dyn
with the public call `simulate_mechanism` and its default method, Exudyn (if installed) with its
implicit trapezoidal rule (index 2), a modified Newton method and sparse matrices. The error is the
distance of the last body from its position with `rtol` 1e-10. The tolerance (by factors of 10) or
the step (by factors of 2) decreases until the error is below the target.

The rows are the chains and errors. They contain the steps and the CPU milliseconds of the calling
thread for the whole call, with one-off costs such as the check for stiffness. Takes about 120 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import manip_dyn as md
from manip_dyn.bench.peers import installed
from manip_dyn.bench.timing import documented
from manip_dyn.core.checks import Vector
from manip_dyn.multibody import Joint, Mechanism, MovingBody, simulate_mechanism

BODIES = (25, 50, 100, 200, 400)
TARGETS = (1e-4, 1e-6)
"""Errors, m."""
PACKAGES = ("manip_dyn", "numba", "exudyn")
CALL = "md.simulate_mechanism(mechanism, duration, rtol=rtol)"
DURATION, LINK, REFERENCE, REPEATS = 0.5, 0.2, 1e-10, 2
MASS, INERTIA, GRAVITY = 1.0, (0.01, 0.02, 0.02), (0.0, -5.0, -8.0)
AXES = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0))


class Row(NamedTuple):
    """CPU time of a candidate for a chain at an error.

    Attributes:
        bodies: Number of bodies.
        candidate: Name of the candidate.
        target: Error that the candidate stays below, m.
        error: Measured error, m.
        steps: Number of steps.
        milliseconds: Shortest CPU time of the call, ms.
        call: Documented call of a candidate of this package.
    """

    bodies: int
    candidate: str
    target: float
    error: float
    steps: int
    milliseconds: float
    call: str = ""


class Run(NamedTuple):
    """Final position (3,) of the last body, m, number of steps, and CPU time, ms."""

    position: Vector
    steps: int
    milliseconds: float


def table(rows: Sequence[Row]) -> str:
    """Return a table with one line per chain, candidate and error."""
    lines = [
        f"Chains of bodies, {DURATION:g} s. Growth: exponent of the time per step relative to the "
        "previous chain.",
        f"{'bodies':>6} {'candidate':<34}{'error, m':>10}{'steps':>7}{'CPU ms':>9}{'ms/step':>9}"
        f"{'growth':>8}",
    ]
    last: dict[tuple[str, float], tuple[int, float]] = {}
    for row in rows:
        step, key, growth = row.milliseconds / row.steps, (row.candidate, row.target), ""
        if key in last:
            bodies, before = last[key]
            growth = f"{np.log(step / before) / np.log(row.bodies / bodies):.2f}"
        last[key] = row.bodies, step
        lines.append(
            f"{row.bodies:>6} {row.candidate:<34}{row.error:>10.1e}{row.steps:>7}"
            f"{row.milliseconds:>9.1f}{step:>9.2f}{growth:>8}"
        )
    return "\n".join(lines)


def measure(sizes: Sequence[int] = BODIES) -> list[Row]:
    """Time the candidates for chains with these numbers of bodies."""
    simulate_mechanism(chain(sizes[0]), 0.01)  # compiles
    return [row for bodies in sizes for row in _rows(bodies)]


def chain(bodies: int) -> Mechanism:
    """Create a horizontal chain of bodies with revolute joints."""
    names = ["ground", *(f"body {k}" for k in range(bodies))]
    return Mechanism(
        [
            MovingBody(name, MASS, INERTIA, (LINK * (k + 0.5), 0.0, 0.0))
            for k, name in enumerate(names[1:])
        ],
        [
            Joint("revolute", (names[k], names[k + 1]), (LINK * k, 0.0, 0.0), AXES[k % 2])
            for k in range(bodies)
        ],
        gravity=GRAVITY,
    )


def _rows(bodies: int) -> Iterator[Row]:
    mechanism = chain(bodies)

    def ours(exponent: int) -> Run:
        return _our_run(mechanism, 10.0**-exponent)

    exact = _our_run(mechanism, REFERENCE).position
    candidates: list[tuple[str, Callable[[int], Run]]] = [("manip_dyn", ours)]
    if installed("exudyn"):
        candidates.append(
            ("exudyn, trapezoidal rule, sparse", lambda k: _exudyn_run(bodies, 25 * 2**k))
        )
    for name, run in candidates:
        for target in TARGETS:
            for level in range(2, 14):
                result = run(level)
                error = float(np.linalg.norm(result.position - exact))
                if error < target:  # other load on the machine only increases a time
                    again = [run(level).milliseconds for _ in range(REPEATS)]
                    least = min(result.milliseconds, *again)
                    call = CALL if name == "manip_dyn" else ""
                    yield Row(bodies, name, target, error, result.steps, least, call)
                    break


def _our_run(mechanism: Mechanism, rtol: float) -> Run:
    """Simulate a mechanism with the public call."""
    names = {"md": md, "mechanism": mechanism, "duration": DURATION, "rtol": rtol}
    simulate = documented(CALL, names)
    began = time.thread_time()
    motion: Any = simulate()
    elapsed = time.thread_time() - began
    return Run(motion.q[-1, -7:-4], motion.statistics.steps, 1e3 * elapsed)


def _exudyn_run(bodies: int, steps: int) -> Run:
    import exudyn
    from exudyn.utilities import RigidBodyInertia

    system = exudyn.SystemContainer().AddSystem()
    body = system.CreateGround()
    for k in range(bodies):
        before, inertia = body, RigidBodyInertia(mass=MASS, inertiaTensor=np.diag(INERTIA))
        body = system.CreateRigidBody(
            referencePosition=[LINK * (k + 0.5), 0.0, 0.0], inertia=inertia, gravity=[*GRAVITY]
        )
        system.CreateRevoluteJoint(
            bodyNumbers=[before, body],
            position=[LINK * k, 0.0, 0.0],
            axis=[*AXES[k % 2]],
            useGlobalFrame=True,
        )
    system.Assemble()
    settings: Any = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = DURATION
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.writeSolutionToFile = False
    settings.linearSolver.solverType = exudyn.LinearSolverType.EigenSparse
    began = time.thread_time()
    system.SolveDynamic(settings, solverType=exudyn.DynamicSolverType.TrapezoidalIndex2)
    elapsed = time.thread_time() - began
    position = system.GetObjectOutputBody(
        body, exudyn.OutputVariableType.Position, localPosition=[0.0, 0.0, 0.0]
    )
    return Run(np.array(position), steps, 1e3 * elapsed)
