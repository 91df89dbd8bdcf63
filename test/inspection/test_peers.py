"""Comparison with programs that interpret a URDF differently: link and term are named."""

import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from arms import ARM, changed, write

import manip_dyn as md
from manip_dyn.inspection import ByEquations, PinocchioPeer, compare

WITH_FRICTION = changed(ARM, ('damping="0.5"', 'damping="0.5" friction="0.7"'))
ROTATED = ('<origin xyz="0 0 0.2"/>', '<origin xyz="0 0 0.2" rpy="0 0 0.4"/>')
PRODUCT = ('ixy="0"', 'ixy="0.004"')


class Peer:
    """Pinocchio under another name, with a different robot."""

    name, merged = "peer", True

    def __init__(self, robot):
        oracle = PinocchioPeer(robot)
        self.reading, self.pose = oracle.reading, oracle.pose
        self.mass_matrix = oracle.mass_matrix
        self.inverse_dynamics = oracle.inverse_dynamics
        self.forward_dynamics = oracle.forward_dynamics


def compared(robot, peer):
    findings, agreements = compare(robot, None, ByEquations(robot), [peer])
    texts = {f"{item.level} {item.part} {item.name} {item.what}" for item in findings}
    return texts, {item.quantity for item in agreements if not item.holds}


EXPLAINED = "note robot arm comparison"
DYNAMICS = {"mass matrix", "inverse dynamics", "forward dynamics"}
PARSERS = {
    "ignores damping": (
        ('damping="0.5"', ""),
        "joint shoulder damping",
        DYNAMICS - {"mass matrix"},
    ),
    "ignores friction": (('friction="0.7"', ""), "joint shoulder friction", set()),
    "rotates an inertia": (ROTATED, "link upper inertia, rotated", DYNAMICS),
    "changes a mass": (('value="2"', 'value="1"'), "link lower mass", DYNAMICS | {"gravity"}),
    "moves a centre": (
        ("0 0 0.1", "0 0.1 0"),
        "link lower centre of mass",
        DYNAMICS | {"gravity"},
    ),
}


@pytest.mark.parametrize("name", PARSERS)
def test_a_differing_term_is_named_and_explains_the_difference(name):
    change, term, differing = PARSERS[name]
    peer = Peer(md.load_robot(changed(WITH_FRICTION, change)))
    findings, differences = compared(md.load_robot(WITH_FRICTION), peer)
    assert findings == {f"warning {term}"} | ({EXPLAINED} if differing else set())
    assert differences == differing


def test_ignored_products_of_inertia_are_named():
    """Also if they do not affect any joint, as behind a joint about y at the base."""
    findings, differences = compared(
        md.load_robot(changed(ARM, PRODUCT)), Peer(md.load_robot(ARM))
    )
    assert findings == {"warning link upper inertia, without its products"}
    assert differences == set()


def test_parameters_of_the_yaml_file_are_named(tmp_path):
    """Rotor inertia, springs and gravity are not part of a URDF."""
    extras = {
        "armature": {"elbow": 0.3},
        "springs": {"shoulder": {"stiffness": 5.0, "rest": 0.1}},
        "gravity": [0.0, 0.0, -1.6],
    }
    findings, _ = compared(md.load_robot(write(tmp_path, ARM, extras)), Peer(md.load_robot(ARM)))
    assert findings == {
        "warning joint elbow armature",
        "warning joint shoulder stiffness",
        "warning robot arm gravity",
        EXPLAINED,
    }


def test_a_displaced_link_is_named():
    moved = changed(ARM, ('xyz="0 0 0.4"', 'xyz="0 0.1 0.4"'))
    findings, differences = compared(md.load_robot(ARM), Peer(md.load_robot(moved)))
    assert findings == {"warning link lower placement"}
    assert "forward kinematics" in differences


def test_a_difference_without_a_differing_term_is_a_warning():
    robot = md.load_robot(ARM)
    peer = Peer(robot)
    peer.mass_matrix = lambda q: 1.1 * PinocchioPeer(robot).mass_matrix(q)
    assert compared(robot, peer) == ({"warning robot arm comparison"}, {"mass matrix"})
    damped = Peer(robot)
    damped.reading = damped.reading._replace(gravity=np.zeros(3))  # the peer computes with gravity
    damped.mass_matrix = peer.mass_matrix
    findings, _ = compared(robot, damped)
    assert findings == {"warning robot arm gravity", "warning robot arm comparison"}


def test_disagreement_with_pinocchio_is_an_error():
    robot = md.load_robot(ARM)
    ours = ByEquations(replace(robot, damping=np.zeros(2)))
    findings, _ = compare(robot, None, ours, [PinocchioPeer(robot)])
    assert [finding.level for finding in findings] == ["error"]


def test_missing_programs_are_notes(monkeypatch):
    for module in ("mujoco", "pydrake"):
        monkeypatch.setitem(sys.modules, module, None)
    inspection = md.check_urdf(ARM, compiled=False)
    notes = " ".join(map(str, inspection.of_level("note")))
    assert "MuJoCo is not installed; pip install mujoco" in notes
    assert "Drake is not installed; pip install drake" in notes


PEERS = {"MuJoCo": "mujoco", "Drake": "pydrake"}


@pytest.fixture(params=PEERS)
def peer(request):
    if not find_spec(PEERS[request.param]):
        pytest.skip(f"{request.param} is not installed; pip install '.[check]'")
    return request.param


def warnings_about(inspection, peer):
    return {
        f"{finding.part} {finding.name} {finding.what}"
        for finding in inspection.findings
        if peer in finding.value and finding.level == "warning"
    }


@pytest.mark.parametrize("name", ["panda", "cylindrical"])
def test_installed_programs_agree(peer, name):
    inspection = md.check_urdf(name, compiled=False)
    if any("rejects" in x.value and peer in x.value for x in inspection.findings):
        assert (peer, name) == ("MuJoCo", "cylindrical")  # MuJoCo rejects point masses
        return
    assert warnings_about(inspection, peer) == set()
    assert [x.quantity for x in inspection.agreements if x.peer == peer and x.holds]
    assert all(x.holds for x in inspection.agreements if x.peer == peer)


def test_installed_programs_use_the_parameters_of_the_urdf(peer, tmp_path):
    """Drake ignores friction; MuJoCo and Drake do not read the YAML file."""
    extras = {"armature": {"elbow": 0.3}, "payload": {"link": "tool0", "mass": 1.0}}
    file = write(tmp_path, changed(WITH_FRICTION, PRODUCT, ROTATED), extras)
    inspection = md.check_urdf(file, compiled=False)
    expected = {"joint elbow armature", "link tool0 mass"}
    expected |= {"joint shoulder friction"} if peer == "Drake" else set()
    assert warnings_about(inspection, peer) == expected
    comparisons = [finding for finding in inspection.findings if finding.what == "comparison"]
    assert any(peer in x.value and "above" in x.expected for x in comparisons)


def test_the_default_mass_of_drake_is_named():
    pytest.importorskip("pydrake", reason="pip install '.[check]'")
    inertia = '<inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/>'
    foot = f'<link name="tool0"><inertial><mass value="0"/>{inertia}</inertial></link>'
    inspection = md.check_urdf(changed(ARM, ('<link name="tool0"/>', foot)), compiled=False)
    assert "link tool0 mass" in warnings_about(inspection, "Drake")


def test_a_urdf_that_a_program_rejects_is_a_note_with_its_message():
    pytest.importorskip("mujoco", reason="pip install '.[check]'")
    inspection = md.check_urdf("rr", compiled=False)
    assert any("MuJoCo rejects the URDF: Error: mass" in x.value for x in inspection.findings)
    assert inspection.success


def test_warnings_of_mujoco_are_not_written(tmp_path, monkeypatch, capfd):
    """By default, MuJoCo prints them and writes a file in the current folder."""
    pytest.importorskip("mujoco", reason="pip install '.[check]'")
    monkeypatch.chdir(tmp_path)
    inspection = md.check_urdf(
        changed(ARM, ('lower="-2" upper="2.5"', 'lower="0" upper="0"')), compiled=False
    )
    assert any(x.peer == "MuJoCo" for x in inspection.agreements)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")
