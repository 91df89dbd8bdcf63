"""Any scenario of `manip_dyn demo`: its nodes with its parameters file, and RViz if asked for."""

import os
from pathlib import Path

import yaml
from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction, SetEnvironmentVariable, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription
from manip_dyn.demo.scenarios import SCENARIOS, scenario
from manip_dyn.robot import load_robot
from manip_dyn.robot.description import find_urdf
from manip_dyn.ros.runtime.discovery import local

SHARE = Path(get_package_share_directory("manip_dyn"))
OWN_TF = [("/tf", "tf"), ("/tf_static", "tf_static")]
"""Transforms stay in the namespace, so that two instances do not mix."""
SWITCH = ["true", "false"]


def argument(name, default, description, choices=None):
    """Return a launch argument."""
    return DeclareLaunchArgument(
        name, default_value=default, description=description, choices=choices
    )


def generate_launch_description():
    """Return the arguments; the nodes follow when they are known."""
    params_file = [f"{SHARE / 'config'}/", LaunchConfiguration("scenario"), ".yaml"]
    return LaunchDescription(
        [
            argument(
                "scenario", "pa10_circle", "Which scenario", [each.name for each in SCENARIOS]
            ),
            argument(
                "params_file",
                params_file,
                "Parameters of the nodes (a standard ROS 2 parameters file)",
            ),
            argument(
                "use_sim_time",
                "false",
                "Let the simulator, if there is one, publish /clock, and the others follow it",
                SWITCH,
            ),
            argument("namespace", "/", "Namespace of all nodes"),
            argument(
                "rviz",
                "false",
                "Start robot_state_publisher and rviz2 (both from a ROS installation)",
                SWITCH,
            ),
            argument(
                "urdf",
                "",
                "Path of a URDF, or name of a shipped robot, that RViz shows; empty: the robot of "
                "params_file. panda_lissajous moves it, too",
            ),
            argument("tip", "", "Its tool link; empty: tool0 or the last link"),
            argument(
                "mass_scale", "1.0", "Masses of a simulated arm over those that a planner knows"
            ),
            argument(
                "disturbance_duration",
                "0.0",
                "How long the disturbance of params_file acts on a simulated arm, s",
            ),
            *(SetEnvironmentVariable(*each) for each in local(os.environ).items()),
            OpaqueFunction(function=nodes),
        ]
    )


def nodes(context):
    """Return the nodes of the scenario and, with rviz:=true, what shows them."""
    name, urdf, tip, rviz, params_file = (
        LaunchConfiguration(each).perform(context)
        for each in ("scenario", "urdf", "tip", "rviz", "params_file")
    )
    chosen = scenario(name)
    robot = dict(chosen.robot(urdf or None, tip or None)) if chosen.example else {}
    started = [node(each, robot) for each in chosen.nodes]
    if rviz == "false":
        return started
    if "mechanism" in chosen.nodes:  # its markers need no transforms
        return [*started, viewer("rviz2", arguments=["-d", view(chosen)])]
    shown = robot.get("robot") or urdf or robot_in(params_file)
    text = find_urdf(shown).read_text(encoding="utf-8")
    description = {"robot_description": ParameterValue(text, value_type=str)}
    frame = load_robot(shown, tip=robot.get("tip")).base
    return [
        *started,
        viewer("robot_state_publisher", description, remappings=OWN_TF),
        viewer("rviz2", arguments=["-d", view(chosen), "-f", frame], remappings=OWN_TF),
    ]


def node(name, robot):
    """Return a node of this package; it ends, and so does everything."""
    given = LaunchConfiguration("params_file")
    parameters = [given, robot | {"use_sim_time": LaunchConfiguration("use_sim_time")}]
    if name in ("simulator", "mechanism"):
        # The file comes last, so that what it says holds.
        parameters = [{"publish_clock": LaunchConfiguration("use_sim_time")}, given]
    if name == "simulator":
        for each in ("mass_scale", "disturbance_duration"):
            value = ParameterValue(LaunchConfiguration(each), value_type=float)
            parameters.insert(0, {each: value})
    return Node(
        package="manip_dyn",
        executable=f"{name}_node",
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        parameters=parameters,
        ros_arguments=["--enclave", f"/manip_dyn/{name}"],
        on_exit=Shutdown(),
    )


def viewer(name, parameters=None, **options):
    """Return a node of a ROS installation that shows something."""
    return Node(
        package=name,
        executable=name,
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        parameters=[{"use_sim_time": LaunchConfiguration("use_sim_time")} | (parameters or {})],
        **options,
    )


def view(chosen):
    """Return the path of the RViz file that shows a scenario."""
    return str(SHARE / "config" / f"{chosen.view}.rviz")


def robot_in(params_file):
    """Return the robot that a parameters file names first."""
    given = yaml.safe_load(Path(params_file).read_text(encoding="utf-8"))
    return next(node["ros__parameters"]["robot"] for node in given.values())
