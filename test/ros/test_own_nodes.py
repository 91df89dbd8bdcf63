"""The nodes of the page "Your own node", with the node that the command above each starts."""

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from harness import TIMEOUT
from sensor_msgs.msg import JointState
from targets import tool

import manip_dyn as md
from manip_dyn.ros import ClikTrackerNode, SimulatorNode

PAGE = Path(md.__file__).parents[1] / "docs" / "own_node.md"
BLOCKS = re.findall(
    r"```console\n\$ ros2 run manip_dyn (\w+) --ros-args (.*?)\n```\n\n```python\n(.*?)```",
    PAGE.read_text(encoding="utf-8"),
    re.DOTALL,
)
STARTED = {"simulator_node": SimulatorNode, "clik_tracker_node": ClikTrackerNode}


def code_with(words):
    """Return node, arguments and code of the example that contains these words."""
    (block,) = [block for block in BLOCKS if words in block[2]]
    return block


@pytest.fixture
def shown(ros, tmp_path):
    """Return a function that runs an example with its node and returns the joint states."""
    processes = []

    def run(words):
        node, arguments, code = code_with(words)
        states = ros.listen(JointState, "joint_states")
        ros.start(STARTED[node], shlex.split(arguments))
        ros.until(lambda: states, "no joint states")
        file = tmp_path / "own_node.py"
        file.write_text(code, encoding="utf-8")
        processes.append(
            subprocess.Popen(
                [sys.executable, file],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return states

    run.processes = processes

    yield run
    for process in processes:
        process.kill()
        process.wait()


def lines(code):
    return [line for line in code.splitlines() if line.strip()]


@pytest.mark.parametrize("words", ["joint_commands", "target_pose", "ActionClient"])
def test_a_user_node_is_short(words):
    assert len(lines(code_with(words)[2])) <= 25


def ended(process):
    """Return whether an example has ended; waiting is then pointless."""
    return process.poll() is not None


def interrupted(process):
    """End an example by Ctrl-C; return its exit code and its traceback, or "".

    Tracebacks of a Ctrl-C while rclpy takes a message are ignored, see `TAKEN`.
    """
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=TIMEOUT)
    return outcome(process.returncode, error)


def outcome(code, error):
    """Return exit code and traceback, without that of a Ctrl-C while rclpy takes a message."""
    rest, taken = TAKEN.subn("", error)
    if taken == code == 1:
        code, error = 0, rest
    return code, error[error.find("Traceback") :] if "Traceback" in error else ""


TAKEN = re.compile(
    r"(?:Traceback .*\n(?: .*\n)+KeyboardInterrupt.*\n\n"
    r"The above exception was the direct cause of the following exception:\n\n)?"
    r"Traceback .*\n(?:  .*\n)+  File .*rclpy.*, in _take_subscription\n"
    r"(?:    .*\n)+RuntimeError: Unable to convert call argument.*\n?"
)
"""The traceback of a Ctrl-C while rclpy takes a message."""
TRACEBACK = """Traceback (most recent call last):
  File "own_node.py", line 25, in <module>
    rclpy.spin(Own())
  File "/lib/rclpy/executors.py", line 396, in _take_subscription
    msg_info = sub.handle.take_message(sub.msg_type, sub.raw)
               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
RuntimeError: Unable to convert call argument '0' to Python object (#define PYBIND11_DETAILED)
"""


QUIETLY = (0, "")
"""The outcome of an example without a traceback."""


def test_only_a_ctrl_c_within_rclpy_is_ignored():
    deeper = TRACEBACK.replace(
        "RuntimeError", '  File "own_node.py", line 9, in own\n    call()\nRuntimeError'
    )
    elsewhere = TRACEBACK.replace("_take_subscription", "_take_timer")
    another = TRACEBACK.replace("RuntimeError: Unable", "ValueError: Unable")
    assert outcome(1, "[INFO] begun\n" + TRACEBACK) == outcome(0, "") == QUIETLY
    for error in (
        deeper,
        elsewhere,
        another,
        TRACEBACK + another,
        another + TRACEBACK,
        TRACEBACK + TRACEBACK,
    ):
        assert outcome(1, error) != QUIETLY
    assert outcome(-2, TRACEBACK) != QUIETLY


def test_efforts_bring_the_arm_to_a_posture(ros, shown):
    states = shown("joint_commands")
    goal = [0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0]

    def there():
        last = states[-1]
        return np.allclose(last.position, goal, atol=1e-2) and np.abs(last.velocity).max() < 1e-2

    ros.until(lambda: there() or ended(*shown.processes), f"the arm does not come to {goal}")
    assert interrupted(*shown.processes) == QUIETLY


def test_targets_move_the_tool_back_and_forth(ros, shown):
    states = shown("target_pose")
    begin = tool(np.array(states[0].position))

    def away(distance):
        offset = np.linalg.norm(tool(np.array(states[-1].position)) - begin)
        return offset == pytest.approx(distance, abs=2e-3)

    finished = lambda: ended(*shown.processes)  # noqa: E731
    ros.until(lambda: away(0.1) or finished(), "the tool does not go")
    ros.until(lambda: away(0.0) or finished(), "the tool does not come back")
    assert interrupted(*shown.processes) == QUIETLY


def test_an_action_goal_is_reached(ros, shown):
    pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")
    states = shown("ActionClient")
    (process,) = shown.processes
    ros.until(lambda: process.poll() is not None, "the node does not end")
    assert process.returncode == 0
    *feedback, last = process.stdout.read().splitlines()
    assert last == "the arm is at the goal"
    assert feedback[-1].endswith("rad error")
    goal = [0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0]
    ros.until(lambda: np.allclose(states[-1].position, goal, atol=1e-3), f"it is not at {goal}")
