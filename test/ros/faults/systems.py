"""The systems under fault."""

from __future__ import annotations

import time

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from faults.graph import ARM, PERIOD, REST, ROBOT, START, Graph
from geometry_msgs.msg import PoseStamped, TwistStamped
from harness import LATCHED
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from targets import pose
from trajectory_msgs.msg import JointTrajectory

import manip_dyn as md
from manip_dyn.ros import BangBangPlannerNode, ClikTrackerNode, SimulatorNode

GOAL = [0.7, 0.1]
BENT, BENT_TOO = [0.7, 0.9], [0.5, 1.1]
"""Postures of the tracker's arm at its start and target; the arm stays bent between them."""
AT_GOAL, HALF_WAY = 2e-3, 0.12
STIFFNESS, DAMPING = 25.0, 10.0
"""Gains of the probe's feedback, 1/s^2 and 1/s."""


class Commanded(Graph):
    """A simulator that the probe commands at 50 Hz by feedback around the start."""

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
            acceleration = STIFFNESS * off - DAMPING * np.array(self.states[-1].velocity)
            self.push((self.inertia(self.q) @ acceleration).tolist())

    def push(self, effort):
        """Send efforts once."""
        self.commands.publish(Float64MultiArray(data=effort))

    def mislead(self, effort, *words):
        """Send two invalid commands of three until the log has a line with all words.

        The simulator reads only the newest command. A single invalid one might be replaced by a
        valid one, and a slow subscriber might always read the valid one of two.
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
            self.until_state("simulator", "running")
        self.until(lambda: self.speed < REST, "the arm does not rest")

    def follows(self):
        """Return whether commands hold the arm at the start."""
        return self.commanding and bool(np.abs(self.q - START).max() < AT_GOAL)


class Planned(Graph):
    """A simulator and a planner.

    Attributes:
        home: Joint positions after a reset.
        destination: Default goal.
    """

    home, destination = START, GOAL

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
        """Shift the wall clock of the simulator's stamps permanently."""
        self.clock.ahead_ns += 1_000_000_000 * seconds

    @property
    def planner(self):
        """The state in the planner's latest status."""
        values = self.status[-1].values if self.status else ()
        return next((item.value for item in values if item.key == "state"), "")

    def go(self, goal=None):
        """Send a goal."""
        names = list(self.robot.joint_names)
        self.goals.publish(JointState(name=names, position=goal or self.destination))

    def phase(self, name):
        """Bring the planner to idle, planning, executing or reached, from the start."""
        self.reset()
        self.until(lambda: np.abs(self.q - self.home).max() < AT_GOAL, "not reset")
        self.until(lambda: self.planner in ("idle", "lost", "waiting"), f"{self.planner}")
        self.wait(0.1)  # messages from before the reset have arrived
        if name == "idle":
            return
        since = sent = len(self.status)
        self.go()

        def is_in_phase():
            nonlocal sent
            if len(self.status) > sent and self.planner in ("lost", "refused", "waiting"):
                # On a busy machine the states may be older than their timeout.
                sent = len(self.status)
                self.go()
            if name == "executing":
                return np.abs(self.q - self.home).max() > HALF_WAY
            return any(_state(status) == name for status in self.status[since:])

        self.until(is_in_phase, f"never {name}")

    def ready(self):
        """Hold the goal."""
        if self.planner not in ("reached", "refused") or not self.follows():
            self.phase("reached")
        self.until(lambda: self.speed < REST, "the arm does not rest")

    def follows(self):
        """Return whether the arm is held at the goal."""
        return bool(np.abs(self.q - self.destination).max() < AT_GOAL)


class Tracked(Graph):
    """A simulator and a tracker on live targets, in the plane of the arm."""

    def start(self):
        """Start both nodes."""
        kernels = md.customize(self.robot)
        self.targets = [kernels.forward_kinematics(q)[:3, 3] for q in (BENT, BENT_TOO)]
        self.forward_kinematics = kernels.forward_kinematics
        self.goal = self.targets[0]
        self.start_nodes()
        self.poses = self.ros.publisher(PoseStamped, "clik_tracker/target_pose")
        self.twists = self.ros.publisher(TwistStamped, "clik_tracker/target_twist")
        self.foreign = self.ros.publisher(JointState, "joint_states")

    def start_nodes(self):
        """Start simulator and tracker in this process."""
        self.ros.start(SimulatorNode, **(ARM | {"initial_position": BENT}))
        self.ros.start(ClikTrackerNode, **TRACKER)

    def send(self, position, quaternion=(0.0, 0.0, 0.0, 1.0), frame="", seconds=0):
        """Send a target, stamped `seconds` from now unless that is 0."""
        message = pose(position, quaternion, frame)
        if seconds:
            message.header.stamp.sec = round(time.time()) + seconds
        self.poses.publish(message)

    def ready(self):
        """Hold the first target."""
        if self.state_of("clik_tracker") == "late":  # on a busy machine
            assert self.ros.call(Trigger, "clik_tracker/reset").success
        self.until_state("clik_tracker", "tracking", "off_path")
        self.goal = self.targets[0]
        self.send(self.goal)
        self.until(self.follows, "the first target is not reached")
        self.until(lambda: self.speed < REST, "the arm does not rest")

    def move(self):
        """Move to the second target; return during the motion."""
        self.goal = self.targets[1]
        self.send(self.goal)
        self.until(lambda: self.speed > 0.1, "the arm does not move")

    @property
    def distance(self):
        """Distance of the tool from its target, m."""
        return float(np.linalg.norm(self.forward_kinematics(self.q)[:3, 3] - self.goal))

    def follows(self):
        """Return whether the tool is at its target."""
        return self.distance < AT_GOAL


TRACKER = {
    "robot": ROBOT,
    "mode": "dynamic",
    "step": PERIOD,
    "path": "target",
    "controlled": [1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
    "gain": 5.0,
    "joint_stiffness": 100.0,
    "joint_damping": 20.0,
}


def _state(status):
    return next((item.value for item in status.values if item.key == "state"), "")
