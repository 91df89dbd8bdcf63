"""The planner node with a slew rate: ramps in the published plan, arrival, rejection."""

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from harness import LATCHED
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from manip_dyn import ManipDynError
from manip_dyn.ros import BangBangPlannerNode, SimulatorNode

SLEW_RATE, PERIOD = 250.0, 0.008


def test_ramps_are_published_and_executed(ros):
    states = ros.listen(JointState, "joint_states")
    statuses = ros.listen(DiagnosticStatus, "bang_bang_planner/status", LATCHED)
    plans = ros.listen(JointTrajectory, "bang_bang_planner/plan", LATCHED)
    common = {"robot": "ibm7535", "control_period": PERIOD}
    ros.start(SimulatorNode, mode="lockstep", initial_position=[0.76, 0.2618], **common)
    options = {"goal": [0.0, 0.0], "slew_rate": SLEW_RATE, "hold_duration": 0.02}
    ros.start(BangBangPlannerNode, state_timeout=0.0, **options, **common)
    ros.until(lambda: any("reached" in s.message for s in statuses), "it does not arrive")
    ros.until(lambda: np.abs(states[-1].position).max() < 1e-6, "the arm does not hold the goal")
    values = {v.key: v.value for v in statuses[-1].values}
    assert values["plan"] == "solved"
    assert values["returns"] == "0"
    assert "s without ramps" in values["plan reason"]
    np.testing.assert_allclose(states[-1].position, [0.0, 0.0], atol=1e-6)
    efforts = np.array([point.effort for point in plans[0].points])
    assert len(efforts) > 50
    assert np.abs(np.diff(efforts, axis=0)).max() <= SLEW_RATE * PERIOD * (1.0 + 1e-9)


def test_only_minimum_time_accepts_a_planning_budget(ros):
    with pytest.raises(
        ManipDynError, match="'planning_budget' must be 0 with the method 'zero_net_work', got 2"
    ):
        ros.start(BangBangPlannerNode, robot="ibm7535", planning_budget=2.0)


def test_only_zero_net_work_accepts_a_slew_rate(ros):
    with pytest.raises(
        ManipDynError, match="'slew_rate' must be 0 with the method 'minimum_time', got 5"
    ):
        ros.start(BangBangPlannerNode, robot="ibm7535", method="minimum_time", slew_rate=5.0)
