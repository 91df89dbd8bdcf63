"""Simulate the fastest motion of the PA-10 along a straight joint path under gravity."""

from pathlib import Path

from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

from launch import LaunchDescription

SCENARIO = PythonLaunchDescriptionSource(str(Path(__file__).with_name("scenario.launch.py")))


def generate_launch_description():
    """Include scenario.launch.py, which declares all other arguments."""
    return LaunchDescription(
        [IncludeLaunchDescription(SCENARIO, launch_arguments=[("scenario", "pa10_bang_bang")])]
    )
