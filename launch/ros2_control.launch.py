"""Launch the simulator as hardware of ros2_control, with a controller."""

import sys
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription
from manip_dyn.demo.scenarios import check_installed, check_known
from manip_dyn.robot import load_robot

CONFIG = Path(get_package_share_directory("manip_dyn")) / "config" / "ros2_control"
CONTROLLERS = {
    "position": "joint_trajectory_controller",
    "velocity": "velocity_trajectory_controller",
    "effort": "forward_effort_controller",
}
"""Name of the controller by kind of command."""
CLAIMED = {"position": "position velocity", "velocity": "velocity", "effort": "effort"}
"""Command interfaces that the controller claims, by kind of command."""
REQUIRED = (
    "robot_state_publisher",
    "controller_manager",
    "joint_state_broadcaster",
    "joint_trajectory_controller",
    "forward_command_controller",
    "joint_state_topic_hardware_interface",
)
PRIVATE_TOPICS = [(name, f"~/{name}") for name in ("joint_states", "robot_description")]
"""Remappings of the simulator's topics. The relative names belong to joint_state_broadcaster and
robot_state_publisher."""


def generate_launch_description():
    """Declare the launch arguments and the function that creates the nodes."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "robot", default_value="ur5", description="Robot", choices=["ur5", "pa10"]
            ),
            DeclareLaunchArgument(
                "command",
                default_value="position",
                description="position or velocity for trajectories and MoveIt, or effort",
                choices=list(CONTROLLERS),
            ),
            DeclareLaunchArgument(
                "use_sim_time",
                default_value="false",
                description="Whether the simulator publishes /clock and the other nodes use it",
                choices=["true", "false"],
            ),
            OpaqueFunction(function=nodes),
        ]
    )


def nodes(context):
    """Return the nodes, after checking that all required ROS packages are installed."""
    names = ("robot", "command", "use_sim_time")
    check_known(names, context.argv, sys.argv, [Path(__file__).name])
    check_installed("ros2_control.launch.py", *REQUIRED)
    robot, command = (LaunchConfiguration(name).perform(context) for name in ("robot", "command"))
    params_file = str(CONFIG / f"{robot}_controllers.yaml")
    text = load_robot(
        CONFIG / f"{robot}.urdf.xacro", xacro_args={"command": CLAIMED[command]}
    ).urdf
    description = {"robot_description": ParameterValue(text, value_type=str)}
    simulated = LaunchConfiguration("use_sim_time").perform(context) == "true"
    clock = {"use_sim_time": simulated}
    controllers = ["joint_state_broadcaster", CONTROLLERS[command]]
    return [
        node("robot_state_publisher", "robot_state_publisher", parameters=[description, clock]),
        node("controller_manager", "ros2_control_node", parameters=[params_file, clock]),
        node("controller_manager", "spawner", arguments=controllers),
        node(
            "manip_dyn",
            "simulator_node",
            parameters=[params_file, {"publish_clock": simulated}],
            remappings=PRIVATE_TOPICS,
            on_exit=Shutdown(),
        ),
    ]


def node(package, executable, **options):
    """Return a node with output to the screen."""
    return Node(package=package, executable=executable, output="screen", **options)
