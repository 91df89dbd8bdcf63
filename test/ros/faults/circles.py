"""Late joint states of a tracker on a circle at 100 Hz, in lockstep.

The faults begin during the fastest part of the motion. Two laws are checked in every case:

- The kinetic energy is at most 5 % above its value at the fault if the arm brakes, or above the
  largest value of the undisturbed motion if the arm continues.
- No report is OK while the tool is farther from its desired pose than the tolerance.
"""

from __future__ import annotations

import numpy as np
import targets
from faults.case import ERROR, OK, WARN, Case
from faults.graph import REST, Graph
from faults.links import noisy
from faults.lockstep import Lockstep
from geometry_msgs.msg import PoseStamped
from std_srvs.srv import Trigger

import manip_dyn as md
from manip_dyn.ros import ClikTrackerNode

PERIOD = 0.01
RISE = 1.05
"""Largest ratio of the kinetic energy to its value before the fault."""
STEADY, AFTER = 340, 400
"""Periods from the start to the fault, and from the fault to the end."""
TRACKER = targets.CIRCLE | {
    "mode": "dynamic",
    "step": PERIOD,
    "posture": targets.START,
    "posture_gain": 1.0,
}


class CircleInLockstep(Lockstep, Graph):
    """A PA-10 whose tool moves along a circle.

    Attributes:
        desired: Desired poses by stamp.
        oks: Number of states before each report of the tracker that is OK.
        largest: Largest kinetic energy of the undisturbed motion, J.
    """

    robot_name = "pa10"

    def start(self):
        """Start simulator and tracker."""
        self.kernels = md.customize(self.robot)
        self.desired: dict[tuple, PoseStamped] = {}
        self.oks: list[int] = []
        listen = self.ros.probe.create_subscription
        listen(PoseStamped, "clik_tracker/desired_pose", self._on_desired, 1000)
        self.start_simulator(robot="pa10", control_period=PERIOD, initial_position=targets.START)
        self.ros.start(ClikTrackerNode, robot="pa10", **TRACKER)
        self.largest = 0.0

    def _on_diagnostics(self, message):
        since = len(self.reports)
        super()._on_diagnostics(message)
        oks = [r for r in self.reports[since:] if r[0] == "clik_tracker" and r[2] == OK]
        self.oks += [len(self.states)] * len(oks)

    def _on_desired(self, pose):
        self.desired[_key(pose)] = pose

    def ready(self):
        """Restart the circle and follow it until its speed is constant."""
        if not self.largest:
            self.begin()
            count = len(self.states)
            self.run(STEADY + AFTER)
            self.largest = max(self.energies(self.states[count:]))
        self.begin()
        self.run(STEADY)

    def begin(self):
        """Restart the circle, also after a fault that braked the arm until a reset."""
        self.restart()
        if self.state_of("clik_tracker") == "late":
            assert self.ros.call(Trigger, "clik_tracker/reset").success
            self.until(lambda: self.state_of("clik_tracker") != "late", "late after a reset")
            self.restart()
        assert self.ros.call(Trigger, "clik_tracker/reset").success
        self.until(lambda: self.states[-1].header.stamp.sec == 0, "not reset")

    def run(self, periods):
        """Run for a number of control periods, or until the arm is braked and rests."""
        until = len(self.states) + periods
        late = lambda: self.state_of("clik_tracker") == "late"  # noqa: E731
        self.until(lambda: len(self.states) >= until or (late() and self.speed < REST), "stopped")

    def follows(self):
        """Return whether the tracker follows the circle."""
        return self.state_of("clik_tracker") in ("tracking", "delayed", "off_path")

    def ends(self, how):
        """Return whether the arm rests, or moves along the circle."""
        return self.follows() if how == "following" else super().ends(how)

    def energies(self, states):
        """Return the kinetic energies of states, J."""
        rows = [(np.array(state.position), np.array(state.velocity)) for state in states]
        return [0.5 * v @ self.kernels.mass_matrix(q) @ v for q, v in rows]

    def distance(self, state):
        """Return the distance of the tool from its desired position in a state, m, or 0."""
        pose = self.desired.get(_key(state))
        if pose is None:
            return 0.0
        p = pose.pose.position
        tool = self.kernels.forward_kinematics(np.array(state.position))[:3, 3]
        return float(np.linalg.norm(tool - [p.x, p.y, p.z]))


def _key(message):
    return message.header.stamp.sec, message.header.stamp.nanosec


def spoiled(periods, noise=False):
    """Return a fault: states are late by control periods, and maybe noisy."""

    def do(system):
        count = len(system.states)
        system.link.late(periods)
        if noise:
            system.rng, late = np.random.default_rng(0), system.link.spoil
            system.link.spoil = lambda state: [noisy(system, s)[0] for s in late(state)]
        system.run(AFTER)
        now = system.energies(system.states[count:])
        before = system.energies(system.states[count - 1 : count])[0]
        brakes = system.state_of("clik_tracker") == "late"
        bound = RISE * (before if brakes else system.largest)
        assert max(now) <= bound, f"{max(now)} J, at most {bound} J"
        # An OK report is wrong if all of the last states are off, also those that are late.
        recent = [system.states[i - periods - LAG : i] for i in system.oks if i > count]
        off = max((min(map(system.distance, states)) for states in recent), default=0.0)
        assert off <= TOLERANCE, f"a report is OK, {off} m off"

    return do


LAG = 5
"""Number of states that may be newer than a report."""
TOLERANCE = 1e-3
"""Largest distance of the tool from its desired pose in the state `tracking`, m."""


def _case(name, done, do, *end, ends="following"):
    return Case(name, "circle", f"{done}, on a circle at 100 Hz", do, "clik_tracker", *end,
                (), ends, by_hand=True)  # fmt: skip


def _late(periods, *end, ends="following"):
    name = f"states_{10 * periods}_ms_late_on_a_circle"
    done = f"joint states {10 * periods} ms late"
    yield _case(name, done, spoiled(periods), *end, ends=ends)


def _noisy(periods):
    name = f"noisy_states_{10 * periods}_ms_late_on_a_circle"
    done = f"joint states {10 * periods} ms late with noise of 1e-3 rad and 0.02 rad/s"
    yield _case(name, done, spoiled(periods, noise=True), *LATE, ends="rest")


DELAYED = "delayed", WARN, "efforts act"
LATE = "late", ERROR, "braking until ~/reset"
CASES = (*_late(2, *DELAYED), *_late(3, *LATE, ends="rest"), *_noisy(5), *_noisy(10))
