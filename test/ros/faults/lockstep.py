"""Faults of link and arm in lockstep: the outcomes do not depend on the load of the machine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from faults.case import ERROR, OK, WARN, Case
from faults.graph import ARM, REST, Graph
from faults.links import VELOCITY_NOISE, lost, noisy, single_joints, without_velocities
from faults.systems import BENT, TRACKER, Planned, Tracked
from lockstep_link import RELEASE, REMAP, LockstepLink
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

import manip_dyn as md
from manip_dyn.ros import BangBangPlannerNode, ClikTrackerNode, SimulatorNode

SHORT = 0.004
"""Control period of the planner, s."""
MOST_OFF = 0.05
"""Largest distance of a joint from the path of its plan, rad."""
PLANNERS = {"zero_net_work": md.plan_zero_net_work, "minimum_time": md.plan_minimum_time}
NEAR = 5e-3
"""Distance from a target within which a tracker stops in spite of noise and friction, m."""
STILL = 300
"""Number of steps in which the simulator's brake stops the arm."""


class Lockstep:
    """Mixin of systems in lockstep. Attribute `link` relays states and commands."""

    states_topic = "raw_states"
    friction = 0.0
    """Dry friction of the simulated joints relative to their effort limits."""

    def start_simulator(self, **parameters):
        """Start the simulator and the link."""
        self.link = LockstepLink(self.ros)
        rubs = {"coulomb_friction": (self.friction * self.robot.tau_max).tolist()}
        self.ros.start(
            SimulatorNode,
            remap=REMAP,
            **(ARM | parameters | {"mode": "lockstep"} | (rubs if self.friction else {})),
        )

    def spoil(self, link):
        """Let `link` replace the messages of each state from now on."""
        self.rng = np.random.default_rng(0)
        self.link.spoil = lambda state: link(self, state)

    def set_masses(self, scale):
        """Set the ratio of the simulated masses to those of the model."""
        self.ros.set_parameters("simulator", mass_scale=scale)

    def brake(self):
        """Advance the simulator, which brakes, until the arm rests."""
        for _ in range(STILL):
            assert self.ros.call(Trigger, "simulator/step").success
        self.until(lambda: self.speed < REST, "the arm does not rest")

    def restart(self):
        """Restore link and arm, and reset the simulator."""
        self.link.late(0)
        self.rest = REST
        self.link.clear()
        self.set_masses(1.0)
        self.reset()


class PlannedInLockstep(Lockstep, Planned):
    """A simulator and a planner.

    Attributes:
        assumed: Dry friction in the planner's model relative to the effort limits.
    """

    assumed = 0.0

    def start_nodes(self):
        """Start both."""
        arm = {"robot": self.robot_name, "initial_position": self.home}
        self.start_simulator(control_period=SHORT, **arm)
        options = {"switching": "sampled", "state_timeout": 0.0, "control_period": SHORT}
        if self.assumed:
            options["coulomb_friction"] = (self.assumed * self.robot.tau_max).tolist()
        self.ros.start(BangBangPlannerNode, robot=self.robot_name, **options)

    def ready(self):
        """Return to the start."""
        self.restart()
        self.until(lambda: np.abs(self.q - self.home).max() < 1e-9, "not reset")
        self.until(lambda: self.planner in ("idle", "lost"), self.planner)

    def move(self, method, ends):
        """Move to the goal; fail if a joint is far from the path of the plan."""
        self.ros.set_parameters("bang_bang_planner", method=method)
        count, since = len(self.states), len(self.status)
        self.go()
        self.until(
            lambda: len(self.status) > since and self.planner in ends,
            f"the planner does not end in {ends}",
        )
        if self.planner == "lost":
            self.brake()
            return
        if method not in PLANNERS:
            return
        dry = self.assumed * self.robot.tau_max
        robot = md.load_robot(self.robot_name, coulomb_friction=dry if self.assumed else None)
        plan = PLANNERS[method](robot, self.home, self.destination)
        path = plan.at(np.linspace(0.0, plan.t_final, 1000))[0]
        positions = np.array([state.position for state in self.states[count:]])
        off = np.abs(positions[:, None] - path[None]).max(axis=2).min(axis=1).max()
        assert off <= MOST_OFF, f"{off} rad from the path"


class OneJointInLockstep(PlannedInLockstep):
    """A simulator and a planner of an arm with one joint."""

    robot_name = "one_link_horizontal"
    home, destination = [0.0], [1.0]


class TrackedInLockstep(Lockstep, Tracked):
    """A simulator and a tracker."""

    def start_nodes(self):
        """Start both."""
        self.start_simulator(initial_position=BENT)
        self.ros.start(ClikTrackerNode, **TRACKER)

    def ready(self):
        """Move to the second target and back, so that the tracker measures the loop delay."""
        self.restart()
        assert self.ros.call(Trigger, "clik_tracker/reset").success
        super().ready()
        self.approach(self.targets[1])
        self.approach(self.targets[0])
        self.until(lambda: self.speed < REST, "the arm does not rest")
        self.until_state("clik_tracker", "tracking", "off_path")

    def approach(self, goal, ends=()):
        """Move close to a target, or until the tracker reports one of the states `ends`.

        The simulator may be silent while it compiles other masses. The tracker then holds the arm,
        so the target is sent again.
        """
        self.goal, since = goal, len(self.reports)

        def has_ended():
            mine = [report for report in self.reports[since:] if report[0] == "clik_tracker"]
            return self.distance < NEAR or any(report[1] in ends for report in mine)

        self.ros.insist(lambda: self.send(goal), has_ended, "the target is not reached", 0.2)


def planned(method, do, ends=("reached",)):
    """Return a fault during a motion of the planner."""

    def fault(system):
        do(system)
        system.move(method, ends)

    return fault


def tracked(do, *ends):
    """Return a fault during a motion of the tracker, which may end in one of the states `ends`."""

    def fault(system):
        do(system)
        system.approach(system.targets[1], ends)

    return fault


def masses(scale):
    """Return a fault: an arm whose masses differ from the model."""
    return lambda system: system.set_masses(scale)


def late(periods):
    """Return a fault: all states are late by whole control periods."""
    return lambda system: system.link.late(periods)


def late_from_the_start(periods):
    """Return a fault: all states are late by whole control periods, and the tracker restarts."""

    def do(system):
        system.link.late(periods)
        assert system.ros.call(Trigger, "clik_tracker/reset").success

    return do


def link(fault):
    """Return a fault of the link."""

    def do(system):
        system.rest = VELOCITY_NOISE if fault is noisy else REST
        system.spoil(fault)

    return do


def nothing(_system):
    """Cause no fault."""


def everything(system):
    """Cause 20 % heavier masses, noise and a delay of one period."""
    system.set_masses(1.2)
    before = []

    def noisy_and_late(_system, state):
        before.extend(noisy(system, state))
        return [before.pop(0)] if len(before) > 1 else []

    system.rest = VELOCITY_NOISE
    system.spoil(noisy_and_late)


FAULTS = (
    ("lossy_states", "30 % of the joint states are lost", link(lost)),
    ("states_without_velocities", "joint states without velocities", link(without_velocities)),
    ("single_joint_states", "one joint per message", link(single_joints)),
    ("noisy_states", "joint states with noise of 1e-3 rad and 0.02 rad/s", link(noisy)),
    ("light_arm", "masses 20 % below the model", masses(0.8)),
    ("heavy_arm", "masses 20 % above the model", masses(1.2)),
    ("states_late_by_1_period", "joint states one period late", late(1)),
)
REACHED = "bang_bang_planner", "reached", OK, "reached the goal"
TRACKING = "clik_tracker", "tracking", OK, "tracking"
OFF = "clik_tracker", "off_path", WARN, "off"
UNKNOWN = "clik_tracker", "unknown_delay", WARN, "the loop delay is unknown"
TRACKED = {
    "noisy_states": OFF,
    "states_without_velocities": UNKNOWN,
    "single_joint_states": UNKNOWN,
}
"""Outcomes of the tracker that are not `TRACKING`; some joint states have no efforts."""


def _planner(method):
    words = method.replace("_", " ")

    def case(name, done, do, expected=REACHED, ends="following", system="planner_lockstep"):
        fault = planned(method, do, (expected[1],))
        return Case(f"{name}_in_{method}", system, f"{done}, {words} motion", fault,
                    *expected, (), ends)  # fmt: skip

    for row in FAULTS:
        yield case(*row)
    yield case("states_late_by_2_periods", "joint states 8 ms late", late(2))
    delayed = "bang_bang_planner", "reached", WARN, "efforts act 0.016 s after their states"
    if method == "minimum_time":  # zero-net-work motions leave their path by 0.055 rad
        yield case("states_late_by_4_periods", "joint states 16 ms late", late(4), delayed)
    lost_arm = "bang_bang_planner", "lost", ERROR, "gave up: efforts act 0.032 s after"
    yield case("states_late_by_8_periods", "joint states 32 ms late", late(8), lost_arm, "rest")
    for percent in (3, 6):
        yield case(f"friction_of_{percent}_percent", f"dry friction of {percent} % of the limits",
                   nothing, system=f"planner_friction_{percent}")  # fmt: skip
    yield case("all_deviations", "3 % friction, 20 % heavier, noise and a delay of 4 ms",
               everything, system="planner_friction_3")  # fmt: skip


def _feedback():
    for name, done, do in FAULTS:
        if name in ("lossy_states", "noisy_states", "heavy_arm"):
            yield Case(f"{name}_in_pd", "planner_lockstep", f"{done}, motion by feedback",
                       planned("pd", do), *REACHED, (), "following")  # fmt: skip


def _models():
    for method in PLANNERS:
        yield Case(f"one_joint_20_percent_heavier_in_{method}", "one_joint_lockstep",
                   f"one joint, masses 20 % above the model, {method.replace('_', ' ')} motion",
                   planned(method, masses(1.2)), *REACHED, (), "following")  # fmt: skip

    yield Case("friction_of_4_percent_assumed_as_3_percent", "planner_friction_4",
               "dry friction of 4 % of the limits, 3 % in the model, zero net work motion",
               planned("zero_net_work", nothing, ("aborted",)), "bang_bang_planner", "aborted",
               WARN, "the goal is not reached", (), "rest")  # fmt: skip


def _tracker():
    def case(name, done, do, expected=TRACKING, ends="following", system="tracker_lockstep"):
        fault = tracked(do, "late", "unknown_delay") if ends == "rest" else tracked(do)
        return Case(f"{name}_in_tracking", system, f"{done}, motion to a target", fault,
                    *expected, (), ends)  # fmt: skip

    for name, done, do in FAULTS:
        yield case(name, done, do, TRACKED.get(name, TRACKING))
    delayed = "clik_tracker", "delayed", WARN, "efforts act 0.04 s after their states"
    yield case("states_late_by_2_periods", "joint states 40 ms late", late(2), delayed)
    unstable = "clik_tracker", "late", ERROR, "braking until ~/reset"
    for periods in (3, 5, 8, 15):
        yield case(f"states_late_by_{periods}_periods", f"joint states {20 * periods} ms late",
                   late(periods), unstable, "rest")  # fmt: skip
    yield case("states_late_from_the_start", "joint states 100 ms late from a reset on",
               late_from_the_start(5), UNKNOWN, "rest")  # fmt: skip
    for percent in (3, 6):
        yield case(f"friction_of_{percent}_percent", f"dry friction of {percent} % of the limits",
                   nothing, OFF, "rest", f"tracker_friction_{percent}")  # fmt: skip
    yield case("all_deviations", "3 % friction, 20 % heavier, noise and a delay of 20 ms",
               everything, OFF, "rest", "tracker_friction_3")  # fmt: skip


class FastArm(Graph):
    """A PA-10 in lockstep that the probe commands with full efforts."""

    robot_name = "pa10"

    def start(self):
        """Start the simulator."""
        options = {"mode": "lockstep", "control_period": 0.005}
        self.ros.start(SimulatorNode, robot="pa10", **options)
        self.commands = self.ros.publisher(Float64MultiArray, "simulator/commands")

    def ready(self):
        """Reset the simulator."""
        self.reset()

    def accelerate(self):
        """Send full efforts until the simulator reports the speed; then let it brake."""
        since = len(self.reports)
        while not any(report[1] == "too_fast" for report in self.reports[since:]):
            count = len(self.states)
            self.commands.publish(Float64MultiArray(data=self.robot.tau_max.tolist()))
            self.until(lambda: len(self.states) > count, "no state")  # noqa: B023
        self.commands.publish(RELEASE)
        self.until(self.rests, "the arm does not rest")

    def rests(self):
        """Advance by a step; return whether the arm rests."""
        self.ros.call(Trigger, "simulator/step")
        return self.speed < REST


def _fast():
    yield Case("full_efforts", "fast", "full efforts of all joints", FastArm.accelerate,
               "simulator", "too_fast", ERROR, "too fast")  # fmt: skip


SYSTEMS = {"planner_lockstep": PlannedInLockstep, "tracker_lockstep": TrackedInLockstep}
SYSTEMS |= {
    "planner_friction_4": type(
        "PlannedWithFriction", (PlannedInLockstep,), {"friction": 0.04, "assumed": 0.03}
    )
}
SYSTEMS |= {"fast": FastArm, "one_joint_lockstep": OneJointInLockstep}
SYSTEMS |= {
    f"{name}_friction_{percent}": type(kind.__name__, (kind,), {"friction": 0.01 * percent})
    for percent in (3, 6)
    for name, kind in (("planner", PlannedInLockstep), ("tracker", TrackedInLockstep))
}
TESTED = (
    "states_late_by_8_periods_in_minimum_time",
    "heavy_arm_in_zero_net_work",
    "noisy_states_in_zero_net_work",
)
"""Cases that the tests run, too."""
CASES = tuple(
    replace(case, by_hand=case.name not in TESTED)
    for case in (
        *_planner("zero_net_work"),
        *_planner("minimum_time"),
        *_feedback(),
        *_models(),
        *_tracker(),
        *_fast(),
    )
)
