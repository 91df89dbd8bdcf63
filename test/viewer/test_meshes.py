"""Mesh files: colours, textures and units of their materials; files that cannot be drawn."""

import re
import signal
from unittest.mock import MagicMock

import numpy as np
import pytest
from arms import EXAMPLES, PANDA, example

import manip_dyn as md
from manip_dyn.viewer import Drawing, robot_figure, standing, surfaces_of

trimesh = pytest.importorskip("trimesh", reason="pip install '.[view]'")


def figure_of(name):
    return robot_figure(md.load_robot(example({**EXAMPLES, "panda": PANDA}[name])))


@pytest.mark.parametrize("name", ["panda", "ur5", "kinova", "z1"])
def test_robots_with_collada_meshes_are_drawn(name):
    drawing = Drawing(server := MagicMock(), "/arm", figure_of(name))
    assert drawing.notes == []
    assert server.scene.add_mesh_simple.call_count >= 6


def test_the_colours_are_those_of_the_materials():
    """The hand of the Panda is white, off-white and grey."""
    hand = next(part for part in figure_of("panda").parts if part.file.endswith("hand.dae"))
    colours = {surface.colour for surface in surfaces_of(hand.file)}
    assert {(255, 255, 255), (64, 64, 64)} <= colours
    assert len(colours) == len(surfaces_of(hand.file)) < 5


def test_faces_of_joined_surfaces_refer_to_their_vertices(tmp_path):
    red, blue = (
        trimesh.primitives.Box(extents=[1, 1, 1], transform=np.eye(4)).to_mesh() for _ in "ab"
    )
    blue.apply_translation([5, 0, 0])
    scene = trimesh.Scene([red, blue, blue.copy().apply_translation([0, 5, 0])])
    colours = ([255, 0, 0], [0, 0, 255], [0, 0, 255])
    for mesh, colour in zip(scene.geometry.values(), colours, strict=True):
        mesh.visual = trimesh.visual.TextureVisuals(
            material=trimesh.visual.material.PBRMaterial(baseColorFactor=[*colour, 255])
        )
    scene.export(tmp_path / "boxes.glb")
    surfaces = {surface.colour: surface for surface in surfaces_of(str(tmp_path / "boxes.glb"))}
    assert set(surfaces) == {(255, 0, 0), (0, 0, 255)}
    joined = surfaces[0, 0, 255]
    areas = trimesh.Trimesh(joined.vertices, joined.faces, process=False).area
    assert areas == pytest.approx(12.0)


def test_images_of_materials_are_drawn(tmp_path):
    image = pytest.importorskip("PIL.Image").new("RGB", (2, 2), (10, 200, 30))
    mesh = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    mesh.visual = trimesh.visual.TextureVisuals(uv=[[0, 0], [1, 0], [0, 1]], image=image)
    mesh.export(tmp_path / "painted.obj")
    (surface,) = surfaces_of(str(tmp_path / "painted.obj"))
    assert surface.textured is not None


def test_the_unit_of_a_collada_file_is_applied(tmp_path):
    file = tmp_path / "box.dae"
    trimesh.creation.box([100.0, 200.0, 300.0]).export(file)
    text = re.sub("<unit[^>]*/>", "", file.read_text())
    file.write_text(text.replace("<asset>", '<asset><unit name="cm" meter="0.01"/>', 1))
    (surface,) = surfaces_of(str(file))
    np.testing.assert_allclose(np.ptp(surface.vertices, axis=0), [1.0, 2.0, 3.0])


def test_a_mesh_that_cannot_be_read_is_a_note(tmp_path):
    (tmp_path / "arm.stl").write_text("not a mesh")
    shape = '<visual><geometry><mesh filename="arm.stl"/></geometry></visual>'
    urdf = md.load_robot("rr").urdf.replace('<link name="link_1">', f'<link name="link_1">{shape}')
    drawing = Drawing(MagicMock(), "/arm", robot_figure(md.load_robot(urdf), [tmp_path]))
    (note,) = drawing.notes
    assert note.startswith(f"mesh '{tmp_path / 'arm.stl'}'")


def test_a_library_that_suppresses_all_exceptions_does_not_suppress_ctrl_c(monkeypatch):
    """The library trimesh does so in imports and when it loads meshes."""

    def load(file, **_):
        try:
            signal.raise_signal(signal.SIGINT)
            return trimesh.Scene([trimesh.creation.box()])
        except BaseException:
            return trimesh.Scene()

    monkeypatch.setattr(trimesh, "load", load)
    with pytest.raises(KeyboardInterrupt):
        surfaces_of("interrupted.stl")


def test_missing_meshes_are_reported_with_the_option_that_finds_them():
    urdf = example(EXAMPLES["z1"]).read_text()
    lost = standing(md.load_robot(urdf)).figure.notes
    assert len(lost) == 1
    assert "--meshes FOLDER" in lost[0]
    assert figure_of("z1").notes == ()
