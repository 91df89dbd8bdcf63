"""Objects of a scene, collision shapes of a robot and the closest pair, as drawable data."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from manip_dyn.collision import (
    Box,
    Capsule,
    Cylinder,
    HalfSpace,
    Mesh,
    PostureCheck,
    Scene,
    Sphere,
    collision_model,
)
from manip_dyn.collision.model import CoalObjects, Geometry, placed
from manip_dyn.collision.motion_check import sentence
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.viewer.drawing import Drawing
from manip_dyn.viewer.scene import Closest, Colour, Figure, Part, Poses

OBJECT: Colour = (115, 153, 191)
SHAPE: Colour = (236, 120, 40)
CLEAR, TOUCHING = (26, 160, 60), (230, 25, 25)
OBJECT_OPACITY, PLANE_OPACITY, SHAPE_OPACITY = 0.7, 0.3, 0.45
PLANE = 4.0
"""Side of the square that represents a half-space, m."""
THICKNESS = 0.002
"""Thickness of this square, m."""
ABOVE = 0.04
"""Height of the text above the line between the closest points, m."""


def shape_parts(
    geometry: Geometry, colour: Colour = OBJECT, opacity: float = OBJECT_OPACITY
) -> Iterator[Part]:
    """Yield the drawable shapes of a collision shape without its padding.

    A capsule consists of three shapes. A half-space is a square below its boundary.
    """
    shape, at, turn = geometry.shape, geometry.translation, geometry.rotation

    def part(kind: str, size: Any, position: Vector = at, **content: Any) -> Part:
        length = np.asarray(size, dtype=float)
        return Part(geometry.body, kind, position, turn, length, colour, opacity, **content)

    if isinstance(shape, Sphere):
        yield part("sphere", [2.0 * shape.radius] * 3)
    elif isinstance(shape, Box):
        yield part("box", shape.size)
    elif isinstance(shape, HalfSpace):
        square = part("box", [PLANE, PLANE, THICKNESS], at - 0.5 * THICKNESS * turn[:, 2])
        yield square._replace(opacity=min(opacity, PLANE_OPACITY))
    elif isinstance(shape, Mesh):
        yield part("mesh", np.ones(3), triangles=(shape.vertices, shape.triangles))
    elif isinstance(shape, (Cylinder, Capsule)):
        width = 2.0 * shape.radius
        yield part("cylinder", [width, width, shape.length])
        if isinstance(shape, Capsule):
            for side in (-0.5, 0.5):
                yield part("sphere", [width] * 3, at + side * shape.length * turn[:, 2])


def scene_figure(
    robot: Robot,
    scene: Scene,
    poses: Callable[[Vector], Poses],
    names: Collection[str] | None = None,
) -> Figure:
    """Return the objects of a scene as a figure with the coordinates of a robot.

    Args:
        robot: The robot to whose links objects may be attached.
        scene: The scene.
        poses: Function that returns the poses of the robot's bodies for joint positions (n,).
        names: Names of the objects. Default: all.

    Raises:
        ManipDynError: If an object is attached to an unknown link.
    """
    parts = [
        part
        for name, entry in scene.objects.items()
        if names is None or name in names
        for part in shape_parts(placed(robot, entry))
    ]
    return Figure("scene", tuple(parts), poses, reach=1.0)


def link_figure(robot: Robot, poses: Callable[[Vector], Poses]) -> Figure:
    """Return the collision shapes of the links of a robot as a figure; see `scene_figure`.

    Raises:
        ManipDynError: If a mesh is missing, or the robot has no collision shapes.
    """
    model = collision_model(robot)
    parts = [p for entry in model.geometries for p in shape_parts(entry, SHAPE, SHAPE_OPACITY)]
    if not parts:
        raise ManipDynError(f"robot '{robot.name}' must have collision shapes, got none.")
    return Figure("collision shapes", tuple(parts), poses, reach=1.0)


class ClosestPair:
    """Closest pair of a robot and a scene at postures.

    The pair is found in compiled code, and its nearest points by coal. If several pairs overlap,
    it is one of them. An object must not be used by several threads at the same time.
    """

    def __init__(self, robot: Robot, scene: Scene | None = None):
        """Collect the shapes of the robot and of the scene.

        Raises:
            ManipDynError: If an argument is invalid or a mesh is missing.
        """
        self._check = PostureCheck(robot, scene)
        self._objects = CoalObjects(collision_model(robot, scene))

    def __call__(self, q: Vector) -> Closest | None:
        """Return the closest pair at joint positions (n,), or None without pairs."""
        self._check.distance(q)
        pair = self._check.closest
        if pair == ("", ""):
            return None
        _, separation = self._objects.closest(q, [pair])
        points = np.array([separation.first, separation.second])
        return Closest(points, sentence(pair, separation.distance), separation.distance > 0.0)


class ClosestLine:
    """Line between the closest points with the names and the distance of the pair."""

    def __init__(self, server: Any, name: str):
        """Create the line, initially hidden, as the scene node `name`."""
        self._line = server.scene.add_line_segments(
            name,
            points=np.zeros((1, 2, 3), dtype=np.float32),
            colors=CLEAR,
            thickness=6.0,
            thickness_units="screen",
            visible=False,
        )
        self._label = server.scene.add_label(
            f"{name}/text", "", anchor="bottom-center", visible=False
        )

    def show(self, closest: Closest | None) -> None:
        """Show a pair, or hide the line."""
        self._line.visible = self._label.visible = closest is not None
        if closest is None:
            return
        self._line.points = closest.points[None].astype(np.float32)
        self._line.colors = np.full((1, 2, 3), CLEAR if closest.clear else TOUCHING, np.uint8)
        self._label.position = closest.points.mean(axis=0) + np.array([0.0, 0.0, ABOVE])
        if self._label.text != closest.text:
            self._label.text = closest.text


class CollisionLayers:
    """Obstacles, collision shapes and closest pair on a page, which move with a robot."""

    def __init__(self, server: Any, name: str, drawing: Drawing, figure: Figure, robot: Robot):
        """Create the layers without obstacles, below a scene node.

        Args:
            server: Server of the page.
            name: The scene node.
            drawing: Drawing of the robot.
            figure: Figure of the robot.
            robot: The robot.
        """
        self._server, self._name, self._poses = server, name, figure.poses
        self._robot, self._q = robot, np.zeros(0)
        self._lock = threading.RLock()
        self._obstacles: Drawing | None = None
        self._shapes: Drawing | None = None
        self._line = ClosestLine(server, f"{name}/closest")
        self._closest: Closest | None = None
        self._visible = False
        drawing.followers.append(self.move)

    def draw_obstacles(self, figure: Figure) -> None:
        """Draw the objects of a scene in place of the previous ones; see `scene_figure`."""
        with self._lock:
            name = f"{self._name}/obstacles"
            if self._obstacles is not None:
                self._server.scene.remove_by_name(name)
            self._obstacles = Drawing(self._server, name, figure)
            if self._q.size:
                self._obstacles.move(self._q)

    def move(self, q: Vector) -> None:
        """Update the layers for joint positions (n,)."""
        with self._lock:
            self._q = q
            for drawing in (self._obstacles, self._shapes):
                if drawing is not None:
                    drawing.move(q)

    def show_shapes(self, visible: bool) -> None:
        """Show or hide the collision shapes of the links.

        Raises:
            ManipDynError: If a mesh is missing, or the robot has no collision shapes.
        """
        with self._lock:
            if visible and self._shapes is None:
                figure = link_figure(self._robot, self._poses)
                self._shapes = Drawing(self._server, f"{self._name}/shapes", figure)
                self._shapes.move(self._q)
            if self._shapes is not None:
                self._shapes.node.visible = visible

    def show_closest(self, visible: bool) -> None:
        """Show or hide the closest pair."""
        with self._lock:
            self._visible = visible
            self.update(self._closest)

    def update(self, closest: Closest | None) -> None:
        """Update the closest pair."""
        with self._lock:
            self._closest = closest
            self._line.show(closest if self._visible else None)


class ComputedLayers(CollisionLayers):
    """Layers of a robot among the objects of a scene, with the closest pair at each posture."""

    def __init__(
        self, server: Any, name: str, drawing: Drawing, figure: Figure, robot: Robot, scene: Scene
    ):
        """Draw the objects of a scene; for the other arguments see `CollisionLayers`.

        Raises:
            ManipDynError: If an object is attached to an unknown link.
        """
        super().__init__(server, name, drawing, figure, robot)
        self._scene = scene
        self._pair: ClosestPair | None = None
        self.draw_obstacles(scene_figure(robot, scene, figure.poses))

    def move(self, q: Vector) -> None:
        """Update the layers and the closest pair for joint positions (n,)."""
        with self._lock:
            super().move(q)
            if self._visible and self._pair is not None:
                self.update(self._pair(q))

    def show_closest(self, visible: bool) -> None:
        """Show or hide the closest pair.

        Raises:
            ManipDynError: If a mesh is missing, or the scene does not suit the robot.
        """
        with self._lock:
            if visible and self._pair is None:
                self._pair = ClosestPair(self._robot, self._scene)
            super().show_closest(visible)
            self.move(self._q)


class CollisionControls:
    """Checkboxes for the collision shapes and the closest pair."""

    def __init__(self, server: Any, layers: Sequence[CollisionLayers], closest: bool):
        """Add the checkboxes to the page.

        Args:
            server: Server of the page.
            layers: Layers of the robots.
            closest: Whether the closest pair is shown at the start.
        """
        self._layers = layers
        gui = server.gui
        shapes = gui.add_checkbox("collision shapes", False)
        pair = gui.add_checkbox("closest pair", closest)
        self._message = gui.add_markdown("")
        shapes.on_update(lambda _: self._show("show_shapes", shapes))
        pair.on_update(lambda _: self._show("show_closest", pair))
        if closest:
            self._show("show_closest", pair)

    def _show(self, layer: str, box: Any) -> None:
        """Show or hide a layer of all robots. An error is displayed and clears the box."""
        try:
            for layers in self._layers:
                getattr(layers, layer)(box.value)
        except ManipDynError as error:
            box.value = False
            self._message.content = str(error)
