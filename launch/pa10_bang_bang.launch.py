"""The PA-10 moves all seven joints against gravity by its effort limits, simulated."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

from launch import LaunchDescription

LAUNCH = Path(get_package_share_directory("manip_dyn")) / "launch"


def generate_launch_description():
    """Return the nodes of the scenario; the arguments are those of bang_bang.launch.py."""
    source = PythonLaunchDescriptionSource(str(LAUNCH / "bang_bang.launch.py"))
    chosen = {"scenario": "pa10_bang_bang", "robot": "pa10"}
    return LaunchDescription([IncludeLaunchDescription(source, launch_arguments=chosen.items())])
