"""The launch files: every scenario has one, and it starts what the demo starts."""

import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

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


def test_every_scenario_has_a_launch_file_parameters_and_a_view():
    for each in SCENARIOS:
        text = (LAUNCH / f"{each.name}.launch.py").read_text()
        assert f'("scenario", "{each.name}")' in text
        assert each.params_file.is_file()
        assert (CONFIG / f"{each.view}.rviz").is_file()


# ------------------------------------------------------------------ arguments
def values(name, **given):
    """What the launch arguments of a scenario are."""
    names = ("urdf", "tip", "xacro_arguments", "mass_scale", "disturbance_duration")
    file = str(scenario(name).params_file)
    return (
        dict.fromkeys(names, "") | {"scenario": name, "rviz": "false", "params_file": file} | given
    )


def check(name, *argv, command="ros2 launch manip_dyn scenario.launch.py", **given):
    present = values(name, **given)
    check_arguments(scenario(name), present, argv, command.split(), FILES)


def refusal(name, *argv, **given):
    with pytest.raises(ManipDynError) as caught:
        check(name, *argv, **given)
    return str(caught.value)


def test_arguments_that_nobody_knows_are_refused():
    check("pa10_circle", "urdf:=pa10", "rviz:=false", urdf="pa10")
    assert refusal("pa10_circle", "udrf:=x") == (
        "launch argument 'udrf' is unknown; did you mean 'urdf'?"
    )
    # They may be those of another package's launch file, which includes ours.
    check("pa10_circle", "camera:=yes", command="ros2 launch cell bringup.launch.py camera:=yes")


def test_arguments_that_would_change_nothing_are_refused():
    told = refusal("pa10_circle", "scenario:=hmmwv", command="ros2 launch x/pa10_circle.launch.py")
    assert "'scenario' is 'hmmwv', but this launch file sets it to 'pa10_circle'" in told
    assert "'mass_scale' is '1.1', but scenario 'pa10_circle' has no simulator" in refusal(
        "pa10_circle", mass_scale="1.1"
    )
    check("pa10_bang_bang", mass_scale="1.1", disturbance_duration="0.1", tip="tool0")
    assert "'tip' is 'x', but scenario 'hmmwv' has no arm" in refusal("hmmwv", tip="x")
    assert "params_file is '/nowhere': no such file" in refusal(
        "pa10_circle", params_file="/nowhere"
    )


def test_what_rviz_needs_is_looked_for_before_anything_starts(tmp_path, monkeypatch):
    (tmp_path / "share" / "rviz2").mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path}")
    check_installed("rviz:=true", "rviz2")
    with pytest.raises(ManipDynError, match=r"'robot_state_publisher', which is not inst.*apt"):
        check_installed("rviz:=true", "rviz2", "robot_state_publisher")


def test_the_robot_that_is_shown_is_the_one_that_moves():
    urdf, base = description_of(values("pa10_circle"))
    assert ('name="pa10"' in urdf, base) == (True, "base_link")
    urdf, base = description_of(values("pa10_circle", urdf="panda", tip="panda_link4"))
    assert ('name="panda"' in urdf, "panda_joint5" in urdf, base) == (True, False, "panda_link0")
    assert description_of(values("panda_lissajous"))[1] == "panda_link0"


# ------------------------------------------------------------------ what is started
@pytest.fixture
def launched(monkeypatch, tmp_path):
    """What a launch file would start: its nodes, in order."""
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
        for each in entity.visit(context) or ():
            yield from visit(each, context)

    def start(name, **arguments):
        file = f"{name}.launch.py"
        argv = [f"{each}:={value}" for each, value in arguments.items()]
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
    """Return the texts of the parameters files of a node, in their order."""
    words = [part.perform(None) for word in node.cmd for part in word if hasattr(part, "text")]
    files = [after for word, after in pairwise(words) if word == "--params-file"]
    return [Path(file).read_text(encoding="utf-8") for file in files]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_a_launch_file_starts_the_nodes_of_its_scenario(launched, scenario):
    nodes = [f"{name}_node" for name in scenario.nodes]
    assert executables(launched(scenario.name)) == nodes
    states = [] if "mechanism" in scenario.nodes else ["robot_state_publisher"]
    # What may be missing comes first: nothing runs yet when it is.
    assert executables(launched(scenario.name, rviz="true")) == [*states, "rviz2", *nodes]
    assert executables(launched("scenario", scenario=scenario.name)) == nodes
    with pytest.raises(ManipDynError, match=f"this launch file sets it to '{scenario.name}'"):
        launched(scenario.name, scenario="nope")


def test_another_robot_is_that_of_the_nodes(launched):
    nodes = launched("pa10_dynamic_circle", urdf="ur5", mass_scale="1.1")
    for node in nodes:
        scenario, *others = parameters(node)
        # In front of it a file for /** would be overruled by it, wherever later ones stand.
        assert scenario == (CONFIG / "pa10_dynamic_circle.yaml").read_text(encoding="utf-8")
        assert any("robot: ur5" in text for text in others)
    assert any("mass_scale: 1.1" in text for text in parameters(nodes[0]))
    assert not any("publish_clock" in text for text in parameters(nodes[0])[1:])


@pytest.mark.parametrize("robot", ["ur5", "pa10"])
def test_ros2_control_is_started_around_the_simulator(launched, robot):
    pytest.importorskip("xacro", reason="xacro is not installed; pip install '.[test]'")
    nodes = launched("ros2_control", robot=robot, command="effort")
    assert executables(nodes) == [
        "robot_state_publisher",
        "ros2_control_node",
        "spawner",
        "simulator_node",
    ]
    description = "".join(parameters(nodes[0]))
    assert description.count("command_interface") == len(load_robot(robot).joint_names)
    with pytest.raises(ManipDynError, match="'rviz' is unknown"):
        launched("ros2_control", rviz="true")


# ------------------------------------------------------------------ ros2_control
@pytest.mark.parametrize("robot", ["ur5", "pa10"])
@pytest.mark.parametrize("command", ["position", "velocity", "effort", "position velocity"])
def test_the_simulator_is_hardware_of_ros2_control(robot, command, tmp_path, monkeypatch):
    """As JointStateTopicSystem 1.1.0 reads it: topics, threshold, an interface in state for each
    in command, in the order of the robot's joints."""
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
    given = {each.get("name"): each.text for each in system.iter("param")}
    assert given == {
        "joint_commands_topic": "/simulator/joint_commands",
        "joint_states_topic": "/simulator/joint_states",
        "trigger_joint_command_threshold": "-1",
    }
    assert system.find("hardware/plugin").text == (
        "joint_state_topic_hardware_interface/JointStateTopicSystem"
    )
    assert tuple(joint.get("name") for joint in system.findall("joint")) == arm.joint_names
    for joint in system.findall("joint"):
        found = [each.get("name") for each in joint.findall("command_interface")]
        assert found == command.split()
        assert {*found} < {each.get("name") for each in joint.findall("state_interface")}


@pytest.mark.parametrize("robot", ["ur5", "pa10"])
def test_the_controllers_are_for_all_joints(robot):
    file = CONFIG / "ros2_control" / f"{robot}_controllers.yaml"
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    names = list(load_robot(robot).joint_names)
    for controller in ("joint_trajectory_controller", "forward_effort_controller"):
        assert content[controller]["ros__parameters"]["joints"] == names
        assert controller in content["controller_manager"]["ros__parameters"]
    trajectories = content["joint_trajectory_controller"]["ros__parameters"]
    assert trajectories["command_interfaces"] == ["position", "velocity"]
    simulator = content["/**/simulator"]["ros__parameters"]
    assert len(simulator["initial_position"]) == len(names)
    assert simulator["control_period"] * 500 == 1.0
