"""The IBM 7535 moves its shoulder by zero-net-work bang-bang control, simulated."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription

SHARE = Path(get_package_share_directory("manip_dyn"))
OWN_TF = [("/tf", "tf"), ("/tf_static", "tf_static")]
"""Transforms stay in the namespace, so that two instances do not mix."""


def generate_launch_description():
    """Return simulator and planner and, with rviz:=true, what shows them."""
    use_sim_time = {"use_sim_time": LaunchConfiguration("use_sim_time")}
    shared = {"namespace": LaunchConfiguration("namespace"), "output": "screen"}
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "params_file",
                default_value=str(SHARE / "config" / "ibm7535_zero_net_work.yaml"),
                description="Parameters of the nodes (a standard ROS 2 parameters file)",
            ),
            DeclareLaunchArgument(
                "mode",
                default_value="real_time",
                description="How simulated time advances",
                choices=["real_time", "fast", "lockstep"],
            ),
            DeclareLaunchArgument(
                "real_time_factor",
                default_value="1.0",
                description="Simulated time per wall time in real_time mode",
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
                description="Start robot_state_publisher and RViz",
                choices=["true", "false"],
            ),
            Node(
                package="manip_dyn",
                executable="simulator_node",
                parameters=[
                    LaunchConfiguration("params_file"),
                    {
                        "mode": LaunchConfiguration("mode"),
                        "real_time_factor": LaunchConfiguration("real_time_factor"),
                        "publish_clock": LaunchConfiguration("use_sim_time"),
                    },
                ],
                **shared,
            ),
            Node(
                package="manip_dyn",
                executable="bang_bang_planner_node",
                parameters=[LaunchConfiguration("params_file"), use_sim_time],
                **shared,
            ),
            Node(
                package="robot_state_publisher",
                executable="robot_state_publisher",
                parameters=[
                    {"robot_description": (SHARE / "urdf" / "ibm7535.urdf").read_text()},
                    use_sim_time,
                ],
                remappings=OWN_TF,
                condition=IfCondition(LaunchConfiguration("rviz")),
                **shared,
            ),
            Node(
                package="rviz2",
                executable="rviz2",
                arguments=["-d", str(SHARE / "config" / "ibm7535.rviz")],
                parameters=[use_sim_time],
                remappings=OWN_TF,
                condition=IfCondition(LaunchConfiguration("rviz")),
                **shared,
            ),
        ]
    )
