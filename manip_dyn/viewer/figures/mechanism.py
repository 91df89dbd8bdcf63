"""A mechanism as a figure: the boxes, wheels and springs of `multibody.model.shapes`."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.multibody import Mechanism
from manip_dyn.multibody.model.geometry import Shape, body_poses, lines, shapes
from manip_dyn.viewer.scene import Colour, Figure, Part, Poses, Rod

COLOURS: dict[str, Colour] = {
    "box": (140, 153, 128),
    "cylinder": (50, 50, 54),
    "spring": (226, 152, 30),
    "rod": (76, 128, 204),
}
OPACITY = {"box": 0.55}


def mechanism_figure(mechanism: Mechanism, name: str = "mechanism") -> Figure:
    """Return a mechanism, whose coordinates are those of its motion."""

    def poses(q: Vector) -> Poses:
        positions, turns = body_poses(mechanism, q)
        return Poses(positions, turns / np.linalg.norm(turns, axis=1, keepdims=True))

    places = poses(mechanism.q0).positions
    spread = np.ptp(places, axis=0).max() if len(places) > 1 else 0.0
    drawn = shapes(mechanism)
    return Figure(
        name=name,
        parts=tuple(_part(shape) for shape in drawn),
        poses=poses,
        reach=float(max(spread, *(shape.size.max() for shape in drawn))),
        rods=tuple(Rod(line.bodies, line.points, COLOURS[line.kind]) for line in lines(mechanism)),
    )


def _part(shape: Shape) -> Part:
    return Part(
        body=shape.body,
        kind=shape.kind,
        position=shape.position,
        rotation=shape.rotation,
        size=shape.size,
        colour=COLOURS[shape.kind],
        opacity=OPACITY.get(shape.kind, 1.0),
    )
