"""Joint trajectories: their positions as waypoints, and timed paths as messages."""

import numpy as np
import pytest
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import manip_dyn as md
from manip_dyn.ros import timed_trajectory, to_nanoseconds, trajectory_from, waypoints_from

pytestmark = pytest.mark.ros
POINTS = np.array([[0.2, -0.8], [0.9, 0.3], [0.1, 1.2]])


def message(names, rows):
    points = [JointTrajectoryPoint(positions=list(row)) for row in rows]
    return JointTrajectory(joint_names=list(names), points=points)


def test_an_overwritten_effort_trajectory_equals_a_new_one():
    arm, rows = md.load_robot("rr"), [(0.1 * k, np.array([k, -k], dtype=float)) for k in range(5)]
    earlier = None
    for count, end in [(3, 0.5), (5, None), (1, 1.25), (4, 0.7)]:
        earlier = trajectory_from(arm, count, rows[:count], end, earlier)
        assert earlier == trajectory_from(arm, count, rows[:count], end)
        assert [list(point.effort) for point in earlier.points] == [
            *(list(effort) for _, effort in rows[:count]),
            *([] if end is None else [[]]),
        ]
        if end is not None:
            assert to_nanoseconds(earlier.points[-1].time_from_start) == round(1e9 * end)


def test_a_trajectory_is_timed_and_becomes_one_with_efforts():
    arm = md.load_robot("rr")
    waypoints = waypoints_from(message(arm.joint_names[::-1], POINTS[:, ::-1]), arm)
    assert np.array_equal(waypoints, POINTS)
    timing = md.time_path(arm, waypoints)
    timed = timed_trajectory(timing, 0.02, 5)
    assert to_nanoseconds(timed.header.stamp) == 5
    assert tuple(timed.joint_names) == arm.joint_names
    times = [to_nanoseconds(point.time_from_start) for point in timed.points]
    assert times[0] == 0
    assert times[-1] == round(timing.t_final * 1e9)
    for point in timed.points:
        q, v, a = point.positions, point.velocities, point.accelerations
        effort = md.customize(arm).inverse_dynamics(q, v, a)
        assert list(point.effort) == pytest.approx(effort, abs=1e-9)
        assert np.all(np.abs(point.effort) <= arm.tau_max)


@pytest.mark.parametrize(
    ("names", "rows", "words"),
    [
        (["joint_1", "wrist"], POINTS, "trajectory must have each of joint_1, joint_2 once, got"),
        (["joint_1", "joint_2"], [[0.0]], "positions of point 0 must have shape"),
    ],
)
def test_an_invalid_path_is_rejected(names, rows, words):
    with pytest.raises(md.ManipDynError, match=words):
        waypoints_from(message(names, rows), md.load_robot("rr"))
