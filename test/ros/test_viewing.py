"""Input and output of the viewer without a page: plans, markers, pushes."""

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


def test_a_received_plan_is_drawn_to_its_goal():
    """Zero net work: the efforts of ~/plan move the tool from the start to the goal."""
    robot = md.load_robot("ibm7535")
    start, goal = np.array([0.76, 0.2618]), np.zeros(2)
    rows = md.plan_zero_net_work(robot, start, goal).samples(1e-3)
    points = planned_trail(robot, start, trajectory_from(robot, 5_000, rows))
    tool = robot_figure(robot).tool
    np.testing.assert_allclose(points[0], tool(start)[0], atol=1e-12)
    np.testing.assert_allclose(points[-1], tool(goal)[0], atol=1e-5)


def test_markers_are_drawn_like_their_mechanism():
    mechanism = md.load_mechanism("four_bar")
    markers = Markers(mechanism)(Header(frame_id="world"), mechanism.q0, 0.0).markers
    figure, expected_figure = figure_of(markers), mechanism_figure(mechanism)
    poses, expected = (
        figure.poses(marker_coordinates(markers)),
        expected_figure.poses(mechanism.q0),
    )
    assert len(figure.parts) == len(expected_figure.parts)
    assert len(figure.rods) == len(expected_figure.rods)
    for part, expected_part in zip(figure.parts, expected_figure.parts, strict=True):
        assert part.kind == expected_part.kind
        np.testing.assert_allclose(part.size, expected_part.size)
        np.testing.assert_allclose(
            poses.positions[part.body], expected.positions[expected_part.body], atol=1e-12
        )


def test_parameters_push_a_running_simulator_and_scale_its_mass():
    """Push a horizontal link, I = 10, then 20 kg m^2, by 30 N m for 10 ms of lockstep."""
    with Ros() as ros:
        states = ros.listen(JointState, "joint_states")
        values = {"robot": "one_link_horizontal", "mode": "lockstep", "control_period": 0.01}
        ros.start(SimulatorNode, safe_command="zero", **values)
        ros.until(lambda: states, "no joint states")
        ros.call(Trigger, "simulator/step")
        push = {"disturbance": [30.0], "disturbance_duration": 0.01}
        results = ros.set_parameters("simulator", **push)
        assert all(result.successful for result in results), results
        for _ in range(3):
            ros.call(Trigger, "simulator/step")
        ros.until(lambda: states[-1].velocity[0] > 0.0, "it is not pushed")
        assert states[-1].velocity[0] == pytest.approx(0.03, rel=1e-9)
        results = ros.set_parameters("simulator", mass_scale=2.0, **push)
        assert all(result.successful for result in results), results
        for _ in range(3):
            ros.call(Trigger, "simulator/step")
        ros.until(lambda: states[-1].velocity[0] > 0.031, "it is not pushed again")
        assert states[-1].velocity[0] == pytest.approx(0.045, rel=1e-9)
        (result,) = ros.set_parameters("simulator", disturbance=[1.0, 2.0])
        assert not result.successful
        assert "disturbance" in result.reason


def test_the_demo_starts_when_the_page_is_opened(capsys):
    lines = [{"url": "http://localhost:1"}, {"watched": True}]
    await_watcher(io.BytesIO("\n".join(map(json.dumps, lines)).encode()))
    assert "open http://localhost:1" in capsys.readouterr().out
    await_watcher(io.BytesIO(b""))  # the viewer ended; the supervisor reports it


def test_the_run_to_view_is_in_real_time_if_there_is_one():
    assert watched_run(scenario("ibm7535_minimum_time")) == "real_time"
    assert watched_run(scenario("pa10_circle")) == "kinematic"
