"""Recordings are readable up to the point where their recorder was killed or the disk was full."""

import sys
from pathlib import Path

import numpy as np
import pytest
from fresh import Fresh

import manip_dyn as md
from manip_dyn.recording import MessageReader, Recorder, messages, read, recorder

pytest.importorskip("mcap.writer", reason="pip install 'manip_dyn[record]'")
pytest.importorskip("rosbags", reason="pip install 'manip_dyn[record]'")


def state(k, stamp_ns=None):
    stamp = 1000 * k if stamp_ns is None else stamp_ns
    return messages.joint_state(("a", "b"), stamp, np.array([k, -k]), np.zeros(2))


@pytest.fixture
def chunks(tmp_path, monkeypatch):
    """A file of 40 states, each in a separate chunk, and the file offsets of the chunks' ends."""
    monkeypatch.setattr(recorder, "CHUNK_PERIOD", 0.0)
    file, ends = tmp_path / "motion.mcap", []
    with Recorder(file) as recording:
        for k in range(40):
            recording.add("/joint_states", state(k), 1000 * k)
            ends.append(file.stat().st_size)
    return file, ends


def test_messages_older_than_the_chunk_period_are_on_disk(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(recorder.time, "monotonic", lambda: now[0])
    recording = Recorder(tmp_path / "motion.mcap")
    for k in range(30):
        now[0] = 0.1 * k
        recording.add("/joint_states", state(k), 1000 * k)
        written = sum(1 for _ in MessageReader(recording.file))
        assert now[0] - 0.1 * written <= recorder.CHUNK_PERIOD + 1e-9
    recording.close()


def test_a_truncated_file_is_read_up_to_its_last_complete_chunk(chunks):
    file, ends = chunks
    content = file.read_bytes()
    for size in [*range(ends[0], ends[3], 17), *range(ends[-1], len(content), 83)]:
        file.write_bytes(content[:size])
        recording = read(file)
        complete = sum(end <= size for end in ends)
        # The index after a chunk may be truncated while the chunk is complete.
        assert complete <= len(recording.t) <= complete + 1
        np.testing.assert_array_equal(recording.q[:, 0], np.arange(len(recording.t)))
        assert not recording.complete
    file.write_bytes(content)
    assert read(file).complete


def test_a_damaged_file_is_read_up_to_the_damage(chunks):
    file, ends = chunks
    content = bytearray(file.read_bytes())
    for offset in range(ends[4] + 60, ends[4] + 90):
        content[offset] ^= 0xFF
    file.write_bytes(content)
    assert 5 <= len(read(file).t) < 10


def test_a_full_disk_raises_one_error_and_preserves_the_written_messages(tmp_path):
    file = tmp_path / "motion.mcap"
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
import manip_dyn as md, numpy as np
from manip_dyn.recording import Recorder, messages, recorder
recorder.CHUNK_PERIOD = 0.0
try:
    with Recorder({str(file)!r}) as recording:
        for k in range(1000):
            q = np.array([k, k])
            recording.add("/joint_states", messages.joint_state("ab", 1000 * k, q, 0 * q), k)
except md.ManipDynError as error:
    print(error)
"""
    outcome = Fresh(code).wait()
    assert outcome == (
        0,
        f"recording '{file}' cannot be written: File too large. The file is incomplete.\n",
        "",
    )
    assert file.stat().st_size == 20_000
    assert len(read(file).t) > 10


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_disk_that_is_full_from_the_start_raises_the_same_error(monkeypatch):
    open_path = Path.open
    monkeypatch.setattr(Path, "open", lambda *_, **__: open_path(Path("/dev/full"), "wb", 0))
    with (
        pytest.raises(md.ManipDynError, match=r"'a\.mcap' cannot be written: No space left"),
        Recorder("a.mcap") as recording,
    ):
        recording.add("/joint_states", state(0), 0)


def test_resets_take_no_time_and_repeated_states_count_once(tmp_path):
    stamps = [0, 10, 10, 20, 0, 0, 10]
    with Recorder(tmp_path / "a.mcap") as recording:
        for k, stamp in enumerate(stamps):
            recording.add("/joint_states", state(k, stamp * 10**9), k)
    motion = read(tmp_path / "a.mcap")
    np.testing.assert_allclose(motion.t, [0.0, 10.0, 20.0, 20.0, 30.0])
    assert motion.resets == (3,)
    assert motion.q[:, 0].tolist() == [0, 1, 3, 4, 6]


def test_commands_have_the_time_of_the_last_state_before_them(tmp_path):
    with Recorder(tmp_path / "a.mcap") as recording:
        for k in range(3):
            recording.add("/joint_states", state(k, k * 10**9), 100 * k)
            recording.add("/simulator/commands", messages.numbers([k, 7.0]), 100 * k + 50)
    commands = read(tmp_path / "a.mcap").commands
    assert [command.t for command in commands] == [0.0, 1.0, 2.0]
    assert [command.content.data[0] for command in commands] == [0.0, 1.0, 2.0]


def test_a_namespace_selects_one_of_several_arms(tmp_path):
    file = tmp_path / "a.mcap"
    with Recorder(file) as recording:
        recording.add("/left/joint_states", state(1), 0)
        recording.add("/right/joint_states", state(2), 0)
    with pytest.raises(md.ManipDynError, match="no /joint_states; it has /left/joint_states, /ri"):
        read(file)
    assert read(file, "/right").q[0, 0] == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot be read: No such file"), (b"nothing", "recording must be an MCAP file, got")],
)
def test_files_that_are_not_recordings_are_rejected(content, message, tmp_path):
    file = tmp_path / "a.mcap"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(md.ManipDynError, match=message):
        read(file)


def test_a_recorder_never_overwrites_a_file(tmp_path):
    file = tmp_path / "a.mcap"
    file.write_text("precious")
    with pytest.raises(md.ManipDynError, match="recording must be a new file"):
        Recorder(file)
    assert file.read_text() == "precious"
    with pytest.raises(md.ManipDynError, match="cannot be written: No such file"):
        Recorder(tmp_path / "no" / "a.mcap")
    with pytest.raises(md.ManipDynError, match=r"must end in \.mcap, got"):
        Recorder(tmp_path / "a.bag")


def test_a_missing_library_is_named_with_its_installation_command(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcap.writer", None)
    with pytest.raises(md.ManipDynError, match=r"need mcap; pip .*manip_dyn\[record\]"):
        Recorder(tmp_path / "a.mcap")
