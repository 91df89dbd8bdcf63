"""Faults of the surroundings: other arms, wrong files, no room to write."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import rclpy
from domains import STRANGERS
from rclpy.context import Context
from std_msgs.msg import Float64MultiArray

from faults.case import OK, Case
from faults.commands import FULL
from faults.graph import ARM, Graph
from faults.processes import Many, Processes
from manip_dyn import ManipDynError
from manip_dyn.ros import SimulatorNode

SMALL = ARM | {"robot": "one_link_vertical", "initial_position": [0.5]}

NO_SPACE = """
import manip_dyn.core.files
def no_space(*_):
    raise OSError(28, "No space left on device")
manip_dyn.core.files.write_atomically = no_space
"""


class Alone(Many, Graph):
    """Nothing: the fault is there before the simulator, a process, starts."""

    robot_name = "one_link_vertical"
    heard_first = False

    def start(self):
        """Have no processes yet."""
        self.processes = Processes()

    def ready(self):
        """Start nothing yet."""
        self.processes.close()


def other_namespace(system):
    """Send full efforts to an arm of another namespace."""
    others = system.ros.probe.create_publisher(Float64MultiArray, "/other/simulator/commands", 10)
    for _ in range(10):
        others.publish(Float64MultiArray(data=FULL))
        system.wait(0.05)


def other_domain(system):
    """Send full efforts on the same topic of another domain."""
    context = Context()
    rclpy.init(context=context, domain_id=STRANGERS)
    stranger = rclpy.create_node("stranger", context=context)
    topic = stranger.create_publisher(Float64MultiArray, "simulator/commands", 10)
    for _ in range(10):
        topic.publish(Float64MultiArray(data=FULL))
        system.wait(0.05)
    stranger.destroy_node()
    context.shutdown()


def refused_beside(text=None, arguments=(), **parameters):
    """Return what starts a second simulator that is refused; it returns the reason."""

    def do(system):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "given"
            file.write_text(text or "")
            given = {
                key: str(file) if value is None else value for key, value in parameters.items()
            }
            words = [str(file) if word is None else word for word in arguments]
            try:
                system.ros.start(SimulatorNode, remap=words, **given)
            except ManipDynError as error:
                return str(error).replace(str(file), "FILE")
        raise AssertionError("it was not refused")

    return do


def without_room(system):
    """Start a simulator in whose cache no byte can be written, as on a full disk."""
    system.processes.first = NO_SPACE
    with tempfile.TemporaryDirectory() as folder:
        start_with_cache(system, folder)


def read_only_home(system):
    """Start a simulator whose cache is in a folder that nobody can make."""
    start_with_cache(system, "/proc/home")


def start_with_cache(system, folder):
    """Start a simulator with another cache."""
    before = os.environ.get("MANIP_DYN_CACHE")
    os.environ["MANIP_DYN_CACHE"] = folder
    try:
        system.processes.start("simulator", **SMALL)
    finally:
        del os.environ["MANIP_DYN_CACHE"]
        if before is not None:
            os.environ["MANIP_DYN_CACHE"] = before
    system.until(lambda: system.states, "no joint states")


def beside(name, done, do, words=""):
    """Return a case beside which the arm of this graph goes on."""
    return Case(name, "simulator", done, do, "simulator", "running", OK, words, (), "following")


CASES = (
    beside("other_namespace", "full efforts to an arm of another namespace", other_namespace),
    beside("other_domain", "full efforts on the same topic of another domain", other_domain),
    beside("no_such_robot", "a second simulator of a robot that there is none of",
           refused_beside(robot="no_such_robot"), "no_such_robot"),
    beside("not_a_urdf", "a second simulator of a URDF that is cut off",
           refused_beside('<robot name="cut"><link name="base"', robot=None), "FILE"),
    beside("wrong_urdf", "a second simulator of a URDF whose joint has no child",
           refused_beside('<robot name="a"><link name="b"/><joint name="j" type="revolute">'
                          '<parent link="b"/></joint></robot>', robot=None), "j"),
    beside("wrong_parameter_file", "a second simulator with a parameter file for another node",
           refused_beside("/other_node:\n  ros__parameters:\n    robot: rr\n",
                          ["--params-file", None]), "FILE"),
    Case("read_only_home", "alone", "no folder for compiled code can be made", read_only_home,
         "simulator", "waiting", OK, "no command yet: brake", by_hand=True),
    Case("disk_full", "alone", "the disk is full: the cache takes no byte", without_room,
         "simulator", "waiting", OK, "no command yet: brake", by_hand=True),
)  # fmt: skip
