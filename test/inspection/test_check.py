"""What `check` says of robots with one planted defect each, and of robots without."""

import json
from importlib import import_module

import pytest
from arms import ARM, changed, example, examples, write
from planted import BASE, CONSEQUENCES, ELBOW, PLANTED, WITH

import manip_dyn as md
from manip_dyn.cli import main
from manip_dyn.inspection import comparison as compare

checking = import_module("manip_dyn.inspection.urdf_check")


@pytest.fixture
def alone(monkeypatch):
    """Only pinocchio is there to be compared with."""
    monkeypatch.setattr(compare, "find_spec", lambda _name: None)


def told(found, levels=("error", "warning", "note")):
    return {
        f"{each.level} {each.part} {each.name} {each.what}"
        for each in found.findings
        if each.level in levels and each.what not in ("dynamics", "comparison")
    }


def test_a_sound_arm_gets_a_note_of_its_damping(alone):
    found = md.check_urdf(ARM, compiled=False)
    assert told(found) == {"note joint shoulder damping"}
    assert found.success
    assert found.condition < 100.0
    assert found.reason.startswith("0 errors, 0 warnings, ")


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_defect_is_found_and_nothing_else(name, alone):
    """And errors are what `load_robot` refuses: no more, no less."""
    old, new, finding = PLANTED[name]
    urdf = changed(ARM, (old, new), *WITH.get(name, []))
    found = md.check_urdf(urdf, compiled=False)
    assert finding in told(found)
    grave = told(found, ("error", "warning"))
    assert grave - {finding} == CONSEQUENCES.get(name, set())
    try:
        md.load_robot(urdf)
        refused = False
    except md.ManipDynError:
        refused = True
    assert refused is not found.success


@pytest.mark.parametrize(
    ("changes", "errors"),
    [
        ([('value="4"', 'value="-4"')], {"link upper mass"}),
        (
            [('value="4"', 'value="-4"'), ('value="2"', 'value="-2"')],
            {"link upper mass", "link lower mass"},
        ),
        ([('effort="50"', 'effort="1e400"')], {"joint shoulder limit effort"}),
        ([('lower="-2"', 'lower="1e400"')], {"joint shoulder limit lower"}),
        ([('damping="0.5"', 'damping="-1e400"')], {"joint shoulder dynamics damping"}),
        ([('xyz="0 0 0.4"', 'xyz="0 0 1e155"')], {"robot arm dynamics"}),
        ([('xyz="0 0 0.2"', 'xyz="0 0 1e200"')], {"robot arm dynamics"}),
    ],
)
def test_an_error_is_told_once_and_named(changes, errors, alone):
    """Seen: a negative mass was none, too; 1e400 N m named no joint; 1e155 m was a LinAlgError."""
    found = md.check_urdf(changed(ARM, *changes), compiled=False)
    told_once = [f"{each.part} {each.name} {each.what}" for each in found.of_level("error")]
    assert sorted(told_once) == sorted(errors)
    assert not any("inf" in each.told for each in found.findings if each.what != "dynamics")


SMALL = [path for path in examples() if path.stat().st_size < 60_000]


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.stem)
def test_errors_are_what_load_robot_refuses(path, alone, monkeypatch):
    """In robots that nobody here wrote; what is compared is tested elsewhere."""
    monkeypatch.setattr(checking, "conditioning", lambda _robot: (1.0, []))
    monkeypatch.setattr(checking, "compare", lambda *_: ([], []))
    try:
        md.load_robot(path)
        refused = False
    except md.ManipDynError:
        refused = True
    assert md.check_urdf(path, compiled=False).success is not refused


ARMS = {
    "kinova": 0,
    "xarm7": 0,
    "z1": 0,
    "so101": 1,
    "ur5_robot": 0,
    "tiago": 19,
    "icub_reduced": 13,
}
"""Warnings of arms as they are, read and judged one by one."""


@pytest.mark.parametrize("name", ARMS)
def test_arms_that_nobody_here_wrote_have_the_warnings_that_they_have(name, alone):
    (path,) = [each for each in examples() if each.stem == name] or [example("none")]
    found = md.check_urdf(path, compiled=False)
    assert found.success
    assert len(found.of_level("warning")) == ARMS[name]
    assert all(each.holds for each in found.agreements)


def test_joints_that_mimic_are_held_for_the_comparison(alone):
    """The elbow's limits leave zero out: it is held at the nearest."""
    follower = ('<axis xyz="1 0 0"/>', '<axis xyz="1 0 0"/><mimic joint="shoulder"/>')
    found = md.check_urdf(changed(ARM, follower, ("-1.5", "0.5")), compiled=False)
    assert told(found, ("error",)) == {"error joint elbow mimic"}
    assert [each.peer for each in found.agreements] == ["pinocchio"] * 5
    locked = md.check_urdf(
        changed(ARM, follower), lock={"shoulder": 0.1, "elbow": 0.1}, compiled=False
    )
    assert not locked.success  # nothing moves
    assert told(locked, ("error",)) == {"error robot arm movable joints"}


def test_a_tip_cuts_defects_off(alone):
    urdf = changed(ARM, (ELBOW, 'name="elbow" type="planar"'))
    assert md.check_urdf(urdf, tip="upper", compiled=False).success


def test_what_is_no_urdf_is_bad_input(tmp_path):
    for text in ("<sdf/>", "<robot", "<robot name='a'>"):
        with pytest.raises(md.ManipDynError):
            md.check_urdf(text)
    with pytest.raises(md.ManipDynError, match="no link 'hand' for the tip"):
        md.check_urdf(ARM, tip="hand")
    with pytest.raises(md.ManipDynError, match="no joint 'knee' to lock"):
        md.check_urdf(ARM, lock={"knee": 0.0})
    with pytest.raises(md.ManipDynError, match="compiled is 'no'; expected true or false"):
        md.check_urdf(ARM, compiled="no")
    with pytest.raises(md.ManipDynError, match="no such file"):
        md.check_urdf(tmp_path / "arm.urdf")


def test_xacro_files_are_checked_with_their_arguments(tmp_path, alone):
    pytest.importorskip("xacro", reason="pip install xacro")
    file = tmp_path / "arm.urdf.xacro"
    head = '<robot name="arm" xmlns:xacro="http://ros.org/wiki/xacro">'
    head += '<xacro:arg name="m" default="4"/>'
    text = changed(ARM, ('<robot name="arm">', head), ('value="4"', 'value="$(arg m)"'))
    file.write_text(text)
    assert md.check_urdf(file, compiled=False).success
    found = md.check_urdf(file, xacro_args={"m": -4}, compiled=False)
    assert told(found, ("error",)) == {"error link upper mass"}
    with pytest.raises(md.ManipDynError, match="has no xacro argument 'mass'"):
        md.check_urdf(file, xacro_args={"mass": 4})


def test_meshes_are_found_from_where_the_urdf_lies(tmp_path, alone):
    """Beside it, and in packages among the folders above it."""
    folder = tmp_path / "arms" / "urdf"
    folder.mkdir(parents=True)
    (tmp_path / "arms" / "a.stl").write_text("solid a")
    shape = "<visual><geometry><mesh filename={!r}/></geometry></visual>"
    drawn = ["package://arms/a.stl", "../a.stl", "package://legs/a.stl"]
    link = f'<link name="base">{"".join(map(shape.format, drawn))}</link>'
    found = md.check_urdf(write(folder, changed(ARM, (BASE, link))), compiled=False)
    (lost,) = [each for each in found.findings if each.what == "mesh"]
    assert lost.value == "package://legs/a.stl"


def test_the_command_says_it_and_its_exit_code(tmp_path, capsys, alone):
    sound, broken = write(tmp_path, ARM), tmp_path / "broken.urdf"
    broken.write_text(changed(ARM, ('value="4"', 'value="-4"')))
    assert main(["check", str(sound), "--quick"]) == 0
    text = capsys.readouterr().out
    assert "note: joint shoulder: damping: 0.5 N m s/rad; part of all dynamics here" in text
    assert "pinocchio: agrees" in text
    assert "arm: 0 errors, 0 warnings, 3 notes" in text
    assert main(["check", str(broken), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert not answer["success"]
    assert answer["findings"][0]["name"] == "upper"
    assert answer["condition"] is None
    assert main(["check", str(tmp_path / "none.urdf")]) == 2


def test_the_command_counts_the_lines_that_it_prints(tmp_path, capsys, alone):
    """What several parts share is one line, and one of the count; JSON has an entry for each."""
    axes = [(f'axis xyz="{each}"', 'axis xyz="0 0 0"') for each in ("0 1 0", "1 0 0")]
    broken = write(tmp_path, changed(ARM, *axes))
    assert main(["check", str(broken)]) == 1
    printed = capsys.readouterr().out
    assert "error: joints shoulder, elbow: axis: '0 0 0'; expected a direction" in printed
    assert "arm: 1 error, " in printed
    assert main(["check", str(broken), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["reason"].startswith("2 errors, ")


def test_kernels_are_what_is_compared(alone):
    found = md.check_urdf("rr")
    assert {each.quantity for each in found.agreements if each.holds} == {
        "mass matrix",
        "gravity",
        "inverse dynamics",
        "forward dynamics",
        "forward kinematics",
    }
    assert found.success
