"""Shapes of collision geometry, and their convex pieces.

A convex piece is a *core* with a *radius*: the set of all points within the radius of the core.
The core is the convex hull of points, a cylinder, or a half-space. Padding enlarges the radius.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import coal
import numpy as np
from numpy.typing import ArrayLike, NDArray

from manip_dyn.core.checks import Matrix, Vector, finite_array, positive, truth
from manip_dyn.core.errors import ManipDynError

POINTS, CYLINDER, HALF_SPACE = 0, 1, 2
"""Kinds of cores."""
MOST_TRIANGLES = 20_000
"""Largest number of triangles of a mesh that is not replaced with its convex hull."""
Triangles = NDArray[np.int64]


class Piece(NamedTuple):
    """A convex piece in the frame of its shape.

    Attributes:
        kind: ``POINTS``, ``CYLINDER`` or ``HALF_SPACE``.
        points: Corners of the core (k, 3), m. For a cylinder the centres (2, 3) of its bases, for
            a half-space a point of its boundary (1, 3).
        radius: Distance by which the core is enlarged, m.
        disc: Radius of the bases of a cylinder, m; otherwise 0.
    """

    kind: int
    points: Matrix
    radius: float
    disc: float = 0.0


@dataclass(frozen=True, eq=False)
class Box:
    """A box with its centre at the origin.

    Attributes:
        size: Lengths (3,) along x, y and z, m.
    """

    size: Vector

    def __init__(self, size: ArrayLike):
        """Check the lengths (3,), m."""
        lengths = finite_array("size of a box", size, (3,))
        if lengths.min() <= 0.0:
            raise ManipDynError(f"size of a box must be above 0 m, got {lengths.tolist()} m.")
        lengths.setflags(write=False)
        object.__setattr__(self, "size", lengths)

    def pieces(self) -> list[Piece]:
        """Return the convex pieces of the shape."""
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        return [Piece(POINTS, 0.5 * signs * self.size, 0.0)]

    def coal_shape(self) -> Any:
        """Return the shape as a coal geometry."""
        return coal.Box(*self.size)


@dataclass(frozen=True)
class Sphere:
    """A sphere with its centre at the origin and a radius in m."""

    radius: float

    def __post_init__(self) -> None:
        """Check the radius."""
        object.__setattr__(self, "radius", positive("radius of a sphere", self.radius, "m"))

    def pieces(self) -> list[Piece]:
        """Return the convex pieces of the shape."""
        return [Piece(POINTS, np.zeros((1, 3)), self.radius)]

    def coal_shape(self) -> Any:
        """Return the shape as a coal geometry."""
        return coal.Sphere(self.radius)


@dataclass(frozen=True)
class Cylinder:
    """A cylinder about the z axis with its centre at the origin; radius and length in m."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        """Check radius and length."""
        object.__setattr__(self, "radius", positive("radius of a cylinder", self.radius, "m"))
        object.__setattr__(self, "length", positive("length of a cylinder", self.length, "m"))

    def pieces(self) -> list[Piece]:
        """Return the convex pieces of the shape."""
        return [Piece(CYLINDER, _axis(self.length), 0.0, self.radius)]

    def coal_shape(self) -> Any:
        """Return the shape as a coal geometry."""
        return coal.Cylinder(self.radius, self.length)


@dataclass(frozen=True)
class Capsule:
    """All points within a radius of a segment of the z axis, which is centred at the origin.

    Attributes:
        radius: Radius, m.
        length: Length of the segment, m, without the hemispheres.
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        """Check radius and length."""
        object.__setattr__(self, "radius", positive("radius of a capsule", self.radius, "m"))
        object.__setattr__(self, "length", positive("length of a capsule", self.length, "m"))

    def pieces(self) -> list[Piece]:
        """Return the convex pieces of the shape."""
        return [Piece(POINTS, _axis(self.length), self.radius)]

    def coal_shape(self) -> Any:
        """Return the shape as a coal geometry."""
        return coal.Capsule(self.radius, self.length)


@dataclass(frozen=True)
class HalfSpace:
    """All points with z below 0 in the frame of the shape."""

    def pieces(self) -> list[Piece]:
        """Return the convex pieces of the shape."""
        return [Piece(HALF_SPACE, np.zeros((1, 3)), 0.0)]

    def coal_shape(self) -> Any:
        """Return the shape as a coal geometry."""
        return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)


@dataclass(frozen=True)
class Mesh:
    """A mesh of triangles from a file (STL, DAE, OBJ).

    Attributes:
        file: Path of the file.
        scale: Factor for the coordinates, or factors (3,) for each axis.
        convex: Whether the mesh is replaced with its convex hull. Otherwise it is the surface of
            its triangles, and a body inside it does not touch it.
    """

    file: str
    scale: float | tuple[float, float, float] = 1.0
    convex: bool = False
    factors: tuple[float, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the scale and read the file."""
        scale = np.broadcast_to(self.scale, 3) if np.ndim(self.scale) == 0 else self.scale
        factors = finite_array("scale of a mesh", scale, (3,))
        if not factors.all():
            raise ManipDynError(f"scale of a mesh must not be 0, got {self.scale}.")
        object.__setattr__(self, "factors", tuple(factors.tolist()))
        truth("convex of a mesh", self.convex)
        count = len(self.triangles)
        if not self.convex and count > MOST_TRIANGLES:
            raise ManipDynError(
                f"mesh '{self.file}' must have at most {MOST_TRIANGLES} triangles, got {count}. "
                "Simplify it, or replace it with its convex hull by convex=True."
            )

    @property
    def vertices(self) -> Matrix:
        """Vertices (m, 3) of the mesh or of its convex hull, m."""
        return self._content[0]

    @property
    def triangles(self) -> Triangles:
        """Indices of the vertices (k, 3) of the triangles."""
        return self._content[1]

    @property
    def _content(self) -> tuple[Matrix, Triangles]:
        read = _hull if self.convex else read_mesh
        return read(self.file, self.factors)

    def pieces(self) -> list[Piece]:
        """Return the convex pieces: the hull or the triangles."""
        if self.convex:
            return [Piece(POINTS, self.vertices, 0.0)]
        return [Piece(POINTS, self.vertices[corners], 0.0) for corners in self.triangles]

    def coal_shape(self) -> Any:
        """Return the shape as a coal geometry: a surface for hulls that coal rejects."""
        points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        points.extend(list(self.vertices))
        triangles.extend([coal.Triangle(*map(int, corners)) for corners in self.triangles])
        if self.convex:
            with suppress(RuntimeError):  # coal rejects vertices with more than 255 neighbours
                return coal.Convex(points, triangles)
        model = coal.BVHModelOBBRSS()
        model.beginModel(len(triangles), len(points))
        model.addSubModel(points, triangles)
        model.endModel()
        return model

    def excess(self) -> float:
        """Return an upper bound (m) of how far the convex hull extends beyond the mesh.

        This is the largest distance from a point of the hull's surface to the mesh, 0 if `convex`
        is False. The distance is evaluated at the centres of subdivided faces of the hull. The
        distance from a centre to the corners of its face is added for the points in between.
        """
        return _excess(self.file, self.factors) if self.convex else 0.0


Shape = Box | Sphere | Cylinder | Capsule | HalfSpace | Mesh


def checked_shape(name: str, shape: object) -> Shape:
    """Return `shape` after checking its type."""
    if not isinstance(shape, (Box, Sphere, Cylinder, Capsule, HalfSpace, Mesh)):
        raise ManipDynError(
            f"{name} must be a Box, Sphere, Cylinder, Capsule, HalfSpace or Mesh, got {shape!r}."
        )
    return shape


def centre_and_inertia(shape: Shape) -> tuple[Vector, Matrix]:
    """Return the centre of mass (3,), m, and the inertia about it (3, 3) of 1 kg, kg m^2.

    The density is uniform. Meshes are replaced with their convex hulls.
    """
    if isinstance(shape, Mesh):
        shape = replace(shape, convex=True)
    solid = shape.coal_shape()
    inertia = np.array(solid.computeMomentofInertiaRelatedToCOM()) / solid.computeVolume()
    return np.array(solid.computeCOM()).ravel(), inertia


def rotation_from_rpy(rpy: ArrayLike) -> Matrix:
    """Return the rotation matrix (3, 3) of roll, pitch and yaw (3,), rad, as in URDF."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(rpy), np.cos(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


@lru_cache(maxsize=256)
def read_mesh(file: str, factors: tuple[float, ...]) -> tuple[Matrix, Triangles]:
    """Return the vertices (m, 3), m, and triangles (k, 3) of a mesh file.

    Raises:
        ManipDynError: If the file cannot be read or has no triangles.
    """
    if not Path(file).is_file():
        raise ManipDynError(f"mesh must be a readable file, got '{file}': no such file.")
    try:
        model = coal.MeshLoader().load(file, np.array(factors))
        vertices = np.array(model.vertices(), dtype=np.float64)
        triangles = [[t[0], t[1], t[2]] for t in map(model.tri_indices, range(model.num_tris))]
    except Exception as error:  # coal reports errors of assimp by several types
        raise ManipDynError(f"mesh '{file}' cannot be read: {error}.") from error
    if not triangles or not np.isfinite(vertices).all():
        raise ManipDynError(f"mesh '{file}' must have triangles with finite vertices, got none.")
    return vertices, np.array(triangles, dtype=np.int64)


@lru_cache(maxsize=256)
def _hull(file: str, factors: tuple[float, ...]) -> tuple[Matrix, Triangles]:
    """Return vertices and outward triangles of the convex hull of a mesh."""
    from scipy.spatial import ConvexHull, QhullError

    vertices, _ = read_mesh(file, factors)
    try:
        hull = ConvexHull(vertices)
    except QhullError as error:
        raise ManipDynError(
            f"mesh '{file}' must have a volume for a convex hull, got {len(vertices)} vertices in "
            "a plane."
        ) from error
    index = np.full(len(vertices), -1)
    index[hull.vertices] = np.arange(len(hull.vertices))
    corners = vertices[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0.0
    triangles = index[hull.simplices]
    triangles[inward] = triangles[inward][:, ::-1]
    return vertices[hull.vertices], triangles


@lru_cache(maxsize=256)
def _excess(file: str, factors: tuple[float, ...]) -> float:
    vertices, triangles = _hull(file, factors)
    shape = Mesh(file, factors).coal_shape()  # type: ignore[arg-type]
    corners = vertices[triangles]
    for _ in range(2):  # each triangle is divided into four
        middles = 0.5 * (corners + np.roll(corners, -1, axis=1))
        a, b, c = (
            np.stack([corners[:, i], middles[:, i], middles[:, i - 1]], 1) for i in range(3)
        )
        corners = np.concatenate([a, b, c, middles])
    centres = corners.mean(axis=1)
    widths = np.linalg.norm(corners - centres[:, None], axis=2).max(axis=1)
    point, request = coal.Sphere(1e-9), coal.DistanceRequest()
    bounds = []
    for centre, width in zip(centres, widths, strict=True):
        result, place = coal.DistanceResult(), coal.Transform3s(np.eye(3), centre)
        distance = coal.distance(point, place, shape, coal.Transform3s(), request, result)
        bounds.append(max(distance, 0.0) + 1e-9 + width)
    return float(max(bounds))


def _axis(length: float) -> Matrix:
    return np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]])
