"""Faults of simulated time: jumps of the clock topic, equal stamps."""

from __future__ import annotations

from dataclasses import replace

from faults.case import ERROR, OK, WARN, Case
from faults.graph import ARM, PERIOD, ROBOT
from faults.systems import Planned
from rosgraph_msgs.msg import Clock

from manip_dyn.ros import BangBangPlannerNode, SimulatorNode

HOUR = 3600


class PlannedInSimulatedTime(Planned):
    """A simulator that publishes the clock, and a planner that uses it."""

    def start_nodes(self):
        """Start both nodes."""
        self.ros.start(SimulatorNode, publish_clock=True, **ARM)
        options = {"robot": ROBOT, "control_period": PERIOD, "use_sim_time": True}
        self.ros.start(BangBangPlannerNode, **options)


def other_clock(seconds):
    """Return a fault: another node publishes a time ahead of the simulator's during a motion."""

    def do(system):
        topic = system.ros.publisher(Clock, "clock")
        system.phase("executing")

        def publish():
            clock = Clock(clock=system.states[-1].header.stamp)
            clock.clock.sec = max(clock.clock.sec + seconds, 0)
            topic.publish(clock)

        system.ros.insist(publish, lambda: system.planner == "reached", "the motion does not end")
        system.ros.probe.destroy_publisher(topic)

    return do


def reset(system):
    """Reset the simulator, which resets the clock, during a motion."""
    system.phase("executing")
    system.reset()


def equal_stamps(system):
    """Repeat the same joint state from the middle of a motion on."""
    system.phase("executing")
    frozen = system.states[-1]
    system.spoil = lambda _state: [frozen]


REACHED = "bang_bang_planner", "reached", OK, "reached the goal"
CASES = tuple(
    replace(case, by_hand=True)
    for case in (
        Case("clock_ahead_in_simulated_time", "planner_in_simulated_time",
             "another node publishes times an hour ahead on the clock topic during a motion",
             other_clock(HOUR), *REACHED, (), "following"),
        Case("clock_back_in_simulated_time", "planner_in_simulated_time",
             "another node publishes the time 0 on the clock topic during a motion",
             other_clock(-HOUR), *REACHED, (), "following"),
        Case("reset_in_simulated_time", "planner_in_simulated_time",
             "~/reset of the simulator and its clock during a motion", reset,
             "bang_bang_planner", "lost", ERROR, "gave up: the arm was reset"),
        Case("equal_stamps", "planner_link",
             "the same joint state again and again, from the middle of a motion on", equal_stamps,
             "bang_bang_planner", "executing", WARN, "time stands still"),
    )
)  # fmt: skip
