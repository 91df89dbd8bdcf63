"""The launch files: every scenario has one, which starts the same nodes as the demo."""

import json
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from ros2_control_page import BEGIN, END, tables

from manip_dyn import ManipDynError
from manip_dyn.demo import SCENARIOS, check_arguments, check_installed, description_of, scenario
from manip_dyn.robot import load_robot

SHARE = Path(__file__).parents[2]
LAUNCH, CONFIG = SHARE / "launch", SHARE / "config"
INSTALLED = (
    "rviz2",
    "robot_state_publisher",
    "controller_manager",
    "joint_state_broadcaster",
    "joint_trajectory_controller",
    "forward_command_controller",
    "joint_state_topic_hardware_interface",
)
FILES = [path.name for path in LAUNCH.glob("*.launch.py")]


def test_every_scenario_has_a_launch_file_a_parameters_file_and_a_view():
    for item in SCENARIOS:
        text = (LAUNCH / f"{item.name}.launch.py").read_text()
        assert f'("scenario", "{item.name}")' in text
        assert item.params_file.is_file()
        assert (CONFIG / f"{item.view}.rviz").is_file()


# ------------------------------------------------------------------ arguments
def values(name, **arguments):
    """Return the launch arguments of a scenario."""
    names = (
        "urdf",
        "tip",
        "xacro_arguments",
        "scene",
        "srdf",
        "mass_scale",
        "disturbance_duration",
    )
    file = str(scenario(name).params_file)
    return (
        dict.fromkeys(names, "")
        | {"scenario": name, "rviz": "false", "params_file": file}
        | arguments
    )


def check(name, *argv, command="ros2 launch manip_dyn scenario.launch.py", **arguments):
    present = values(name, **arguments)
    check_arguments(scenario(name), present, argv, command.split(), FILES)


def error_of(name, *argv, **arguments):
    with pytest.raises(ManipDynError) as caught:
        check(name, *argv, **arguments)
    return str(caught.value)


def test_unknown_arguments_are_rejected():
    check("pa10_circle", "urdf:=pa10", "rviz:=false", urdf="pa10")
    assert error_of("pa10_circle", "udrf:=x") == (
        "launch argument must be declared, got 'udrf'; did you mean 'urdf'?"
    )
    # They may belong to a launch file of another package that includes this one.
    check("pa10_circle", "camera:=yes", command="ros2 launch cell bringup.launch.py camera:=yes")


def test_arguments_without_effect_are_rejected():
    error = error_of(
        "pa10_circle", "scenario:=hmmwv", command="ros2 launch x/pa10_circle.launch.py"
    )
    assert "'scenario' must be 'pa10_circle' in this launch file, got 'hmmwv'" in error
    assert (
        "'mass_scale' must be omitted for scenario 'pa10_circle', which has no simulator"
        in error_of("pa10_circle", mass_scale="1.1")
    )
    check("pa10_bang_bang", mass_scale="1.1", disturbance_duration="0.1", tip="tool0")
    assert "'scene' must be omitted for scenario 'hmmwv', which has no arm" in error_of(
        "hmmwv", scene="self"
    )
    assert "'tip' must be omitted for scenario 'hmmwv', which has no arm" in error_of(
        "hmmwv", tip="x"
    )
    assert "params_file must be an existing file, got '/nowhere'" in error_of(
        "pa10_circle", params_file="/nowhere"
    )


def test_packages_for_rviz_are_checked_before_the_start(tmp_path, monkeypatch):
    (tmp_path / "share" / "rviz2").mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path}")
    check_installed("rviz:=true", "rviz2")
    with pytest.raises(ManipDynError, match=r"'robot_state_publisher', which is not inst.*apt"):
        check_installed("rviz:=true", "rviz2", "robot_state_publisher")


def test_the_displayed_robot_is_that_of_the_nodes():
    urdf, base = description_of(values("pa10_circle"))
    assert ('name="pa10"' in urdf, base) == (True, "base_link")
    urdf, base = description_of(values("pa10_circle", urdf="panda", tip="panda_link4"))
    assert ('name="panda"' in urdf, "panda_joint5" in urdf, base) == (True, False, "panda_link0")
    assert description_of(values("panda_lissajous"))[1] == "panda_link0"


# ------------------------------------------------------------------ started nodes
@pytest.fixture
def launched(monkeypatch, tmp_path):
    """Return a function that lists the nodes that a launch file starts, in order."""
    pytest.importorskip("launch_ros", reason="the launch system is not installed")
    from launch.actions import IncludeLaunchDescription
    from launch.launch_description_sources import PythonLaunchDescriptionSource
    from launch_ros.actions import Node

    from launch import LaunchContext

    index = tmp_path / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    for package in ("manip_dyn", *INSTALLED):
        (index / package).touch()
        if package != "manip_dyn":
            (tmp_path / "share" / package).mkdir()
    (tmp_path / "share" / "manip_dyn").symlink_to(SHARE)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def visit(entity, context):
        if isinstance(entity, Node):
            yield entity
            return
        for child in entity.visit(context) or ():
            yield from visit(child, context)

    def start(name, **arguments):
        file = f"{name}.launch.py"
        argv = [f"{key}:={value}" for key, value in arguments.items()]
        monkeypatch.setattr(sys, "argv", ["ros2", "launch", "manip_dyn", file, *argv])
        source = PythonLaunchDescriptionSource(str(Path(LAUNCH) / file))
        included = IncludeLaunchDescription(source, launch_arguments=arguments.items())
        context = LaunchContext(argv=argv)
        return [
            node for node in visit(included, context) if not node._perform_substitutions(context)
        ]

    return start


def executables(nodes):
    return [node.node_executable for node in nodes]


def parameters(node):
    """Return the contents of the parameters files of a node, in their order."""
    words = [item.perform(None) for word in node.cmd for item in word if hasattr(item, "text")]
    files = [after for word, after in pairwise(words) if word == "--params-file"]
    return [Path(file).read_text(encoding="utf-8") for file in files]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda item: item.name)
def test_a_launch_file_starts_the_nodes_of_its_scenario(launched, scenario):
    nodes = [f"{name}_node" for name in scenario.nodes]
    assert executables(launched(scenario.name)) == nodes
    states = [] if "mechanism" in scenario.nodes else ["robot_state_publisher"]
    # Optional packages come first: if one is missing, nothing has started yet.
    assert executables(launched(scenario.name, rviz="true")) == [*states, "rviz2", *nodes]
    assert executables(launched("scenario", scenario=scenario.name)) == nodes
    with pytest.raises(ManipDynError, match=f"must be '{scenario.name}' in this launch file"):
        launched(scenario.name, scenario="nope")


def test_the_urdf_argument_applies_to_all_nodes(launched):
    nodes = launched("pa10_dynamic_circle", urdf="ur5", mass_scale="1.1")
    for node in nodes:
        scenario, *overrides = parameters(node)
        # A file for /** in front of it would be overridden by it.
        assert scenario == (CONFIG / "pa10_dynamic_circle.yaml").read_text(encoding="utf-8")
        assert any("robot: ur5" in text for text in overrides)
    assert any("mass_scale: 1.1" in text for text in parameters(nodes[0]))
    assert not any("publish_clock" in text for text in parameters(nodes[0])[1:])


def test_scene_and_srdf_apply_to_planner_and_tracker(launched):
    simulator, tracker = launched("pa10_dynamic_circle", scene="self", srdf="topic")
    assert any("scene: self" in text for text in parameters(tracker))
    assert any("srdf: topic" in text for text in parameters(tracker))
    assert not any("scene" in text or "srdf" in text for text in parameters(simulator)[1:])
    _, planner = launched("posts")
    file = CONFIG / "scenes" / "posts.yaml"
    assert any(f"scene: {file}" in text for text in parameters(planner))


@pytest.mark.parametrize("robot", ["ur5", "pa10"])
@pytest.mark.parametrize(
    ("command", "controller"),
    [
        ("position", "joint_trajectory_controller"),
        ("velocity", "velocity_trajectory_controller"),
        ("effort", "forward_effort_controller"),
    ],
)
def test_ros2_control_starts_with_the_simulator(launched, robot, command, controller):
    pytest.importorskip("xacro", reason="xacro is not installed; pip install '.[test]'")
    nodes = launched("ros2_control", robot=robot, command=command)
    assert executables(nodes) == [
        "robot_state_publisher",
        "ros2_control_node",
        "spawner",
        "simulator_node",
    ]
    description = "".join(parameters(nodes[0]))
    interfaces = 2 if command == "position" else 1
    joints = len(load_robot(robot).joint_names)
    assert description.count("command_interface") == interfaces * joints
    assert controller in [
        item.text for word in nodes[2].cmd for item in word if hasattr(item, "text")
    ]
    with pytest.raises(ManipDynError, match="must be declared, got 'rviz'"):
        launched("ros2_control", rviz="true")


@pytest.mark.parametrize("simulated", ["true", "false"])
def test_ros2_control_follows_the_clock_of_the_simulator_on_request(launched, simulated):
    pytest.importorskip("xacro", reason="xacro is not installed; pip install '.[test]'")
    nodes = launched("ros2_control", use_sim_time=simulated)
    states, manager, _, simulator = ("".join(parameters(node)) for node in nodes)
    assert f"use_sim_time: {simulated}" in states
    assert f"use_sim_time: {simulated}" in manager
    assert f"publish_clock: {simulated}" in simulator
    assert "use_sim_time" not in simulator


# ------------------------------------------------------------------ ros2_control
@pytest.mark.parametrize("robot", ["ur5", "pa10"])
@pytest.mark.parametrize("command", ["position", "velocity", "effort", "position velocity"])
def test_the_simulator_is_hardware_of_ros2_control(robot, command, tmp_path, monkeypatch):
    """JointStateTopicSystem 1.1.0 reads topics, a threshold, and interfaces in joint order.

    Each command interface requires a state interface.
    """
    pytest.importorskip("xacro", reason="xacro is not installed; pip install '.[test]'")
    index = tmp_path / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / "manip_dyn").touch()
    (tmp_path / "share" / "manip_dyn").symlink_to(SHARE)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    path = CONFIG / "ros2_control" / f"{robot}.urdf.xacro"
    arm = load_robot(path, xacro_args={"command": command})
    assert arm.joint_names == load_robot(robot).joint_names
    system = ElementTree.fromstring(arm.urdf).find("ros2_control")
    parameters = {item.get("name"): item.text for item in system.iter("param")}
    assert parameters == {
        "joint_commands_topic": "/simulator/joint_commands",
        "joint_states_topic": "/simulator/joint_states",
        "trigger_joint_command_threshold": "-1",
    }
    assert system.find("hardware/plugin").text == (
        "joint_state_topic_hardware_interface/JointStateTopicSystem"
    )
    assert tuple(joint.get("name") for joint in system.findall("joint")) == arm.joint_names
    for joint in system.findall("joint"):
        interfaces = [item.get("name") for item in joint.findall("command_interface")]
        assert interfaces == command.split()
        assert {*interfaces} < {item.get("name") for item in joint.findall("state_interface")}


INTERFACES = ("command_interfaces", "state_interfaces")


@pytest.mark.parametrize("robot", ["ur5", "pa10"])
def test_the_controllers_are_for_all_joints(robot):
    file = CONFIG / "ros2_control" / f"{robot}_controllers.yaml"
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    names = list(load_robot(robot).joint_names)
    allowed = {  # other names are ignored without a message
        "joint_trajectory_controller": {"joints", *INTERFACES},
        "velocity_trajectory_controller": {"joints", *INTERFACES, "gains"},
        "forward_effort_controller": {"joints", "interface_name"},
    }
    for controller, keys in allowed.items():
        options = content[controller]["ros__parameters"]
        assert options["joints"] == names
        assert set(options) == keys
        assert controller in content["controller_manager"]["ros__parameters"]
    positions, velocities = (
        content[f"{kind}_trajectory_controller"]["ros__parameters"]
        for kind in ("joint", "velocity")
    )
    assert positions["command_interfaces"] == ["position", "velocity"]
    assert velocities["command_interfaces"] == ["velocity"]
    assert list(velocities["gains"]) == names
    assert all(gains["ff_velocity_scale"] == 1.0 for gains in velocities["gains"].values())
    simulator = content["/**/simulator"]["ros__parameters"]
    assert len(simulator["initial_position"]) == len(names)
    assert simulator["control_period"] * 500 == 1.0
    assert simulator["publish_tf"] == "never"  # robot_state_publisher publishes it


def test_the_page_has_the_tables_of_the_recorded_runs():
    data = json.loads((SHARE / "docs" / "ros2_control.json").read_text(encoding="utf-8"))
    assert {run["rate"] for run in data["runs"].values()} == {100, 500, 1000}
    page = (SHARE / "docs" / "ros2_control_runs.md").read_text(encoding="utf-8")
    hint = "run python test/ros/record_ros2_control.py docs"
    assert page.split(BEGIN)[1].split(END)[0] == tables(data), hint
    for package, version in data["packages"].items():
        assert f"{package} {version}" in page.replace("\n", " ")
