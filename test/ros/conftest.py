"""Real rclpy nodes over real DDS, on this machine only and in a reserved domain."""

import os
from pathlib import Path

import pytest
from domains import reserved_domain

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ["ROS_DOMAIN_ID"] = reserved_domain()
# Nodes that start together discover each other immediately, not after 3 s.
os.environ.setdefault(
    "FASTRTPS_DEFAULT_PROFILES_FILE", str(Path(__file__).parents[2] / "config" / "discovery.xml")
)

from harness import Ros

from manip_dyn.ros import TRANSITIONS, PlannerStatus


def pytest_collection_modifyitems(items):
    for item in items:
        if "ros" in item.path.parent.name:
            item.add_marker(pytest.mark.ros)


@pytest.fixture(autouse=True)
def planner_transitions(monkeypatch):
    """Check that every transition of a planner is one of its state machine."""
    enter = PlannerStatus.enter
    wrong = []

    def checked(self, name, *arguments, **words):
        before = self.state
        enter(self, name, *arguments, **words)
        if before and self.state not in TRANSITIONS[before]:
            wrong.append(f"{before} -> {self.state}")

    monkeypatch.setattr(PlannerStatus, "enter", checked)
    yield
    assert wrong == []


@pytest.fixture
def ros():
    """A ROS context, an executor and a probe node."""
    with Ros() as graph:
        yield graph
