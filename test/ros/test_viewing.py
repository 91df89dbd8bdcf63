"""What the viewer hears and says, without a page: plans, markers, pushes."""

import io
import json

import numpy as np
import pytest
from harness import Ros
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger

import manip_dyn as md
from manip_dyn.demo import await_watcher, scenario, watched_run
from manip_dyn.ros import (
    Markers,
    SimulatorNode,
    figure_of,
    marker_coordinates,
    planned_trail,
    trajectory_from,
)
from manip_dyn.viewer import mechanism_figure, robot_figure

pytestmark = pytest.mark.ros


def test_a_plan_that_is_heard_is_drawn_to_its_goal():
    """Zero net work: the efforts of ~/plan lead the tool from here to the goal's place."""
    robot = md.load_robot("ibm7535")
    start, goal = np.array([0.76, 0.2618]), np.zeros(2)
    rows = md.plan_zero_net_work(robot, start, goal).samples(1e-3)
    points = planned_trail(robot, start, trajectory_from(robot, 5_000, rows))
    tool = robot_figure(robot).tool
    np.testing.assert_allclose(points[0], tool(start)[0], atol=1e-12)
    np.testing.assert_allclose(points[-1], tool(goal)[0], atol=1e-5)


def test_markers_are_drawn_as_the_mechanism_they_are_of():
    mechanism = md.load_mechanism("four_bar")
    markers = Markers(mechanism)(Header(frame_id="world"), mechanism.q0, 0.0).markers
    heard, known = figure_of(markers), mechanism_figure(mechanism)
    poses, expected = heard.poses(marker_coordinates(markers)), known.poses(mechanism.q0)
    assert len(heard.parts) == len(known.parts)
    assert len(heard.rods) == len(known.rods)
    for here, there in zip(heard.parts, known.parts, strict=True):
        assert here.kind == there.kind
        np.testing.assert_allclose(here.size, there.size)
        np.testing.assert_allclose(
            poses.positions[here.body], expected.positions[there.body], atol=1e-12
        )


def test_a_running_simulator_is_pushed_and_made_heavier_by_its_parameters():
    """One link without weight, I = 10, then 20, no command: 30 N m for 10 ms of lockstep."""
    with Ros() as ros:
        states = ros.listen(JointState, "joint_states")
        given = {"robot": "one_link_horizontal", "mode": "lockstep", "control_period": 0.01}
        ros.start(SimulatorNode, safe_command="zero", **given)
        ros.until(lambda: states, "no joint states")
        ros.call(Trigger, "simulator/step")
        push = {"disturbance": [30.0], "disturbance_duration": 0.01}
        found = ros.set_parameters("simulator", **push)
        assert all(each.successful for each in found), found
        for _ in range(3):
            ros.call(Trigger, "simulator/step")
        ros.until(lambda: states[-1].velocity[0] > 0.0, "it is not pushed")
        assert states[-1].velocity[0] == pytest.approx(0.03, rel=1e-9)
        found = ros.set_parameters("simulator", mass_scale=2.0, **push)
        assert all(each.successful for each in found), found
        for _ in range(3):
            ros.call(Trigger, "simulator/step")
        ros.until(lambda: states[-1].velocity[0] > 0.031, "it is not pushed again")
        assert states[-1].velocity[0] == pytest.approx(0.045, rel=1e-9)
        (result,) = ros.set_parameters("simulator", disturbance=[1.0, 2.0])
        assert not result.successful
        assert "disturbance" in result.reason


def test_the_demo_begins_when_somebody_looks(capsys):
    lines = [{"url": "http://localhost:1"}, {"watched": True}]
    await_watcher(io.BytesIO("\n".join(map(json.dumps, lines)).encode()))
    assert "open http://localhost:1" in capsys.readouterr().out
    await_watcher(io.BytesIO(b""))  # it ended at once, which the supervisor tells


def test_people_watch_in_real_time_where_a_scenario_has_it():
    assert watched_run(scenario("ibm7535_minimum_time")) == "real_time"
    assert watched_run(scenario("pa10_circle")) == "kinematic"
