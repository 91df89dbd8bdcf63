"""The cylindrical arm turns and retracts by zero-net-work control, simulated."""

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
                SCENARIO, launch_arguments=[("scenario", "cylindrical_zero_net_work")]
            )
        ]
    )
