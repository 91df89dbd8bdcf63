"""Garbage is looked for rarely: each time means a look at all the objects that compiling made.

Files that take long come first, so that no worker is alone with one at the end. One worker
collects first, so that the bytecode of all that is imported is made once. Processes that tests
start hear of Ctrl-C, also where the tests themselves shall not.
"""

import fcntl
import gc
import signal
import sys
from contextlib import suppress
from importlib.util import find_spec

import pytest

# Not a skip in test/ros/conftest.py: pytest 7 takes that for a skip of everything.
collect_ignore = [] if find_spec("rclpy") else ["ros"]


# The first compiles, for all others, what most of them need: those beside it do not. Files that
# mostly wait stand beside files that mostly compute.
LONG = (
    "test/test_prepare.py",
    "test/test_site.py",
    "test/ros/test_faults.py",
    "test/ros/test_processes.py",
    "test/codegen/test_long_chains.py",
    "test/ros/test_viewer.py",
    "test/planning/zero_net_work/test_ramped.py",
    "test/ros/test_bang_bang_planner_node.py",
    "test/bench/test_suites.py",
)


def pytest_collection_modifyitems(items):
    leave_sources_alone()

    def place(item):
        file = item.nodeid.split("::")[0]
        return LONG.index(file) if file in LONG else len(LONG)

    items.sort(key=place)


def leave_sources_alone():
    """Let what hypothesis tries depend on a test alone, not on numbers in modules loaded so far.

    It reads the source of each, and looks for more at every example.
    """
    with suppress(KeyError, AttributeError):  # without hypothesis, or before it did so
        providers = sys.modules["hypothesis.internal.conjecture.providers"]
        providers._get_local_constants = providers.Constants


def pytest_report_header():
    return ["test/ros skipped: rclpy is not installed; pip install '.[ros]'"] * len(collect_ignore)


def pytest_configure():
    gc.set_threshold(1_000_000, 20, 50)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell's `make test &` has it so
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(hookwrapper=True)
def pytest_collection():
    with open(__file__) as file:
        with suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                fcntl.flock(file, fcntl.LOCK_SH)  # until the first worker is done
        yield


def pytest_collection_finish():
    gc.freeze()
    gc.unfreeze()  # among the old ones; where something is frozen, compiling puts nothing there


def pytest_unconfigure():
    gc.freeze()  # not looked at once more at the end
