"""How nodes start and end as programs: signals at any moment, what they say first."""

import os
import subprocess
import sys
import textwrap

import fresh
import pytest
from harness import TIMEOUT

from manip_dyn.core import cache as first_time
from manip_dyn.core.cache import generated_module
from manip_dyn.core.compiled import compiled
from manip_dyn.ros import rate_summary

FRESH = True  # what is loaded first is what is interrupted
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
    return real(state, name)  # what is being compiled is finished

DefaultPassBuilder.define_nopython_pipeline = staticmethod(define_nopython_pipeline)
sys.argv[1:] = ["--ros-args", "-p", "robot:=one_link_vertical"]
sys.exit(start.start("simulator"))
"""


@pytest.mark.parametrize(
    "program",
    [IN_AN_IMPORT.format("rclpy"), WHILE_COMPILING],
    ids=["import", "compiling"],
)
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_signal_at_any_moment_ends_without_a_traceback(program, number, tmp_path, monkeypatch):
    if program == WHILE_COMPILING:  # all is loaded by then
        monkeypatch.setattr(subprocess, "Popen", fresh.Popen)
    done = subprocess.run(
        [sys.executable, "-c", SIGNAL_ITSELF.format(number) + textwrap.dedent(program)],
        env=os.environ | {"MANIP_DYN_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "FATAL" not in done.stderr


@pytest.fixture
def told(monkeypatch, tmp_path):
    """What is made for the first time, into an empty folder."""
    found = []
    monkeypatch.setenv("MANIP_DYN_CACHE", str(tmp_path))
    monkeypatch.setattr(first_time, "_tellers", [])
    first_time.on_first_use(found.append)
    return found


def test_what_is_not_kept_yet_is_told_before_it_is_made(told):
    def text():
        assert told == ["new_thing"]
        return "x = 1\n"

    assert generated_module("new_thing", b"", text).x == 1
    assert generated_module("new_thing", b"", text).x == 1
    assert told == ["new_thing"]


@compiled
def twice(x):
    return 2.0 * x


def test_machine_code_that_is_not_kept_yet_is_told(told):
    assert twice(1.0) == 2.0
    assert told == ["twice"]
    assert twice(2.0) == 4.0
    assert told == ["twice"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("real_time", 0.001), "real_time at 1000 Hz"),
        (("real_time", 0.001, 0.5), "real_time at 500 Hz"),
        (("lockstep", 0.001), "lockstep in periods of 0.001 s"),
    ],
)
def test_a_pace_is_said_as_it_is(given, said):
    assert rate_summary(*given) == said


@pytest.mark.parametrize("arguments", [["nope"], []])
def test_a_node_that_there_is_none_of_is_refused_in_one_sentence(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "manip_dyn.ros.start", *arguments], capture_output=True, text=True
    )
    (line,) = done.stderr.splitlines()
    assert done.returncode != 0
    assert line.startswith(f"manip_dyn: there is no node '{''.join(arguments)}'; expected one of")
