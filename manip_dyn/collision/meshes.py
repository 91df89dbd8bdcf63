"""Meshes: files, convex hulls, and decompositions into convex hulls.

A decomposition divides the solid that a mesh encloses with boxes. The convex hull of the solid in
a box is that of the surface in the box and of the corners of the box inside the solid: an extreme
point inside the solid is an extreme point of the box. So the hulls cover surface and solid.
"""

from __future__ import annotations

import hashlib
import math
from contextlib import suppress
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import coal
import numpy as np
from numpy.typing import NDArray

from manip_dyn.core.atomic_files import write_checked
from manip_dyn.core.cache import cache_directory, is_trusted, read_trusted
from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.core.errors import ManipDynError

CUTS = (0.25, 0.5, 0.75)
"""Fractions of the edges of a box at which it may be divided."""
LEAST_GAIN = 0.002
"""Smallest reduction of the hulls' volume by a division, as a fraction of the first hull's."""
LEAST_FLATNESS = 1e-6
"""Smallest volume of a hull, as a fraction of that of its bounding box."""
INSIDE = 0.1
"""Absolute winding number above which a corner of a box counts as inside the solid.

It is 1 inside and 0 outside of a closed mesh, and between for a mesh with holes (Jacobson, Kavan,
Sorkine-Hornung 2013). Additional corners enlarge hulls but never invalidate them.
"""
RESOLUTION = 0.02
"""Resolution of the excess of hulls, as a fraction of the diagonal of the bounding box."""

Triangles = NDArray[np.int64]


class Surface(NamedTuple):
    """Vertices (m, 3), m, and indices of the vertices (k, 3) of the triangles of a surface."""

    vertices: Matrix
    triangles: Triangles


@lru_cache(maxsize=256)
def read_mesh(file: str, factors: tuple[float, ...]) -> Surface:
    """Return the surface in a mesh file with its coordinates multiplied by factors (3,).

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
        raise ManipDynError(f"mesh '{file}' must be a readable STL, DAE or OBJ file.") from error
    if not triangles or not np.isfinite(vertices).all():
        raise ManipDynError(f"mesh '{file}' must have triangles with finite vertices, got none.")
    return Surface(vertices, np.array(triangles, dtype=np.int64))


@lru_cache(maxsize=256)
def convex_hulls(file: str, factors: tuple[float, ...], count: int) -> tuple[Surface, ...]:
    """Return at most `count` convex hulls that cover a mesh and the solid inside it.

    Several hulls are stored in the cache folder.

    Raises:
        ManipDynError: If the file cannot be read, or if all vertices are in a plane.
    """
    surface = read_mesh(file, factors)
    hull = _qhull(surface.vertices)
    if hull is None:
        raise ManipDynError(
            f"mesh '{file}' must have a volume for a convex hull, got {len(surface.vertices)} "
            "vertices in a plane."
        )
    whole = _surface_of(hull)
    if count == 1:
        return (whole,)
    inputs = repr((surface.vertices.tolist(), surface.triangles.tolist(), count)).encode()
    digest = hashlib.sha256(inputs + Path(__file__).read_bytes()).hexdigest()[:24]
    path = cache_directory() / f"hulls_{digest}.npz"
    stored = read_trusted(path)
    if stored is not None:
        saved = np.load(BytesIO(stored))
        arrays = [saved[f"arr_{k}"] for k in range(len(saved.files))]
        return tuple(map(Surface, arrays[::2], arrays[1::2]))
    hulls = _hulls_of_parts(surface, count) or (whole,)
    np.savez(content := BytesIO(), *(array for hull in hulls for array in hull))
    if is_trusted(path):
        with suppress(OSError):  # other problems of the cache folder are reported by the compiler
            write_checked(path, content.getvalue())
    return hulls


def _hulls_of_parts(surface: Surface, count: int) -> tuple[Surface, ...]:
    """Return the hulls of at most `count` parts; none if the first part has no volume."""
    low, high = surface.vertices.min(axis=0), surface.vertices.max(axis=0)
    solid = _Solid(surface)
    first = _part(solid, surface.vertices[surface.triangles], low, high)
    parts = [] if first is None else [first]
    divisions = [_best_division(solid, part) for part in parts]
    least = LEAST_GAIN * sum(part.volume for part in parts)
    while parts and len(parts) < count:
        k = int(np.argmax([gain for gain, _ in divisions]))
        if divisions[k][0] < least:
            break
        halves = divisions[k][1]
        parts[k : k + 1] = halves
        divisions[k : k + 1] = [_best_division(solid, half) for half in halves]
    return tuple(_surface_of(part.hull) for part in parts)


class _Solid:
    """The solid inside a surface, with the results for points that were evaluated before."""

    def __init__(self, surface: Surface):
        self._surface = surface
        self._contains = dict[tuple[float, ...], bool]()

    def contains(self, points: Matrix) -> NDArray[np.bool_]:
        """Return whether points (k, 3) are inside, (k,)."""
        keys = list(map(tuple, points.tolist()))
        for key in keys:
            if key not in self._contains:
                (number,) = winding_numbers(self._surface, np.array([key]))
                self._contains[key] = abs(number) > INSIDE
        return np.array([self._contains[key] for key in keys])


class _Part(NamedTuple):
    """Part of a solid in a box: clipped triangles (k, 3, 3), and scipy's convex hull."""

    corners: Tensor
    low: Vector
    high: Vector
    hull: Any
    volume: float


def _part(solid: _Solid, corners: Tensor, low: Vector, high: Vector) -> _Part | None:
    """Return the part of a solid in a box, or None if it has no volume."""
    box = np.stack(np.meshgrid(*zip(low, high, strict=True), indexing="ij"), -1).reshape(-1, 3)
    inside = box[solid.contains(box)]
    points = np.concatenate([corners.reshape(-1, 3), inside])
    hull = _qhull(points)
    if hull is None or hull.volume < LEAST_FLATNESS * np.prod(np.ptp(points, axis=0)):
        return None
    return _Part(corners, low, high, hull, hull.volume)


def _best_division(solid: _Solid, part: _Part) -> tuple[float, list[_Part]]:
    """Return the division of a part that reduces the hulls' volume most, with the reduction."""
    best, halves = 0.0, list[_Part]()
    for axis in range(3):
        for fraction in CUTS:
            at = part.low[axis] + fraction * (part.high[axis] - part.low[axis])
            high, low = part.high.copy(), part.low.copy()
            high[axis] = low[axis] = at
            below, above = clipped(part.corners, axis, at), clipped(-part.corners, axis, -at)
            first = _part(solid, below, part.low, high)
            second = _part(solid, -above, low, part.high)
            if first is None or second is None:
                continue
            gain = part.volume - first.volume - second.volume
            if gain > best:
                best, halves = gain, [first, second]
    return best, halves


def clipped(corners: Tensor, axis: int, at: float) -> Tensor:
    """Return the triangles (m, 3, 3) that form the part of triangles (k, 3, 3) up to a plane.

    Args:
        corners: Corners of the triangles.
        axis: Axis of the plane.
        at: Coordinate of the plane. The part with smaller coordinates is returned.
    """
    below = corners[:, :, axis] <= at
    result = [corners[below.all(axis=1)]]
    for count in (1, 2):
        chosen = below.sum(axis=1) == count
        single = (below[chosen] if count == 1 else ~below[chosen]).argmax(axis=1)
        order = (single[:, None] + np.arange(3)) % 3  # the single corner comes first
        a, b, c = np.take_along_axis(corners[chosen], order[:, :, None], axis=1).swapaxes(0, 1)
        ab, ac = _crossing(a, b, axis, at), _crossing(a, c, axis, at)
        if count == 1:
            result.append(np.stack([a, ab, ac], axis=1))
        else:
            result += [np.stack([ab, b, c], axis=1), np.stack([ab, c, ac], axis=1)]
    return np.concatenate(result)


def _crossing(first: Matrix, second: Matrix, axis: int, at: float) -> Matrix:
    fraction = (at - first[:, axis]) / (second[:, axis] - first[:, axis])
    points = first + fraction[:, None] * (second - first)
    points[:, axis] = at
    return points


def winding_numbers(surface: Surface, points: Matrix) -> Vector:
    """Return how often a surface encloses points (k, 3): 1 inside and 0 outside of a solid.

    The solid angles of the triangles are added (van Oosterom, Strackee 1983). The result is not
    defined for points of the surface.
    """
    result, work = np.empty(len(points)), np.empty((len(surface.vertices), 4))
    _write_winding_numbers(surface.vertices, surface.triangles, points, work, result)
    return result


@compiled(counted=False)
def _write_winding_numbers(
    vertices: Matrix, triangles: Triangles, points: Matrix, work: Matrix, result: Vector
) -> None:
    """Write the winding numbers of points (k, 3) to result (k,); work (m, 4) is overwritten."""
    for k in range(len(points)):
        for i in range(len(vertices)):
            x = vertices[i, 0] - points[k, 0]
            y = vertices[i, 1] - points[k, 1]
            z = vertices[i, 2] - points[k, 2]
            work[i, 0], work[i, 1], work[i, 2] = x, y, z
            work[i, 3] = math.sqrt(x * x + y * y + z * z)
        total = 0.0
        for t in range(len(triangles)):
            a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
            ax, ay, az, la = work[a, 0], work[a, 1], work[a, 2], work[a, 3]
            bx, by, bz, lb = work[b, 0], work[b, 1], work[b, 2], work[b, 3]
            cx, cy, cz, lc = work[c, 0], work[c, 1], work[c, 2], work[c, 3]
            volume = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
            divisor = la * lb * lc + (ax * bx + ay * by + az * bz) * lc
            divisor += (bx * cx + by * cy + bz * cz) * la + (cx * ax + cy * ay + cz * az) * lb
            total += math.atan2(volume, divisor)
        result[k] = total / (2.0 * math.pi)


def _qhull(points: Matrix) -> Any:
    """Return scipy's convex hull of points (m, 3), or None if they have no volume."""
    from scipy.spatial import ConvexHull, QhullError  # slow to load, and few uses need hulls

    try:
        return ConvexHull(points)
    except (QhullError, ValueError):
        return None


def _surface_of(hull: Any) -> Surface:
    """Return vertices and outward triangles of a convex hull of scipy."""
    points = hull.points
    index = np.full(len(points), -1)
    index[hull.vertices] = np.arange(len(hull.vertices))
    corners = points[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0.0
    triangles = index[hull.simplices]
    triangles[inward] = triangles[inward][:, ::-1]
    return Surface(points[hull.vertices], triangles)


@lru_cache(maxsize=256)
def excess_of_hulls(file: str, factors: tuple[float, ...], count: int) -> float:
    """Return an upper bound (m) of how far `convex_hulls` extend beyond a mesh.

    This is the largest distance from a point of a hull to the mesh or the solid inside it. The
    distance at the centre of a face, plus that from the centre to the corners of the face, is a
    bound for the face. Faces are divided until the bound is within `RESOLUTION` of the largest
    distance found.
    """
    surface, hulls = read_mesh(file, factors), convex_hulls(file, factors, count)
    tolerance = RESOLUTION * float(np.linalg.norm(np.ptp(surface.vertices, axis=0)))
    corners = np.concatenate([hull.vertices[hull.triangles] for hull in hulls])
    shape, largest = coal_surface(surface), 0.0
    point, request = coal.Sphere(1e-9), coal.DistanceRequest()
    while len(corners):
        centres = corners.mean(axis=1)
        widths = np.linalg.norm(corners - centres[:, None], axis=2).max(axis=1)
        distances = np.empty(len(centres))
        for k, centre in enumerate(centres):
            result, place = coal.DistanceResult(), coal.Transform3s(np.eye(3), centre)
            distance = coal.distance(point, place, shape, coal.Transform3s(), request, result)
            distances[k] = max(distance, 0.0) + 1e-9
        open_faces = distances + widths > largest + tolerance
        corners, centres, widths, distances = (
            array[open_faces] for array in (corners, centres, widths, distances)
        )
        if count > 1:  # faces of a single hull are never inside the solid
            far = np.flatnonzero(distances > largest)
            inside = np.abs(winding_numbers(surface, centres[far])) > 0.5
            distances[far[inside]] *= -1.0  # the ball around the centre is inside, too
        largest = max(largest, float(distances.max(initial=0.0)))
        corners = _divided(corners[distances + widths > largest + tolerance])
    return largest + tolerance


def _divided(corners: Tensor) -> Tensor:
    """Divide each of the triangles (k, 3, 3) into four."""
    middles = 0.5 * (corners + np.roll(corners, -1, axis=1))
    a, b, c = (np.stack([corners[:, i], middles[:, i], middles[:, i - 1]], 1) for i in range(3))
    return np.concatenate([a, b, c, middles])


def coal_surface(surface: Surface) -> Any:
    """Return a surface as a coal geometry."""
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(surface.triangles), len(surface.vertices))
    model.addSubModel(*_coal_arrays(surface))
    model.endModel()
    return model


def coal_hull(surface: Surface) -> Any:
    """Return a convex hull as a coal geometry: a surface for hulls that coal rejects."""
    try:
        return coal.Convex(*_coal_arrays(surface))
    except RuntimeError:  # coal rejects vertices with more than 255 neighbours
        return coal_surface(surface)


def _coal_arrays(surface: Surface) -> tuple[Any, Any]:
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    points.extend(list(surface.vertices))
    triangles.extend([coal.Triangle(*map(int, corners)) for corners in surface.triangles])
    return points, triangles
