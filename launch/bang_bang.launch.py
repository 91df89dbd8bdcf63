"""Any scenario with planner and simulator: a simulated arm executes a plan."""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

from launch import LaunchDescription
from manip_dyn.demo.scenarios import SCENARIOS

SCENARIO = PythonLaunchDescriptionSource(str(Path(__file__).with_name("scenario.launch.py")))


def generate_launch_description():
    """Return the scenario; the other arguments are those of scenario.launch.py."""
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
