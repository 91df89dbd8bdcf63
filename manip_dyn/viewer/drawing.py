"""Drawing of figures, lines and the ground grid, and the initial camera of a page."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.viewer.meshes import Surface, surfaces_of
from manip_dyn.viewer.scene import GROUND, Colour, Figure, Part, Poses

PLAIN: Colour = (48, 70, 104)
"""Default colour of shapes."""
TINTED = 0.6
"""Fraction of the tint in a tinted colour."""
NEAR = 1e-7
"""Largest change of a position (m) or quaternion component that is not drawn."""


class Drawing:
    """A figure drawn on a page.

    Attributes:
        node: Scene node of the figure.
        notes: Mesh files that could not be drawn, one sentence each.
        followers: Functions that are called with the coordinates (N,) after each move.
    """

    def __init__(
        self,
        server: Any,
        name: str,
        figure: Figure,
        tint: Colour | None = None,
        opacity: float = 1.0,
    ):
        """Draw a figure below the scene node `name`, with an optional tint."""
        self._server, self._figure = server, figure
        self.node = server.scene.add_frame(name, show_axes=False)
        self._bodies: dict[int, Any] = {}
        self._drawn: Poses | None = None
        self.notes: list[str] = []
        self.followers: list[Callable[[Vector], None]] = []
        bodies = {part.body for part in figure.parts} - {GROUND}
        for body in sorted(bodies):
            self._bodies[body] = server.scene.add_frame(f"{name}/body{body}", show_axes=False)
        for number, part in enumerate(figure.parts):
            parent = name if part.body == GROUND else f"{name}/body{part.body}"
            try:
                draw(server, f"{parent}/part{number}", part, tint, opacity)
            except ManipDynError as error:  # the other shapes are drawn
                self.notes.append(str(error))
        self._rods = (
            server.scene.add_line_segments(
                f"{name}/rods",
                points=np.zeros((len(figure.rods), 2, 3), dtype=np.float32),
                colors=np.array([[rod.colour, rod.colour] for rod in figure.rods], dtype=np.uint8),
                thickness=4.0,
                thickness_units="screen",
            )
            if figure.rods
            else None
        )

    def move(self, coordinates: Vector) -> None:
        """Update the drawing for the coordinates (N,) of the figure."""
        now, before = self._figure.poses(coordinates), self._drawn
        self._drawn = now
        for body, node in self._bodies.items():
            position, quaternion = now.positions[body], now.quaternions[body]
            if before is None or np.abs(position - before.positions[body]).max() > NEAR:
                node.position = position
            if before is None or np.abs(quaternion - before.quaternions[body]).max() > NEAR:
                node.wxyz = quaternion
        if self._rods is not None:
            self._rods.points = self._ends(now).astype(np.float32)
        for follow in self.followers:
            follow(coordinates)

    def _ends(self, poses: Poses) -> Matrix:
        """Return the end points (r, 2, 3) of the rods in m."""
        ends = np.zeros((len(self._figure.rods), 2, 3))
        for k, rod in enumerate(self._figure.rods):
            for side, (body, point) in enumerate(zip(rod.bodies, rod.points, strict=True)):
                ends[k, side] = point if body == GROUND else _transformed(poses, body, point)
        return ends


def line(server: Any, name: str, points: Matrix, colour: Colour, width: float = 3.0) -> Any:
    """Draw a line through points (m, 3); return its node, or None for fewer than two points."""
    if len(points) < 2:
        return None
    segments = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)
    return server.scene.add_line_segments(
        name, points=segments, colors=colour, thickness=width, thickness_units="screen"
    )


def draw(server: Any, name: str, part: Part, tint: Colour | None, opacity: float) -> None:
    """Draw a shape of a figure as the scene node `name`.

    The materials of a mesh file override the colour of the shape, as in RViz.

    Raises:
        ManipDynError: If a mesh file cannot be read.
    """
    alpha = opacity * part.opacity
    pose = {"position": part.position, "wxyz": _quaternion(part.rotation)}
    common = {**pose, "opacity": None if alpha >= 1.0 else alpha}
    colour = _mixed(part.colour or PLAIN, tint)
    scene, size = server.scene, part.size
    if part.kind == "box":
        scene.add_box(name, color=colour, dimensions=tuple(size), **common)
    elif part.kind == "cylinder":
        wide = (1.0, float(size[1] / size[0]), 1.0)
        scene.add_cylinder(
            name, 0.5 * float(size[0]), float(size[2]), color=colour, scale=wide, **common
        )
    elif part.kind == "sphere":
        scene.add_icosphere(name, radius=0.5 * float(size[0]), color=colour, **common)
    else:
        for number, surface in enumerate(_surfaces(part)):
            node = f"{name}/surface{number}"
            if surface.textured is not None and tint is None and alpha >= 1.0:
                scene.add_mesh_trimesh(node, surface.textured, scale=tuple(size), **pose)
                continue
            colour = _mixed(surface.colour or part.colour or PLAIN, tint)
            mirrored = np.prod(size) < 0.0  # faces must stay counter-clockwise seen from outside
            faces = surface.faces[:, ::-1] if mirrored else surface.faces
            scene.add_mesh_simple(node, surface.vertices * size, faces, color=colour, **common)


def _surfaces(part: Part) -> tuple[Surface, ...]:
    if part.triangles is None:
        return surfaces_of(part.file)
    return (Surface(*part.triangles, None),)


def _mixed(colour: Colour, tint: Colour | None) -> Colour:
    if tint is None:
        return colour
    light = sum(colour) / (3.0 * 170.0)  # preserves brightness differences
    return tuple(
        round(min(TINTED * hue * min(light, 1.15) + (1.0 - TINTED) * channel, 255.0))
        for channel, hue in zip(colour, tint, strict=True)
    )  # type: ignore[return-value]


def _quaternion(rotation: Matrix) -> Vector:
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(rotation).as_quat()[[3, 0, 1, 2]]


def _transformed(poses: Poses, body: int, point: Vector) -> Vector:
    """Return points (3,) or (m, 3) of a body in the base frame, m."""
    w, *axis = poses.quaternions[body]
    across = 2.0 * np.cross(axis, point)
    return poses.positions[body] + point + w * across + np.cross(axis, across)


LIGHT = {"cell_color": (232, 234, 238), "section_color": (210, 214, 220)}
DARK = {"cell_color": (52, 56, 62), "section_color": (78, 84, 92)}


def ground(server: Any, reach: float, dark: bool) -> Any:
    """Draw the ground grid, with a cell size that suits the reach (m); return its node."""
    cell = 10.0 ** math.floor(math.log10(reach))
    cell = cell / 2.0 if reach / cell >= 3.0 else cell / 10.0 if reach / cell < 2.0 else cell / 5.0
    colours = DARK if dark else LIGHT
    return server.scene.add_grid(
        "/ground",
        infinite_grid=True,
        cell_size=cell,
        section_size=5.0 * cell,
        cell_thickness=0.6,
        section_thickness=0.8,
        fade_distance=9.0 * reach,
        shadow_opacity=0.18,
        **colours,
    )


def bounds_of(figure: Figure, rows: Matrix) -> Matrix:
    """Return the lower and upper corner (2, 3) of the shapes of a figure, m.

    Args:
        figure: The figure.
        rows: Coordinates (k, N). The corners are those of all k positions.
    """
    boxes = [(part.body, _corners(part)) for part in figure.parts]
    points = [np.zeros((1, 3))]
    for row in rows:
        poses = figure.poses(row)
        for body, corners in boxes:
            points += [corners if body == GROUND else _transformed(poses, body, corners)]
    stacked = np.concatenate(points)
    return np.stack([stacked.min(axis=0), stacked.max(axis=0)])


def _corners(part: Part) -> Matrix:
    """Return the corners (m, 3) of the bounding box of a shape in the frame of its body, m."""
    low, high = -0.5 * part.size, 0.5 * part.size
    if part.kind == "mesh":
        try:
            vertices = np.concatenate([surface.vertices for surface in _surfaces(part)])
        except ManipDynError:  # the drawing reports it
            return np.zeros((0, 3))
        low, high = vertices.min(axis=0) * part.size, vertices.max(axis=0) * part.size
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, 8).T
    return part.position + corners @ part.rotation.T


FIELD = 0.7
"""Vertical field of view, rad."""
FILLED = 0.9
"""Fraction of the height or width of the view that the figures fill."""
ASPECT = 1.3
"""Aspect ratio (width / height) of the initial view, before the size of the page is known."""
DIRECTION = np.array([0.88, 0.24, 0.41])
"""Direction from the figures to the camera."""
PHONE, HIDDEN = 576, 0.6
"""Page width (pixels) of phones, and fraction of their height that the controls cover."""


def look_at(server: Any, bounds: Matrix, width: float = 0.0) -> None:
    """Set the camera of all present and future clients so that the figures fill the view.

    Args:
        server: Server of the page.
        bounds: Lower and upper corner (2, 3) of the figures, m, see `bounds_of`.
        width: Largest distance of figures along y from the origin, m.
    """
    sides = np.array([[0.0, -width, 0.0], [0.0, width, 0.0]])
    corners = np.array(np.meshgrid(*(bounds + sides).T)).reshape(3, 8).T
    target, offset = _camera(corners, ASPECT)
    initial = server.initial_camera
    initial.position, initial.look_at, initial.fov = tuple(target + offset), tuple(target), FIELD

    def set_camera(client: Any) -> None:
        """Fit the view to the size of the page, and leave space for the controls on phones."""
        camera = client.camera
        middle, offset = _camera(corners, camera.image_width / max(camera.image_height, 1))
        if camera.image_width < PHONE:
            middle = middle - HIDDEN * np.tan(0.5 * FIELD) * _up(offset)
        camera.position, camera.look_at = middle + offset, middle

    for client in server.get_clients().values():
        set_camera(client)
    server.on_client_connect(set_camera)


def _camera(corners: Matrix, aspect: float) -> tuple[Vector, Vector]:
    """Return the camera target (3,) and the offset (3,) of the camera from the target in m.

    Args:
        corners: Points (k, 3) that the view contains, m.
        aspect: Aspect ratio of the view.
    """
    back = DIRECTION / np.linalg.norm(DIRECTION)
    right = np.cross([0.0, 0.0, 1.0], back) / np.hypot(back[0], back[1])
    axes = np.stack([right, np.cross(back, right)], axis=1)
    limits = FILLED * np.tan(0.5 * FIELD) * np.array([max(aspect, 0.1), 1.0])
    target, distance = corners.mean(axis=0), 0.1
    for _ in range(6):  # centres the perspective view
        sides, depth = (corners - target) @ axes, (corners - target) @ back
        distance = max(float((np.abs(sides) / limits + depth[:, None]).max()), 0.1)
        angles = sides / (distance - depth)[:, None]
        target = target + 0.5 * distance * axes @ (angles.max(axis=0) + angles.min(axis=0))
    return target, distance * back


def _up(offset: Vector) -> Vector:
    """Return the upward direction (3,) of the picture, scaled to the length of `offset` (3,)."""
    length = float(np.linalg.norm(offset))
    up = np.array([0.0, 0.0, 1.0]) - offset * offset[2] / length**2
    return up * length / float(np.linalg.norm(up))
