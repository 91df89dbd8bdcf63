"""A plan, and its certificate, of a motion that was refined on grids."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.certificate import Convergence, GridSearchSummary
from manip_dyn.planning.plan import Plan
from manip_dyn.planning.transcription.costates import costates_of
from manip_dyn.planning.transcription.solved import Refined
from manip_dyn.planning.transcription.spline import Ends, Spline
from manip_dyn.planning.transcription.spline_motion import SplineMotion
from manip_dyn.robot import Robot

NOT_FASTER = "motions near it are not faster by more than"
GROWTH = 3.0
"""From one grid to the next the cells are four times as many: the rest of an error that falls
with their number is a third of the difference."""


def refined_plan(
    robot: Robot,
    ends: Ends,
    hold: Vector,
    method: str,
    found: Refined,
    searched: GridSearchSummary,
) -> Plan:
    """Return a refined motion as a plan, with the numbers for how nearly it is fastest.

    Args:
        robot: The arm.
        ends: Its states at start and goal.
        hold: Efforts (n,) that keep it at the goal, N m or N.
        method: Who made the plan.
        found: The motion.
        searched: What was searched before.
    """
    proof = _certificate(robot, found, searched)
    motion, t_final = SplineMotion(robot, found, proof), found.spline.duration
    status = "converged"
    reason = f"{NOT_FASTER} {proof.gap:.2g} s"
    if not proof.holds:
        status, reason = "uncertified", f"it arrives, but {'; '.join(proof.failures)}"
    return Plan(
        robot,
        ends.q0,
        ends.qf,
        t_final,
        motion.switches,
        [t_final] * robot.n,
        motion,
        hold,
        method,
        status,
        reason,
        certificate=proof,
        extremal=motion,
        v0=ends.v0,
        vf=ends.vf,
    )


def _certificate(robot: Robot, found: Refined, searched: GridSearchSummary) -> Convergence:
    along, solved, t_final = costates_of(robot, found.solved), found.solved, found.spline.duration
    on_grid = found.durations[-1]
    barrier = on_grid * (solved.weight * solved.limits + abs(solved.promised))
    grid = max(found.durations[-2] - on_grid, 0.0) / GROWTH
    return Convergence(
        gap=t_final - on_grid + barrier + grid,
        t_final=t_final,
        kkt=abs(solved.promised),
        hamiltonian=float(np.sqrt(np.mean(along.hamiltonians**2))),
        load=found.load,
        durations=tuple(found.durations),
        cells=solved.spline.cells,
        times=along.times * (t_final / solved.spline.duration),
        costates=along.costates,
        switching=along.switching,
        hamiltonians=along.hamiltonians,
        passed=_passed(robot, found.spline),
        searched=searched,
    )


def _passed(robot: Robot, spline: Spline) -> str:
    """Return which limit of position or speed a motion passes, or nothing."""
    q, v, _ = spline.joints(np.linspace(0.0, spline.duration, 4 * spline.cells + 1))
    for i, joint in enumerate(robot.joint_names):
        speed = float(np.abs(v[:, i]).max())
        if speed > robot.v_max[i] * (1.0 + 1e-9):
            return f"joint '{joint}' reaches {speed:.6g} {robot.unit(i)}/s"
        for value in (float(q[:, i].min()), float(q[:, i].max())):
            if not robot.q_min[i] - 1e-9 <= value <= robot.q_max[i] + 1e-9:
                return f"joint '{joint}' passes {value:.6g} {robot.unit(i)}"
    return ""
