"""Release of the arm: the safe command acts at once when its commander exits or fails."""

import signal
import subprocess
import sys

import numpy as np
import pytest
from harness import TIMEOUT
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header, MultiArrayDimension, MultiArrayLayout
from trajectory_msgs.msg import JointTrajectory

import manip_dyn as md
from manip_dyn.ros import SimulatorNode

NEVER = 1000.0
"""A command timeout that no test reaches, s."""
CATCH_UP_NS = 100_000_000
"""Lead of the stamps of a simulator that catches up after skipped periods, ns."""
SIMULATED = {"control_period": 0.005, "command_timeout": NEVER}


LABELLED = MultiArrayLayout(dim=[MultiArrayDimension(label="release")])


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        ("commands", Float64MultiArray(layout=LABELLED)),
        ("effort_trajectory", JointTrajectory(header=Header(frame_id="release"))),
    ],
)
def test_a_release_applies_the_safe_command(ros, topic, message):
    states = ros.listen(JointState, "joint_states")
    ros.start(SimulatorNode, robot="ibm7535", **SIMULATED)
    commands = ros.publisher(Float64MultiArray, "simulator/commands")
    release = ros.publisher(type(message), f"simulator/{topic}")
    release.publish(message)  # no effect before the first command
    count = len(states)
    ros.until(lambda: len(states) > count + 20, "no states")  # the simulator has received it
    ros.insist(
        lambda: commands.publish(Float64MultiArray(data=[3.0, 0.5])),
        lambda: states and states[-1].effort[0] == 3.0,
        "the command does not act",
    )
    assert not ros.warned("released")
    release.publish(message)
    ros.expect_warning("the commander has released the arm", "the safe command (brake) acts")
    ros.until(lambda: np.abs(states[-1].velocity).max() < 1e-3, "the arm does not rest")
    ros.insist(
        lambda: commands.publish(Float64MultiArray(data=[2.0, 0.5])),
        lambda: states[-1].effort[0] == 2.0,
        "a command after the release does not act",
    )


class Arm:
    """A simulated arm in this process that its commanders drive until they are released."""

    def __init__(self, ros, robot):
        """Start the simulator of a robot."""
        self.ros, self.states = ros, ros.listen(JointState, "joint_states")
        self.robot = md.load_robot(robot)
        ros.start(SimulatorNode, robot=robot, initial_position=STARTS[robot], **SIMULATED)

    @property
    def speed(self):
        """The highest speed of a joint, rad/s."""
        return float(np.abs(self.states[-1].velocity).max()) if self.states else 0.0

    def brakes(self):
        """Check that the arm is released, and that its kinetic energy then only decreases."""
        self.ros.expect_warning("the commander has released the arm")
        released = next(m.stamp for m in self.ros.log if "has released" in m.msg)
        self.ros.until(lambda: self.speed < 1e-3, "the arm does not rest")
        mass_matrix = md.customize(self.robot).mass_matrix
        energies = [
            np.dot(state.velocity, mass_matrix(state.position) @ state.velocity)
            for state in self.states
            if nanoseconds(state.header.stamp) > nanoseconds(released) + CATCH_UP_NS
        ]
        assert np.diff(energies).max() <= 1e-9


def nanoseconds(stamp):
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def duration(command):
    """Return the time from a state to the end of its command, s."""
    if isinstance(command, JointTrajectory):
        time = command.points[-1].time_from_start
        return time.sec + 1e-9 * time.nanosec
    return command.layout.dim[1].size + 1e-9 * command.layout.dim[1].stride


PLANNER = (
    "bang_bang_planner",
    {
        "robot": "ibm7535",
        "control_period": SIMULATED["control_period"],
        "goal": [2.0, -1.0],
    },
)
TRACKER = (
    "clik_tracker",
    {
        "robot": "pa10",
        "mode": "dynamic",
        "step": SIMULATED["control_period"],
        "path": "circle",
        "circle.center": [0.0, 0.4, 0.6],
        "circle.normal": [0.0, 1.0, 0.0],
        "circle.start": [-1.0, 0.0, 0.0],
        "circle.tool_rpy": [0.0, 0.7853981633974483, 0.0],
        "joint_stiffness": 25.0,
        "joint_damping": 10.0,  # stable with a delay of 0.12 s, for busy machines
        "circle.linear_speed": 0.25,
        "circle.angular_speed": 1.0,
    },
)
STARTS = {
    "ibm7535": [0.3, 0.9],
    "pa10": [2.4785, 0.1249, -0.2709, 1.902, 0.9364, -2.3179, -1.6564],
}
FAILURE = """
import manip_dyn.{module} as module

real = module.{kind}.{name}

def answer(self, *arguments):
    result = real(self, *arguments)
    self.answers = getattr(self, "answers", 0) + 1
    if self.answers == 150:
        raise ZeroDivisionError("a defect")
    return result

module.{kind}.{name} = answer
"""
DEFECTS = {
    "bang_bang_planner": FAILURE.format(
        module="ros.planner.planned_motion", kind="PlannedMotion", name="segments"
    ),
    "clik_tracker": FAILURE.format(module="clik.arm_driver", kind="ArmDriver", name="answer"),
}


def commander(name, parameters, first=""):
    """Start a node as a process after the code `first`."""
    pairs = [("-p", f"{key}:={value}") for key, value in parameters.items()]
    code = f"{first}\nimport sys, manip_dyn.ros.start as s; sys.exit(s.start({name!r}))"
    command = [
        sys.executable,
        "-c",
        code,
        "--ros-args",
        *(word for pair in pairs for word in pair),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("name", "parameters"), [PLANNER, TRACKER])
def test_a_commander_that_is_ended_by_a_signal_releases_the_arm(ros, name, parameters, number):
    commands = ros.listen(Float64MultiArray, "simulator/commands")
    ros.probe.create_subscription(
        JointTrajectory, "simulator/effort_trajectory", commands.append, 1000
    )
    arm = Arm(ros, parameters["robot"])
    process = commander(name, parameters)
    try:
        ros.until(lambda: arm.speed > 0.2, "the arm does not move")
        # Each command ends after five periods or later, so that the arm also brakes after SIGKILL.
        assert 0.999 * 5 * 0.005 < min(map(duration, commands)) < 1.0
        process.send_signal(number)
        arm.brakes()
        process.wait(TIMEOUT)
    finally:
        process.kill()
        output = process.communicate()[0]
    assert process.returncode == 0, output
    assert "Traceback" not in output


@pytest.mark.parametrize(("name", "parameters"), [PLANNER, TRACKER])
def test_a_commander_that_fails_releases_the_arm(ros, name, parameters):
    arm = Arm(ros, parameters["robot"])
    process = commander(name, parameters, DEFECTS[name])
    try:
        arm.brakes()
        process.wait(TIMEOUT)
    finally:
        process.kill()
        output = process.communicate()[0]
    assert "ZeroDivisionError: a defect" in output
