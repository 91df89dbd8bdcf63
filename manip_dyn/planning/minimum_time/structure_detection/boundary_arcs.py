"""Where joints are at limits of position or speed, read off SLP solutions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.planning.minimum_time.extremals.controls import Control, Kind, boundary_control
from manip_dyn.planning.minimum_time.extremals.structure import BANG, BoundaryArc
from manip_dyn.planning.minimum_time.grids.slp_iteration import SlpSolution
from manip_dyn.robot import Robot

PRESSED = 1e-3
"""Share of the largest multiplier above which a limit counts."""
GAP = 3
"""Pressed states with less than as many cells between them belong together."""
AT_LIMIT = 2e-3
"""Distance from a limit, over the largest value on the way, below which a state is at it."""
REST = 2
"""Cells that a boundary arc of position takes at least, else it is a contact point."""


def boundary_arcs_of(
    robot: Robot,
    solution: SlpSolution,
    brief: Kind = Kind.CONTACT_POSITION,
    beside: int | None = None,
) -> list[BoundaryArc]:
    """Return where the limits of a solution matter; what `brief` ones of position are.

    A joint is kept at its limit of speed by its own effort, or, where that is full and another
    one is not, by that one. With `beside` cells around the arc count too; with None only its
    own effort does.
    """
    found, n = [], solution.controls.shape[1]
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
                    found.append(BoundaryArc(joint, first, last, Control(kind, side)))
                elif beside is None:
                    found.append(
                        BoundaryArc(joint, first, last, boundary_control(joint, joint, side, side))
                    )
                else:
                    found += _shared(robot, solution, joint, side, first, last, beside)
    return found


def _shared(
    robot: Robot,
    solution: SlpSolution,
    joint: int,
    side: float,
    first: int,
    last: int,
    beside: int,
) -> list[BoundaryArc]:
    """Return by which efforts a joint is kept at its limit of speed, one after the other."""
    n, mass_matrix = robot.n, customize(robot).unchecked.mass_matrix
    cells = range(max(first - beside, 0), min(last + beside, len(solution.controls)))
    keepers: list[int] = []
    for cell in cells:
        inside = [k for k in range(n) if abs(solution.controls[cell, k]) < BANG]
        keepers.append(joint if joint in inside else inside[0] if inside else -1)
    found: list[BoundaryArc] = []
    for cell, keeper in zip(cells, _filled(keepers, joint), strict=True):
        if found and found[-1].joint == keeper:
            found[-1] = found[-1]._replace(last=cell + 1)
            continue
        middle = 0.5 * (solution.states[cell, :n] + solution.states[cell + 1, :n])
        gain = np.linalg.inv(mass_matrix(middle))[joint, keeper]
        kind = boundary_control(keeper, joint, side, side * float(np.sign(gain)))
        found.append(BoundaryArc(keeper, cell, cell + 1, kind))
    return found


def _filled(keepers: list[int], own: int) -> list[int]:
    """Return the efforts of all cells, where none (-1) is known that of the cell before."""
    known = [each for each in keepers if each >= 0]
    latest, filled = known[0] if known else own, []
    for each in keepers:
        latest = each if each >= 0 else latest
        filled.append(latest)
    return filled


def _groups(nodes: np.ndarray, at_limit: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of nodes that are near each other, or at the limit between."""
    first = latest = -1
    for node in nodes.tolist():
        if first >= 0 and node - latest > GAP and not at_limit[latest:node].all():
            yield first, latest
            first = node
        first, latest = (node if first < 0 else first), node
    if first >= 0:
        yield first, latest
