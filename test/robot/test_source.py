"""Robot sources of ROS users: packages, xacro files, URDF strings; options of `load_robot`."""

import numpy as np
import pytest
from arms import ARM, PANDA, UR5, changed, example, write

import manip_dyn as md
from manip_dyn.robot import Oracle, find_mesh, lock_from, xacro_arguments_from

XACRO = changed(
    ARM,
    ('<robot name="arm">', '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
     '<xacro:arg name="effort" default="50"/> <xacro:arg name="heavy" default="false"/>'),
    ('effort="50"', 'effort="$(arg effort)"'),
    ('<mass value="4"/>', '<xacro:property name="m" value="4"/><mass value="${2 * m}"/>'),
    ('<mass value="2"/>', '<xacro:if value="$(arg heavy)"><mass value="3"/></xacro:if>'
     '<xacro:unless value="$(arg heavy)"><mass value="2"/></xacro:unless>'),
)  # fmt: skip


@pytest.fixture
def xacro_file(tmp_path):
    """A xacro file in a package of a workspace, and a YAML file of the same stem."""
    pytest.importorskip("xacro", reason="xacro is not installed; pip install '.[test]'")
    folder = tmp_path / "share" / "arm_description" / "urdf"
    folder.mkdir(parents=True)
    (folder / "arm.urdf.xacro").write_text(XACRO, encoding="utf-8")
    (folder / "arm.yaml").write_text("gravity: [0, 0, -1.6]", encoding="utf-8")
    return folder / "arm.urdf.xacro"


def error_of(source, **options):
    """Return the message of the error that loading a robot raises."""
    with pytest.raises(md.ManipDynError) as caught:
        md.load_robot(source, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_xacro_file_takes_arguments(xacro_file):
    plain = md.load_robot(xacro_file)
    strong = md.load_robot(str(xacro_file), xacro_args={"effort": 70.0, "heavy": True})
    assert (plain.tau_max[0], strong.tau_max[0]) == (50.0, 70.0)
    assert [body.mass for body in plain.bodies] == [8.0, 2.0]
    assert [body.mass for body in strong.bodies] == [8.0, 3.0]
    assert list(plain.gravity) == [0.0, 0.0, -1.6]
    assert "xacro:" not in plain.urdf


def test_a_xacro_file_finds_packages_next_to_its_own(tmp_path, monkeypatch):
    """In a clone of a repository, without a colcon build; folders may have any name."""
    pytest.importorskip("xacro", reason="xacro is not installed; pip install '.[test]'")
    pytest.importorskip("ament_index_python", reason="xacro's $(find) requires it")
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    for folder, name in (("clone", "arm_description"), ("links", "arm_links")):
        (tmp_path / folder / "urdf").mkdir(parents=True)
        (tmp_path / folder / "package.xml").write_text(f"<package><name>{name}</name></package>")
    mesh = tmp_path / "clone" / "meshes" / "arm.stl"
    mesh.parent.mkdir()
    mesh.touch()
    include = '<xacro:include filename="$(find arm_links)/urdf/masses.xacro"/>'
    file = tmp_path / "clone" / "urdf" / "arm.urdf.xacro"
    file.write_text(changed(XACRO, ('<xacro:property name="m" value="4"/>', include)))
    masses = tmp_path / "links" / "urdf" / "masses.xacro"
    assert "package 'arm_links' not found" not in error_of(file)
    masses.write_text('<robot xmlns:xacro="x"><xacro:property name="m" value="5"/></robot>')
    assert md.load_robot(file).bodies[0].mass == 10.0
    assert find_mesh("package://arm_description/meshes/arm.stl", file.parents) == str(mesh)
    file.write_text(changed(file.read_text(), ("arm_links", "arm_meshes")))
    assert "package 'arm_meshes' not found. Run export ROS_PACKAGE_PATH=FOLDER" in error_of(file)
    file.write_text(changed(file.read_text(), ("find arm_meshes", "arg size")))
    assert "argument size. Set the argument by --xacro size:=VALUE" in error_of(file)


def test_a_package_with_the_name_of_another_and_a_suffix_keeps_its_folder(tmp_path):
    pytest.importorskip("ament_index_python", reason="xacro's $(find) requires it")
    pytest.importorskip("xacro", reason="xacro is not installed; pip install '.[test]'")
    for folder, name in (("arm", "arm"), ("links", "arm_links")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "package.xml").write_text(f"<package><name>{name}</name></package>")
    file = tmp_path / "arm" / "arm.urdf.xacro"
    mesh = (
        '<visual><geometry><mesh filename="file://$(find arm_links)/a.stl"/></geometry></visual>'
    )
    file.write_text(changed(XACRO, ('<link name="upper">', f'<link name="upper">{mesh}')))
    assert f"file://{tmp_path}/links/a.stl" in md.load_robot(file).urdf


def test_a_missing_file_of_a_package_is_reported_with_its_folder(tmp_path):
    pytest.importorskip("ament_index_python", reason="xacro's $(find) requires it")
    pytest.importorskip("xacro", reason="xacro is not installed; pip install '.[test]'")
    (tmp_path / "package.xml").write_text("<package><name>arm</name></package>")
    file = tmp_path / "arm.urdf.xacro"
    include = '<xacro:include filename="$(find arm)/arms/$(arg dof)/arm.xacro"/>'
    dof = '<xacro:arg name="dof" default=""/>'
    first = '<xacro:arg name="effort"'
    file.write_text(changed(XACRO, (first, f"{dof}{include}{first}")))
    message = error_of(file)
    assert message.count(str(tmp_path)) == 2, message  # the xacro file and the missing file
    assert "--xacro dof:=VALUE" in message


def test_packages_in_folders_of_other_names_contain_meshes(tmp_path):
    folder = tmp_path / "clone"
    folder.mkdir()
    (folder / "package.xml").write_text("<package><name>arm_meshes</name></package>")
    (folder / "arm.stl").touch()
    address = "package://arm_meshes/arm.stl"
    assert find_mesh(address, [tmp_path]) == find_mesh(address, [folder]) == f"{folder}/arm.stl"


def test_errors_of_xacro_are_one_line(xacro_file, monkeypatch):
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(xacro_file.parents[3]))
    assert "no xacro argument 'efort'; did you mean 'effort'" in error_of(
        xacro_file, xacro_args={"efort": 1}
    )
    text = changed(XACRO, ("${2 * m}", "${2 * n}"))
    xacro_file.write_text(text, encoding="utf-8")
    assert "arm.urdf.xacro' cannot be processed by xacro: " in error_of(xacro_file)
    xacro_file.write_text(changed(XACRO, ("${2 * m}", "${1 / 0}")), encoding="utf-8")
    assert "division by zero" in error_of(xacro_file)
    xacro_file.write_text(XACRO[:200], encoding="utf-8")
    assert "cannot be processed by xacro: " in error_of(xacro_file)


def test_a_package_that_xacro_does_not_find_is_in_the_message(xacro_file, monkeypatch):
    pytest.importorskip("ament_index_python", reason="xacro finds packages by ROS")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(xacro_file.parents[3]))
    include = changed(
        XACRO, ("<xacro:arg", '<xacro:include filename="$(find gone)/a"/><xacro:arg')
    )
    xacro_file.write_text(include, encoding="utf-8")
    assert "gone" in error_of(xacro_file)


def test_only_xacro_files_accept_arguments(tmp_path):
    path = write(tmp_path, ARM)
    assert "xacro arguments require a file that ends in .xacro" in error_of(
        path, xacro_args={"effort": 1}
    )
    assert "with arguments effort" in error_of(ARM, xacro_args={"effort": 1})
    assert "xacro_args must be a mapping" in error_of(path, xacro_args="effort:=1")


def test_the_error_without_xacro_contains_the_installation_command(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "xacro", None)
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(XACRO, encoding="utf-8")
    assert "pip install xacro, or apt install ros-jazzy-xacro" in error_of(path)


def test_package_addresses_are_resolved_in_the_workspaces(xacro_file, monkeypatch):
    prefix = xacro_file.parents[3]
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{prefix}")
    address = "package://arm_description/urdf/arm.urdf.xacro"
    assert md.load_robot(address, xacro_args={"effort": "60"}).tau_max[0] == 60.0
    assert "arm_description has no file 'arm.urdf'" in error_of(
        "package://arm_description/arm.urdf"
    )
    assert "no package 'gone' below AMENT_PREFIX_PATH" in error_of("package://gone/arm.urdf")
    assert "no package ''" in error_of("package://")
    monkeypatch.delenv("AMENT_PREFIX_PATH")
    assert md.load_robot("package://manip_dyn/urdf/rr.urdf").name == "rr"


def test_a_urdf_string_is_a_robot():
    assert md.load_robot(f"\n{ARM}").joint_names == ("shoulder", "elbow")
    assert "robot from a string is not well-formed XML" in error_of("<robot")
    assert "root must be <robot>, got <sdf>" in error_of("<sdf/>")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("a:=1 b:='x y'", {"a": "1", "b": "x y"}),
        ("a:=", {"a": ""}),
        ("a:=b:=c", {"a": "b:=c"}),
    ],
)
def test_xacro_arguments_are_parsed_like_a_command_line(text, values):
    assert xacro_arguments_from(text) == values


@pytest.mark.parametrize("text", ["a", ":=1", "a=1", "a:=1 b", "a:='1"])
def test_invalid_xacro_arguments_raise_an_error(text):
    with pytest.raises(md.ManipDynError, match="xacro_arguments"):
        xacro_arguments_from(text)


def test_locked_joints_are_separated_by_commas():
    assert lock_from(" a=1, b=-0.5,") == {"a": 1.0, "b": -0.5}
    with pytest.raises(md.ManipDynError, match=r"must be JOINT=POSITION, got 'a'"):
        lock_from("a")


# ------------------------------------------------------------------- gravity compensation
def test_an_arm_with_gravity_compensation_rests_without_effort():
    compensated, still = md.load_robot("ur5", holds_itself=True), np.zeros(6)
    q = np.array([0.3, -1.2, 1.1, -0.4, 0.7, 0.2])
    assert np.abs(Oracle(compensated).inverse_dynamics(q, still, still)).max() == 0.0
    v, a = np.array([1.0, -2.0, 0.5, 1.5, -1.0, 2.0]), np.array([3.0, 1.0, -4.0, 2.0, 1.0, -1.0])
    uncompensated = Oracle(md.load_robot("ur5"))
    weight = uncompensated.inverse_dynamics(q, still, still)
    dynamic = uncompensated.inverse_dynamics(q, v, a) - weight
    assert Oracle(compensated).inverse_dynamics(q, v, a) == pytest.approx(dynamic, abs=1e-12)
    assert np.abs(weight).max() > 30.0


def test_gravity_compensation_excludes_the_additional_mass():
    q, still = np.array([0.3, -1.2, 1.1, -0.4, 0.7, 0.2]), np.zeros(6)
    nominal = Oracle(md.load_robot("ur5")).inverse_dynamics(q, still, still)
    robot = md.load_robot("ur5", mass_scale=1.1, holds_itself=True)
    remainder = Oracle(robot).inverse_dynamics(q, still, still)
    assert remainder == pytest.approx(0.1 * nominal, abs=1e-12)


def test_the_argument_viscous_friction_replaces_the_damping_of_the_urdf(tmp_path):
    path = write(tmp_path, ARM)
    assert list(md.load_robot(path).damping) == [0.5, 0.0]
    assert list(md.load_robot(path, viscous_friction=[2.0, 1.0]).damping) == [2.0, 1.0]
    assert "must be at least 0" in error_of(path, viscous_friction=[2.0, -1.0])
    assert "viscous_friction" in error_of(path, viscous_friction=[2.0])


def test_the_argument_armature_replaces_that_of_the_yaml_file():
    robot = md.load_robot("pa10", armature=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    without = md.load_robot("pa10", armature=np.zeros(7))
    assert list(robot.armature) == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    more = Oracle(robot).mass_matrix(np.ones(7)) - Oracle(without).mass_matrix(np.ones(7))
    assert more == pytest.approx(np.diag(robot.armature), abs=1e-12)
    assert list(md.load_robot("pa10").armature[:3]) == [0.75, 0.75, 0.2125]
    assert "must be at least 0" in error_of("pa10", armature=[-1.0] * 7)


# ------------------------------------------------------------------- shipped arms
@pytest.mark.parametrize(("name", "path"), [("panda", PANDA), ("ur5", UR5)])
def test_a_shipped_arm_has_the_kinematics_of_its_public_description(name, path):
    ours = md.load_robot(name)
    public = md.load_robot(example(path), tip=ours.tip)
    assert ours.joint_names == public.joint_names
    assert ours.tau_max == pytest.approx(public.tau_max)
    q = np.random.default_rng(5).uniform(np.maximum(ours.q_min, -2), np.minimum(ours.q_max, 2))
    mine, theirs = (Oracle(robot).forward_kinematics(q) for robot in (ours, public))
    assert mine == pytest.approx(theirs, abs=1e-9)


def test_the_shipped_ur5_has_the_masses_of_ur_description():
    """config/ur5 of ur_description 2.4.5; the z axes of bodies are joint axes."""
    robot = md.load_robot("ur5")
    assert [body.mass for body in robot.bodies] == [3.7, 8.393, 2.33, 1.219, 1.219, 0.1879]
    assert robot.bodies[1].com == pytest.approx([-0.2125, 0.0, 0.11336], abs=1e-12)
    assert np.diag(robot.bodies[1].inertia) == pytest.approx(
        [0.0151074, 0.13388583541666665, 0.13388583541666665]
    )
    assert (robot.tip, robot.base, robot.notes) == ("tool0", "base_link", ())


def test_the_shipped_panda_ends_at_its_tool_centre_point():
    robot = md.load_robot("panda")
    assert (robot.n, robot.tip, robot.base) == (7, "panda_hand_tcp", "panda_link0")
    assert robot.notes == ()
