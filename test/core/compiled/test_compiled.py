"""Compiled functions have separate machine code, which is cached while it is valid."""

import fcntl
import pickle
import shutil
import time

import numpy as np
import pytest
from fresh import Fresh
from numba import types

from manip_dyn import compiled
from manip_dyn.core import digest_of, write_checked

HELPER = """
from manip_dyn.core import inlined

FACTOR = 3.0


@inlined
def scaled(x):
    return FACTOR * x
"""
PROGRAM = """
from manip_dyn import compiled
from manip_dyn.core import inlined
from helper import scaled


@compiled
def total(values):
    result = 0.0
    for i in range(values.shape[0]):
        result += scaled(values[i])
    return result


@inlined
def twice(values):
    return 2.0 * total(values)


@compiled
def outer(values):
    return twice(values) + 1.0
"""
SCRIPT = """
import numpy as np
import program

print(program.outer(np.array([1.0, 2.0])))
"""


@pytest.fixture
def fresh(tmp_path):
    """A folder with a program and its helper."""
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory):
    """A folder whose program has been run."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "helper.py").write_text(HELPER)
    (folder / "program.py").write_text(PROGRAM)
    assert printed(folder)[0] == "19.0"
    return folder


@pytest.fixture
def folder(compiled_once, tmp_path):
    """A copy of it, with its cache."""
    shutil.copytree(compiled_once, tmp_path / "copy")
    return tmp_path / "copy"


def start(folder, script=SCRIPT, **environment):
    cache = {"MANIP_DYN_CACHE": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    return Fresh(script, cwd=folder, **cache | environment)


def printed(folder, script=SCRIPT, **environment):
    code, out, log = start(folder, script, **environment).wait()
    assert code == 0, log
    return out.strip(), log


def kept(folder):
    return sorted(path.name for path in (folder / "cache").glob("*.machine_code"))


def test_machine_code_is_cached_for_the_next_process_and_called_by_symbol(folder):
    files = kept(folder)
    assert [name.split("-")[0] for name in files] == ["outer", "total"]  # parts have none
    stamps = [path.stat().st_mtime_ns for path in (folder / "cache").iterdir()]
    assert printed(folder)[0] == "19.0"
    assert kept(folder) == files
    assert [path.stat().st_mtime_ns for path in (folder / "cache").iterdir()] == stamps


@pytest.mark.parametrize(
    ("file", "old", "new", "result"),
    [
        ("helper.py", "FACTOR = 3.0", "FACTOR = 4.0", "25.0"),
        ("helper.py", "return FACTOR * x", "return FACTOR * x * x", "31.0"),
        ("program.py", "result = 0.0", "result = 1.0", "21.0"),
    ],
)
def test_an_edited_helper_invalidates_its_callers(folder, file, old, new, result):
    before = kept(folder)
    path = folder / file
    path.write_text(path.read_text().replace(old, new))
    assert printed(folder)[0] == result
    assert set(before).isdisjoint(set(kept(folder)) - set(before))
    assert len(kept(folder)) == 2 * len(before)


def test_another_numba_compiles_anew(folder):
    upgraded = "import numba; numba.__version__ = '99.0'\n" + SCRIPT
    assert printed(folder, upgraded)[0] == "19.0"
    assert len(kept(folder)) == 4


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_damaged_machine_code_is_recompiled(folder, damage):
    for path in (folder / "cache").glob("*.machine_code"):
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    assert printed(folder)[0] == "19.0"


def test_machine_code_of_another_format_is_recompiled(folder):
    for path in (folder / "cache").glob("*.machine_code"):
        write_checked(path, pickle.dumps(("not", "of three parts")))
    assert printed(folder)[0] == "19.0"


def test_a_function_missing_from_the_cache_is_compiled_for_its_caller(folder):
    (callee,) = (folder / "cache").glob("total-*")
    callee.unlink()
    assert printed(folder)[0] == "19.0"
    assert callee.is_file()


def test_processes_that_start_at_once_compile_once(fresh):
    folder, missed = fresh, "print(*(sum(each._cache_misses.values()) for each in both))"
    both = "both = program.outer, program.total\n"
    processes = [start(folder, SCRIPT + both + missed) for _ in range(3)]
    misses = []
    for process in processes:
        code, out, log = process.wait()
        assert code == 0, log
        result, *counts = out.split()
        assert result == "19.0"
        misses.append([int(count) for count in counts])
    assert np.sum(misses, axis=0).tolist() == [1, 1]
    assert len(kept(folder)) == 2
    assert not list((folder / "cache").glob("*.tmp"))


def test_a_stopped_process_blocks_others_only_briefly(fresh):
    (fresh / "cache").mkdir()
    impatient = "from manip_dyn.core import cache\ncache.LOCK_TIMEOUT = 0.1\n"
    with (fresh / "cache" / ".locks").open("w") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        assert printed(fresh, impatient + SCRIPT)[0] == "19.0"
    assert len(kept(fresh)) == 2


def test_a_killed_compilation_leaves_nothing_half_done(fresh):
    folder = fresh
    process = start(folder)
    while not kept(folder) and process.poll() is None:
        time.sleep(0.01)  # one function is there, its caller is being compiled
    process.kill()
    process.wait()
    assert printed(folder)[0] == "19.0"


def test_an_unusable_cache_causes_one_warning(folder):
    (folder / "blocked").write_text("not a folder")
    out, log = printed(folder, MANIP_DYN_CACHE=str(folder / "blocked" / "cache"))
    assert out == "19.0"
    assert log.count("UserWarning") == 1
    assert "MANIP_DYN_CACHE" in log


def test_a_full_disk_causes_one_warning(fresh):
    full = """
from manip_dyn.core import atomic_files
def no_space(*_, **__): raise OSError(28, "No space left on device")
atomic_files.write_atomically = no_space
"""
    out, log = printed(fresh, full + SCRIPT)
    assert out == "19.0"
    assert log.count("UserWarning") == 1
    assert "No space left on device" in log


def test_a_long_compilation_is_announced_once(fresh):
    folder = fresh
    hurry = "from manip_dyn.core import cache\ncache.ANNOUNCE_AFTER = 0.05\n"
    _, log = printed(folder, hurry + SCRIPT)
    assert log.count("for the first time") == 1
    assert str(folder / "cache") in log
    assert "compiling" not in printed(folder)[1]


def test_everything_runs_without_the_compiler(folder):
    files = kept(folder)
    assert printed(folder, NUMBA_DISABLE_JIT="1")[0] == "19.0"
    assert kept(folder) == files


def test_a_digest_tells_values_apart():
    values = [
        1,
        1.0,
        True,
        "1",
        b"1",
        None,
        (1,),
        (1, 1),
        [1],
        {"a": 1},
        {"a": 2},
        np.zeros(2),
        np.zeros(3),
        np.zeros((2, 1)),
        np.zeros(2, dtype=np.int64),
        types.int64,
        types.float64,
        (types.int64, types.int64, types.float64),
        (types.int64, types.float64, types.float64),
    ]
    digests = [digest_of((value,)) for value in values]
    assert len({*digests, digest_of([1])}) >= len(values) - 1
    assert digest_of(object()) == ""
    assert digest_of(np.arange(3.0)) == digest_of(np.arange(3.0))


def test_a_digest_tells_which_function_comes_again():
    one, two = (lambda: 1), (lambda: 2)
    assert digest_of((one, two, one)) != digest_of((one, two, two))


def test_python_cannot_call_functions_without_a_python_interface():
    """Regression: a segmentation fault."""

    @compiled(python=False)
    def doubled(values):
        return 2.0 * values[0]

    with pytest.raises(TypeError, match="doubled can only be called by compiled code"):
        doubled(np.ones(1))
