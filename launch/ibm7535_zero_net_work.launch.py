"""The IBM 7535 moves its shoulder by zero-net-work bang-bang control, simulated."""

from pathlib import Path

from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

from launch import LaunchDescription

SCENARIO = PythonLaunchDescriptionSource(str(Path(__file__).with_name("scenario.launch.py")))


def generate_launch_description():
    """Return the scenario; the other arguments are those of scenario.launch.py."""
    return LaunchDescription(
        [
            IncludeLaunchDescription(
                SCENARIO, launch_arguments=[("scenario", "ibm7535_zero_net_work")]
            )
        ]
    )
