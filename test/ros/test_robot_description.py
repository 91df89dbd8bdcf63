"""A node's robot from the topic or the parameter robot_description; files for other nodes."""

import signal
import threading
import time
from pathlib import Path

import pytest
from harness import LATCHED, TIMEOUT, run_node, start_node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from manip_dyn import ManipDynError
from manip_dyn.ros import SimulatorNode, check_parameter_files, matches

URDF = (Path(__file__).parents[2] / "urdf" / "one_link_horizontal.urdf").read_text(
    encoding="utf-8"
)
RENAMED = URDF.replace('name="one_link_horizontal"', 'name="renamed"')


def test_a_node_waits_for_its_robot_on_the_topic(ros):
    publisher = ros.probe.create_publisher(String, "robot_description", LATCHED)
    states = ros.listen(JointState, "joint_states")
    sent = threading.Event()

    def send():
        sent.set()
        publisher.publish(String(data=RENAMED))

    timer = threading.Timer(0.5, send)
    timer.start()
    node = ros.start(SimulatorNode, robot="topic", mode="lockstep")
    assert sent.is_set()
    timer.join()
    ros.until(lambda: states, "no joint states of the received robot")
    # The node does not publish the description again: late joiners need a single publisher.
    assert ros.probe.count_publishers("/robot_description") == 1
    assert node._robot.name == "renamed"


def test_the_description_is_a_parameter(ros):
    descriptions = ros.listen(String, "robot_description", LATCHED)
    text = "'" + RENAMED.replace("\n", " ").replace("'", "''") + "'"
    node = ros.start(SimulatorNode, robot="unused", robot_description=text, mode="lockstep")
    assert node._robot.name == "renamed"
    ros.until(lambda: descriptions, "no description")
    assert 'name="renamed"' in descriptions[0].data
    with pytest.raises(ManipDynError, match="robot from a string is not well-formed XML"):
        ros.start(SimulatorNode, robot_description="'<robot'")


@pytest.mark.parametrize("gravity", ["robot", "model"])
def test_an_arm_with_gravity_compensation_rests_without_efforts(ros, gravity):
    free = {"mode": "lockstep", "safe_command": "zero"}
    node = ros.start(SimulatorNode, robot="rr", gravity=gravity, **free)
    for _ in range(10):
        assert ros.call(Trigger, "simulator/step").success
    assert bool(node._simulation.v.any()) is (gravity == "model")


def test_waiting_for_a_robot_ends_on_ctrl_c():
    node = start_node("simulator", "-p", "robot:=topic")
    for line in node.stdout:
        if "waiting for the robot on /robot_description" in line:
            break
    time.sleep(0.3)  # until discovery no longer wakes the node
    node.send_signal(signal.SIGINT)
    rest, _ = node.communicate(timeout=TIMEOUT)
    assert (node.returncode, "Traceback" in rest) == (0, False), rest


# ------------------------------------------------------------------ files for other nodes
@pytest.mark.parametrize(
    ("pattern", "node", "same"),
    [
        ("/simulator", "/simulator", True),
        ("simulator", "/simulator", True),
        ("/simulator", "/arm/simulator", False),
        ("/arm/simulator", "/arm/simulator", True),
        ("/**", "/arm/simulator", True),
        ("/**/simulator", "/simulator", True),
        ("/**/simulator", "/a/b/simulator", True),
        ("/*/simulator", "/a/simulator", True),
        ("/*/simulator", "/a/b/simulator", False),
        ("/*/simulator", "/simulator", False),
        ("/**/simulater", "/simulator", False),
        ("/**/simulator", "/simulator2", False),
    ],
)
def test_names_in_a_parameters_file_match_as_in_rcl(pattern, node, same):
    assert matches(pattern, node) is same


def test_a_parameters_file_for_other_nodes_is_rejected(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("/**/simulater:\n  ros__parameters:\n    robot: rr\n", encoding="utf-8")
    code, log = run_node("simulator", "--params-file", str(path))
    assert code == 2
    assert "params.yaml' must name the node '/simulator', got /**/simulater" in log
    arguments = ["node", "--ros-args", "--params-file", str(path)]
    check_parameter_files("/simulater", arguments)
    check_parameter_files(
        "/simulator", [*arguments[:1], "--params-file", str(path)]
    )  # not a ROS argument
    path.write_text("arm:\n  simulator:\n    ros__parameters: {robot: rr}\n", encoding="utf-8")
    check_parameter_files("/arm/simulator", arguments)
    with pytest.raises(ManipDynError, match="got /arm/simulator"):
        check_parameter_files("/simulator", arguments)
