"""Invalid robots raise errors of one line that name the element and its value."""

import re
from pathlib import Path

import pytest
from arms import ARM, changed, write

from manip_dyn import ManipDynError, check_urdf, load_robot

UPPER_INERTIAL = re.search(r"<inertial>.*?</inertial>", ARM, re.DOTALL).group()
SHOULDER_LIMIT = '<limit lower="-2" upper="2.5" velocity="3" effort="50"/>'
END = "</robot>"


def rigid(name, parent, child):
    return (
        f'<joint name="{name}" type="fixed"><parent link="{parent}"/><child link="{child}"/>'
        "</joint>"
    )


def check_error(pattern, source, **options):
    """Check that loading raises an error of one line that matches `pattern`."""
    with pytest.raises(ManipDynError, match=pattern) as caught:
        load_robot(source, **options)
    assert "\n" not in str(caught.value)


def test_the_unchanged_arm_loads(tmp_path):
    assert load_robot(write(tmp_path, ARM)).joint_names == ("shoulder", "elbow")


INVALID = {
    "mimic": (
        "<dynamics",
        '<mimic joint="knee"/><dynamics',
        "'shoulder' mimics 'knee'.*--lock shoulder=0",
    ),
    "floating": (
        'elbow" type="revolute',
        'elbow" type="floating',
        "'elbow' must be .*got floating",
    ),
    "planar": ('elbow" type="revolute', 'elbow" type="planar', "'elbow' must be .*got planar"),
    "unknown type": ('elbow" type="revolute', 'elbow" type="hinge', "'elbow' must be .*got hinge"),
    "no limit": (SHOULDER_LIMIT, "", "'shoulder' has no <limit>"),
    "lower above upper": ('lower="-2"', 'lower="2.6"', "'shoulder'.*lower 2.6 above upper 2.5"),
    "lower nan": ('lower="-2"', 'lower="nan"', "'shoulder'.*lower.*'nan'"),
    "effort overflow": (
        'effort="50"',
        'effort="1e400"',
        "'shoulder'.*effort must be finite, got '1e400'",
    ),
    "lower infinite": (
        'lower="-2"',
        'lower="-inf"',
        "'shoulder'.*lower must be finite, got '-inf'",
    ),
    "length overflow": (
        'xyz="0 0 0.4"',
        'xyz="0 0 1e155"',
        "'shoulder' moves .* above 1e\\+300 .*lengths",
    ),
    "effort text": ('effort="50"', 'effort="strong"', "'shoulder'.*effort.*'strong'"),
    "effort negative": ('effort="50"', 'effort="-5"', "'shoulder'.*effort.*-5"),
    "velocity negative": ('velocity="3"', 'velocity="-3"', "'shoulder'.*velocity.*-3"),
    "damping negative": ('damping="0.5"', 'damping="-0.5"', "'shoulder'.*damping.*-0.5"),
    "damping nan": ('damping="0.5"', 'damping="nan"', "'shoulder'.*damping.*nan"),
    "axis zero": (
        'axis xyz="0 1 0"',
        'axis xyz="0 0 0"',
        "'shoulder'.*zero, got '0 0 0'",
    ),
    "axis nan": ('axis xyz="0 1 0"', 'axis xyz="nan 1 0"', "'shoulder'.*axis.*'nan 1 0'"),
    "axis inf": ('axis xyz="0 1 0"', 'axis xyz="inf 1 0"', "'shoulder'.*axis.*'inf 1 0'"),
    "axis short": ('axis xyz="0 1 0"', 'axis xyz="0 1"', "'shoulder'.*axis.*'0 1'"),
    "origin nan": ('xyz="0 0 0.3"', 'xyz="nan 0 0.3"', "'shoulder'.*'nan 0 0.3'"),
    "origin inf": ('xyz="0 0 0.4"', 'xyz="inf 0 0.4"', "'elbow'.*'inf 0 0.4'"),
    "origin short": ('xyz="0 0 0.25"', 'xyz="0 0.25"', "'flange'.*'0 0.25'"),
    "rpy text": ('rpy="0 0 0"', 'rpy="0 0 up"', "'shoulder'.*'0 0 up'"),
    "no inertial": (UPPER_INERTIAL, "", "'upper'.*'shoulder'.*no mass.*--lock shoulder=0 "),
    "no mass": ('<mass value="4"/>', "", "'upper'.*<mass>"),
    "no inertia": (re.search("<inertia .*?/>", ARM).group(), "", "'upper'.*<inertia>"),
    "mass zero": ('value="4"', 'value="0"', "'upper'.*no mass"),
    "mass negative": ('value="4"', 'value="-4"', "'upper'.*mass must be at least 0 kg, got -4 kg"),
    "mass nan": ('value="4"', 'value="nan"', "'upper'.*mass.*'nan'"),
    "mass infinite": ('value="4"', 'value="inf"', "'upper'.*mass.*'inf'"),
    "mass text": ('value="4"', 'value="heavy"', "'upper'.*mass.*'heavy'"),
    "centre of mass nan": ('xyz="0 0 0.2"', 'xyz="nan 0 0.2"', "'upper'.*'nan 0 0.2'"),
    "centre of mass text": ('xyz="0 0 0.2"', 'xyz="0 0 z"', "'upper'.*'0 0 z'"),
    "inertia nan": ('ixx="0.05"', 'ixx="nan"', "'upper'.*ixx.*'nan'"),
    "inertia negative": ('ixx="0.05"', 'ixx="-0.05"', "'upper'.*non-physical.*-0.05"),
    "inertia indefinite": ('ixy="0"', 'ixy="0.2"', "'upper'.*non-physical"),
    "unknown parent": ('<parent link="base"/>', '<parent link="bas"/>', "'shoulder'.*'bas'"),
    "no child": ('<child link="upper"/>', "", "'shoulder'.*child"),
    "no joint name": (' name="elbow"', "", "joint.*name"),
    "two roots": (END, f'<link name="stray"/>{END}', r"1 root link, got 2 \(base, stray\)"),
    "two parents": (END, rigid("weld", "base", "lower") + END, "'lower'.*'elbow' and 'weld'"),
    "link twice": (END, f'<link name="upper"/>{END}', "link 'upper' is defined twice"),
    "joint twice": (
        END,
        f'<link name="more"/>{rigid("elbow", "tool0", "more")}{END}',
        "joint 'elbow' is defined twice",
    ),
    "cycle apart": (
        END,
        f'<link name="a"/><link name="b"/>{rigid("ab", "a", "b")}{rigid("ba", "b", "a")}{END}',
        r"links a, b form a cycle",
    ),
    "own child": ('<child link="upper"/>', '<child link="base"/>', "'?base'?.*cycle"),
}


@pytest.mark.parametrize(("old", "new", "pattern"), INVALID.values(), ids=INVALID)
def test_invalid_urdfs_raise_an_error(tmp_path, old, new, pattern):
    check_error(pattern, write(tmp_path, changed(ARM, (old, new))))


def chain(n):
    """Return a URDF of n revolute joints."""
    joints = "".join(
        f"<link name='{k}'/><joint name='joint_{k}' type='revolute'><parent link='{k - 1}'/>"
        f"<child link='{k}'/><limit lower='-1' upper='1' effort='1' velocity='1'/></joint>"
        for k in range(1, n + 1)
    )
    return f"<robot name='chain'><link name='0'/>{joints}</robot>".encode()


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        (b"", "not well-formed XML"),
        (b"robot: arm", "not well-formed XML"),
        (bytes(range(256)), "not well-formed XML"),
        (ARM[:300].encode(), "not well-formed XML"),
        (b'<?xml version="1.0" encoding="klingon"?><robot/>', "klingon|not well-formed XML"),
        (b"<sdf/>", "root must be <robot>, got <sdf>"),
        (b"<robot name='empty'/>", "'empty' has no links"),
        (
            b"<robot name='rock'><link name='base'/></robot>",
            "at least one movable joint",
        ),
        (chain(201), "at most 200 movable joints, got 201. Hold joints fixed"),
    ],
)
def test_files_without_a_robot_raise_an_error(tmp_path, content, pattern):
    path = tmp_path / "arm.urdf"
    path.write_bytes(content)
    check_error(pattern, path)


def test_an_unreadable_file_raises_an_error(tmp_path, monkeypatch):
    def deny(_path):
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path, ARM)
    monkeypatch.setattr(Path, "read_bytes", deny)
    check_error("arm.urdf' cannot be read: Permission denied", path)


@pytest.mark.parametrize(
    ("source", "pattern"),
    [
        ("pa11", "'pa11' is not shipped; did you mean 'pa10'"),
        ("PA10", "'PA10' is not shipped; did you mean 'pa10'"),
        ("zebra", "'zebra' is not shipped; known: .*ibm7535.*pa10"),
        ("", "'' is not shipped; known: .*pa10"),
        ("/nowhere/arm.urdf", "'/nowhere/arm.urdf': no such file"),
        ("arm.urdf", "'arm.urdf': no such file"),
        (Path("robots") / "arm", "'robots/arm': no such file"),
    ],
)
def test_unknown_names_and_missing_files_raise_an_error(source, pattern):
    check_error(pattern, source)


def test_a_folder_raises_an_error_that_names_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "arms"
    folder.mkdir()
    for source in (folder, str(folder), "arms", "./arms/"):
        check_error(r"must be a file such as .*arms/arm.urdf, got the folder '.*arms/?'", source)
    write(folder, ARM).rename(folder / "left.urdf")
    check_error("must be a file such as arms/left.urdf", "arms")


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        ({"lock": {"sholder": 0.0}}, "'sholder'.*did you mean 'shoulder'"),
        ({"lock": {"elbow": 1.6}}, "'elbow' must be from -1.5 to 1.5, got 1.6"),
        ({"lock": {"elbow": float("nan")}}, "'elbow' must be 1 number.*'nan'"),
        ({"lock": {"elbow": float("inf")}}, "'elbow' must be finite, got inf"),
        ({"lock": {"elbow": None}}, "'elbow' must be 1 number.*'None'"),
        ({"lock": {"flange": 0.0}}, "'flange'.*must be movable, got a fixed joint"),
        ({"lock": {"shoulder": 0.0, "elbow": 0.0}}, "no movable joint"),
        ({"tip": "tool"}, "no link 'tool'.*did you mean 'tool0'"),
        ({"tip": "base"}, "no movable joint"),
    ],
)
def test_invalid_lock_or_tip_raises_an_error(tmp_path, options, pattern):
    check_error(pattern, write(tmp_path, ARM), **options)


def test_locking_a_leader_checks_the_limits_of_its_follower(tmp_path):
    mimic = '<mimic joint="shoulder" multiplier="2"/></joint>'
    follower = changed(ARM, ('effort="20"/>\n  </joint>', f'effort="20"/>{mimic}'))
    path = write(tmp_path, follower)
    assert load_robot(path, lock={"elbow": 1.0}).joint_names == ("shoulder",)
    check_error("'elbow' must be from .*got 1.6", path, lock={"shoulder": 0.8})


def test_an_invalid_mimic_multiplier_raises_an_error(tmp_path):
    mimic = '<mimic joint="shoulder" multiplier="x"/></joint>'
    path = write(tmp_path, changed(ARM, ('effort="20"/>\n  </joint>', f'effort="20"/>{mimic}')))
    check_error("'elbow'.*'x'", path, lock={"shoulder": 0.8})


@pytest.mark.parametrize(
    ("extras", "pattern"),
    [
        ("gravty: [0, 0, 1]", "unknown key 'gravty'; did you mean 'gravity'"),
        ("gravity: [0, 0]", r"gravity must have shape \(3,\), got \(2,\)"),
        ("gravity: [.nan, 0, 0]", "gravity must be finite numbers, got .nan"),
        ("gravity: [0, 0, down]", "gravity must be 3 numbers, got .*'down'"),
        ("armature: {sholder: 1}", "armature.*'sholder'; did you mean 'shoulder'"),
        ("armature: {elbow: -1}", "armature of elbow must be 0 or more, got -1"),
        ("armature: {elbow: .nan}", "armature of elbow must be 0 or more, got nan"),
        ("armature: 3", "armature must have keys .*, got 3"),
        ("springs: {elbow: 3}", "spring of elbow must have keys .*, got 3"),
        ("springs: {elbow: {rest: 0}}", "spring of elbow, stiffness must be .*, got None"),
        ("springs: {elbow: {stiffness: -2}}", "spring of elbow, stiffness must be .*, got -2"),
        (
            "springs: {elbow: {stiffness: 2, rest: .inf}}",
            "spring of elbow, rest must be .*, got .?inf",
        ),
        ("payload: {link: hand, mass: 1}", "payload: link must exist, got 'hand'"),
        ("payload: {link: tool0}", "payload, mass must be .*, got None"),
        ("payload: {link: tool0, mass: 0}", "payload, mass must be .*, got 0 kg"),
        ("payload: {link: tool0, mass: .nan}", "payload, mass must be .*, got nan"),
        ("payload: {link: tool0, mass: 1, com: [0]}", "payload, com"),
        ("payload: {link: tool0, mass: 1, inertia: [1, 1, 3, 0, 0, 0]}", "payload.*non-physical"),
        ("[gravity]", "must have keys gravity"),
        ("gravity: [0", "not readable YAML"),
    ],
)
def test_invalid_yaml_files_raise_an_error(tmp_path, extras, pattern):
    check_error(f"arm.yaml.*{pattern}", write(tmp_path, ARM, extras))


def test_a_yaml_file_that_is_not_utf8_raises_an_error(tmp_path):
    path = write(tmp_path, ARM)
    path.with_suffix(".yaml").write_bytes("gravity: [0, 0, 0]  # für".encode("latin-1"))
    check_error("arm.yaml", path)


def test_a_joint_without_inertia_about_its_axis_raises_an_error(tmp_path):
    """A point mass on the last joint's axis has no defined acceleration."""
    lower = re.findall(r"<inertial>.*?</inertial>", ARM, re.DOTALL)[1]
    point = '<inertial><mass value="2"/><inertia ixx="0" iyy="0" izz="0"/></inertial>'
    check_error("'elbow'|'lower'", write(tmp_path, changed(ARM, (lower, point))))


def test_a_robot_without_masses_can_be_shown_and_checked_for_collisions():
    """Locking all joints, the remedy for single joints, would raise another error."""
    urdf = re.sub("(?s)<inertial>.*?</inertial>", "", ARM)
    with pytest.raises(
        ManipDynError, match=r"load_kinematics, and shown: manip_dyn view FILE$"
    ) as caught:
        load_robot(urdf)
    assert "--lock" not in str(caught.value)
    errors = check_urdf(urdf, compiled=False).of_level("error")
    assert all("manip_dyn view FILE" in error.remedy for error in errors)
    assert len(errors) == 2


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("(?s)<inertial>.*?</inertial>", ""), ('type="revolute"', 'type="fixed"')],
    ids=["no mass", "no movable joint"],
)
def test_the_hint_to_show_a_robot_contains_its_file(pattern, text, tmp_path):
    path = write(tmp_path, re.sub(pattern, text, ARM))
    command = f"manip_dyn view {path}"
    with pytest.raises(ManipDynError, match=f"shown: {command}$"):
        load_robot(path)
    errors = check_urdf(path, compiled=False).of_level("error")
    assert errors
    assert all(error.remedy.endswith(command) for error in errors)


def test_the_hint_to_show_a_robot_contains_its_xacro_arguments(tmp_path):
    pytest.importorskip("xacro", reason="no xacro")
    urdf = re.sub("(?s)<inertial>.*?</inertial>", "", ARM)
    urdf = re.sub(
        "<robot [^>]*>", '<robot name="$(arg name)"><xacro:arg name="name" default="arm"/>', urdf
    )
    path = tmp_path / "my arm.xacro"
    path.write_text(urdf.replace("<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" '))
    with pytest.raises(ManipDynError, match=r"view '.*my arm.xacro' --xacro=name:=me$"):
        load_robot(path, xacro_args={"name": "me"})
