"""Conversion of results to motions, charts and error messages of the viewer."""

import sys
from dataclasses import replace
from unittest.mock import MagicMock

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.recording import read
from manip_dyn.viewer import Chart, Curves, Mark, motion_of, plan_marks, start


@pytest.fixture(scope="module")
def robot():
    return md.load_robot("ibm7535")


@pytest.fixture(scope="module")
def plan(robot):
    return md.plan_zero_net_work(robot, [0.76, 0.2618], [0.0, 0.0])


def test_a_plan_motion_contains_both_sides_of_each_switch(plan):
    motion = motion_of(plan)
    assert motion.end == pytest.approx(plan.t_final)
    for t in (0.0, 0.3, plan.t_final):
        np.testing.assert_allclose(motion.at(t), plan.state(t)[0], atol=2e-5)
    position, velocity, effort, work = motion.curves
    assert [curves.values.shape for curves in motion.curves] == [(motion.t.size, 2)] * 4
    np.testing.assert_array_equal(effort.high, plan.robot.tau_max)
    for joint, (switch,) in enumerate(plan.switch_times):
        index = np.searchsorted(motion.t, switch)
        before, after = effort.values[index - 1, joint], effort.values[index, joint]
        assert after == -before == plan.effort(switch)[joint]
        assert motion.t[index] - motion.t[index - 1] < 1e-15
    np.testing.assert_allclose(work.values[-1], 0.0, atol=1e-6)  # zero net work
    assert [curves.marked for curves in (position, velocity, work)] == [True, True, False]


def test_switches_and_arrivals_are_marked(plan):
    marks = plan_marks(plan)
    events = {(mark.text, mark.begin) for mark in marks}
    for joint, name in enumerate(plan.joint_names):
        assert (f"{name} switches", plan.switch_times[joint][0]) in events
        assert (f"{name} arrives", plan.arrival_times[joint]) in events
    assert [mark.begin for mark in marks] == sorted(mark.begin for mark in marks)


def test_boundary_arcs_are_marked_with_their_duration():
    """A link with an arc at its speed limit."""
    fast = md.load_robot("one_link_horizontal")
    robot = md.load_robot(fast.urdf.replace(f'velocity="{fast.v_max[0]:g}"', 'velocity="1"'))
    plan = md.plan_minimum_time(robot, [0.0], [2.0], budget=None)
    spans = [(a, b) for a, b, does in plan.switching.arcs() if does[0].is_boundary_arc_of_speed]
    marks = [mark for mark in plan_marks(plan) if mark.end > mark.begin]
    assert [(mark.begin, mark.end) for mark in marks] == spans
    assert all("speed limit" in mark.text for mark in marks)
    assert len(spans) == 1


def test_a_trajectory_requires_its_robot(robot):
    trajectory = md.simulate(robot, [0.1, 0.2], [0.0, 0.0], [0.0, 0.0], 0.02)
    motion = motion_of(trajectory, robot)
    np.testing.assert_array_equal(motion.coordinates, trajectory.q)
    assert motion.curves[-1].names[:2] == ("kinetic", "potential")
    with pytest.raises(md.ManipDynError, match="a Trajectory requires the argument robot"):
        motion_of(trajectory)


def test_a_recording_is_converted_by_joint_names(plan, tmp_path):
    """Additional joints, for example of a gripper, are ignored."""
    pytest.importorskip("mcap", reason="no mcap; pip install 'manip_dyn[record]'")
    pytest.importorskip("rosbags", reason="no rosbags; pip install 'manip_dyn[record]'")
    md.record(plan, tmp_path / "a.mcap", period=0.1)
    recording = read(tmp_path / "a.mcap")
    mixed = replace(
        recording,
        joint_names=("finger", *reversed(recording.joint_names)),
        **{
            name: np.column_stack([np.ones(len(recording.t)), getattr(recording, name)[:, ::-1]])
            for name in ("q", "v", "effort")
        },
    )
    for motion in (motion_of(recording), motion_of(mixed)):
        assert motion.title == "a.mcap"
        position, velocity, effort = motion.curves
        for t, q, v, tau in zip(
            motion.t, position.values, velocity.values, effort.values, strict=True
        ):
            np.testing.assert_allclose([q, v], plan.state(t), atol=1e-8)
            assert np.all(np.abs(tau) <= plan.robot.tau_max)
        assert motion.end == pytest.approx(plan.t_final)
    with pytest.raises(md.ManipDynError, match=r"a\.mcap' must contain the states of all joints"):
        motion_of(replace(recording, joint_names=("a", "b")))


def test_invalid_results_are_rejected(robot):
    with pytest.raises(md.ManipDynError, match=r"the result must be a Plan, .*, got float"):
        motion_of(1.0)
    with pytest.raises(md.ManipDynError, match="view requires at least one result"):
        md.view()
    with pytest.raises(md.ManipDynError, match="titles must have at most 1 entries, got 2"):
        md.view(robot, titles=["a", "b"])
    with pytest.raises(md.ManipDynError, match=r"positions .* shape \(1, 2\), got shape \(1, 3\)"):
        md.viewer.view_motion(robot, [0.0], [[0.0, 0.0, 0.0]])
    with pytest.raises(md.ManipDynError, match="t must be non-decreasing times"):
        md.viewer.view_motion(robot, [1.0, 0.0], np.zeros((2, 2)))


def test_a_missing_library_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(md.ManipDynError, match=r"needs viser; pip install 'manip_dyn\["):
        start()


@pytest.mark.parametrize(("key", "value"), [("port", -1), ("host", "no such host")])
def test_an_invalid_address_is_rejected(key, value):
    pytest.importorskip("viser")
    with pytest.raises(md.ManipDynError, match=f"{key} .*{value}"):
        start(**{key: value})


def test_a_chart_has_limits_arcs_switches_and_a_time_line():
    t = np.linspace(0.0, 1.0, 11)
    curves = Curves("effort [N m]", ("a",), t[:, None], np.array([-1.0]), np.array([1.0]))
    marks = [Mark(0.5, 0.5, "a switches", 0), Mark(0.2, 0.4, "a: at a limit", 0)]
    chart = Chart(None, curves, marks)
    chart.times(t)
    x, value, low, high, arc, dots, line = chart.data(0.33)
    assert x.size == t.size + 2
    assert np.all(np.diff(x) >= 0.0)
    np.testing.assert_allclose(value, x)
    assert set(low) | set(high) == {-1.0, 1.0}
    assert x[np.isfinite(arc)].min() == pytest.approx(0.2)
    assert x[np.isfinite(arc)].max() == pytest.approx(0.4)
    assert x[np.isfinite(dots)] == pytest.approx([0.5])
    assert x[np.isfinite(line)] == pytest.approx([0.33, 0.33])


@pytest.mark.parametrize(
    ("values", "limit", "half"), [(0.0, 25.0, 0.5), (1e-9, np.inf, 0.01), (20.0, 25.0, 29.0)]
)
def test_the_range_of_a_chart_is_not_that_of_rounding_errors(values, limit, half):
    most = np.array([limit])
    curves = Curves("effort [N m]", ("a",), values * np.array([[-1.0], [1.0]]), -most, most)
    chart = Chart(None, curves)
    chart.times(np.array([0.0, 1.0]))
    line = chart.data(0.5)[-1]
    assert np.nanmax(line) == pytest.approx(half)
    assert np.nanmin(line) == pytest.approx(-half)


def test_small_errors_have_a_power_of_1000_in_their_unit():
    server = MagicMock()
    none = np.array([np.inf])
    curves = Curves("error [m]", ("a",), np.array([[0.0], [2e-8]]), -none, none, marked=False)
    chart = Chart(server, curves)
    chart.show(np.array([0.0, 1.0]))
    options = server.gui.add_uplot.call_args.kwargs
    assert options["title"] == "error [10⁻⁹ m]"
    np.testing.assert_allclose(options["data"][1][-1], 20.0)


def test_many_curves_are_normalized_by_their_limits():
    high = np.array([1.0, 2.0, 4.0, 8.0])
    curves = Curves("velocity [rad/s]", tuple("abcd"), np.array([high, -high]), -high, high)
    chart = Chart(None, curves)
    chart.times(np.array([0.0, 1.0]))
    _, *values = chart.data(0.0)[:5]
    np.testing.assert_allclose([column[-1] for column in values], -1.0)
