"""Launch the nodes of a scenario of `manip_dyn demo`, optionally with RViz."""

import os
import sys
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction, SetEnvironmentVariable, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription
from manip_dyn.demo.scenarios import (
    SCENARIOS,
    check_arguments,
    check_installed,
    description_of,
    scenario,
)
from manip_dyn.ros.runtime.environment import local_discovery

SHARE = Path(get_package_share_directory("manip_dyn"))
OWN_TF = [("/tf", "tf"), ("/tf_static", "tf_static"), ("/clock", "clock")]
"""Remappings of transforms and clock into the namespace, so that instances do not interfere."""
SWITCH = ["true", "false"]
ARGUMENTS = {
    "scenario": ("pa10_circle", "Name of the scenario", [item.name for item in SCENARIOS]),
    "params_file": (
        [f"{SHARE / 'config'}/", LaunchConfiguration("scenario"), ".yaml"],
        "Parameters of the nodes (a standard ROS 2 parameter file)",
        None,
    ),
    "use_sim_time": (
        "false",
        "Whether the simulator publishes /clock and the other nodes use it",
        SWITCH,
    ),
    "namespace": ("/", "Namespace of all nodes", None),
    "rviz": (
        "false",
        "Whether to start robot_state_publisher and rviz2 (from a ROS installation)",
        SWITCH,
    ),
    "urdf": (
        "",
        "Different robot for the nodes and RViz: name of a shipped robot, URDF or xacro file, "
        "package://PACKAGE/PATH, or topic for the topic robot_description; empty: robot of "
        "params_file",
        None,
    ),
    "xacro_arguments": ("", "Arguments of a xacro file, as 'NAME:=VALUE NAME:=VALUE'", None),
    "tip": (
        "",
        "Tool link; empty: tip of params_file, or if urdf is set, tool0 or the last link",
        None,
    ),
    "scene": (
        "",
        "YAML file of the objects around the arm for planner and tracker, or self; empty: that of "
        "params_file",
        None,
    ),
    "srdf": (
        "",
        "SRDF of the pairs of links that planner and tracker need not check: path, "
        "package://PACKAGE/PATH, or topic; empty: that of params_file",
        None,
    ),
    "mass_scale": (
        "",
        "Scale factor of the masses of the simulated arm; empty: that of params_file",
        None,
    ),
    "disturbance_duration": (
        "",
        "Duration of the disturbance of the simulated arm, s; empty: that of params_file",
        None,
    ),
}


def generate_launch_description():
    """Declare the launch arguments and the function that creates the nodes."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text, choices=choices)
        for name, (default, text, choices) in ARGUMENTS.items()
    ]
    discovery = local_discovery(os.environ).items()
    environment = [SetEnvironmentVariable(name, value) for name, value in discovery]
    return LaunchDescription([*declared, *environment, OpaqueFunction(function=nodes)])


def nodes(context):
    """Return the nodes of the scenario and, with rviz:=true, the nodes for its display."""
    values = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    chosen = scenario(values["scenario"])
    launch_files = [path.name for path in Path(__file__).parent.glob("*.launch.py")]
    check_arguments(chosen, values, context.argv, sys.argv, launch_files)
    # Missing ROS packages are reported before any node starts.
    displays = viewers(chosen, values) if values["rviz"] == "true" else []
    return [*displays, *(node(name, values) for name in chosen.nodes)]


def node(name, values):
    """Return a node of this package; if it exits, the launch shuts down."""
    # The file comes first, because it would override parameters that precede it.
    parameters = [values["params_file"]]
    if name not in ("simulator", "mechanism"):
        parameters += [{"use_sim_time": LaunchConfiguration("use_sim_time")}]
    elif values["use_sim_time"] == "true":
        parameters += [{"publish_clock": True}]
    if name != "mechanism":
        robot = {"robot": values["urdf"], "tip": values["tip"]} if values["urdf"] else {}
        robot |= {key: values[key] for key in ("xacro_arguments", "tip") if values[key]}
        parameters += [
            {key: ParameterValue(value, value_type=str)} for key, value in robot.items()
        ]
    if name in ("bang_bang_planner", "clik_tracker"):
        parameters += [
            {key: ParameterValue(values[key], value_type=str)}
            for key in ("scene", "srdf")
            if values[key]
        ]
    if name == "simulator":
        for key in ("mass_scale", "disturbance_duration"):
            number = ParameterValue(LaunchConfiguration(key), value_type=float)
            parameters += [{key: number}] if values[key] else []
    return Node(
        package="manip_dyn",
        executable=f"{name}_node",
        namespace=values["namespace"],
        output="screen",
        parameters=parameters,
        ros_arguments=["--enclave", f"/manip_dyn/{name}"],
        on_exit=Shutdown(),
    )


def viewers(chosen, values):
    """Return RViz and, if it requires transforms, robot_state_publisher."""
    config = ["-d", str(SHARE / "config" / f"{chosen.view}.rviz")]
    if "mechanism" in chosen.nodes:  # markers require no transforms
        check_installed("rviz:=true", "rviz2")
        return [viewer("rviz2", values, arguments=config)]
    check_installed("rviz:=true", "rviz2", "robot_state_publisher")
    if values["urdf"] == "topic":  # the publisher of the topic also publishes transforms
        return [viewer("rviz2", values, arguments=config, remappings=OWN_TF)]
    text, frame = description_of(values)
    description = {"robot_description": ParameterValue(text, value_type=str)}
    return [
        viewer("robot_state_publisher", values, description, remappings=OWN_TF),
        viewer("rviz2", values, arguments=[*config, "-f", frame], remappings=OWN_TF),
    ]


def viewer(name, values, parameters=None, **options):
    """Return a node of a ROS package that displays the scenario."""
    return Node(
        package=name,
        executable=name,
        namespace=values["namespace"],
        output="screen",
        parameters=[{"use_sim_time": LaunchConfiguration("use_sim_time")} | (parameters or {})],
        **options,
    )
