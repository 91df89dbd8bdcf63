"""`manip_dyn view`: what it shows, and one line for what it cannot show."""

import socket
from pathlib import Path

import pytest
from arms import ARM, changed

import manip_dyn as md
from manip_dyn.cli import main
from manip_dyn.viewer import file_motion, start, stop

pytest.importorskip("viser", reason="pip install '.[view]'")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("/no/such/folder/arm.urdf", "no such file"),
        ("/arm.urdf", "no such file"),
        ("/two words", "no such file"),
        (str(Path(__file__).parent), "it is a folder"),
        (str(Path(__file__).parent / "missing"), "no such file"),
        (str(Path(__file__).parent / "missing.mcap"), "no such file"),
    ],
)
def test_missing_files_and_folders_are_no_namespaces(source, reason, capsys):
    assert main(["view", source]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(f"got '{source}': {reason}.")


def test_a_port_in_use_is_an_error(capsys):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert main(["view", "rr", "--port", str(port)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"port must be free, got {port}" in line


def test_the_host_must_be_an_address_of_this_machine():
    with pytest.raises(md.ManipDynError, match=r"address of this machine, got '192.0.2.1'"):
        start("192.0.2.1", 0)  # RFC 5737: in no network
    server = start("localhost", 0)
    stop(server)


FLOATING = (
    '<link name="base"/>',
    '<link name="world"/><link name="base"/><joint name="free" type="floating">'
    '<parent link="world"/><child link="base"/></joint>',
)
WITHOUT_DYNAMICS = {
    "floating base": [FLOATING],
    "no mass": [('<mass value="4"/>', '<mass value="0"/>')],
    "negative inertia": [('ixx="0.05"', 'ixx="-0.05"')],
    "no movable joint": [("revolute", "fixed")],
    "mimic of a missing joint": [("<dynamics", '<mimic joint="knee"/><dynamics')],
}


@pytest.mark.parametrize("changes", WITHOUT_DYNAMICS.values(), ids=WITHOUT_DYNAMICS)
def test_robots_without_dynamics_can_be_shown(changes, tmp_path):
    urdf = ARM
    for old, new in changes:
        urdf = urdf.replace(old, new)
    assert urdf != ARM
    (tmp_path / "arm.urdf").write_text(urdf)
    with pytest.raises(md.ManipDynError):
        md.load_robot(tmp_path / "arm.urdf")
    figure = file_motion(tmp_path / "arm.urdf").figure
    assert figure.parts
    assert len(figure.poses(file_motion(tmp_path / "arm.urdf").coordinates[0]).positions) <= 2


def test_joints_without_a_slider_are_noted():
    motion = file_motion(changed(ARM, FLOATING))
    assert "joint 'free' is shown fixed" in motion.figure.notes


def test_ctrl_c_while_the_page_is_drawn_ends_the_view(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("manip_dyn.viewer.playback.ResultsPage", interrupted)
    assert main(["view", "rr", "--port", "0"]) == 0
    assert capsys.readouterr().err == ""


def test_all_options_of_a_robot_reach_the_view(tmp_path, monkeypatch):
    (tmp_path / "arm.urdf").write_text(ARM)
    shown = []
    monkeypatch.setattr("manip_dyn.viewer.playback.View.wait", lambda view: shown.append(view.url))
    monkeypatch.chdir(tmp_path)
    assert main(["view", "arm.urdf", "--lock", "elbow=0.2", "--tip", "lower", "--dark"]) == 0
    assert shown[0].startswith("http://localhost:")
