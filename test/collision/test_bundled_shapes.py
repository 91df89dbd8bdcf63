"""Collision shapes of bundled arms cover the shapes of their public descriptions."""

from itertools import product

import numpy as np
import pytest
from arms import PANDA, UR5, example
from scipy.spatial import ConvexHull, cKDTree

import manip_dyn as md
from manip_dyn.collision import collision_model
from manip_dyn.robot import Oracle

EDGE = 0.02
"""Longest edge of the triangles whose corners are samples, m. Each point of a triangle is closer
than 0.58 edges to a corner."""


def test_distances_from_shapes_have_the_correct_sign():
    points = np.array([[0.09, 0.0, 0.19], [0.11, 0.0, 0.0], [0.08, 0.08, 0.0], [0.0, 0.0, 0.21]])
    for shape, expected in (
        (md.Box([0.2, 0.2, 0.4]), [True, False, True, False]),
        (md.Cylinder(0.1, 0.4), [True, False, False, False]),
        (md.Sphere(0.2), [False, True, True, False]),
    ):
        assert (excess(shape, points) <= 0.0).tolist() == expected


def test_holes_between_shapes_are_found():
    triangle = np.array([[[-0.2, 0.1, 0.0], [0.2, 0.1, 0.0], [0.0, -0.2, 0.0]]])
    for gap, covered in ((1e-4, False), (-2e-3, True)):
        places = [np.array([side * 0.5 * (1.0 + gap), 0.0, 0.0]) for side in (-1, 1)]
        shapes = [(md.Box([1.0, 1.0, 1.0]), np.eye(3), place) for place in places]
        assert (len(uncovered(triangle, shapes)) == 0) is covered


@pytest.mark.parametrize(("name", "path", "most"), [("ur5", UR5, 0.021), ("panda", PANDA, 0.053)])
def test_shapes_of_bundled_arms_cover_the_public_ones(name, path, most):
    arm = md.load_robot(name)
    fingers = {"panda_finger_joint1": 0.02, "panda_finger_joint2": 0.02}
    public = md.load_robot(example(path), lock=fingers if name == "panda" else {})
    own, references = shapes_of(arm), shapes_of(public)
    own["base_link"] = own.get("base_link_inertia", [])
    references.pop("ee_link", None)  # a marker of 1 cm
    assert len(references) == {"ur5": 7, "panda": 11}[name]
    for link, entries in references.items():
        surfaces = [surface(s) @ r.T + p for s, r, p in entries]
        assert len(uncovered(np.concatenate(surfaces), own[link])) == 0, link
        points = np.concatenate([samples(s) @ r.T + p for s, r, p in entries])
        tree = cKDTree(points)
        for shape, rotation, place in own[link]:
            ours = samples(shape) @ rotation.T + place
            inside = np.sum([excess(s, (ours - p) @ r) < -1e-6 for s, r, p in own[link]], 0)
            if not inside.all():
                assert tree.query(ours[inside == 0])[0].max() < most, link


def shapes_of(robot):
    """Return shapes with rotations and positions in the base frame at a posture, by link."""
    q, result = np.clip(np.zeros(robot.n), robot.q_min, robot.q_max), {}
    for geometry in collision_model(robot).geometries:
        frame, pose = robot.frame(geometry.owner), Oracle(robot).frame_pose(geometry.owner, q)
        turn = pose[:3, :3] @ frame.rotation.T
        place = pose[:3, 3] + turn @ (geometry.translation - frame.translation)
        entry = geometry.shape, turn @ geometry.rotation, place
        result.setdefault(geometry.owner, []).append(entry)
    return result


def excess(shape, points):
    """Return upper bounds (k,) of distances from a shape, m: at most 0 exactly inside it."""
    if isinstance(shape, md.Sphere):
        return np.linalg.norm(points, axis=1) - shape.radius
    if isinstance(shape, md.Box):
        return (np.abs(points) - 0.5 * shape.size).max(axis=1)
    radial = np.linalg.norm(points[:, :2], axis=1) - shape.radius
    return np.maximum(radial, np.abs(points[:, 2]) - 0.5 * shape.length)


def uncovered(triangles, shapes):
    """Return the parts (k, 3, 3) of triangles that are not proved to be inside the shapes.

    A part with its three corners in one shape is inside, because shapes are convex. Other parts
    are divided, down to 1/2048 of the triangle.
    """
    for level in range(12):
        triangles = triangles if level == 0 else quarters(triangles)
        points = triangles.reshape(-1, 3)
        outside = [(excess(s, (points - p) @ r) > 0.0).reshape(-1, 3).any(1) for s, r, p in shapes]
        triangles = triangles[np.all(outside, axis=0)]
    return triangles


def samples(shape):
    """Return points (k, 3) of the surface of a shape, which include its corners."""
    if isinstance(shape, md.Mesh):
        return divided(surface(shape)).reshape(-1, 3)
    u, v = (grid.ravel() for grid in np.meshgrid(*[np.linspace(-1.0, 1.0, 25)] * 2))
    if isinstance(shape, md.Box):
        faces = [
            np.roll(np.stack([u, v, np.full_like(u, s)], 1), k, 1)
            for k in range(3)
            for s in (-1, 1)
        ]
        return 0.5 * shape.size * np.concatenate(faces)
    circle = np.stack([np.cos(np.pi * u), np.sin(np.pi * u)], 1)
    if isinstance(shape, md.Sphere):
        return shape.radius * np.column_stack([np.sqrt(1.0 - v**2)[:, None] * circle, v])
    half = np.full((u.size, 1), 0.5 * shape.length)
    discs = [np.hstack([shape.radius * np.abs(v)[:, None] * circle, s * half]) for s in (-1, 1)]
    return np.concatenate([np.hstack([shape.radius * circle, v[:, None] * half]), *discs])


def surface(shape):
    """Return the triangles (k, 3, 3) of the surface of a mesh or box."""
    if isinstance(shape, md.Mesh):
        mesh = md.Mesh(shape.file, shape.scale)  # not its hull
        return mesh.vertices[mesh.triangles]
    corners = 0.5 * shape.size * np.array(list(product((-1.0, 1.0), repeat=3)))
    return corners[ConvexHull(corners).simplices]


def divided(triangles):
    """Return the triangles (k, 3, 3) after division of those with edges longer than EDGE."""
    done = []
    while len(triangles):
        edges = np.linalg.norm(triangles - np.roll(triangles, 1, axis=1), axis=2)
        done.append(triangles[edges.max(axis=1) <= EDGE])
        triangles = quarters(triangles[edges.max(axis=1) > EDGE])
    return np.concatenate(done)


def quarters(triangles):
    """Return four triangles (4 k, 3, 3) for each triangle, divided at the middles of its edges."""
    a, b, c = triangles.swapaxes(0, 1)
    ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
    parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    return np.concatenate([np.stack(corners, axis=1) for corners in parts])
