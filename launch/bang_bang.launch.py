"""Simulate an arm that executes a plan, in any scenario with planner and simulator."""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

from launch import LaunchDescription
from manip_dyn.demo.scenarios import SCENARIOS

SCENARIO = PythonLaunchDescriptionSource(str(Path(__file__).with_name("scenario.launch.py")))


def generate_launch_description():
    """Include scenario.launch.py, which declares all other arguments."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "scenario",
                default_value="ibm7535_zero_net_work",
                description="Name of the scenario",
                choices=[item.name for item in SCENARIOS if "bang_bang_planner" in item.nodes],
            ),
            IncludeLaunchDescription(SCENARIO),
        ]
    )
