"""Joint trajectories, as ros2_control's joint_trajectory_controller takes them."""

from manip_dyn.control.joint_trajectory.follower import TrajectoryFollower
from manip_dyn.control.joint_trajectory.outcome import Code, Outcome, RefusedTrajectoryError
from manip_dyn.control.joint_trajectory.splines import JointSplines
from manip_dyn.control.joint_trajectory.tolerances import JointTolerance, Tolerances
from manip_dyn.control.joint_trajectory.waypoints import Waypoint, checked_waypoints

__all__ = [
    "Code",
    "JointSplines",
    "JointTolerance",
    "Outcome",
    "RefusedTrajectoryError",
    "Tolerances",
    "TrajectoryFollower",
    "Waypoint",
    "checked_waypoints",
]
