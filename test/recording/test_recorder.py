"""The file: readable up to where its recorder was killed or the disk was full."""

import sys
from pathlib import Path

import numpy as np
import pytest
from fresh import Fresh

import manip_dyn as md
from manip_dyn.recording import Recorder, read
from manip_dyn.recording import messages as make
from manip_dyn.recording import recorder as recorder_module
from manip_dyn.recording.reader import MessageReader

pytest.importorskip("mcap.writer", reason="pip install 'manip_dyn[record]'")
pytest.importorskip("rosbags", reason="pip install 'manip_dyn[record]'")


def state(k, stamp_ns=None):
    stamp = 1000 * k if stamp_ns is None else stamp_ns
    return make.joint_state(("a", "b"), stamp, np.array([k, -k]), np.zeros(2))


@pytest.fixture
def chunks(tmp_path, monkeypatch):
    """A file of 40 states, each in a chunk of its own, and where each chunk ends."""
    monkeypatch.setattr(recorder_module, "CHUNK_PERIOD", 0.0)
    file, ends = tmp_path / "motion.mcap", []
    with Recorder(file) as recorder:
        for k in range(40):
            recorder.add("/joint_states", state(k), 1000 * k)
            ends.append(file.stat().st_size)
    return file, ends


def test_what_is_older_than_the_period_of_chunks_is_on_disk(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(recorder_module.time, "monotonic", lambda: now[0])
    recorder = Recorder(tmp_path / "motion.mcap")
    for k in range(30):
        now[0] = 0.1 * k
        recorder.add("/joint_states", state(k), 1000 * k)
        kept = sum(1 for _ in MessageReader(recorder.file))
        assert now[0] - 0.1 * kept <= recorder_module.CHUNK_PERIOD + 1e-9
    recorder.close()


def test_a_file_that_is_cut_off_anywhere_is_read_up_to_there(chunks):
    file, ends = chunks
    content = file.read_bytes()
    for size in [*range(ends[0], ends[3], 17), *range(ends[-1], len(content), 83)]:
        file.write_bytes(content[:size])
        found = read(file)
        whole = sum(end <= size for end in ends)
        # A chunk's index, which comes behind it, may be cut off.
        assert whole <= len(found.t) <= whole + 1
        np.testing.assert_array_equal(found.q[:, 0], np.arange(len(found.t)))
        assert not found.complete
    file.write_bytes(content)
    assert read(file).complete


def test_damage_ends_a_file_where_it_is(chunks):
    file, ends = chunks
    content = bytearray(file.read_bytes())
    for place in range(ends[4] + 60, ends[4] + 90):
        content[place] ^= 0xFF
    file.write_bytes(content)
    assert 5 <= len(read(file).t) < 10


def test_a_full_disk_is_one_sentence_and_what_was_written_stays(tmp_path):
    file = tmp_path / "motion.mcap"
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
import manip_dyn as md, numpy as np
from manip_dyn.recording import Recorder, recorder, standard_messages as make
recorder.CHUNK_PERIOD = 0.0
try:
    with Recorder({str(file)!r}) as r:
        for k in range(1000):
            q = np.array([k, k])
            r.add("/joint_states", make.joint_state("ab", 1000 * k, q, 0 * q), k)
except md.ManipDynError as error:
    print(error)
"""
    done = Fresh(code).wait()
    assert done == (0, f"recording '{file}' cannot be written: File too large\n", "")
    assert file.stat().st_size == 20_000
    assert len(read(file).t) > 10


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_disk_that_is_full_at_once_is_told_too(monkeypatch):
    there = Path.open
    monkeypatch.setattr(Path, "open", lambda *_, **__: there(Path("/dev/full"), "wb", 0))
    with (
        pytest.raises(md.ManipDynError, match=r"'a\.mcap' cannot be written: No space left"),
        Recorder("a.mcap") as recorder,
    ):
        recorder.add("/joint_states", state(0), 0)


def test_resets_take_no_time_and_repeated_states_count_once(tmp_path):
    stamps = [0, 10, 10, 20, 0, 0, 10]
    with Recorder(tmp_path / "a.mcap") as recorder:
        for k, stamp in enumerate(stamps):
            recorder.add("/joint_states", state(k, stamp * 10**9), k)
    found = read(tmp_path / "a.mcap")
    np.testing.assert_allclose(found.t, [0.0, 10.0, 20.0, 20.0, 30.0])
    assert found.resets == (3,)
    assert found.q[:, 0].tolist() == [0, 1, 3, 4, 6]


def test_commands_stand_at_the_state_that_they_answer(tmp_path):
    with Recorder(tmp_path / "a.mcap") as recorder:
        for k in range(3):
            recorder.add("/joint_states", state(k, k * 10**9), 100 * k)
            recorder.add("/simulator/commands", make.numbers([k, 7.0]), 100 * k + 50)
    found = read(tmp_path / "a.mcap")
    assert [each.t for each in found.commands] == [0.0, 1.0, 2.0]
    assert [each.content.data[0] for each in found.commands] == [0.0, 1.0, 2.0]


def test_one_of_several_arms_is_chosen_by_its_namespace(tmp_path):
    file = tmp_path / "a.mcap"
    with Recorder(file) as recorder:
        recorder.add("/left/joint_states", state(1), 0)
        recorder.add("/right/joint_states", state(2), 0)
    with pytest.raises(md.ManipDynError, match="no /joint_states; it has /left/joint_states, /ri"):
        read(file)
    assert read(file, "/right").q[0, 0] == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "cannot be read: No such file"), (b"nothing", "is no recording; expected an MCAP")],
)
def test_what_is_no_recording_is_refused(content, words, tmp_path):
    file = tmp_path / "a.mcap"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(md.ManipDynError, match=words):
        read(file)


def test_a_file_that_is_there_is_kept(tmp_path):
    file = tmp_path / "a.mcap"
    file.write_text("precious")
    with pytest.raises(md.ManipDynError, match="is there already; expected a new file"):
        Recorder(file)
    assert file.read_text() == "precious"
    with pytest.raises(md.ManipDynError, match="cannot be written: No such file"):
        Recorder(tmp_path / "no" / "a.mcap")
    with pytest.raises(md.ManipDynError, match=r"does not end in \.mcap; expected it to"):
        Recorder(tmp_path / "a.bag")


def test_a_missing_library_is_named_with_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcap.writer", None)
    with pytest.raises(md.ManipDynError, match=r"need mcap; expected pip .*manip_dyn\[record\]"):
        Recorder(tmp_path / "a.mcap")
