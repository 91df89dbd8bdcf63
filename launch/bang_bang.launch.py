"""A simulated arm moves from rest to rest by a plan: any scenario with planner and simulator."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, Shutdown
from launch.conditions import IfCondition
from launch.substitutions import FileContent, LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription

SHARE = Path(get_package_share_directory("manip_dyn"))
OWN_TF = [("/tf", "tf"), ("/tf_static", "tf_static")]
"""Transforms stay in the namespace, so that two instances do not mix."""


def _shared(folder, argument, suffix):
    return [f"{SHARE / folder}/", LaunchConfiguration(argument), suffix]


def _number(argument):
    return ParameterValue(LaunchConfiguration(argument), value_type=float)


def generate_launch_description():
    """Return simulator and planner and, with rviz:=true, what shows them."""
    use_sim_time = {"use_sim_time": LaunchConfiguration("use_sim_time")}
    shown_urdf = ParameterValue(FileContent(LaunchConfiguration("urdf")), value_type=str)
    shared = {"namespace": LaunchConfiguration("namespace"), "output": "screen"}
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "scenario",
                default_value="ibm7535_zero_net_work",
                description="Name of a parameters file in config/",
            ),
            DeclareLaunchArgument(
                "robot",
                default_value="ibm7535",
                description="Name of the shipped robot that RViz shows",
            ),
            DeclareLaunchArgument(
                "params_file",
                default_value=_shared("config", "scenario", ".yaml"),
                description="Parameters of the nodes (a standard ROS 2 parameters file)",
            ),
            DeclareLaunchArgument(
                "use_sim_time",
                default_value="false",
                description="Let the simulator publish /clock and the others follow it",
                choices=["true", "false"],
            ),
            DeclareLaunchArgument(
                "namespace", default_value="/", description="Namespace of all nodes"
            ),
            DeclareLaunchArgument(
                "rviz",
                default_value="false",
                description="Start robot_state_publisher and rviz2 (both from a ROS installation)",
                choices=["true", "false"],
            ),
            DeclareLaunchArgument(
                "urdf",
                default_value=_shared("urdf", "robot", ".urdf"),
                description="The robot that RViz shows (the one that params_file names)",
            ),
            DeclareLaunchArgument(
                "mass_scale",
                default_value="1.0",
                description="Masses of the simulated arm over those that the planner knows",
            ),
            DeclareLaunchArgument(
                "disturbance_duration",
                default_value="0.0",
                description="How long the disturbance of params_file acts, s",
            ),
            Node(
                package="manip_dyn",
                executable="simulator_node",
                # The file comes last, so that what it says holds.
                parameters=[
                    {
                        "publish_clock": LaunchConfiguration("use_sim_time"),
                        "mass_scale": _number("mass_scale"),
                        "disturbance_duration": _number("disturbance_duration"),
                    },
                    LaunchConfiguration("params_file"),
                ],
                on_exit=Shutdown(),
                **shared,
            ),
            Node(
                package="manip_dyn",
                executable="bang_bang_planner_node",
                parameters=[LaunchConfiguration("params_file"), use_sim_time],
                on_exit=Shutdown(),
                **shared,
            ),
            Node(
                package="robot_state_publisher",
                executable="robot_state_publisher",
                parameters=[
                    {"robot_description": shown_urdf},
                    use_sim_time,
                ],
                remappings=OWN_TF,
                condition=IfCondition(LaunchConfiguration("rviz")),
                **shared,
            ),
            Node(
                package="rviz2",
                executable="rviz2",
                arguments=["-d", str(SHARE / "config" / "bang_bang.rviz")],
                parameters=[use_sim_time],
                remappings=OWN_TF,
                condition=IfCondition(LaunchConfiguration("rviz")),
                **shared,
            ),
        ]
    )
