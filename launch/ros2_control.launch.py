"""The simulator as hardware of ros2_control, for any of its controllers and MoveIt."""

import sys
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription
from manip_dyn.demo.launch_arguments import check_installed, check_known
from manip_dyn.robot import load_robot

CONFIG = Path(get_package_share_directory("manip_dyn")) / "config" / "ros2_control"
CONTROLLERS = {"position": "joint_trajectory_controller", "effort": "forward_effort_controller"}
"""The controller that is started for each kind of command."""
CLAIMED = {"position": "position velocity", "effort": "effort"}
"""The command interfaces that it claims."""
NEEDED = (
    "robot_state_publisher",
    "controller_manager",
    "joint_state_broadcaster",
    "joint_trajectory_controller",
    "forward_command_controller",
    "joint_state_topic_hardware_interface",
)
OWN_TOPICS = [(name, f"~/{name}") for name in ("joint_states", "robot_description")]
"""Under the plain names stand those of the broadcaster and of robot_state_publisher."""


def generate_launch_description():
    """Return the arguments; the nodes follow when they are known."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "robot", default_value="ur5", description="Which arm", choices=["ur5", "pa10"]
            ),
            DeclareLaunchArgument(
                "command",
                default_value="position",
                description="What the controllers command: position for trajectories and MoveIt, "
                "effort for efforts",
                choices=list(CONTROLLERS),
            ),
            OpaqueFunction(function=nodes),
        ]
    )


def nodes(context):
    """Return what a ROS installation may lack first; if it does, nothing has started yet."""
    check_known(("robot", "command"), context.argv, sys.argv, [Path(__file__).name])
    check_installed("ros2_control.launch.py", *NEEDED)
    robot, command = (LaunchConfiguration(each).perform(context) for each in ("robot", "command"))
    params_file = str(CONFIG / f"{robot}_controllers.yaml")
    text = load_robot(
        CONFIG / f"{robot}.urdf.xacro", xacro_args={"command": CLAIMED[command]}
    ).urdf
    description = {"robot_description": ParameterValue(text, value_type=str)}
    controllers = ["joint_state_broadcaster", CONTROLLERS[command]]
    return [
        node("robot_state_publisher", "robot_state_publisher", parameters=[description]),
        node("controller_manager", "ros2_control_node", parameters=[params_file]),
        node("controller_manager", "spawner", arguments=controllers),
        node(
            "manip_dyn",
            "simulator_node",
            parameters=[params_file],
            remappings=OWN_TOPICS,
            on_exit=Shutdown(),
        ),
    ]


def node(package, executable, **options):
    """Return a node."""
    return Node(package=package, executable=executable, output="screen", **options)
