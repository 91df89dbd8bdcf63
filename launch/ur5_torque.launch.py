"""Efforts without gravity drive a simulated UR5 that holds its own weight."""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

from launch import LaunchDescription

SCENARIO = PythonLaunchDescriptionSource(str(Path(__file__).with_name("scenario.launch.py")))


def generate_launch_description():
    """Return the scenario; the other arguments are those of scenario.launch.py."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "scenario", default_value="ur5_torque", description="Which scenario"
            ),
            IncludeLaunchDescription(SCENARIO),
        ]
    )
