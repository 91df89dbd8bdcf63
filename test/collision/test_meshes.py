"""Decompositions of meshes into convex hulls."""

from pathlib import Path

import numpy as np
import pytest
from collision_cases import LINK, collision

import manip_dyn as md
from manip_dyn.collision import collision_model

CORNERS = [(0, 0), (3, 0), (3, 3), (2, 3), (2, 1), (1, 1), (1, 3), (0, 3)]
CAP = [(0, 1, 4), (0, 4, 5), (1, 2, 3), (1, 3, 4), (0, 5, 6), (0, 6, 7)]


@pytest.fixture
def fork(tmp_path):
    """Return the path of a mesh of a fork: its arms enclose 1 < x < 2, y > 1, and z is 0 to 1."""
    lines = [f"v {x} {y} {z}" for z in (0, 1) for x, y in CORNERS]
    for a, b, c in CAP:
        lines += [f"f {a + 1} {c + 1} {b + 1}", f"f {a + 9} {b + 9} {c + 9}"]
    for a in range(8):
        b = (a + 1) % 8
        lines += [f"f {a + 1} {b + 1} {b + 9}", f"f {a + 1} {b + 9} {a + 9}"]
    path = tmp_path / "fork.obj"
    path.write_text("\n".join(lines))
    return str(path)


def in_hulls(mesh, points):
    """Return whether points (k, 3) are in one of the convex hulls of a mesh, to 1e-9 m."""
    inside = np.zeros(len(points), dtype=bool)
    for hull in mesh.coal_shapes():
        corners = np.array(hull.points())
        triangles = [[t[0], t[1], t[2]] for t in map(hull.polygons, range(hull.num_polygons))]
        a, b, c = corners[triangles].swapaxes(0, 1)
        normals = np.cross(b - a, c - a)
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        depths = np.einsum("kij,ij->ki", points[:, None] - a, normals)
        inside |= (depths <= 1e-9).all(axis=1)
    return inside


@pytest.mark.parametrize("scale", [1.0, (0.7, -1.3, 0.9)])
def test_hulls_cover_the_solid_but_not_its_hollow(fork, scale):
    mesh = md.Mesh(fork, scale, convex=True, hulls=8)
    assert 3 <= len(mesh.pieces()) <= 8
    points = np.random.default_rng(4).uniform(0, [3, 3, 1], (3000, 3))
    surface = points.copy()
    surface[:, 2] = np.round(surface[:, 2])
    for sample in (points, surface):
        x, y, _ = sample.T
        hollow = (x > 1) & (x < 2) & (y > 1)
        covered = in_hulls(mesh, sample * scale)
        assert covered[~hollow].all()
        assert covered[hollow].mean() < 0.2
    whole = md.Mesh(fork, scale, convex=True)
    assert len(whole.pieces()) == 1
    assert mesh.excess() < 0.5 * whole.excess()


def test_hulls_are_stored_in_the_cache_folder(fork, tmp_path, monkeypatch):
    """Copies of a mesh have the same hulls, and a damaged file is replaced."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("MANIP_DYN_CACHE", str(folder))
    expected = md.Mesh(fork, convex=True, hulls=8).vertices
    (file,) = folder.glob("hulls_*")
    written = file.stat().st_mtime_ns
    for content, changes in ((file.read_bytes(), False), (b"damaged", True)):
        if changes:
            file.write_bytes(content)
        copy = tmp_path / f"copy_{changes}.obj"
        copy.write_bytes(Path(fork).read_bytes())
        assert (md.Mesh(str(copy), convex=True, hulls=8).vertices == expected).all()
        assert list(folder.iterdir()) == [file]
        assert (file.stat().st_mtime_ns != written) is changes
    assert len(file.read_bytes()) > len(b"damaged")


def test_a_body_inside_the_solid_touches_its_hulls(fork):
    box = md.load_robot(_chain(collision('<box size="0.01 0.01 0.01"/>'), ""))
    for position, clear in (([0.5, 2.0, 0.5], False), ([1.5, 2.6, 0.5], True)):
        scene = md.Scene().add(
            "fork", md.Mesh(fork, convex=True, hulls=8), -np.array(position), allowed=["l1", "l2"]
        )
        assert md.clearance(box, np.zeros(3), scene).clear is clear


def test_meshes_whose_hulls_always_touch_are_divided(fork):
    mesh = collision(f'<mesh filename="{fork}"/>')
    robot = md.load_robot(_chain(mesh, collision('<sphere radius="0.2"/>', (1.5, 2.6, 0.5))))
    model = collision_model(robot)
    assert ("l0", "l2") in model.pairs
    assert len(model.of("l0")[0].shape.pieces()) > 1
    assert 0.25 < md.clearance(robot, np.zeros(3)).distance < 0.3 + 1e-9
    assert md.check_motion(robot, [np.zeros(3), np.full(3, 0.01)]).clear


def test_meshes_with_many_triangles_remain_hulls(tmp_path):
    corners = np.zeros((20_001, 4, 3), dtype="<f4")
    corners[:, 1:] = [[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0]]
    corners[0, 1] = [0.0, 0.0, 0.1]
    rows = np.zeros(len(corners), dtype=[("corners", "<f4", (4, 3)), ("attribute", "<u2")])
    rows["corners"] = corners
    file = tmp_path / "many.stl"
    file.write_bytes(bytes(80) + np.uint32(len(rows)).tobytes() + rows.tobytes())
    mesh = collision(f'<mesh filename="{file}"/>')
    model = collision_model(md.load_robot(_chain(mesh, collision('<sphere radius="0.2"/>'))))
    assert "200 of 200" in model.unchecked["l0", "l2"]
    with pytest.raises(md.ManipDynError, match="must have at most 20000 triangles, got 20001"):
        md.Mesh(str(file))


def test_numbers_of_hulls_are_positive(fork):
    with pytest.raises(md.ManipDynError, match="hulls of a mesh must be"):
        md.Mesh(fork, convex=True, hulls=0)


def _chain(first, last):
    """Return the URDF of three links with small strokes, the first and the last with a shape."""
    links = "".join(
        LINK.format(
            k=k, shape=shape, kind="prismatic", parent=f"l{k - 1}" if k else "base",
            xyz="0 0 0", rpy="0 0 0", axis="1 0 0",
        )
        for k, shape in enumerate((first, "", last))
    )  # fmt: skip
    return f'<robot name="chain"><link name="base"/>{links}</robot>'.replace(
        'lower="-3" upper="3"', 'lower="-0.01" upper="0.01"'
    )
