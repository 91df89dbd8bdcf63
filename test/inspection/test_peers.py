"""Another program that has read a URDF otherwise: which link, which term."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from arms import ARM, changed, write

import manip_dyn as md
from manip_dyn.inspection import comparison as compare
from manip_dyn.inspection.comparison import ByEquations
from manip_dyn.inspection.peers import PinocchioPeer

RUBBING = changed(ARM, ('damping="0.5"', 'damping="0.5" friction="0.7"'))
ROTATED = ('<origin xyz="0 0 0.2"/>', '<origin xyz="0 0 0.2" rpy="0 0 0.4"/>')
PRODUCT = ('ixy="0"', 'ixy="0.004"')


class Peer:
    """Pinocchio under another name, with a robot of its own."""

    name, whole = "peer", True

    def __init__(self, robot):
        oracle = PinocchioPeer(robot)
        self.reading, self.pose = oracle.reading, oracle.pose
        self.mass_matrix = oracle.mass_matrix
        self.inverse_dynamics = oracle.inverse_dynamics
        self.forward_dynamics = oracle.forward_dynamics


def compared(robot, peer):
    findings, agreements = compare.compare(robot, None, ByEquations(robot), [peer])
    told = {f"{each.level} {each.part} {each.name} {each.what}" for each in findings}
    return told, {each.quantity for each in agreements if not each.holds}


EXPLAINED = "note robot arm comparison"
DYNAMICS = {"mass matrix", "inverse dynamics", "forward dynamics"}
IMPORTERS = {
    "drops damping": (('damping="0.5"', ""), "joint shoulder damping", DYNAMICS - {"mass matrix"}),
    "drops friction": (('friction="0.7"', ""), "joint shoulder friction", set()),
    "rotates an inertia": (ROTATED, "link upper inertia, rotated", DYNAMICS),
    "drops a mass": (('value="2"', 'value="1"'), "link lower mass", DYNAMICS | {"gravity"}),
    "moves a centre": (
        ("0 0 0.1", "0 0.1 0"),
        "link lower centre of mass",
        DYNAMICS | {"gravity"},
    ),
}


@pytest.mark.parametrize("name", IMPORTERS)
def test_the_term_that_an_importer_has_otherwise_is_named_and_explains_all(name):
    change, term, differing = IMPORTERS[name]
    peer = Peer(md.load_robot(changed(RUBBING, change)))
    told, apart = compared(md.load_robot(RUBBING), peer)
    assert told == {f"warning {term}"} | ({EXPLAINED} if differing else set())
    assert apart == differing


def test_products_that_are_dropped_are_named():
    """Even where no joint feels them, as behind one about y that stands on the base."""
    told, apart = compared(md.load_robot(changed(ARM, PRODUCT)), Peer(md.load_robot(ARM)))
    assert told == {"warning link upper inertia, without its products"}
    assert apart == set()


def test_what_stands_in_the_yaml_is_named(tmp_path):
    """Rotor inertia, springs, gravity: no URDF has them."""
    extras = {
        "armature": {"elbow": 0.3},
        "springs": {"shoulder": {"stiffness": 5.0, "rest": 0.1}},
        "gravity": [0.0, 0.0, -1.6],
    }
    told, _ = compared(md.load_robot(write(tmp_path, ARM, extras)), Peer(md.load_robot(ARM)))
    assert told == {
        "warning joint elbow armature",
        "warning joint shoulder stiffness",
        "warning robot arm gravity",
        EXPLAINED,
    }


def test_a_link_that_is_elsewhere_is_named():
    moved = changed(ARM, ('xyz="0 0 0.4"', 'xyz="0 0.1 0.4"'))
    told, apart = compared(md.load_robot(ARM), Peer(md.load_robot(moved)))
    assert told == {"warning link lower placement"}
    assert "forward kinematics" in apart


def test_what_no_term_explains_is_said_so():
    robot = md.load_robot(ARM)
    peer = Peer(robot)
    peer.mass_matrix = lambda q: 1.1 * PinocchioPeer(robot).mass_matrix(q)
    assert compared(robot, peer) == ({"warning robot arm comparison"}, {"mass matrix"})
    damped = Peer(robot)
    damped.reading = damped.reading._replace(gravity=np.zeros(3))  # that is not what it computes
    damped.mass_matrix = peer.mass_matrix
    told, _ = compared(robot, damped)
    assert told == {"warning robot arm gravity", "warning robot arm comparison"}


def test_disagreement_with_pinocchio_is_an_error():
    robot = md.load_robot(ARM)
    ours = ByEquations(replace(robot, damping=np.zeros(2)))
    findings, _ = compare.compare(robot, None, ours, [PinocchioPeer(robot)])
    assert [each.level for each in findings] == ["error"]


def test_programs_that_are_not_installed_are_named(monkeypatch):
    monkeypatch.setattr(compare, "find_spec", lambda _name: None)
    found = md.check_urdf(ARM, compiled=False)
    told = " ".join(map(str, found.of_level("note")))
    assert "MuJoCo is not installed; pip install mujoco" in told
    assert "Drake is not installed; pip install drake" in told


PEERS = {"MuJoCo": "mujoco", "Drake": "pydrake"}


@pytest.fixture(params=PEERS)
def peer(request):
    if not find_spec(PEERS[request.param]):
        pytest.skip(f"{request.param} is not installed; pip install '.[check]'")
    return request.param


def of(found, peer):
    return {
        f"{each.part} {each.name} {each.what}"
        for each in found.findings
        if peer in each.value and each.level == "warning"
    }


@pytest.mark.parametrize("name", ["panda", "cylindrical"])
def test_real_programs_agree(peer, name):
    found = md.check_urdf(name, compiled=False)
    if any("refuses" in each.value and peer in each.value for each in found.findings):
        assert (peer, name) == ("MuJoCo", "cylindrical")  # a point mass, which it does not take
        return
    assert of(found, peer) == set()
    assert [each.quantity for each in found.agreements if each.peer == peer and each.holds]
    assert all(each.holds for each in found.agreements if each.peer == peer)


def test_real_programs_have_what_a_urdf_can_say(peer, tmp_path):
    """Damping and rotated inertias; Drake leaves friction out; neither knows the YAML."""
    extras = {"armature": {"elbow": 0.3}, "payload": {"link": "tool0", "mass": 1.0}}
    file = write(tmp_path, changed(RUBBING, PRODUCT, ROTATED), extras)
    found = md.check_urdf(file, compiled=False)
    wanted = {"joint elbow armature", "link tool0 mass"}
    assert of(found, peer) == wanted | ({"joint shoulder friction"} if peer == "Drake" else set())
    explained = [each for each in found.findings if each.what == "comparison"]
    assert any(peer in each.value and "above" in each.expected for each in explained)


def test_a_mass_that_drake_invents_is_named():
    pytest.importorskip("pydrake", reason="pip install '.[check]'")
    inertia = '<inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/>'
    foot = f'<link name="tool0"><inertial><mass value="0"/>{inertia}</inertial></link>'
    found = md.check_urdf(changed(ARM, ('<link name="tool0"/>', foot)), compiled=False)
    assert "link tool0 mass" in of(found, "Drake")


def test_a_urdf_that_a_program_refuses_is_a_note_with_its_sentence():
    pytest.importorskip("mujoco", reason="pip install '.[check]'")
    found = md.check_urdf("rr", compiled=False)
    assert any("MuJoCo refuses the URDF: Error: mass" in each.value for each in found.findings)
    assert found.success


def test_warnings_of_mujoco_go_nowhere(tmp_path, monkeypatch, capfd):
    """Else it prints them, and writes a file where one happens to be."""
    pytest.importorskip("mujoco", reason="pip install '.[check]'")
    monkeypatch.chdir(tmp_path)
    found = md.check_urdf(
        changed(ARM, ('lower="-2" upper="2.5"', 'lower="0" upper="0"')), compiled=False
    )
    assert any(each.peer == "MuJoCo" for each in found.agreements)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")
