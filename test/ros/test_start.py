"""Nodes as programs: signals at any time, first messages."""

import os
import subprocess
import sys

import pytest
from harness import TIMEOUT

from manip_dyn.core import cache, compiled
from manip_dyn.ros import rate_summary

SIGNAL_ITSELF = "import os, signal, sys, time\nnumber = signal.{}\n"
IN_AN_IMPORT = """
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "{}":
            os.kill(os.getpid(), number)
            time.sleep(60)

from manip_dyn.ros import start

sys.meta_path.insert(0, Finder())
sys.exit(start.start("simulator"))
"""
WHILE_COMPILING = """
from numba.core.compiler import DefaultPassBuilder
from manip_dyn.ros import start

real = DefaultPassBuilder.define_nopython_pipeline

def define_nopython_pipeline(state, name="nopython"):
    os.kill(os.getpid(), number)
    return real(state, name)  # the current compilation finishes

DefaultPassBuilder.define_nopython_pipeline = staticmethod(define_nopython_pipeline)
sys.argv[1:] = ["--ros-args", "-p", "robot:=one_link_vertical"]
sys.exit(start.start("simulator"))
"""
IN_AN_EXEC = """
import rclpy
from manip_dyn.ros import start

real = rclpy.init

def init(**options):
    real(**options)
    exec("os.kill(os.getpid(), number)\\nfor _ in range(1000): pass")

rclpy.init = init
sys.exit(start.start("simulator"))
"""


@pytest.mark.parametrize(
    "program",
    [IN_AN_IMPORT.format("rclpy"), WHILE_COMPILING, IN_AN_EXEC],
    ids=["import", "compiling", "exec"],
)
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_signal_at_any_time_ends_a_node_without_a_traceback(program, number, tmp_path):
    (tmp_path / "program.py").write_text(SIGNAL_ITSELF.format(number) + program)
    done = subprocess.run(
        [sys.executable, "-m", "program"],
        cwd=tmp_path,
        env=os.environ | {"MANIP_DYN_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "FATAL" not in done.stderr


@pytest.fixture
def first_uses(monkeypatch, tmp_path):
    """Names of modules and functions that are compiled for the first time, in an empty cache."""
    names = []
    monkeypatch.setenv("MANIP_DYN_CACHE", str(tmp_path))
    monkeypatch.setattr(cache, "_listeners", [])
    cache.on_first_use(names.append)
    return names


def test_a_generated_module_is_reported_once_before_its_creation(first_uses):
    def text():
        assert first_uses == ["new_thing"]
        return "x = 1\n"

    assert cache.generated_module("new_thing", b"", text).x == 1
    assert cache.generated_module("new_thing", b"", text).x == 1
    assert first_uses == ["new_thing"]


@compiled.compiled
def twice(x):
    return 2.0 * x


def test_a_compilation_is_reported_once(first_uses):
    assert twice(1.0) == 2.0
    assert first_uses == ["twice"]
    assert twice(2.0) == 4.0
    assert first_uses == ["twice"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("real_time", 0.001), "real_time at 1000 Hz"),
        (("real_time", 0.001, 0.5), "real_time at 500 Hz"),
        (("lockstep", 0.001), "lockstep in periods of 0.001 s"),
    ],
)
def test_a_rate_is_summarized(arguments, sentence):
    assert rate_summary(*arguments) == sentence


@pytest.mark.parametrize("arguments", [["nope"], []])
def test_an_unknown_node_is_rejected_in_one_line(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "manip_dyn.ros.start", *arguments], capture_output=True, text=True
    )
    (line,) = done.stderr.splitlines()
    assert done.returncode != 0
    assert line.startswith("manip_dyn: node must be one of simulator, ")
    assert line.endswith(f", got '{''.join(arguments)}'.")
