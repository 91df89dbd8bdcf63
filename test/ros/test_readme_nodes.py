"""The nodes of the README, run as they stand, beside the node that the command above starts."""

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

README = Path(md.__file__).parents[1] / "README.md"
BLOCKS = re.findall(
    r"```console\n\$ ros2 run manip_dyn (\w+) --ros-args (.*?)\n```\n\n```python\n(.*?)```",
    README.read_text(encoding="utf-8"),
    re.DOTALL,
)
STARTED = {"simulator_node": SimulatorNode, "clik_tracker_node": ClikTrackerNode}


def code_with(words):
    """Return node, arguments and code of the one example that has these words."""
    (found,) = [block for block in BLOCKS if words in block[2]]
    return found


@pytest.fixture
def shown(ros, tmp_path):
    """Run an example beside what it is for; return the joint states."""
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
def test_an_own_node_is_short(words):
    assert len(lines(code_with(words)[2])) <= 25


def ended(process):
    """Whether an example ended by itself: then nothing is to be waited for."""
    return process.poll() is not None


def last_words(process):
    """End an example by Ctrl-C; return its exit code and how its traceback ends, if there is one.

    A Ctrl-C amid rclpy's taking of a message is none of ours: see `TAKEN`.
    """
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=TIMEOUT)
    return judged(process.returncode, error)


def judged(code, error):
    """Return an exit code and a traceback, without those of a Ctrl-C in rclpy's taking."""
    others, taken = TAKEN.subn("", error)
    if taken == code == 1:
        code, error = 0, others
    return code, error[error.find("Traceback") :] if "Traceback" in error else ""


TAKEN = re.compile(
    r"(?:Traceback .*\n(?: .*\n)+KeyboardInterrupt.*\n\n"
    r"The above exception was the direct cause of the following exception:\n\n)?"
    r"Traceback .*\n(?:  .*\n)+  File .*rclpy.*, in _take_subscription\n"
    r"(?:    .*\n)+RuntimeError: Unable to convert call argument.*\n?"
)
"""What rclpy makes of a Ctrl-C while it takes a message: it ends in no other function."""
TOLD = """Traceback (most recent call last):
  File "own_node.py", line 25, in <module>
    rclpy.spin(Own())
  File "/lib/rclpy/executors.py", line 396, in _take_subscription
    msg_info = sub.handle.take_message(sub.msg_type, sub.raw)
               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
RuntimeError: Unable to convert call argument '0' to Python object (#define PYBIND11_DETAILED)
"""


QUIETLY = (0, "")
"""The last words of an example that Ctrl-C ends without one; it ended with a traceback."""


def test_nothing_but_a_ctrl_c_in_rclpy_is_forgiven():
    deeper = TOLD.replace(
        "RuntimeError", '  File "own_node.py", line 9, in own\n    call()\nRuntimeError'
    )
    elsewhere = TOLD.replace("_take_subscription", "_take_timer")
    other = TOLD.replace("RuntimeError: Unable", "ValueError: Unable")
    assert judged(1, "[INFO] begun\n" + TOLD) == judged(0, "") == QUIETLY
    for told in (deeper, elsewhere, other, TOLD + other, other + TOLD, TOLD + TOLD):
        assert judged(1, told) != QUIETLY
    assert judged(-2, TOLD) != QUIETLY


def test_efforts_bring_the_arm_to_a_posture(ros, shown):
    states = shown("joint_commands")
    goal = [0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0]

    def there():
        last = states[-1]
        return np.allclose(last.position, goal, atol=1e-2) and np.abs(last.velocity).max() < 1e-2

    ros.until(lambda: there() or ended(*shown.processes), f"the arm does not come to {goal}")
    assert last_words(*shown.processes) == QUIETLY


def test_targets_move_the_tool_to_and_fro(ros, shown):
    states = shown("target_pose")
    begin = tool(np.array(states[0].position))

    def away(distance):
        found = np.linalg.norm(tool(np.array(states[-1].position)) - begin)
        return found == pytest.approx(distance, abs=2e-3)

    alone = lambda: ended(*shown.processes)  # noqa: E731
    ros.until(lambda: away(0.1) or alone(), "the tool does not go")
    ros.until(lambda: away(0.0) or alone(), "the tool does not come back")
    assert last_words(*shown.processes) == QUIETLY


def test_a_goal_by_action_is_reached(ros, shown):
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
