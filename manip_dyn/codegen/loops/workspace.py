"""What the loops over a robot's joints know of its bodies, in the caller's memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from manip_dyn.codegen.backend.straight_line import LANES
from manip_dyn.core.compiled import compiled, inlined


class Workspace(NamedTuple):
    """What is known of the bodies in a state; all is seen from the base.

    Rows of `width` joints are filled up with zeros. "Composite" is a body with all that it
    carries. u is the velocity of a particle of mass m at r.

    Attributes:
        rotation: Axes of the bodies, (n, 3, 3).
        origin: Origins of the bodies, (n, 3), m.
        velocity: Spatial velocities, (n, 6).
        acceleration: Spatial accelerations, less gravity, (n, 6).
        moment: First moments of the bodies alone, (n, 3).
        spread: Second moments sum(m r r^T) of the bodies alone, (n, 3, 3).
        force: Spatial forces on the composite bodies, moments first, (n, 6).
        composite_mass: (n,).
        composite_moment: (n, 3).
        composite_spread: (n, 3, 3).
        momentum: 2 sum(m u) of the composite bodies, (n, 3).
        flow: 2 sum(m u r^T) of the composite bodies, (n, 3, 3).
        axis: Motions of the joints at unit velocity, (6, width).
        rate: First rates of the axes as their parents carry them, (6, width).
        second_rate: Second rates, (6, width).
        weight: Forces that unit accelerations of the joints take, (6, width).
        by_position: Forces on the ancestors per change of position, (6, width).
        by_velocity: Forces on the ancestors per change of velocity, (6, width).
        turned: Efforts of the joint per angular motion of its ancestors, (n, 3).
        factor: M, then D L, lower triangles, (n, width).
        lower: -L below the diagonal, 1 / D on it, (n, width).
        sides: Derivatives by q and by v, and the identity, side by side, (n, 3 n filled up).
        inner: Part of a row of the derivatives due to the joint's ancestors, (width,).
        outer: Part due to the joint itself and what it carries, (width,).
        effort: Of the joints, (n,).
        joint_acceleration: Zero at first, (n,).
    """

    rotation: Any
    origin: Any
    velocity: Any
    acceleration: Any
    moment: Any
    spread: Any
    force: Any
    composite_mass: Any
    composite_moment: Any
    composite_spread: Any
    momentum: Any
    flow: Any
    axis: Any
    rate: Any
    second_rate: Any
    weight: Any
    by_position: Any
    by_velocity: Any
    turned: Any
    factor: Any
    lower: Any
    sides: Any
    inner: Any
    outer: Any
    effort: Any
    joint_acceleration: Any


@compiled(merge=True)
def row_width(n):
    """Return the length of a row of n numbers that is filled up to whole vectors."""
    return (n + LANES - 1) // LANES * LANES


@compiled(merge=True)
def workspace_size(n):
    """Return the numbers that `workspace` needs for n joints."""
    return 72 * n + (38 + 2 * n) * row_width(n) + n * row_width(3 * n)


@inlined(counted=False)
def clear(n, memory):
    """Set what begins with zeros, in an array of `workspace_size` numbers."""
    rows = memory[72 * n :]
    rows[: 38 * row_width(n)] = 0.0
    memory[71 * n : 72 * n] = 0.0


@inlined(counted=False)
def matrices_in(n, memory):
    """Return what kernels read of the workspace for n joints: `factor`, `lower` and `sides`."""
    width, wide = row_width(n), row_width(3 * n)
    matrices = memory[72 * n + 38 * width :]
    factor = matrices[: n * width].reshape((n, width))
    lower = matrices[n * width : 2 * n * width].reshape((n, width))
    sides = matrices[2 * n * width : 2 * n * width + n * wide].reshape((n, wide))
    return factor, lower, sides


@inlined(counted=False)
def workspace(n, memory):
    """Return the workspace for n joints in this memory."""
    width = row_width(n)
    rows = memory[72 * n :]
    factor, lower, sides = matrices_in(n, memory)
    return Workspace(
        rotation=memory[: 9 * n].reshape((n, 3, 3)),
        origin=memory[9 * n : 12 * n].reshape((n, 3)),
        velocity=memory[12 * n : 18 * n].reshape((n, 6)),
        acceleration=memory[18 * n : 24 * n].reshape((n, 6)),
        moment=memory[24 * n : 27 * n].reshape((n, 3)),
        spread=memory[27 * n : 36 * n].reshape((n, 3, 3)),
        force=memory[36 * n : 42 * n].reshape((n, 6)),
        composite_mass=memory[42 * n : 43 * n],
        composite_moment=memory[43 * n : 46 * n].reshape((n, 3)),
        composite_spread=memory[46 * n : 55 * n].reshape((n, 3, 3)),
        momentum=memory[55 * n : 58 * n].reshape((n, 3)),
        flow=memory[58 * n : 67 * n].reshape((n, 3, 3)),
        turned=memory[67 * n : 70 * n].reshape((n, 3)),
        effort=memory[70 * n : 71 * n],
        joint_acceleration=memory[71 * n : 72 * n],
        axis=rows[: 6 * width].reshape((6, width)),
        rate=rows[6 * width : 12 * width].reshape((6, width)),
        second_rate=rows[12 * width : 18 * width].reshape((6, width)),
        weight=rows[18 * width : 24 * width].reshape((6, width)),
        by_position=rows[24 * width : 30 * width].reshape((6, width)),
        by_velocity=rows[30 * width : 36 * width].reshape((6, width)),
        inner=rows[36 * width : 37 * width],
        outer=rows[37 * width : 38 * width],
        factor=factor,
        lower=lower,
        sides=sides,
    )
