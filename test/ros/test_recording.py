"""Recordings of nodes: a lockstep run recorded, its recorder killed, replayed and checked."""

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
from manip_dyn.ros import EXPECTED_TOPICS, SimulatorNode, recorded_name

pytest.importorskip("mcap", reason="pip install 'manip_dyn[record]'")
pytest.importorskip("rosbags", reason="pip install 'manip_dyn[record]'")

from manip_dyn.recording import Recorder, read
from manip_dyn.recording import messages as make
from manip_dyn.recording.messages import definition, deserialize, serialize
from manip_dyn.recording.reader import PARAMETERS, MessageReader
from manip_dyn.ros import ReplayerNode, check_recording

PERIODS = 250
START = [0.3, -0.2]


def effort(k):
    return [3.0 * np.sin(0.05 * k), np.cos(0.03 * k)]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A recording of an arm in lockstep; its recorder was killed."""
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
            ros.until(lambda: states and noted(file), "no parameters were noted")
            for k in range(PERIODS):
                # Each third command is dropped by the simulator before a good one comes.
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


def noted(file):
    found = MessageReader(file)
    assert all(found)
    return f"{PARAMETERS}simulator" in found.notes


def on_disk(file):
    """Return the last period whose state is in the file."""
    stamps = [stamp(each.content) for each in MessageReader(file) if each.topic == "/joint_states"]
    return max(stamps, default=0) // 1_000_000


def test_every_message_is_in_the_file_of_a_killed_recorder(file):
    found = read(file)
    assert not found.complete
    np.testing.assert_array_equal(found.stamps_ns, 1_000_000 * np.arange(PERIODS + 1))
    sent = [each.content.data.tolist() for each in found.commands if len(each.content.data) == 2]
    assert sent == [effort(k) for k in range(PERIODS)]
    assert found.q[0].tolist() == START
    assert found.robot.urdf == md.load_robot("ibm7535").urdf


def test_the_simulator_comes_to_the_same_states_bit_for_bit(file):
    verdict = check_recording(file)
    assert verdict.same, verdict.sentence
    assert (verdict.states, verdict.commands) == (PERIODS + 1, PERIODS)


def copied(file, to, change):
    """Write a file's messages and notes again, those changed that `change` returns."""
    source = MessageReader(file)
    with Recorder(to) as recorder:
        for message in map(change, source):
            recorder.add_topic(message.topic, message.kind, message.latched)
            recorder.add_raw(*message[:2], message.data, *message[2:5])
        for name, content in source.notes.items():
            recorder.add_note(name, content)


def test_a_simulator_that_waits_for_the_recorder_is_recorded_from_its_first_message_on(file):
    first = next(each for each in MessageReader(file) if each.topic == "/joint_states")
    assert first.sequence == 1


def test_parameters_that_were_set_on_the_way_are_refused(file, tmp_path):
    """The noted ones are those of the start."""
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
    with pytest.raises(ManipDynError, match="whose parameter 'mass_scale' was set while it ran"):
        check_recording(tmp_path / "changed.mcap")


@pytest.mark.parametrize("bit", [0, 40])
def test_a_command_that_was_another_is_seen(file, bit, tmp_path):
    """Even by the last bit of its first effort."""
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


def test_what_cannot_be_checked_is_refused(tmp_path):
    with Recorder(tmp_path / "a.mcap") as recorder:
        recorder.add("/joint_states", make.joint_state("ab", 0, np.ones(2), np.ones(2)), 0)
    with pytest.raises(ManipDynError, match="has no parameters of a simulator"):
        check_recording(tmp_path / "a.mcap")
    with Recorder(tmp_path / "b.mcap") as recorder:
        recorder.add_note(f"{PARAMETERS}simulator", {"mode": '"real_time"'})
    with pytest.raises(ManipDynError, match="is of mode real_time; expected one in lockstep"):
        check_recording(tmp_path / "b.mcap")


def test_a_replay_says_what_was_said(file):
    with Ros() as ros:
        states = ros.listen(JointState, "/there/joint_states")
        commands = ros.listen(Float64MultiArray, "/there/simulator/commands")
        space = ["-r", "__ns:=/there"]
        replayer = ros.start(ReplayerNode, space, file=str(file), rate=200.0, wait=60.0)
        replayer.end, told = lambda: None, read(file).topics
        heard = ["/joint_states", "/simulator/commands"]
        ros.until(lambda: all(map(replayer.listeners, heard)), "the topics are not found")
        replayer.begin()
        ros.until(lambda: len(states) == told["/joint_states"], "states are missing")
        ros.until(lambda: len(commands) == told["/simulator/commands"], "commands are missing")
    found = {stamp(each): list(each.position) for each in states}
    np.testing.assert_array_equal([found[1_000_000 * k] for k in range(PERIODS + 1)], read(file).q)


def test_ros_understands_our_bytes_and_we_those_of_ros():
    ours = make.joint_state(("a", "bc"), 5_000_000_007, np.array([1.5, 2.0]), np.zeros(2))
    theirs = JointState(name=["a", "bc"], position=[1.5, 2.0], velocity=[0.0, 0.0])
    theirs.header.stamp.sec, theirs.header.stamp.nanosec = 5, 7
    assert deserialize_message(serialize(ours), JointState) == theirs
    again = deserialize(serialize_message(theirs), "sensor_msgs/msg/JointState")
    assert serialize(again) == serialize(ours)


def test_expected_topics_have_definitions_and_names():
    for each in EXPECTED_TOPICS:
        assert definition(each.kind)
        full = each.name if each.name.startswith("/") else f"/left/{each.name}"
        assert recorded_name(full, "/left", ()) == f"/{each.name.lstrip('/')}"
    assert recorded_name("/right/joint_states", "/left", ()) == ""
    assert recorded_name("/left/simulator/energy", "left", ("simulator/energy",)) == ""
    assert recorded_name("/joint_states", "/", ()) == "/joint_states"


def test_a_recorder_that_cannot_write_ends_with_one_line(tmp_path):
    code, errors = run_node("recorder", "-p", f"file:={tmp_path}/no/run.mcap")
    assert code == 2
    assert "cannot be written: No such file or directory" in errors
    assert "Traceback" not in errors
