"""Cache files are code: files that others may write are not loaded, and forks do not collide."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from manip_dyn import compiled


@compiled
def double(x):
    return 2.0 * x
"""
RUN = "import program\nprint(program.double(1.0), *program.double._cache_hits.values())\n"
FORKS = """
import os, sys
from manip_dyn import compiled
from manip_dyn.core import inlined

def function_of(factor):
    @inlined
    def scaled(x):
        y = x
        for _ in range(3):
            y = factor * y + x / (1.0 + y * y)
        return y

    @compiled
    def total(x):
        return scaled(x) + scaled(2.0 * x)

    return total

def expected(factor, x):
    def scaled(x):
        y = x
        for _ in range(3):
            y = factor * y + x / (1.0 + y * y)
        return y
    return scaled(x) + scaled(2.0 * x)
"""
BOTH = """
import forks, os
children = []
for factor in (2.0, 3.0):
    child = os.fork()
    if not child:
        forks.function_of(factor)(1.0)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
"""
LOAD = """
import forks
functions = {factor: forks.function_of(factor) for factor in (2.0, 3.0)}
for factor, function in functions.items():
    assert abs(function(1.0) - forks.expected(factor, 1.0)) < 1e-12
    assert sum(function._cache_hits.values()) == 1
"""


def run(folder, script, cache=None):
    root = str(Path(__file__).parents[3])
    environment = os.environ | {
        "PYTHONPATH": root,
        "MANIP_DYN_CACHE": str(cache or folder / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip(), ended.stderr


@pytest.fixture
def folder(tmp_path):
    """A folder with a program that has run once."""
    (tmp_path / "program.py").write_text(PROGRAM)
    assert run(tmp_path, RUN)[0] == "2.0"
    assert run(tmp_path, RUN)[0] == "2.0 1"  # loaded
    return tmp_path


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_a_folder_that_others_may_write_is_not_used(folder, mode):
    (folder / "cache").chmod(mode)
    out, log = run(folder, RUN)
    assert out == "2.0"
    assert log.count("UserWarning") == 1
    assert "other users may write it" in log


def test_a_file_that_others_may_write_is_not_loaded(folder):
    (file,) = (folder / "cache").glob("*.machine_code")
    file.chmod(0o666)
    out, log = run(folder, RUN)
    assert out == "2.0"
    assert "other users may write it" in log


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_not_loaded(folder):
    (file,) = (folder / "cache").glob("*.machine_code")
    os.chown(file, 65534, 65534)
    assert run(folder, RUN)[0] == "2.0"


def test_a_new_cache_is_private_for_every_umask(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    script = "import os\nos.umask(0)\n" + RUN
    assert run(tmp_path, script)[0] == "2.0"
    assert run(tmp_path, script) == ("2.0 1", "")


def test_functions_compiled_in_forked_processes_do_not_collide(tmp_path):
    """Both children give their functions the same names (numba#10486)."""
    (tmp_path / "forks.py").write_text(FORKS)
    run(tmp_path, BOTH)
    run(tmp_path, LOAD)
