"""Joint trajectories: waypoints read from one, and motions along a path made one."""

from __future__ import annotations

import numpy as np
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from manip_dyn.core.checks import Matrix, finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning.path_timing import PathTiming
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.stamps import to_duration, to_time


def waypoints_from(message: JointTrajectory, robot: Robot) -> Matrix:
    """Return the positions (m, n) of a trajectory, joints as the robot's, for `time_path`.

    Its times, velocities and the like are left out.

    Raises:
        ManipDynError: If a joint is missing or unknown, or a point lacks positions.
    """
    names = list(message.joint_names)
    if sorted(names) != sorted(robot.joint_names):
        raise ManipDynError(
            f"trajectory has joints {names}; expected each of {', '.join(robot.joint_names)} once"
        )
    order = [names.index(name) for name in robot.joint_names]
    rows = [
        finite_vector(f"positions of point {k}", point.positions, robot.n)[order]
        for k, point in enumerate(message.points)
    ]
    return np.array(rows).reshape(-1, robot.n)


def timed_trajectory(timing: PathTiming, period: float, stamp_ns: int = 0) -> JointTrajectory:
    """Return a motion along a path as points every `period` s and at its end.

    Each has positions, velocities, accelerations and efforts. A zero stamp means that it begins
    when it arrives.
    """
    message = JointTrajectory(joint_names=list(timing.robot.joint_names))
    message.header.stamp = to_time(stamp_ns)
    for time, q, v, a, effort in zip(*timing.samples(period), strict=True):
        message.points.append(
            JointTrajectoryPoint(
                positions=q.tolist(),
                velocities=v.tolist(),
                accelerations=a.tolist(),
                effort=effort.tolist(),
                time_from_start=to_duration(round(float(time) * 1e9)),
            )
        )
    return message
