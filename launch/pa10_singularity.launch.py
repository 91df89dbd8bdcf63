"""The PA-10's tool follows a circle through a singular posture, with damping."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

from launch import LaunchDescription

SHARE = Path(get_package_share_directory("manip_dyn"))


def generate_launch_description():
    """Return pa10_circle.launch.py, whose arguments it has, with other parameters."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "params_file",
                default_value=str(SHARE / "config" / "pa10_singularity.yaml"),
                description="Parameters of the nodes (a standard ROS 2 parameters file)",
            ),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(SHARE / "launch" / "pa10_circle.launch.py"))
            ),
        ]
    )
