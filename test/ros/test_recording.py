"""Recordings of nodes: a run in lockstep with a killed recorder, replayed and checked."""

import signal
import subprocess
import sys

import numpy as np
import pytest
from harness import TIMEOUT, Ros, run_node
from rcl_interfaces.msg import ParameterEvent
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import manip_dyn as md
from manip_dyn import ManipDynError

pytest.importorskip("mcap", reason="pip install 'manip_dyn[record]'")
pytest.importorskip("rosbags", reason="pip install 'manip_dyn[record]'")

from manip_dyn.recording import MessageReader, Recorder, messages, read, reader
from manip_dyn.ros import (
    EXPECTED_TOPICS,
    ReplayerNode,
    SimulatorNode,
    check_recording,
    recorded_name,
)

PERIODS = 250
START = [0.3, -0.2]


def effort(k):
    return [3.0 * np.sin(0.05 * k), np.cos(0.03 * k)]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Record an arm in lockstep, kill the recorder and return the file."""
    file = tmp_path_factory.mktemp("recording") / "run.mcap"
    command = [sys.executable, "-m", "manip_dyn.ros.start", "recorder", "--ros-args"]
    command += ["-r", "__ns:=/here", "-p", f"file:={file}"]
    recorder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert recorder.stdout.readline() == '{"ready": true}\n'
        with Ros() as ros:
            space = ["-r", "__ns:=/here"]
            values = {"robot": "ibm7535", "mode": "lockstep", "initial_position": START}
            ros.start(SimulatorNode, space, await_recorder=TIMEOUT, **values)
            states = ros.listen(JointState, "/here/joint_states")
            commands = ros.publisher(Float64MultiArray, "/here/simulator/commands")
            ros.until(lambda: commands.get_subscription_count() == 2, "no recorder listens")
            ros.until(lambda: states and has_parameters(file), "no parameters were recorded")
            for k in range(PERIODS):
                # Before each third command the simulator drops an invalid one.
                if k % 3 == 0:
                    commands.publish(Float64MultiArray(data=[1.0]))
                commands.publish(Float64MultiArray(data=effort(k)))
                due = (k + 1) * 1_000_000
                ros.until(lambda due=due: stamp(states[-1]) == due, "no answer")
            ros.until(lambda: on_disk(file) == PERIODS, "the last state is not on disk")
        recorder.send_signal(signal.SIGKILL)
        assert recorder.wait(TIMEOUT) == -signal.SIGKILL
    finally:
        recorder.kill()
        recorder.wait()
        recorder.stdout.close()
    return file


def stamp(state):
    return state.header.stamp.sec * 10**9 + state.header.stamp.nanosec


def has_parameters(file):
    source = MessageReader(file)
    assert all(source)
    return f"{reader.PARAMETERS}simulator" in source.notes


def on_disk(file):
    """Return the last period whose state is in the file."""
    stamps = [
        stamp(message.content)
        for message in MessageReader(file)
        if message.topic == "/joint_states"
    ]
    return max(stamps, default=0) // 1_000_000


def test_every_message_is_in_the_file_of_a_killed_recorder(file):
    recording = read(file)
    assert not recording.complete
    np.testing.assert_array_equal(recording.stamps_ns, 1_000_000 * np.arange(PERIODS + 1))
    sent = [
        command.content.data.tolist()
        for command in recording.commands
        if len(command.content.data) == 2
    ]
    assert sent == [effort(k) for k in range(PERIODS)]
    assert recording.q[0].tolist() == START
    assert recording.robot.urdf == md.load_robot("ibm7535").urdf


def test_the_replayed_simulator_reproduces_the_states_exactly(file):
    verdict = check_recording(file)
    assert verdict.same, verdict.sentence
    assert (verdict.states, verdict.commands) == (PERIODS + 1, PERIODS)


def copied(file, to, change):
    """Copy a file's messages and notes with each message replaced by `change(message)`."""
    source = MessageReader(file)
    with Recorder(to) as recorder:
        for message in map(change, source):
            recorder.add_topic(message.topic, message.kind, message.latched)
            recorder.add_raw(*message[:2], message.data, *message[2:5])
        for name, content in source.notes.items():
            recorder.add_note(name, content)


def test_a_simulator_that_waits_for_the_recorder_is_recorded_completely(file):
    first = next(message for message in MessageReader(file) if message.topic == "/joint_states")
    assert first.sequence == 1


def test_parameters_set_during_the_run_are_rejected(file, tmp_path):
    """The recorded parameters are those of the start."""
    count = 0

    def change(message):
        nonlocal count
        if message.topic == "/parameter_events":
            return message
        count += message.topic == "/joint_states"
        if count != 100:
            return message
        count += 1
        value = Parameter("mass_scale", Parameter.Type.DOUBLE, 2.0).to_parameter_msg()
        event = ParameterEvent(node="/here/simulator", changed_parameters=[value])
        return message._replace(
            topic="/parameter_events",
            kind="rcl_interfaces/msg/ParameterEvent",
            data=serialize_message(event),
        )

    copied(file, tmp_path / "changed.mcap", change)
    with pytest.raises(
        ManipDynError, match="constant parameters; 'mass_scale' was set while it ran"
    ):
        check_recording(tmp_path / "changed.mcap")


@pytest.mark.parametrize("bit", [0, 40])
def test_a_changed_command_is_detected(file, bit, tmp_path):
    """Even if only the last bit of its first effort differs."""
    count = 0

    def change(message):
        nonlocal count
        count += message.topic == "/simulator/commands"
        if count != 200:
            return message
        count += 1
        data = bytearray(message.data)
        data[-16 + bit // 8] ^= 1 << bit % 8
        return message._replace(data=bytes(data))

    copied(file, tmp_path / "other.mcap", change)
    verdict = check_recording(tmp_path / "other.mcap")
    assert not verdict.same
    assert 100 < verdict.states < 200
    assert "of joint '" in verdict.sentence


def test_a_recording_that_cannot_be_checked_is_rejected(tmp_path):
    with Recorder(tmp_path / "a.mcap") as recorder:
        recorder.add("/joint_states", messages.joint_state("ab", 0, np.ones(2), np.ones(2)), 0)
    with pytest.raises(ManipDynError, match="must contain a simulator's parameters"):
        check_recording(tmp_path / "a.mcap")
    with Recorder(tmp_path / "b.mcap") as recorder:
        recorder.add_note(f"{reader.PARAMETERS}simulator", {"mode": '"real_time"'})
    with pytest.raises(ManipDynError, match="in mode lockstep, got mode real_time"):
        check_recording(tmp_path / "b.mcap")


def test_a_replay_publishes_the_recorded_messages(file):
    with Ros() as ros:
        states = ros.listen(JointState, "/there/joint_states")
        commands = ros.listen(Float64MultiArray, "/there/simulator/commands")
        space = ["-r", "__ns:=/there"]
        replayer = ros.start(ReplayerNode, space, file=str(file), rate=200.0, wait=60.0)
        replayer.end, counts = lambda: None, read(file).topics
        topics = ["/joint_states", "/simulator/commands"]
        ros.until(lambda: all(map(replayer.subscriptions, topics)), "the topics are not found")
        replayer.begin()
        ros.until(lambda: len(states) == counts["/joint_states"], "states are missing")
        ros.until(lambda: len(commands) == counts["/simulator/commands"], "commands are missing")
    positions = {stamp(state): list(state.position) for state in states}
    np.testing.assert_array_equal(
        [positions[1_000_000 * k] for k in range(PERIODS + 1)], read(file).q
    )


def test_serialization_is_compatible_with_ros():
    ours = messages.joint_state(("a", "bc"), 5_000_000_007, np.array([1.5, 2.0]), np.zeros(2))
    theirs = JointState(name=["a", "bc"], position=[1.5, 2.0], velocity=[0.0, 0.0])
    theirs.header.stamp.sec, theirs.header.stamp.nanosec = 5, 7
    assert deserialize_message(messages.serialize(ours), JointState) == theirs
    again = messages.deserialize(serialize_message(theirs), "sensor_msgs/msg/JointState")
    assert messages.serialize(again) == messages.serialize(ours)


def test_expected_topics_have_definitions_and_names():
    for topic in EXPECTED_TOPICS:
        assert messages.definition(topic.kind)
        full = topic.name if topic.name.startswith("/") else f"/left/{topic.name}"
        assert recorded_name(full, "/left", ()) == f"/{topic.name.lstrip('/')}"
    assert recorded_name("/right/joint_states", "/left", ()) == ""
    assert recorded_name("/left/simulator/energy", "left", ("simulator/energy",)) == ""
    assert recorded_name("/joint_states", "/", ()) == "/joint_states"


def test_a_recorder_that_cannot_write_ends_with_one_line(tmp_path):
    code, errors = run_node("recorder", "-p", f"file:={tmp_path}/no/run.mcap")
    assert code == 2
    assert "cannot be written: No such file or directory" in errors
    assert "Traceback" not in errors
