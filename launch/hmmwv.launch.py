"""The HMMWV drives over a bump, simulated by the Rosenbrock-Nystrom method."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, Shutdown
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription

SHARE = Path(get_package_share_directory("manip_dyn"))


def generate_launch_description():
    """Return the simulation and, with rviz:=true, what shows its markers."""
    use_sim_time = {"use_sim_time": LaunchConfiguration("use_sim_time")}
    shared = {"namespace": LaunchConfiguration("namespace"), "output": "screen"}
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "params_file",
                default_value=str(SHARE / "config" / "hmmwv.yaml"),
                description="Parameters of the nodes (a standard ROS 2 parameters file)",
            ),
            DeclareLaunchArgument(
                "use_sim_time",
                default_value="true",
                description="Let the others follow the /clock that the simulator publishes",
                choices=["true", "false"],
            ),
            DeclareLaunchArgument(
                "namespace", default_value="/", description="Namespace of all nodes"
            ),
            DeclareLaunchArgument(
                "rviz",
                default_value="false",
                description="Start rviz2 (from a ROS installation)",
                choices=["true", "false"],
            ),
            Node(
                package="manip_dyn",
                executable="mechanism_node",
                parameters=[LaunchConfiguration("params_file")],
                on_exit=Shutdown(),
                **shared,
            ),
            Node(
                package="rviz2",
                executable="rviz2",
                arguments=["-d", str(SHARE / "config" / "hmmwv.rviz")],
                parameters=[use_sim_time],
                condition=IfCondition(LaunchConfiguration("rviz")),
                **shared,
            ),
        ]
    )
