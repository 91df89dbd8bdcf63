"""The tool of the Panda, or of any URDF, follows a Lissajous figure."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription
from manip_dyn.demo.scenarios import scenario
from manip_dyn.robot import load_robot

SHARE = Path(get_package_share_directory("manip_dyn"))
OWN_TF = [("/tf", "tf"), ("/tf_static", "tf_static")]
"""Transforms stay in the namespace, so that two instances do not mix."""


def generate_launch_description():
    """Return the arguments; the nodes follow when the robot is known."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "params_file",
                default_value=str(SHARE / "config" / "panda_lissajous.yaml"),
                description="Parameters of the nodes (a standard ROS 2 parameters file)",
            ),
            DeclareLaunchArgument(
                "use_sim_time",
                default_value="false",
                description="Take time from /clock",
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
                default_value="",
                description="Path of any URDF; empty: the Panda of example-robot-data",
            ),
            DeclareLaunchArgument(
                "tip",
                default_value="",
                description="Its tool link; empty: tool0 or the last link, the Panda's hand",
            ),
            OpaqueFunction(function=nodes),
        ]
    )


def nodes(context):
    """Return the tracker and, with rviz:=true, what shows it."""
    given = (LaunchConfiguration(name).perform(context) for name in ("urdf", "tip"))
    robot = dict(scenario("panda_lissajous").robot(*given))
    use_sim_time = {"use_sim_time": LaunchConfiguration("use_sim_time")}
    shown_urdf = ParameterValue(Path(robot["robot"]).read_text(), value_type=str)
    shared = {"namespace": LaunchConfiguration("namespace"), "output": "screen"}
    return [
        Node(
            package="manip_dyn",
            executable="clik_tracker_node",
            parameters=[
                LaunchConfiguration("params_file"),
                robot,
                use_sim_time,
            ],
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
            arguments=[
                *("-d", str(SHARE / "config" / "panda_lissajous.rviz")),
                *("-f", load_robot(robot["robot"], tip=robot.get("tip")).base),
            ],
            parameters=[use_sim_time],
            remappings=OWN_TF,
            condition=IfCondition(LaunchConfiguration("rviz")),
            **shared,
        ),
    ]
