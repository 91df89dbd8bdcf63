"""Results survive a round trip through a recording, also with the readers of MCAP and rosbag2."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.integration import Statistics
from manip_dyn.multibody import JointCoordinates
from manip_dyn.recording import MessageReader, read

pytest.importorskip("mcap", reason="pip install 'manip_dyn[record]'")
pytest.importorskip("rosbags", reason="pip install 'manip_dyn[record]'")


def arm(n=50):
    """A robot with the times and random positions, velocities and efforts of 50 samples."""
    robot = md.load_robot("rr")
    random = np.random.default_rng(3)
    return robot, np.arange(n) * 1e-3, *(random.normal(size=(n, robot.n)) for _ in range(3))


def trajectory():
    robot, t, q, v, tau = arm()
    energy = np.random.default_rng(4).normal(size=(len(t), 4))
    status = md.Status.SUCCESS
    reason = "the whole duration was simulated"
    return md.Trajectory(t, q, v, tau, energy, status, reason, Statistics()), robot


def track_result():
    robot, t, q, v, _ = arm()
    zeros, poses = np.zeros(len(t)), np.tile(np.eye(4), (len(t), 1, 1))
    poses[:, 0, 3] = t
    scalars = dict.fromkeys(
        ["position_error", "orientation_error", "smallest_singular_value", "damping", "scale"],
        zeros,
    )
    result = md.TrackResult(
        t=t,
        q=q,
        v=v,
        desired=poses,
        actual=poses,
        error=np.random.default_rng(5).normal(size=(len(t), 6)),
        path_time=t,
        held=q > 9.0,
        drift=None,
        status=md.Status.SUCCESS,
        reason="the path was followed",
        method="rk4",
        settings=md.ClikSettings(),
        followed=t[-1],
        **scalars,
    )
    return result, robot


@pytest.mark.parametrize("create", [trajectory, track_result])
def test_the_motion_of_an_arm_is_read_unchanged(create, tmp_path):
    result, robot = create()
    file = tmp_path / "motion.mcap"
    md.record(result, file, robot=robot)
    recording = read(file)
    np.testing.assert_array_equal(recording.q, result.q)
    np.testing.assert_array_equal(recording.v, result.v)
    np.testing.assert_allclose(recording.t, result.t, atol=1e-12)
    assert recording.robot.urdf == robot.urdf
    assert recording.joint_names == robot.joint_names
    assert recording.complete
    assert recording.resets == recording.commands == ()
    assert recording.metadata["manip_dyn"]["reason"] == result.reason
    tau = getattr(result, "tau", np.full_like(result.q, np.nan))
    np.testing.assert_array_equal(recording.effort, tau)


def test_a_plan_is_recorded_as_states_and_efforts(tmp_path):
    plan = md.plan_zero_net_work(md.load_robot("ibm7535"), [0.975, 0.0], [0.0, 0.0])
    md.record(plan, tmp_path / "plan.mcap", period=0.05)
    recording = read(tmp_path / "plan.mcap")
    for t, q, v, effort in zip(
        recording.t, recording.q, recording.v, recording.effort, strict=True
    ):
        assert np.abs(plan.state(t)[0] - q).max() < 1e-8
        assert np.abs(plan.state(t)[1] - v).max() < 1e-7
        assert any(np.abs(plan.effort(t + e) - effort).max() < 1e-9 for e in (-1e-9, 0.0, 1e-9))
    points = {m.topic: m for m in MessageReader(tmp_path / "plan.mcap")}["/bang_bang_planner/plan"]
    times = [
        p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points.content.points
    ]
    np.testing.assert_allclose(times, [t for t, _ in plan.samples(0.05)], atol=1e-9)


def test_a_mechanism_is_recorded_as_body_poses_and_joint_coordinates(tmp_path):
    mechanism = md.load_mechanism("four_bar")
    t = np.array([0.0, 0.1])
    q = np.array([mechanism.q0, mechanism.q0])
    motion = md.MechanismMotion(
        t=t,
        q=q,
        v=0.1 * q,
        status=md.Status.SUCCESS,
        reason="",
        statistics=Statistics(),
        partitions=1,
        violation=0.0,
    )
    file = tmp_path / "motion.mcap"
    md.record(motion, file, mechanism=mechanism)
    recording = read(file)
    assert recording.robot is None
    np.testing.assert_array_equal(recording.q[1], JointCoordinates(mechanism)(q[1], 0.1 * q[1])[0])
    poses = next(m.content.poses for m in MessageReader(file) if m.topic == "/mechanism/poses")
    p, e = poses[1].position, poses[1].orientation
    np.testing.assert_array_equal([p.x, p.y, p.z], q[0, 7:10])
    np.testing.assert_array_equal([e.w, e.x, e.y, e.z], q[0, 10:14])


def test_a_missing_or_wrong_robot_is_rejected(tmp_path):
    result, _ = trajectory()
    file = tmp_path / "motion.mcap"
    for model, value in (({}, "none"), ({"robot": md.load_robot("pa10")}, "'pa10'")):
        with pytest.raises(md.ManipDynError, match=f"2 coordinates, got {value}; .*robot=..."):
            md.record(result, file, **model)
    with pytest.raises(md.ManipDynError, match="result must be one of Plan"):
        md.record(result.q, file)
    assert not file.exists()


def test_the_readers_of_mcap_and_rosbag2_read_the_written_messages(tmp_path):
    reader = pytest.importorskip("mcap.reader")
    decoder = pytest.importorskip("mcap_ros2.decoder", reason="pip install mcap-ros2-support")
    result, robot = trajectory()
    file = tmp_path / "motion.mcap"
    md.record(result, file, robot=robot)
    with file.open("rb") as opened:
        recording = reader.make_reader(opened, decoder_factories=[decoder.DecoderFactory()])
        assert recording.get_header().profile == "ros2"
        rows = list(recording.iter_decoded_messages())
        assert recording.get_summary().statistics.message_count == len(rows)
    assert {schema.encoding for schema, *_ in rows} == {"ros2msg"}
    assert {channel.message_encoding for _, channel, *_ in rows} == {"cdr"}
    states = [message for _, channel, _, message in rows if channel.topic == "/joint_states"]
    np.testing.assert_array_equal([state.position for state in states], result.q)
    np.testing.assert_array_equal([state.effort for state in states], result.tau)
    last_tf = [message for _, channel, _, message in rows if channel.topic == "/tf"][-1]
    assert last_tf.transforms[0].header.frame_id == robot.base
    from rosbags.rosbag2 import Reader

    with Reader(file) as bag:
        offered = {item.topic: item.ext.offered_qos_profiles for item in bag.connections}
    assert offered["/joint_states"] == []
    assert offered["/robot_description"][0].durability.name == "TRANSIENT_LOCAL"
