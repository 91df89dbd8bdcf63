"""Faults of the environment: other arms, invalid files, no disk space."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import rclpy
from domains import STRANGERS
from faults.case import OK, WARN, Case
from faults.commands import FULL
from faults.graph import ARM, Graph
from faults.processes import Many, Processes
from rclpy.context import Context
from std_msgs.msg import Float64MultiArray, String

from manip_dyn import ManipDynError
from manip_dyn.ros import SimulatorNode

LINKS = 3000
FIXED = (
    "<link name='more_{0}'/><joint name='more_{0}' type='fixed'><parent link='{1}'/>"
    "<child link='more_{0}'/></joint>"
)
SMALL = ARM | {"robot": "one_link_vertical", "initial_position": [0.5]}

CHAIN = "<robot name='chain'><link name='0'/>"
CHAIN += "".join(
    f"<link name='{k}'/><joint name='joint_{k}' type='revolute'><parent link='{k - 1}'/>"
    f"<child link='{k}'/><limit lower='-1' upper='1' effort='1' velocity='1'/></joint>"
    for k in range(1, 1001)
)
CHAIN += "</robot>"
NO_SPACE = """
from manip_dyn.core import files
def no_space(*_):
    raise OSError(28, "No space left on device")
files.write_atomically = no_space
"""


class Alone(Many, Graph):
    """An empty system: the fault is present before the simulator starts as a process."""

    robot_name = "one_link_vertical"
    expects_arm = False

    def start(self):
        """Create an empty set of processes."""
        self.processes = Processes()

    def ready(self):
        """End all processes."""
        self.processes.close()


def other_namespace(system):
    """Send full efforts to an arm in another namespace."""
    others = system.ros.probe.create_publisher(Float64MultiArray, "/other/simulator/commands", 10)
    for _ in range(10):
        others.publish(Float64MultiArray(data=FULL))
        system.wait(0.05)


def other_domain(system):
    """Send full efforts on the same topic in another domain."""
    context = Context()
    rclpy.init(context=context, domain_id=STRANGERS)
    stranger = rclpy.create_node("stranger", context=context)
    topic = stranger.create_publisher(Float64MultiArray, "simulator/commands", 10)
    for _ in range(10):
        topic.publish(Float64MultiArray(data=FULL))
        system.wait(0.05)
    stranger.destroy_node()
    context.shutdown()


def second_simulator(text=None, arguments=(), **parameters):
    """Return a fault that starts an invalid second simulator and returns its error."""

    def do(system):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "file"
            file.write_text(text or "")
            values = {
                key: str(file) if value is None else value for key, value in parameters.items()
            }
            words = [str(file) if word is None else word for word in arguments]
            try:
                system.ros.start(SimulatorNode, remap=words, **values)
            except ManipDynError as error:
                return str(error).replace(str(file), "FILE")
        raise AssertionError("the node started")

    return do


def same_name(system):
    """Run a second simulator of the same name, as if a demo was started twice."""
    others = Processes()
    others.start("simulator", **ARM)
    try:
        system.until_state("simulator", "second_simulator")
    finally:
        others.close()


def huge_description(system):
    """Publish a robot description of 20 MB while the nodes run."""
    topic = system.ros.probe.create_publisher(String, "robot_description", 1)
    topic.publish(String(data=f"<robot name='other'><!-- {'x' * 20_000_000} --></robot>"))
    system.wait(1.0)
    system.ros.probe.destroy_publisher(topic)


def huge_urdf(system):
    """Start a simulator of a URDF with 3,000 more links."""
    links = "".join(FIXED.format(k, system.robot.base) for k in range(LINKS))
    urdf = system.robot.urdf.replace("</robot>", f"{links}</robot>")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "huge.urdf"
        file.write_text(urdf)
        count = len(system.states)
        system.processes.start("simulator", **(SMALL | {"robot": file}))
        system.until(lambda: len(system.states) > count, "no joint states")


def full_disk(system):
    """Start a simulator whose cache cannot be written, as on a full disk."""
    system.processes.first = NO_SPACE
    with tempfile.TemporaryDirectory() as folder:
        start_with_cache(system, folder)


def read_only_home(system):
    """Start a simulator whose cache folder cannot be created."""
    start_with_cache(system, "/proc/home")


def start_with_cache(system, folder):
    """Start a simulator with a cache in this folder."""
    before = os.environ.get("MANIP_DYN_CACHE")
    os.environ["MANIP_DYN_CACHE"] = folder
    try:
        system.processes.start("simulator", **SMALL)
    finally:
        del os.environ["MANIP_DYN_CACHE"]
        if before is not None:
            os.environ["MANIP_DYN_CACHE"] = before
    system.until(lambda: system.states, "no joint states")


def unaffected(name, done, do, words=""):
    """Return the case of a fault that does not affect the arm of this graph."""
    return Case(name, "simulator", done, do, "simulator", "running", OK, words, (), "following")


CASES = (
    unaffected("other_namespace", "full efforts to an arm in another namespace", other_namespace),
    unaffected("other_domain", "full efforts on the same topic in another domain", other_domain),
    unaffected("no_such_robot", "a second simulator of an unknown robot",
               second_simulator(robot="no_such_robot"), "no_such_robot"),
    unaffected("not_a_urdf", "a second simulator of a truncated URDF",
               second_simulator('<robot name="cut"><link name="base"', robot=None), "FILE"),
    unaffected("wrong_urdf", "a second simulator of a URDF whose joint has no child",
               second_simulator('<robot name="a"><link name="b"/><joint name="j" type="revolute">'
                                '<parent link="b"/></joint></robot>', robot=None), "j"),
    unaffected("wrong_parameter_file", "a second simulator with a parameter file for another node",
               second_simulator("/other_node:\n  ros__parameters:\n    robot: rr\n",
                                ["--params-file", None]), "FILE"),
    unaffected("too_many_joints", "a second simulator of a URDF with 1,000 movable joints",
               second_simulator(CHAIN, robot=None), "at most 200 movable joints, got 1000"),
    replace(unaffected("huge_description", "a robot description of 20 MB while the nodes run",
                       huge_description, "running"), by_hand=True),
    Case("huge_urdf", "alone", "a simulator of a URDF with 3,000 more links", huge_urdf,
         "simulator", "waiting", OK, "no command yet: brake", by_hand=True),
    Case("second_simulator", "simulator", "a second simulator of the same name for the same arm",
         same_name, "simulator", "second_simulator", WARN, "2 nodes", (), "following",
         by_hand=True),
    Case("read_only_home", "alone", "the cache folder cannot be created", read_only_home,
         "simulator", "waiting", OK, "no command yet: brake", by_hand=True),
    Case("disk_full", "alone", "the disk is full: the cache cannot be written", full_disk,
         "simulator", "waiting", OK, "no command yet: brake", by_hand=True),
)  # fmt: skip
