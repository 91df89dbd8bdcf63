"""Any scenario of `manip_dyn demo`: its nodes with its parameters file, and RViz if asked for."""

import os
import sys
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction, SetEnvironmentVariable, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription
from manip_dyn.demo.launch_arguments import check_arguments, check_installed, description_of
from manip_dyn.demo.scenarios import SCENARIOS, scenario
from manip_dyn.ros.runtime.environment import local_discovery

SHARE = Path(get_package_share_directory("manip_dyn"))
OWN_TF = [("/tf", "tf"), ("/tf_static", "tf_static"), ("/clock", "clock")]
"""Transforms and time stay in the namespace, so that two instances do not mix."""
SWITCH = ["true", "false"]
ARGUMENTS = {
    "scenario": ("pa10_circle", "Which scenario", [each.name for each in SCENARIOS]),
    "params_file": (
        [f"{SHARE / 'config'}/", LaunchConfiguration("scenario"), ".yaml"],
        "Parameters of the nodes (a standard ROS 2 parameters file)",
        None,
    ),
    "use_sim_time": (
        "false",
        "Let the simulator, if there is one, publish /clock, and the others follow it",
        SWITCH,
    ),
    "namespace": ("/", "Namespace of all nodes", None),
    "rviz": (
        "false",
        "Start robot_state_publisher and rviz2 (both from a ROS installation)",
        SWITCH,
    ),
    "urdf": (
        "",
        "Another robot for the nodes and RViz: a shipped name, a URDF or xacro file, "
        "package://PACKAGE/PATH, or topic for that on robot_description; empty: that of "
        "params_file",
        None,
    ),
    "xacro_arguments": ("", "Arguments of a xacro file, as 'NAME:=VALUE NAME:=VALUE'", None),
    "tip": (
        "",
        "Tool link; empty: that of params_file, or with urdf tool0 or the last link",
        None,
    ),
    "mass_scale": (
        "",
        "Masses of a simulated arm over those that a planner knows; empty: as params_file says",
        None,
    ),
    "disturbance_duration": (
        "",
        "How long the disturbance of params_file acts on a simulated arm, s; empty: as it says",
        None,
    ),
}


def generate_launch_description():
    """Return the arguments; the nodes follow when they are known."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text, choices=choices)
        for name, (default, text, choices) in ARGUMENTS.items()
    ]
    nearby = [SetEnvironmentVariable(*each) for each in local_discovery(os.environ).items()]
    return LaunchDescription([*declared, *nearby, OpaqueFunction(function=nodes)])


def nodes(context):
    """Return what shows the scenario, with rviz:=true, and its nodes."""
    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    chosen = scenario(given["scenario"])
    ours = [path.name for path in Path(__file__).parent.glob("*.launch.py")]
    check_arguments(chosen, given, context.argv, sys.argv, ours)
    # First what a ROS installation may lack: if it does, nothing has started yet.
    shown = viewers(chosen, given) if given["rviz"] == "true" else []
    return [*shown, *(node(name, given) for name in chosen.nodes)]


def node(name, given):
    """Return a node of this package; it ends, and so does everything."""
    # The file comes first: what stands before it under /** would hold against its later values.
    parameters = [given["params_file"]]
    if name not in ("simulator", "mechanism"):
        parameters += [{"use_sim_time": LaunchConfiguration("use_sim_time")}]
    elif given["use_sim_time"] == "true":
        parameters += [{"publish_clock": True}]
    if name != "mechanism":
        robot = {"robot": given["urdf"], "tip": given["tip"]} if given["urdf"] else {}
        robot |= {each: given[each] for each in ("xacro_arguments", "tip") if given[each]}
        parameters += [
            {each: ParameterValue(value, value_type=str)} for each, value in robot.items()
        ]
    if name == "simulator":
        for each in ("mass_scale", "disturbance_duration"):
            number = ParameterValue(LaunchConfiguration(each), value_type=float)
            parameters += [{each: number}] if given[each] else []
    return Node(
        package="manip_dyn",
        executable=f"{name}_node",
        namespace=given["namespace"],
        output="screen",
        parameters=parameters,
        ros_arguments=["--enclave", f"/manip_dyn/{name}"],
        on_exit=Shutdown(),
    )


def viewers(chosen, given):
    """Return the nodes of a ROS installation that show a scenario."""
    shows = ["-d", str(SHARE / "config" / f"{chosen.view}.rviz")]
    if "mechanism" in chosen.nodes:  # its markers need no transforms
        check_installed("rviz:=true", "rviz2")
        return [viewer("rviz2", given, arguments=shows)]
    check_installed("rviz:=true", "rviz2", "robot_state_publisher")
    if given["urdf"] == "topic":  # who publishes it publishes the transforms
        return [viewer("rviz2", given, arguments=shows, remappings=OWN_TF)]
    text, frame = description_of(given)
    described = {"robot_description": ParameterValue(text, value_type=str)}
    return [
        viewer("robot_state_publisher", given, described, remappings=OWN_TF),
        viewer("rviz2", given, arguments=[*shows, "-f", frame], remappings=OWN_TF),
    ]


def viewer(name, given, parameters=None, **options):
    """Return a node of a ROS installation that shows something."""
    return Node(
        package=name,
        executable=name,
        namespace=given["namespace"],
        output="screen",
        parameters=[{"use_sim_time": LaunchConfiguration("use_sim_time")} | (parameters or {})],
        **options,
    )
