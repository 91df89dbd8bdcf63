"""SROS2 policy: permitted publishers and subscribers."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from harness import TIMEOUT

from manip_dyn.ros import policy, start

POLICY = Path(__file__).parents[2] / "config" / "sros2" / "manip_dyn.policy.xml"
SIMULATOR = [
    sys.executable,
    "-m",
    "manip_dyn.ros.nodes.simulator",
    "--ros-args",
    "-p",
    "robot:=rr",
]
NO_PLUGIN = "doesn't have the security libraries"


@pytest.fixture(scope="module")
def profiles():
    """Profiles by node name."""
    return {profile.get("node"): profile for profile in ElementTree.parse(POLICY).iter("profile")}


def _names(profile, use):
    """Return the names that a profile may use, without namespaces."""
    return {
        entry.text.replace("~", profile.get("node"), 1)
        for group in profile
        if group.get(use) == "ALLOW"
        for entry in group
    }


def test_the_policy_is_up_to_date():
    assert POLICY.read_text(encoding="utf-8") == policy(), (
        "outdated: run python -m manip_dyn.ros.nodes.security_policy "
        "config/sros2/manip_dyn.policy.xml"
    )


def test_every_node_has_an_enclave_and_no_rule_a_wildcard(profiles):
    assert set(start.NODES) == set(profiles)
    assert "*" not in "".join(ElementTree.parse(POLICY).getroot().itertext())


def test_only_controllers_command_the_arm(profiles):
    def nodes_that(use, name):
        return {node for node, profile in profiles.items() if name in _names(profile, use)}

    assert nodes_that("publish", "simulator/commands") == {"bang_bang_planner", "clik_tracker"}
    assert nodes_that("subscribe", "simulator/commands") == {"simulator"}
    assert nodes_that("publish", "/clock") == {"simulator", "mechanism"}
    assert nodes_that("request", "simulator/reset") == {"monitor", "viewer"}


def test_nodes_may_read_descriptions_for_which_they_wait(profiles):
    def readers(name):
        return {node for node, profile in profiles.items() if name in _names(profile, "subscribe")}

    arms = {"simulator", "bang_bang_planner", "clik_tracker", "monitor"}
    assert readers("robot_description") == arms | {"viewer"}
    assert readers("robot_description_semantic") == {"bang_bang_planner", "clik_tracker"}


STRANGER = """
import os, sys, rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

enclave, name = sys.argv[1:]
rclpy.init(args=["--ros-args", "--enclave", enclave])
node = Node(name)
try:
    publisher = node.create_publisher(Float64MultiArray, "simulator/commands", 10)
except Exception as error:
    print("denied", error)
    sys.exit()
states = []
node.create_subscription(JointState, "joint_states", states.append, 10)
while not states:
    rclpy.spin_once(node, timeout_sec=0.1)
if enclave.endswith("monitor"):
    print("allowed" if publisher.get_subscription_count() else "denied")
else:
    while not publisher.get_subscription_count():
        rclpy.spin_once(node, timeout_sec=0.1)
    print("allowed")
"""


def test_a_stranger_cannot_command_the_arm(tmp_path):
    pytest.importorskip("sros2", reason="sros2 is not installed")
    keys = tmp_path / "keys"
    ros2 = [sys.executable, "-c", "from ros2cli.cli import main; main()", "security"]
    _done([*ros2, "generate_artifacts", "-k", str(keys), "-p", str(POLICY)], os.environ)
    secured = os.environ | {
        "ROS_SECURITY_KEYSTORE": str(keys),
        "ROS_SECURITY_ENABLE": "true",
        "ROS_SECURITY_STRATEGY": "Enforce",
    }
    simulator = subprocess.Popen(
        [*SIMULATOR, "--enclave", "/manip_dyn/simulator"],
        env=secured,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        command = [sys.executable, "-c", STRANGER]
        planner = [*command, "/manip_dyn/bang_bang_planner", "bang_bang_planner"]
        done = subprocess.run(
            planner, env=secured, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        if NO_PLUGIN in done.stderr:
            pytest.skip(f"the middleware {NO_PLUGIN}")
        assert "allowed" in done.stdout, done.stderr
        # The monitor may only subscribe to the arm.
        assert "denied" in _done([*command, "/manip_dyn/monitor", "monitor"], secured)
    finally:
        simulator.kill()
        simulator.wait()


def _done(command, environment):
    """Return the output of a command; fail if it fails."""
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
