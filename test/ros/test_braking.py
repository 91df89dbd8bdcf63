"""Stops of the planner on an arm whose friction and masses are unknown: it brakes and rests."""

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from harness import LATCHED
from lockstep_link import REMAP, LockstepLink
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from manip_dyn.ros import BangBangPlannerNode, SimulatorNode

ARMS = {
    "ur5": (
        [0.0, -0.8, 0.8, 0.0, 0.0, 0.0],
        [1.5, -0.4, 0.4, 0.3, 0.2, 0.1],
        [4.5, 4.5, 4.5, 0.84, 0.84, 0.84],
    ),
    "ibm7535": ([0.975, 0.3], [-0.8, -0.5], [0.75, 0.27]),
}
"""Start, goal, and dry friction of 3 % of the effort limits, which the planner does not know."""


@pytest.fixture
def moving(ros):
    """Start simulator and planner in lockstep; return when the first joint moves fast."""

    def start(robot, mass_scale, method):
        ros.states = ros.listen(JointState, "joint_states")
        ros.statuses = ros.listen(DiagnosticStatus, "bang_bang_planner/status", LATCHED)
        position, goal, friction = ARMS[robot]
        common = {"robot": robot, "control_period": 0.004}
        arm = {"coulomb_friction": friction, "mass_scale": mass_scale, "mode": "lockstep"}
        ros.start(SimulatorNode, **common, **arm, initial_position=position)
        ros.start(BangBangPlannerNode, **common, state_timeout=0.0, goal=goal, method=method)
        far = lambda: abs(ros.states[-1].position[0] - position[0]) > 0.5  # noqa: E731
        ros.until(lambda: ros.states and far(), "the arm does not move")
        return ros

    return start


def names(ros):
    return [{row.key: row.value for row in s.values}["state"] for s in ros.statuses]


@pytest.mark.parametrize("mass_scale", [1.0, 1.1])
def test_friction_does_not_prevent_the_plan_for_a_new_goal(moving, mass_scale):
    """Regression: the stop never reached its planned end, so the planner braked for ever."""
    ros, start = moving("ur5", mass_scale, "zero_net_work"), ARMS["ur5"][0]
    goals = ros.publisher(JointState, "bang_bang_planner/goal")
    goals.publish(JointState(name=ros.states[0].name, position=start))
    ros.until(lambda: "braking" in names(ros), "the goal is not accepted")
    braked = len(ros.states)
    ended = lambda: names(ros)[-1] in ("reached", "aborted")  # noqa: E731
    ros.until(lambda: ended() or len(ros.states) > braked + 4000, "no end")
    after = names(ros)[names(ros).index("braking") :]
    assert after[:3] == ["braking", "planning", "executing"]
    np.testing.assert_allclose(ros.states[-1].position, start, atol=2e-3)


def test_a_brake_that_does_not_stop_the_arm_ends_with_a_reason(ros):
    """Regression: the planner braked for ever. Here one velocity is always too high."""
    link = LockstepLink(ros)

    def biased(state):
        state.velocity[0] += 0.01
        return [state]

    link.spoil = biased
    ros.statuses = ros.listen(DiagnosticStatus, "bang_bang_planner/status", LATCHED)
    common = {"robot": "ibm7535", "control_period": 0.004}
    ros.start(SimulatorNode, **common, mode="lockstep", remap=REMAP)
    ros.start(BangBangPlannerNode, **common, state_timeout=0.0, goal=[0.5, 0.5])
    ros.until(lambda: "aborted" in names(ros), "the brake does not end")
    assert names(ros)[-2:] == ["braking", "aborted"]
    assert "does not come to rest, joint 'shoulder' at 0.01" in ros.statuses[-1].message
    first, last = link.states[0].header.stamp, link.states[-1].header.stamp
    assert last.sec - first.sec < 12


STOPS = [("ibm7535", "minimum_time"), ("ur5", "zero_net_work")]


@pytest.mark.parametrize(("robot", "method"), STOPS)
def test_an_abort_is_followed_by_rest_only(moving, robot, method):
    """Regression: an arm that left its planned stop returned to the end of this stop."""
    ros = moving(robot, 1.3, method)
    assert ros.call(Trigger, "bang_bang_planner/abort").success
    stopped = len(ros.states)
    ros.until(lambda: len(ros.states) > stopped + 1000, "no states")
    assert names(ros)[-1] == "aborted"
    speeds = [np.abs(state.velocity).max() for state in ros.states[stopped:]]
    assert max(speeds[-250:]) < 1e-3


def test_a_push_after_a_rejected_goal_is_reported(ros):
    """Regression: the state remained that of the rejection while the arm returned to its goal."""
    ros.statuses = ros.listen(DiagnosticStatus, "bang_bang_planner/status", LATCHED)
    common = {"robot": "ibm7535", "control_period": 0.004}
    ros.start(SimulatorNode, **common, mode="lockstep", initial_position=[0.4, 0.2])
    ros.start(BangBangPlannerNode, **common, state_timeout=0.0, goal=[0.0, 0.0])
    ros.until(lambda: "reached" in names(ros), "it does not arrive")
    goals = ros.publisher_of(JointState, "bang_bang_planner/goal")
    goals.publish(JointState(name=["shoulder", "elbow"], position=[9.0, 0.0]))
    ros.until(lambda: names(ros)[-1] == "refused", "the goal is not rejected")
    ros.set_parameters("simulator", disturbance=[25.0, 0.0], disturbance_duration=0.3)
    ros.until(lambda: names(ros)[-1] == "reached", "the arm does not return")
    assert names(ros)[-3:] == ["refused", "executing", "reached"]
