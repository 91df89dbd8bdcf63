"""Findings of `check_urdf` for arms with one defect each, and for robots of other sources."""

import json
import sys

import pytest
from arms import ARM, changed, example, examples, write
from defects import BASE, CONSEQUENCES, DEFECTS, ELBOW, WITH

import manip_dyn as md
from manip_dyn.cli import main

MODULE = "manip_dyn.inspection.urdf_check"


@pytest.fixture
def pinocchio_only(monkeypatch):
    """Compare with pinocchio only."""
    for module in ("mujoco", "pydrake"):
        monkeypatch.setitem(sys.modules, module, None)


def findings_of(inspection, levels=("error", "warning", "note")):
    """Return the findings of the rules as text."""
    return {
        f"{finding.level} {finding.part} {finding.name} {finding.what}"
        for finding in inspection.findings
        if finding.level in levels and finding.what not in ("dynamics", "comparison")
    }


def test_a_valid_arm_has_only_notes_about_damping_and_missing_shapes(pinocchio_only):
    inspection = md.check_urdf(ARM, compiled=False)
    notes = {"note joint shoulder damping", "note robot arm collision shapes"}
    assert findings_of(inspection) == notes
    assert inspection.success
    assert inspection.condition < 100.0
    assert inspection.reason.startswith("0 errors, 0 warnings, ")


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_has_exactly_its_findings(name, pinocchio_only):
    """There is an error if and only if `load_robot` raises one."""
    old, new, finding = DEFECTS[name]
    urdf = changed(ARM, (old, new), *WITH.get(name, []))
    inspection = md.check_urdf(urdf, compiled=False)
    assert finding in findings_of(inspection)
    severe = findings_of(inspection, ("error", "warning"))
    assert severe - {finding} == CONSEQUENCES.get(name, set())
    try:
        md.load_robot(urdf)
        rejected = False
    except md.ManipDynError:
        rejected = True
    assert rejected is not inspection.success


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
        (
            [('lower="-2"', 'lower="low"'), ("<dynamics", '<mimic joint="elbo"/><dynamics')],
            {"joint shoulder limit lower", "joint shoulder mimic"},
        ),
        ([('xyz="0 0 0.4"', 'xyz="0 0 1e155"')], {"robot arm dynamics"}),
        ([('xyz="0 0 0.2"', 'xyz="0 0 1e200"')], {"robot arm dynamics"}),
    ],
)
def test_an_error_is_reported_once(changes, errors, pinocchio_only):
    inspection = md.check_urdf(changed(ARM, *changes), compiled=False)
    reported = [f"{x.part} {x.name} {x.what}" for x in inspection.of_level("error")]
    assert sorted(reported) == sorted(errors)
    assert not any("inf" in x.message for x in inspection.findings if x.what != "dynamics")


SMALL = [path for path in examples() if path.stat().st_size < 60_000]


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.stem)
def test_there_is_an_error_if_load_robot_raises_one(path, pinocchio_only, monkeypatch):
    """For the rules only; other tests cover the comparison."""
    monkeypatch.setattr(f"{MODULE}.conditioning", lambda _robot: (1.0, []))
    monkeypatch.setattr(f"{MODULE}.compare", lambda *_: ([], []))
    try:
        md.load_robot(path)
        rejected = False
    except md.ManipDynError:
        rejected = True
    assert md.check_urdf(path, compiled=False).success is not rejected


ARMS = {
    "kinova": 0,
    "xarm7": 0,
    "z1": 0,
    "so101": 1,
    "ur5_robot": 0,
    "tiago": 19,
    "icub_reduced": 13,
}
"""Number of warnings per robot, each assessed by hand."""


@pytest.mark.parametrize("name", ARMS)
def test_robots_of_other_sources_have_the_assessed_warnings(name, pinocchio_only):
    (path,) = [file for file in examples() if file.stem == name] or [example("none")]
    inspection = md.check_urdf(path, compiled=False)
    assert inspection.success
    assert len(inspection.of_level("warning")) == ARMS[name]
    assert all(agreement.holds for agreement in inspection.agreements)


def test_mimic_joints_are_compared_with_pinocchio(pinocchio_only):
    follower = ('<axis xyz="1 0 0"/>', '<axis xyz="1 0 0"/><mimic joint="shoulder"/>')
    inspection = md.check_urdf(changed(ARM, follower), compiled=False)
    assert inspection.success
    # The shoulder moves from -2 to 2.5, the elbow may move from -1.5 to 1.5.
    assert findings_of(inspection, ("warning",)) == {"warning joint elbow position limits"}
    assert [agreement.peer for agreement in inspection.agreements] == ["pinocchio"] * 5


def test_links_beyond_the_tip_are_not_checked(pinocchio_only):
    urdf = changed(ARM, (ELBOW, 'name="elbow" type="planar"'))
    assert md.check_urdf(urdf, tip="upper", compiled=False).success


def test_invalid_sources_and_arguments_raise_an_error(tmp_path):
    for text in ("<sdf/>", "<robot", "<robot name='a'>"):
        with pytest.raises(md.ManipDynError):
            md.check_urdf(text)
    with pytest.raises(md.ManipDynError, match="no link 'hand' for the tip"):
        md.check_urdf(ARM, tip="hand")
    with pytest.raises(md.ManipDynError, match="no joint 'knee' to lock"):
        md.check_urdf(ARM, lock={"knee": 0.0})
    with pytest.raises(md.ManipDynError, match="compiled must be true or false, got 'no'"):
        md.check_urdf(ARM, compiled="no")
    with pytest.raises(md.ManipDynError, match="no such file"):
        md.check_urdf(tmp_path / "arm.urdf")


def test_xacro_files_are_checked_with_their_arguments(tmp_path, pinocchio_only):
    pytest.importorskip("xacro", reason="pip install xacro")
    file = tmp_path / "arm.urdf.xacro"
    head = '<robot name="arm" xmlns:xacro="http://ros.org/wiki/xacro">'
    head += '<xacro:arg name="m" default="4"/>'
    text = changed(ARM, ('<robot name="arm">', head), ('value="4"', 'value="$(arg m)"'))
    file.write_text(text)
    assert md.check_urdf(file, compiled=False).success
    inspection = md.check_urdf(file, xacro_args={"m": -4}, compiled=False)
    assert findings_of(inspection, ("error",)) == {"error link upper mass"}
    with pytest.raises(md.ManipDynError, match="has no xacro argument 'mass'"):
        md.check_urdf(file, xacro_args={"mass": 4})


def test_mesh_files_are_searched_near_the_urdf(tmp_path, pinocchio_only):
    """In its folder, and in packages in the folders above it."""
    folder = tmp_path / "arms" / "urdf"
    folder.mkdir(parents=True)
    (tmp_path / "arms" / "a.stl").write_text("solid a")
    shape = "<visual><geometry><mesh filename={!r}/></geometry></visual>"
    meshes = ["package://arms/a.stl", "../a.stl", "package://legs/a.stl"]
    link = f'<link name="base">{"".join(map(shape.format, meshes))}</link>'
    inspection = md.check_urdf(write(folder, changed(ARM, (BASE, link))), compiled=False)
    (missing,) = [finding for finding in inspection.findings if finding.what == "mesh"]
    assert missing.value == "package://legs/a.stl"


def test_the_command_prints_findings_and_sets_its_exit_code(tmp_path, capsys, pinocchio_only):
    valid, invalid = write(tmp_path, ARM), tmp_path / "invalid.urdf"
    invalid.write_text(changed(ARM, ('value="4"', 'value="-4"')))
    assert main(["check", str(valid), "--quick"]) == 0
    text = capsys.readouterr().out
    assert "note: joint shoulder: damping: 0.5 N m s/rad; part of all dynamics here" in text
    assert "pinocchio: agrees" in text
    assert "arm: 0 errors, 0 warnings, 4 notes" in text
    assert main(["check", str(invalid), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert not answer["success"]
    assert answer["findings"][0]["name"] == "upper"
    assert answer["condition"] is None
    assert main(["check", str(tmp_path / "none.urdf")]) == 2


def test_the_command_groups_equal_findings(tmp_path, capsys, pinocchio_only):
    """The printed summary counts groups; JSON has an entry per joint."""
    axes = [(f'axis xyz="{axis}"', 'axis xyz="0 0 0"') for axis in ("0 1 0", "1 0 0")]
    invalid = write(tmp_path, changed(ARM, *axes))
    assert main(["check", str(invalid)]) == 1
    printed = capsys.readouterr().out
    assert "error: joints shoulder, elbow: axis: '0 0 0'; expected a direction" in printed
    assert "arm: 1 error, " in printed
    assert main(["check", str(invalid), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["reason"].startswith("2 errors, ")


def test_the_compiled_kernels_are_compared(pinocchio_only):
    inspection = md.check_urdf("rr")
    assert {agreement.quantity for agreement in inspection.agreements if agreement.holds} == {
        "mass matrix",
        "gravity",
        "inverse dynamics",
        "forward dynamics",
        "forward kinematics",
    }
    assert inspection.success
