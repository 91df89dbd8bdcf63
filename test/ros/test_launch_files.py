"""The launch files: every scenario has one, and it starts what the demo starts."""

import sys
from pathlib import Path

import pytest

from manip_dyn.core.share import share_directory
from manip_dyn.demo.scenarios import SCENARIOS

LAUNCH, CONFIG = share_directory() / "launch", share_directory() / "config"


def test_every_scenario_has_a_launch_file_parameters_and_a_view():
    for each in SCENARIOS:
        text = (LAUNCH / f"{each.name}.launch.py").read_text()
        assert f'"scenario", default_value="{each.name}"' in text
        assert each.params_file.is_file()
        assert (CONFIG / f"{each.view}.rviz").is_file()


@pytest.fixture
def launched(monkeypatch, tmp_path):
    """What a launch file would start: executables by name, and their command lines."""
    pytest.importorskip("launch_ros", reason="the launch system is not installed")
    from launch.actions import IncludeLaunchDescription
    from launch.launch_description_sources import PythonLaunchDescriptionSource
    from launch_ros.actions import Node

    from launch import LaunchContext

    index = tmp_path / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / "manip_dyn").touch()
    (tmp_path / "share" / "manip_dyn").symlink_to(share_directory())
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def visit(entity, context):
        if isinstance(entity, Node):
            yield entity.node_executable
            return
        for each in entity.visit(context) or ():
            yield from visit(each, context)

    def start(name, **arguments):
        source = PythonLaunchDescriptionSource(str(Path(LAUNCH) / f"{name}.launch.py"))
        included = IncludeLaunchDescription(source, launch_arguments=arguments.items())
        return list(visit(included, LaunchContext()))

    return start


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_a_launch_file_starts_the_nodes_of_its_scenario(launched, scenario):
    arguments = {"urdf": "pa10"} if scenario.example else {}
    nodes = [f"{name}_node" for name in scenario.nodes]
    assert launched(scenario.name, **arguments) == nodes
    shown = launched(scenario.name, rviz="true", **arguments)
    states = [] if "mechanism" in scenario.nodes else ["robot_state_publisher"]
    assert shown == [*nodes, *states, "rviz2"]
    assert launched("scenario", scenario=scenario.name, **arguments) == nodes
