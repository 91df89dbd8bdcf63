"""Comparison of the thesis's PD backup with return motions, for a wrong model and for a push.

Section 6.3.2, figures 6.3 and 6.5: PD control is activated if the zero-net-work controller does
not bring the arm to its goal. The thesis does not print the model error and the size of the push.
The settings contain chosen values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from manip_dyn.planning import PdBackup, Plan, PlanExecutor, Tuning
from manip_dyn.robot import Robot
from manip_dyn.simulation import Disturbance, Schedule, Simulation
from manip_dyn.studies.fan2003.settings import Gains
from manip_dyn.studies.report.claims import Claim, Evidence

RETURN = Tuning(replan="new_motion", observer_bandwidth=0.0)
"""Tuning with which an arm without PD backup moves straight to the goal."""
PERIOD, LONGEST = 2e-3, 12.0
"""Control period and duration of a run, s."""
AFTER, LASTING = 0.2, 0.2
"""Time from the arrival to the push, and duration of the push, s."""
AT_REST = 1e-3
"""Largest final distance from the goal that counts as an arrival, rad."""


class BackupRow(NamedTuple):
    """Result of a disturbed execution.

    Attributes:
        case: Number of the table.
        disturbed: Description of the disturbance.
        controller: Controller that acts after the plan has missed the goal.
        planned: Final time of the plan, s.
        settled: Time after which all joints stay within the distance `near` of `backup_rows` from
            the goal, s, or None if they do not.
        left: Final distance from the goal, rad.
        status: ``arrived`` or ``did not arrive``.
    """

    case: str
    disturbed: str
    controller: str
    planned: float
    settled: float | None
    left: float
    status: str


def backup_rows(
    case: str, plan: Plan, heavier: Robot, gains: Gains, near: float, push: float
) -> Iterable[BackupRow]:
    """Yield the results of a plan with a heavier arm and with a push at the goal.

    Both disturbed executions are performed with each of the two controllers.

    Args:
        case: Number of the table.
        plan: The plan to execute. Its robot is the model of the controllers.
        heavier: The same arm with another load.
        gains: Gains of PD control.
        near: Distance from the goal within which the arm has arrived, rad.
        push: Push as a fraction of the effort limits.
    """
    begin = round(1e9 * (plan.t_final + AFTER))
    pushed = Disturbance(push * plan.robot.tau_max, begin, begin + round(1e9 * LASTING))
    for words, arm, disturbance in (
        ("load", heavier, None),
        ("push at the goal", plan.robot, pushed),
    ):
        for name, backup in (
            ("return motions (ours)", None),
            ("PD (the thesis's)", PdBackup(gains.kp, gains.kd)),
        ):
            settled, left = _executed(plan, arm, disturbance, backup, near)
            status = "arrived" if left <= AT_REST else "did not arrive"
            yield BackupRow(case, words, name, plan.t_final, settled, left, status)


def backup_claim(rows: Iterable[BackupRow]) -> Claim:
    """Return the claim that PD control brings the arm to its goal."""
    cases = [
        Evidence(f"{row.case}, {row.disturbed}", row.left, row.left <= AT_REST)
        for row in rows
        if row.controller.startswith("PD")
    ]
    measure = f"distance from the goal after {LONGEST:g} s, rad; at most {AT_REST:g}"
    return Claim("backup", measure, tuple(cases))


def _executed(
    plan: Plan,
    arm: Robot,
    disturbance: Disturbance | None,
    backup: PdBackup | None,
    near: float,
) -> tuple[float | None, float]:
    """Return the time (s) after which the arm stays near its goal, or None, and the distance.

    The distance is the largest final distance of a joint from its goal, rad or m.
    """
    simulation = Simulation(arm, plan.q0, np.zeros(arm.n))
    if disturbance is not None:
        simulation.disturbance = disturbance
    executor, period = (
        PlanExecutor(plan.robot, plan, PERIOD, RETURN, backup=backup),
        round(1e9 * PERIOD),
    )
    settled: float | None = None
    while simulation.time_ns < LONGEST * 1e9:
        now = simulation.time_ns
        segments = executor.segments(now * 1e-9, simulation.q, simulation.v)
        times = [now + round(segment.offset * 1e9) for segment in segments]
        simulation.law = Schedule(arm, times, [segment.effort for segment in segments])
        simulation.advance(period)
        if np.abs(simulation.q - plan.qf).max() > near:
            settled = None
        elif settled is None:
            settled = simulation.time_ns * 1e-9
    return settled, float(np.abs(simulation.q - plan.qf).max())
