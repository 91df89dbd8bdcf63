"""Garbage is looked for rarely: each time means a look at all the objects that compiling made."""

import gc
from importlib.util import find_spec

# Not a skip in test/ros/conftest.py: pytest 7 takes that for a skip of everything.
collect_ignore = [] if find_spec("rclpy") else ["ros"]


def pytest_report_header():
    return ["test/ros skipped: rclpy is not installed; pip install '.[ros]'"] * len(collect_ignore)


def pytest_configure():
    gc.set_threshold(100_000, 20, 50)


def pytest_collection_finish():
    gc.freeze()
