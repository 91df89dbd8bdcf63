"""Simulate the swing of a stiff double pendulum with the Rosenbrock-Nystrom method."""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

from launch import LaunchDescription

SCENARIO = PythonLaunchDescriptionSource(str(Path(__file__).with_name("scenario.launch.py")))


def generate_launch_description():
    """Include scenario.launch.py, which declares all other arguments."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "use_sim_time",
                default_value="true",
                description="Whether the simulator publishes /clock and the other nodes use it",
            ),
            IncludeLaunchDescription(SCENARIO, launch_arguments=[("scenario", "stiff_pendulum")]),
        ]
    )
