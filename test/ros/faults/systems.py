"""The running systems that faults happen to, by name."""

from __future__ import annotations

import time

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TwistStamped
from harness import LATCHED
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from targets import pose
from trajectory_msgs.msg import JointTrajectory

import manip_dyn as md
from faults.graph import ARM, PERIOD, REST, ROBOT, START, Graph
from manip_dyn.ros import BangBangPlannerNode, ClikTrackerNode, SimulatorNode

GOAL = [0.7, 0.1]
BENT, BENT_TOO = [0.7, 0.9], [0.5, 1.1]
"""Where the tracker's arm starts, and where its target is; the arm is not stretched in between."""
AT_GOAL, HALF_WAY = 2e-3, 0.12
STIFFNESS, DAMPING = 25.0, 10.0
"""Of the probe's feedback, 1/s^2 and 1/s."""


class Commanded(Graph):
    """A simulator whose commander is the probe: feedback that holds the start, at 50 Hz."""

    def start(self):
        """Start the simulator."""
        self.commanding, self._bad, self._count = False, None, 0
        self.inertia = md.customize(self.robot).mass_matrix
        self.ros.start(SimulatorNode, **ARM)
        self.commands = self.ros.publisher(Float64MultiArray, "simulator/commands")
        self.trajectories = self.ros.publisher(JointTrajectory, "simulator/effort_trajectory")
        self.ros.probe.create_timer(0.02, self._command)

    def _command(self):
        self._count += 1
        if self._bad is not None and self._count % 3:
            self.push(self._bad)
        elif self.commanding and self.states:
            off = START - self.q
            wanted = STIFFNESS * off - DAMPING * np.array(self.states[-1].velocity)
            self.push((self.inertia(self.q) @ wanted).tolist())

    def push(self, effort):
        """Send efforts once."""
        self.commands.publish(Float64MultiArray(data=effort))

    def mislead(self, effort, *words):
        """Have two of three commands be bad ones, until the log has a sentence with all words.

        The simulator takes the newest alone. One that is sent beside good ones might never be
        taken; and of every second command a slow reader might always see the good one.
        """
        since = len(self.ros.log)
        self._bad = effort
        try:
            self.until(lambda: self.logged(since, *words), f"{words} is not logged")
        finally:
            self._bad = None

    def ready(self):
        """Command the arm at its start."""
        self.commanding = True
        if self.state_of("simulator") != "running" or np.abs(self.q - START).max() > 0.05:
            self.reset()
            self.until_told("simulator", "running")
        self.until(lambda: self.speed < REST, "the arm does not rest")

    def follows(self):
        """Return whether commands hold the arm at the start."""
        return self.commanding and bool(np.abs(self.q - START).max() < AT_GOAL)


class Planned(Graph):
    """A simulator and a planner."""

    def start(self):
        """Start both nodes."""
        every = QoSProfile(depth=100, durability=LATCHED.durability)
        self.status = self.ros.listen(DiagnosticStatus, "bang_bang_planner/status", every)
        self.start_nodes()
        self.goals = self.ros.publisher(JointState, "bang_bang_planner/goal")
        self.goal_poses = self.ros.publisher(PoseStamped, "bang_bang_planner/goal_pose")
        self.foreign = self.ros.publisher(JointState, "joint_states")

    def start_nodes(self):
        """Start simulator and planner in this process."""
        self.ros.start(SimulatorNode, **ARM)
        self.ros.start(BangBangPlannerNode, robot=ROBOT, control_period=PERIOD)

    def clock_ahead(self, seconds):
        """Set the wall clock by which the simulator stamps ahead, or back, for good."""
        self.clock.ahead_ns += 1_000_000_000 * seconds

    @property
    def planner(self):
        """What the planner's status says: its state."""
        values = self.status[-1].values if self.status else ()
        return next((each.value for each in values if each.key == "state"), "")

    def go(self, goal=GOAL):
        """Send a goal."""
        self.goals.publish(JointState(name=list(self.robot.joint_names), position=goal))

    def phase(self, name):
        """Bring the planner to idle, planning, executing or reached, from the start."""
        self.reset()
        self.until(lambda: np.abs(self.q - START).max() < AT_GOAL, "not reset")
        self.until(lambda: self.planner in ("idle", "lost", "waiting"), f"{self.planner}")
        self.wait(0.1)  # what was sent before the reset is over
        if name == "idle":
            return
        since = sent = len(self.status)
        self.go()

        def come():
            nonlocal sent
            if len(self.status) > sent and self.planner in ("lost", "refused", "waiting"):
                # A busy machine kept the states back for longer than their timeout.
                sent = len(self.status)
                self.go()
            if name == "executing":
                return np.abs(self.q - START).max() > HALF_WAY
            return any(_state(each) == name for each in self.status[since:])

        self.until(come, f"never {name}")

    def ready(self):
        """Hold the goal."""
        if self.planner not in ("reached", "refused") or np.abs(self.q - GOAL).max() > AT_GOAL:
            self.phase("reached")
        self.until(lambda: self.speed < REST, "the arm does not rest")

    def follows(self):
        """Return whether the arm is held at the goal."""
        return bool(np.abs(self.q - GOAL).max() < AT_GOAL)


class Tracked(Graph):
    """A simulator and a tracker on live targets, in the plane of the arm."""

    def start(self):
        """Start both nodes."""
        kernels = md.customize(self.robot)
        self.places = [kernels.forward_kinematics(q)[:3, 3] for q in (BENT, BENT_TOO)]
        self.place = kernels.forward_kinematics
        self.goal = self.places[0]
        self.start_nodes()
        self.poses = self.ros.publisher(PoseStamped, "clik_tracker/target_pose")
        self.twists = self.ros.publisher(TwistStamped, "clik_tracker/target_twist")
        self.foreign = self.ros.publisher(JointState, "joint_states")

    def start_nodes(self):
        """Start simulator and tracker in this process."""
        self.ros.start(SimulatorNode, **(ARM | {"initial_position": BENT}))
        self.ros.start(ClikTrackerNode, **TRACKER)

    def send(self, position, quaternion=(0.0, 0.0, 0.0, 1.0), frame="", seconds=0):
        """Send a target, stamped by seconds of the wall clock from now if they are not 0."""
        message = pose(position, quaternion, frame)
        if seconds:
            message.header.stamp.sec = round(time.time()) + seconds
        self.poses.publish(message)

    def ready(self):
        """Hold the first target."""
        self.until_told("clik_tracker", "tracking", "off_path")
        self.goal = self.places[0]
        self.send(self.goal)
        self.until(self.follows, "the first target is not reached")
        self.until(lambda: self.speed < REST, "the arm does not rest")

    def move(self):
        """Go to the second target; return in the middle of the way."""
        self.goal = self.places[1]
        self.send(self.goal)
        self.until(lambda: self.speed > 0.1, "the arm does not move")

    def follows(self):
        """Return whether the tool is at its target."""
        return bool(np.linalg.norm(self.place(self.q)[:3, 3] - self.goal) < AT_GOAL)


TRACKER = {
    "robot": ROBOT,
    "mode": "dynamic",
    "step": PERIOD,
    "path": "target",
    "controlled": [1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
    "gain": 5.0,
}


def _state(status):
    return next((each.value for each in status.values if each.key == "state"), "")
