"""A simulated arm moves from rest to rest by a plan: any scenario with planner and simulator."""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

from launch import LaunchDescription

SCENARIO = PythonLaunchDescriptionSource(str(Path(__file__).with_name("scenario.launch.py")))


def generate_launch_description():
    """Return the scenario; the other arguments are those of scenario.launch.py."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "scenario", default_value="ibm7535_zero_net_work", description="Which scenario"
            ),
            DeclareLaunchArgument(
                "robot",
                default_value="",
                description="Name of a shipped robot that RViz shows; empty: that of params_file",
            ),
            DeclareLaunchArgument(
                "urdf",
                default_value=LaunchConfiguration("robot"),
                description="Path of a URDF that RViz shows; empty: that of params_file",
            ),
            IncludeLaunchDescription(SCENARIO),
        ]
    )
