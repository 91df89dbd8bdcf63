"""Boundary arcs and contact points, detected in SLP solutions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.planning.minimum_time.extremals.controls import Control, Kind, boundary_control
from manip_dyn.planning.minimum_time.extremals.structure import BANG, BoundaryArc
from manip_dyn.planning.minimum_time.grids.slp_iteration import SlpSolution
from manip_dyn.robot import Robot

PRESSED = 1e-3
"""Fraction of the largest multiplier above which a limit is active."""
GAP = 3
"""Active states with fewer cells between them belong to one arc."""
AT_LIMIT = 2e-3
"""Distance from a limit, relative to the largest value of the motion, below which it is
reached."""
REST = 2
"""Minimum number of cells of a boundary arc of position; shorter arcs are contact points."""


def boundary_arcs_of(
    robot: Robot,
    solution: SlpSolution,
    brief: Kind = Kind.CONTACT_POSITION,
    margin: int | None = None,
) -> list[BoundaryArc]:
    """Return the boundary arcs of a solution; `brief` is the kind of short position arcs.

    A joint is held at its speed limit by its own effort or, if this effort is full, by another
    effort that is not. With `margin`, cells around the arc count as well. Without it only the
    joint's own effort is considered.
    """
    arcs, n = [], solution.controls.shape[1]
    limits = {
        1.0: np.concatenate([robot.q_max, robot.v_max]),
        -1.0: np.concatenate([robot.q_min, -robot.v_max]),
    }
    sizes = np.maximum(np.abs(solution.states).max(axis=0), 1e-30)

    def at_limit(component: int, side: float) -> np.ndarray:
        away = np.abs(solution.states[:, component] - limits[side][component])
        return away < AT_LIMIT * sizes[component]

    for component in range(2 * n):
        pressure = solution.pressure[:, component]
        least = PRESSED * max(np.abs(pressure).max(), 1e-9)
        for side in (1.0, -1.0):
            pressed = np.flatnonzero(side * pressure > least)
            if not pressed.size:
                continue
            for first, last in _groups(pressed, at_limit(component, side)):
                joint = component % n
                kind = Kind.POSITION if last - first >= REST else brief
                if component < n:
                    arcs.append(BoundaryArc(joint, first, last, Control(kind, side)))
                elif margin is None:
                    arcs.append(
                        BoundaryArc(joint, first, last, boundary_control(joint, joint, side, side))
                    )
                else:
                    arcs += _shared(robot, solution, joint, side, first, last, margin)
    return arcs


def _shared(
    robot: Robot,
    solution: SlpSolution,
    joint: int,
    side: float,
    first: int,
    last: int,
    margin: int,
) -> list[BoundaryArc]:
    """Return the efforts that hold a joint at its speed limit, in sequence."""
    n, mass_matrix = robot.n, customize(robot).unchecked.mass_matrix
    cells = range(max(first - margin, 0), min(last + margin, len(solution.controls)))
    holders: list[int] = []
    for cell in cells:
        inside = [k for k in range(n) if abs(solution.controls[cell, k]) < BANG]
        holders.append(joint if joint in inside else inside[0] if inside else -1)
    arcs: list[BoundaryArc] = []
    for cell, holder in zip(cells, _filled(holders, joint), strict=True):
        if arcs and arcs[-1].joint == holder:
            arcs[-1] = arcs[-1]._replace(last=cell + 1)
            continue
        middle = 0.5 * (solution.states[cell, :n] + solution.states[cell + 1, :n])
        gain = np.linalg.inv(mass_matrix(middle))[joint, holder]
        kind = boundary_control(holder, joint, side, side * float(np.sign(gain)))
        arcs.append(BoundaryArc(holder, cell, cell + 1, kind))
    return arcs


def _filled(holders: list[int], own: int) -> list[int]:
    """Return the holding efforts of all cells; unknown ones (-1) repeat the previous cell."""
    known_holders = [holder for holder in holders if holder >= 0]
    latest, filled = known_holders[0] if known_holders else own, []
    for holder in holders:
        latest = holder if holder >= 0 else latest
        filled.append(latest)
    return filled


def _groups(nodes: np.ndarray, at_limit: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield the first and last of nodes that are close together or at the limit in between."""
    first = latest = -1
    for node in nodes.tolist():
        if first >= 0 and node - latest > GAP and not at_limit[latest:node].all():
            yield first, latest
            first = node
        first, latest = (node if first < 0 else first), node
    if first >= 0:
        yield first, latest
