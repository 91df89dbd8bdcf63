"""Topics and services of the tracker, measured by a subscriber."""

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TwistStamped
from harness import LATCHED
from nav_msgs.msg import Path
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

import manip_dyn as md
from manip_dyn.ros import ClikTrackerNode

CIRCLE = {
    "circle.center": [0.0, 0.4, 0.6],
    "circle.normal": [0.0, 1.0, 0.0],
    "circle.start": [-1.0, 0.0, 0.0],
    "circle.tool_rpy": [0.0, 0.7853981633974483, 0.0],
    "initial_position": [2.69, 0.51, -0.24, 1.42, 0.87, -2.41, -2.0],
    "real_time_factor": 20.0,
}


def stamp(message):
    return message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec


def position(pose):
    return np.array([pose.position.x, pose.position.y, pose.position.z])


@pytest.fixture
def tracker(ros):
    """A running tracker with lists of its published messages."""
    ros.states = ros.listen(JointState, "joint_states")
    ros.desired = ros.listen(PoseStamped, "clik_tracker/desired_pose")
    ros.errors = ros.listen(TwistStamped, "clik_tracker/error")
    ros.start(ClikTrackerNode, **CIRCLE)
    ros.until(lambda: ros.states and ros.desired, "the tracker publishes nothing")
    return ros


def messages_of_one_stamp(ros, *topics, count=100):
    """Wait for messages with equal stamps on all topics; return them as tuples by stamp."""
    groups = []

    def enough():
        by_stamp = [{stamp(m): m for m in messages} for messages in topics]
        common = set.intersection(*map(set, by_stamp))
        groups[:] = [tuple(messages[t] for messages in by_stamp) for t in sorted(common)]
        return len(groups) >= count

    ros.until(lambda: len(topics[0]) % 20 == 0 and enough(), "too few messages of one stamp")
    return groups


def test_tool_is_on_the_circle_by_the_joints_own_kinematics(tracker):
    pairs = messages_of_one_stamp(tracker, tracker.states, tracker.desired)
    desired = {stamp(m): position(m.pose) for m in tracker.desired}
    kernels = md.customize(md.load_robot("pa10"))
    errors = [
        np.linalg.norm(kernels.forward_kinematics(m.position)[:3, 3] - position(there.pose))
        for m, there in pairs[50:100]
    ]
    assert max(errors) < 1e-6
    center = np.array(CIRCLE["circle.center"])
    radii = [np.linalg.norm(point - center) for point in desired.values()]
    assert radii == pytest.approx([0.5] * len(radii), abs=1e-12)


def test_published_error_is_the_error(tracker):
    kernels = md.customize(md.load_robot("pa10"))
    groups = messages_of_one_stamp(
        tracker, tracker.errors, tracker.desired, tracker.states, count=20
    )
    for message, desired, state in groups:
        actual = kernels.forward_kinematics(state.position)[:3, 3]
        linear = message.twist.linear
        published = np.array([linear.x, linear.y, linear.z])
        assert published == pytest.approx(position(desired.pose) - actual, abs=1e-12)


def test_paths_are_published_in_the_base_frame(tracker):
    desired = tracker.listen(Path, "clik_tracker/desired_path", LATCHED)
    actual = tracker.listen(Path, "clik_tracker/actual_path")
    tracker.until(lambda: desired and len(actual) > 3, "no paths")
    points = np.array([position(p.pose) for p in desired[0].poses])
    assert desired[0].header.frame_id == "base_link"
    assert np.linalg.norm(points[-1] - points[0]) < 0.02
    assert len(actual[-1].poses) > len(actual[0].poses)


def test_pause_and_reset(tracker):
    assert tracker.call(SetBool, "clik_tracker/pause", SetBool.Request(data=True)).success
    tracker.until_still(tracker.states)
    count = len(tracker.states)
    assert tracker.call(Trigger, "clik_tracker/reset").success
    assert tracker.call(SetBool, "clik_tracker/pause", SetBool.Request(data=False)).success
    tracker.until(lambda: len(tracker.states) > count, "the tracker stopped")
    assert list(tracker.states[count].position) == list(tracker.states[0].position)


def test_a_clock_that_jumps_back_restarts_the_path(ros):
    """A reset of the simulator sets /clock back."""
    states = ros.listen(JointState, "joint_states")
    ros.start(ClikTrackerNode, use_sim_time=True, step=0.02, **CIRCLE | {"real_time_factor": 1.0})
    clock, now = ros.publisher(Clock, "/clock"), [5_000_000_000]

    def tick():
        now[0] += 20_000_000
        time = Time(sec=now[0] // 10**9, nanosec=now[0] % 10**9)
        clock.publish(Clock(clock=time))

    ros.insist(tick, lambda: len(states) > 5, "no joint states")
    begun, now[0] = list(states[0].position), 0
    # The clock runs until the node has detected the jump.
    back = lambda: ros.warned("time went back on /clock", "the path restarts")  # noqa: E731
    ros.insist(tick, back, "the jump is not detected")
    restarted = lambda: begun in [list(state.position) for state in states[6:]]  # noqa: E731
    ros.insist(tick, restarted, "the path does not restart")


def test_another_publisher_of_joint_states_is_named(ros):
    """Regression: no warning if a simulator in the same namespace publishes joint_states."""
    ros.diagnostics = ros.listen(DiagnosticArray, "/diagnostics")
    ros.start(ClikTrackerNode, **CIRCLE)
    ros.probe.create_publisher(JointState, "joint_states", 1)
    ros.expect_warning(
        "other nodes publish on /joint_states: /probe; this node must be the only publisher"
    )
    levels = lambda: {  # noqa: E731
        m.status[0].level for m in ros.diagnostics if "/probe" in m.status[0].message
    }
    ros.until(levels, "no diagnostics of it")
    assert levels() == {DiagnosticStatus.WARN}


def test_a_met_limit_is_reported(ros, tmp_path):
    text = md.load_robot("pa10").urdf.replace("2.8797932657906435", "2.42")
    assert text.count("2.42") >= 2
    urdf = tmp_path / "narrow.urdf"
    urdf.write_text(text)
    diagnostics = ros.listen(DiagnosticArray, "/diagnostics")
    ros.start(ClikTrackerNode, **(CIRCLE | {"robot": urdf, "real_time_factor": 200.0}))
    ros.expect_warning("joint 'W1' met its limit")
    ros.until(
        lambda: any("W1" in m.status[0].message for m in diagnostics),
        "no diagnostics of the limit",
    )


CSV = "t,x,y,z,qx,qy,qz,qw\n0,0.5,0,0.6,0,1,0,0\n1,0.5,0.1,0.6,0,1,0,0\n2,0.5,0.2,0.5,0,1,0,0\n"
DOWN = [3.141592653589793, 0.0, 3.141592653589793]


@pytest.mark.parametrize(
    "parameters",
    [
        {
            "path": "line",
            "line.start": [0.5, 0.0, 0.6],
            "line.start_rpy": DOWN,
            "line.end": [0.5, 0.2, 0.5],
        },
        {
            "path": "lissajous",
            "lissajous.amplitudes": [0.0, 0.1, 0.05],
            "lissajous.frequencies": [1.0, 1.0, 2.0],
            "lissajous.period": 5.0,
        },
        {
            "path": "waypoints",
            "waypoints.poses": [0.5, 0.0, 0.6, *DOWN, 0.5, 0.1, 0.6, *DOWN, 0.5, 0.2, 0.5, *DOWN],
        },
        {"path": "csv"},
    ],
    ids=lambda parameters: parameters["path"],
)
def test_every_kind_of_path_is_followed(ros, tmp_path, parameters):
    file = tmp_path / "path.csv"
    file.write_text(CSV)
    desired = ros.listen(Path, "clik_tracker/desired_path", LATCHED)
    errors = ros.listen(TwistStamped, "clik_tracker/error")
    common = {"initial_position": [0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0], "step": 0.02}
    file_parameters = {"csv.file": file} if parameters["path"] == "csv" else {}
    ros.start(ClikTrackerNode, real_time_factor=10.0, **(common | parameters | file_parameters))
    ros.until(lambda: len(errors) > 200 and desired, "the path is not followed")
    linear = np.array([[e.twist.linear.x, e.twist.linear.y, e.twist.linear.z] for e in errors])
    assert np.linalg.norm(linear, axis=1).max() < 1e-6
    points = np.array([position(p.pose) for p in desired[0].poses])
    assert np.abs(np.diff(points, axis=0)).max() > 0.0


def test_a_path_out_of_reach_is_reported_with_position_and_distance(ros):
    line = {
        "path": "line",
        "line.start": [0.6, 0.0, 0.4],
        "line.end": [1.3, 0.0, 0.4],
        "line.start_rpy": DOWN,
        "line.linear_speed": 0.5,
    }
    diagnostics = ros.listen(DiagnosticArray, "/diagnostics")
    ros.start(
        ClikTrackerNode,
        step=0.01,
        gain=5.0,
        initial_position=[0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0],
        real_time_factor=5.0,
        **line,
    )
    ros.expect_warning("the tool leaves the path", "at (")
    ros.until(
        lambda: any(
            "off the path by up to 0.3" in m.status[0].message
            and "at (1.3, 0, 0.4) m" in m.status[0].message
            for m in diagnostics
        ),
        "no diagnostics of it",
    )
