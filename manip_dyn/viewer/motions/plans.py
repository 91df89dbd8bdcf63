"""A plan as a motion: its switches, its arcs at limits, the work on its links."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from manip_dyn.planning import Plan
from manip_dyn.viewer.motions.robot import unlimited, view_motion
from manip_dyn.viewer.scene import Figure, Mark, Motion

SAMPLES = 400
"""Samples of a plan beside those at its switches."""


def plan_motion(plan: Plan, title: str = "", figure: Figure | None = None) -> Motion:
    """Return a plan as a motion: switches and boundary arcs marked, work on each link."""
    end = max(plan.t_final, 1e-3)
    switches = [t for times in plan.switch_times for t in times]
    jumps = np.unique([*switches, *plan.arrival_times, end])
    regular = np.linspace(0.0, end, SAMPLES)
    t = np.unique([*regular, *jumps, *np.nextafter(jumps, 0.0)])
    t = t[t >= 0.0]
    found = plan.work_curves
    work = np.column_stack([np.interp(t, found.time, column) for column in found.work.T])
    links = tuple(f"link of {name}" for name in plan.joint_names)
    return view_motion(
        plan.robot,
        t,
        *plan.at(t),
        title or f"{plan.method.replace('_', ' ')}: {plan.t_final:.4g} s",
        more=(unlimited("work on each link [J]", links, work),),
        marks=[*plan_marks(plan)],
        figure=figure,
    )


def plan_marks(plan: Plan) -> list[Mark]:
    """Return switches, arcs at limits and arrivals of a plan."""
    names, found = plan.joint_names, []
    for joint, times in enumerate(plan.switch_times):
        found += [Mark(t, t, f"{names[joint]} switches", joint) for t in times]
    arcs = [] if plan.switching is None else plan.switching.arcs()
    for joint, name in enumerate(names):
        for kind, text in (
            ("is_boundary_arc_of_position", "at a limit of position"),
            ("is_boundary_arc_of_speed", "effort keeps a limit of speed"),
            ("is_singular", "singular arc"),
        ):
            spans = [(a, b) for a, b, does in arcs if getattr(does[joint], kind)]
            found += [Mark(*span, f"{name}: {text}", joint) for span in _joined(spans)]
    found += [Mark(t, t, f"{names[j]} arrives", j) for j, t in enumerate(plan.arrival_times) if t]
    return sorted(found, key=lambda mark: mark.begin)


def _joined(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return spans of time with those in one that touch."""
    if not spans:
        return []
    cuts = [k + 1 for k, (a, b) in enumerate(pairwise(spans)) if b[0] > a[1]]
    begins, ends = [0, *cuts], [*cuts, len(spans)]
    return [(spans[a][0], spans[b - 1][1]) for a, b in zip(begins, ends, strict=True)]
