"""Test session settings: the order of files, ROS tests where rclpy exists, Ctrl-C."""

import signal
from importlib.util import find_spec

# A skip in test/ros/conftest.py would skip all tests with pytest 7.
collect_ignore = [] if find_spec("rclpy") else ["ros"]

# Start with the longest files, so that no worker ends with one; alternate waiting and computing.
LONG = (
    "test/core/test_private_numba.py",
    "test/test_prepare.py",
    "test/test_site.py",
    "test/ros/test_processes.py",
    "test/ros/test_faults.py",
    "test/codegen/test_long_chains.py",
    "test/ros/test_viewer.py",
    "test/planning/zero_net_work/test_ramped.py",
    "test/ros/test_bang_bang_planner_node.py",
    "test/bench/test_suites.py",
)


def pytest_collection_modifyitems(items):
    def rank(item):
        file = item.nodeid.split("::")[0]
        return LONG.index(file) if file in LONG else len(LONG)

    items.sort(key=rank)


def pytest_report_header():
    return ["test/ros skipped: rclpy is not installed; pip install '.[ros]'"] * len(collect_ignore)


def pytest_configure():
    # `make test &` in a shell ignores SIGINT; processes that tests start must not inherit that.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
