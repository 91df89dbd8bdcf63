"""Control laws: efforts from measured states and references."""

from manip_dyn.control.computed_torque import (
    ComputedTorque as ComputedTorque,
)
from manip_dyn.control.computed_torque import (
    JointMotion as JointMotion,
)
from manip_dyn.control.computed_torque import (
    delay_margin as delay_margin,
)
from manip_dyn.control.computed_torque import (
    reduced_feedback as reduced_feedback,
)
from manip_dyn.control.continuity import MeasuredState as MeasuredState
from manip_dyn.control.continuity import reset_reason as reset_reason
from manip_dyn.control.joint_drives import (
    Brake as Brake,
)
from manip_dyn.control.joint_drives import (
    JointDrive as JointDrive,
)
from manip_dyn.control.joint_drives import (
    References as References,
)
from manip_dyn.control.joint_trajectory import (
    Code as Code,
)
from manip_dyn.control.joint_trajectory import (
    JointSplines as JointSplines,
)
from manip_dyn.control.joint_trajectory import (
    Outcome as Outcome,
)
from manip_dyn.control.joint_trajectory import (
    RejectedTrajectoryError as RejectedTrajectoryError,
)
from manip_dyn.control.joint_trajectory import (
    Waypoint as Waypoint,
)
from manip_dyn.control.joint_trajectory import (
    checked_waypoints as checked_waypoints,
)
from manip_dyn.control.state_estimation import (
    HISTORY as HISTORY,
)
from manip_dyn.control.state_estimation import (
    SIGMAS as SIGMAS,
)
from manip_dyn.control.state_estimation import (
    Noise as Noise,
)
from manip_dyn.control.state_estimation import (
    StateEstimator as StateEstimator,
)
from manip_dyn.control.trajectory_follower import (
    JointTolerance as JointTolerance,
)
from manip_dyn.control.trajectory_follower import (
    Tolerances as Tolerances,
)
from manip_dyn.control.trajectory_follower import (
    TrajectoryFollower as TrajectoryFollower,
)
