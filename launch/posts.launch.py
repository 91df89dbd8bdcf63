"""Simulate a planner that proves its motion between two posts to be free of collisions."""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

from launch import LaunchDescription

SCENARIO = PythonLaunchDescriptionSource(str(Path(__file__).with_name("scenario.launch.py")))
POSTS = Path(__file__).parents[1] / "config" / "scenes" / "posts.yaml"


def generate_launch_description():
    """Include scenario.launch.py, which declares all other arguments."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "scene", default_value=str(POSTS), description="YAML file of the objects"
            ),
            IncludeLaunchDescription(
                SCENARIO, launch_arguments=[("scenario", "ibm7535_minimum_time")]
            ),
        ]
    )
