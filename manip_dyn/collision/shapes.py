"""Shapes of collision geometry, and their convex pieces.

A convex piece is a *core* with a *radius*: the set of all points within the radius of the core.
The core is the convex hull of points, a cylinder, or a half-space. Padding enlarges the radius.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import coal
import numpy as np
from numpy.typing import ArrayLike
from pinocchio.rpy import matrixToRpy, rpyToMatrix

from manip_dyn.collision.meshes import (
    Surface,
    Triangles,
    coal_hull,
    coal_surface,
    convex_hulls,
    excess_of_hulls,
    read_mesh,
)
from manip_dyn.core.checks import Matrix, Vector, finite_array, positive, truth, whole_number
from manip_dyn.core.errors import ManipDynError

POINTS, CYLINDER, HALF_SPACE = 0, 1, 2
"""Kinds of cores."""
MOST_TRIANGLES = 20_000
"""Largest number of triangles of a mesh that is not replaced with its convex hull."""


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

    def __eq__(self, other: object) -> bool:
        """Return whether `other` is a box of the same size."""
        return isinstance(other, Box) and bool((self.size == other.size).all())

    def __hash__(self) -> int:
        """Return the hash of the size."""
        return hash(tuple(self.size.tolist()))

    def pieces(self) -> list[Piece]:
        """Return the convex pieces of the shape."""
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        return [Piece(POINTS, 0.5 * signs * self.size, 0.0)]

    def coal_shapes(self) -> list[Any]:
        """Return the shape as coal geometries."""
        return [coal.Box(*self.size)]


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

    def coal_shapes(self) -> list[Any]:
        """Return the shape as coal geometries."""
        return [coal.Sphere(self.radius)]


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

    def coal_shapes(self) -> list[Any]:
        """Return the shape as coal geometries."""
        return [coal.Cylinder(self.radius, self.length)]


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

    def coal_shapes(self) -> list[Any]:
        """Return the shape as coal geometries."""
        return [coal.Capsule(self.radius, self.length)]


@dataclass(frozen=True)
class HalfSpace:
    """All points with z below 0 in the frame of the shape."""

    def pieces(self) -> list[Piece]:
        """Return the convex pieces of the shape."""
        return [Piece(HALF_SPACE, np.zeros((1, 3)), 0.0)]

    def coal_shapes(self) -> list[Any]:
        """Return the shape as coal geometries."""
        return [coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)]


@dataclass(frozen=True)
class Mesh:
    """A mesh of triangles from a file (STL, DAE, OBJ).

    Attributes:
        file: Path of the file.
        scale: Factor for the coordinates, or factors (3,) for each axis.
        convex: Whether the mesh is replaced with convex hulls that cover it and the solid inside
            it. Otherwise it is the surface of its triangles, and a body inside it does not touch
            it.
        hulls: Largest number of convex hulls. With 1, the mesh is replaced with its convex hull.
            More hulls exclude more of the space between the arms of a fork or in a bin.
        factors: Factors (3,) for each axis.
        has_surface: Whether the file has at most `MOST_TRIANGLES` triangles, so that `convex` may
            be False.
    """

    file: str
    scale: float | tuple[float, float, float] = 1.0
    convex: bool = False
    hulls: int = 1
    factors: tuple[float, ...] = field(init=False, repr=False)
    has_surface: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the scale and read the file."""
        scale = np.broadcast_to(self.scale, 3) if np.ndim(self.scale) == 0 else self.scale
        factors = finite_array("scale of a mesh", scale, (3,))
        if not factors.all():
            raise ManipDynError(f"scale of a mesh must not be 0, got {self.scale}.")
        object.__setattr__(self, "factors", tuple(factors.tolist()))
        truth("convex of a mesh", self.convex)
        object.__setattr__(self, "hulls", whole_number("hulls of a mesh", self.hulls, 1))
        if self.hulls > 1 and not self.convex:
            raise ManipDynError(f"hulls of a mesh must be 1 without convex, got {self.hulls}.")
        count = len(read_mesh(self.file, self.factors).triangles)
        object.__setattr__(self, "has_surface", count <= MOST_TRIANGLES)
        if not self.convex and not self.has_surface:
            raise ManipDynError(
                f"mesh '{self.file}' must have at most {MOST_TRIANGLES} triangles, got {count}. "
                "Simplify it, or replace it with its convex hull by convex=True."
            )

    @property
    def vertices(self) -> Matrix:
        """Vertices (m, 3) of the mesh or of its convex hulls, m."""
        return np.concatenate([surface.vertices for surface in self._surfaces])

    @property
    def triangles(self) -> Triangles:
        """Indices of the vertices (k, 3) of the triangles."""
        begin = np.cumsum([0, *(len(surface.vertices) for surface in self._surfaces)])
        return np.concatenate(
            [s.triangles + k for s, k in zip(self._surfaces, begin, strict=False)]
        )

    @property
    def _surfaces(self) -> tuple[Surface, ...]:
        if self.convex:
            return convex_hulls(self.file, self.factors, self.hulls)
        return (read_mesh(self.file, self.factors),)

    def pieces(self) -> list[Piece]:
        """Return the convex pieces: the hulls or the triangles."""
        if self.convex:
            return [Piece(POINTS, hull.vertices, 0.0) for hull in self._surfaces]
        return [Piece(POINTS, self.vertices[corners], 0.0) for corners in self.triangles]

    def coal_shapes(self) -> list[Any]:
        """Return the hulls, or the surface, as coal geometries."""
        return [(coal_hull if self.convex else coal_surface)(s) for s in self._surfaces]

    def excess(self) -> float:
        """Return an upper bound (m) of how far the convex hulls extend beyond the mesh.

        This is the largest distance from a point of the hulls to the mesh and the solid inside it,
        0 if `convex` is False. It is found to 2 % of the diagonal of the bounding box.
        """
        return excess_of_hulls(self.file, self.factors, self.hulls) if self.convex else 0.0


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
        shape = replace(shape, convex=True, hulls=1)
    (solid,) = shape.coal_shapes()
    inertia = np.array(solid.computeMomentofInertiaRelatedToCOM()) / solid.computeVolume()
    return np.array(solid.computeCOM()).ravel(), inertia


def rotation_from_rpy(rpy: ArrayLike) -> Matrix:
    """Return the rotation matrix (3, 3) of roll, pitch and yaw (3,), rad, as in URDF."""
    return np.array(rpyToMatrix(np.array(rpy, dtype=np.float64)), order="C")


def rpy_from_rotation(rotation: Matrix) -> Vector:
    """Return roll, pitch and yaw (3,), rad, of a rotation matrix (3, 3), as in URDF.

    If the pitch is ± pi/2, only the sum or the difference of roll and yaw is determined.
    """
    return np.array(matrixToRpy(rotation))


def _axis(length: float) -> Matrix:
    return np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]])
