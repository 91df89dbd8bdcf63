"""Motions for the view: what results become, and what is refused."""

import sys
from dataclasses import replace

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


def test_a_plan_keeps_its_states_and_both_sides_of_its_switches(plan):
    motion = motion_of(plan)
    assert motion.end == pytest.approx(plan.t_final)
    for t in (0.0, 0.3, plan.t_final):
        np.testing.assert_allclose(motion.at(t), plan.state(t)[0], atol=2e-5)
    position, velocity, effort, work = motion.curves
    assert [each.values.shape for each in motion.curves] == [(motion.t.size, 2)] * 4
    np.testing.assert_array_equal(effort.high, plan.robot.tau_max)
    for joint, (switch,) in enumerate(plan.switch_times):
        place = np.searchsorted(motion.t, switch)
        before, after = effort.values[place - 1, joint], effort.values[place, joint]
        assert after == -before == plan.effort(switch)[joint]
        assert motion.t[place] - motion.t[place - 1] < 1e-15
    np.testing.assert_allclose(work.values[-1], 0.0, atol=1e-6)  # zero net work
    assert [each.marked for each in (position, velocity, work)] == [True, True, False]


def test_switches_and_arrivals_are_marked(plan):
    marks = plan_marks(plan)
    told = {(mark.text, mark.begin) for mark in marks}
    for joint, name in enumerate(plan.joint_names):
        assert (f"{name} switches", plan.switch_times[joint][0]) in told
        assert (f"{name} arrives", plan.arrival_times[joint]) in told
    assert [mark.begin for mark in marks] == sorted(mark.begin for mark in marks)


def test_an_arc_at_a_limit_is_marked_as_long_as_it_lasts():
    """One link that reaches its limit of speed, and keeps it for a while."""
    fast = md.load_robot("one_link_horizontal")
    robot = md.load_robot(fast.urdf.replace(f'velocity="{fast.v_max[0]:g}"', 'velocity="1"'))
    plan = md.plan_minimum_time(robot, [0.0], [2.0])
    spans = [(a, b) for a, b, does in plan.switching.arcs() if does[0].is_boundary_arc_of_speed]
    marks = [mark for mark in plan_marks(plan) if mark.end > mark.begin]
    assert [(mark.begin, mark.end) for mark in marks] == spans
    assert all("limit of speed" in mark.text for mark in marks)
    assert len(spans) == 1


def test_a_trajectory_needs_its_robot(robot):
    held = md.simulate(robot, [0.1, 0.2], [0.0, 0.0], [0.0, 0.0], 0.02)
    motion = motion_of(held, robot)
    np.testing.assert_array_equal(motion.coordinates, held.q)
    assert motion.curves[-1].names[:2] == ("kinetic", "potential")
    with pytest.raises(md.ManipDynError, match=r"a Trajectory does not say what moves; expected"):
        motion_of(held)


def test_a_recording_moves_as_what_was_recorded(plan, tmp_path):
    """By the names of its joints; more of them, such as those of a gripper, are left out."""
    pytest.importorskip("mcap", reason="no mcap; expected pip install 'manip_dyn[record]'")
    pytest.importorskip("rosbags", reason="no rosbags; expected pip install 'manip_dyn[record]'")
    md.record(plan, tmp_path / "a.mcap", period=0.1)
    found = read(tmp_path / "a.mcap")
    mixed = replace(
        found,
        joint_names=("finger", *reversed(found.joint_names)),
        **{
            name: np.column_stack([np.ones(len(found.t)), getattr(found, name)[:, ::-1]])
            for name in ("q", "v", "effort")
        },
    )
    for motion in (motion_of(found), motion_of(mixed)):
        assert motion.title == "a.mcap"
        position, velocity, effort = motion.curves
        for t, q, v, tau in zip(
            motion.t, position.values, velocity.values, effort.values, strict=True
        ):
            np.testing.assert_allclose([q, v], plan.state(t), atol=1e-8)
            assert np.all(np.abs(tau) <= plan.robot.tau_max)
        assert motion.end == pytest.approx(plan.t_final)
    with pytest.raises(md.ManipDynError, match=r"a.mcap' has joint states of a, b; expected all"):
        motion_of(replace(found, joint_names=("a", "b")))


def test_what_cannot_be_viewed_is_told(robot):
    with pytest.raises(md.ManipDynError, match="type float cannot be viewed; expected a Plan"):
        motion_of(1.0)
    with pytest.raises(md.ManipDynError, match="there is nothing to view"):
        md.view()
    with pytest.raises(md.ManipDynError, match="there are 2 titles; expected 1 at most"):
        md.view(robot, titles=["a", "b"])
    with pytest.raises(md.ManipDynError, match=r"positions .* shape \(1, 3\); .* \(1, 2\)"):
        md.viewer.view_motion(robot, [0.0], [[0.0, 0.0, 0.0]])
    with pytest.raises(md.ManipDynError, match="times of a motion do not rise"):
        md.viewer.view_motion(robot, [1.0, 0.0], np.zeros((2, 2)))


def test_what_is_missing_is_told_in_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(md.ManipDynError, match=r"needs viser; expected pip install 'manip_dyn\["):
        start()


@pytest.mark.parametrize(("key", "value"), [("port", -1), ("host", "no such host")])
def test_a_bad_address_is_told(key, value):
    pytest.importorskip("viser")
    with pytest.raises(md.ManipDynError, match=f"{key} .*{value}"):
        start(**{key: value})


def test_a_plot_has_limits_arcs_dots_and_the_line_of_time():
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


def test_many_curves_are_shown_as_shares_of_their_limits():
    high = np.array([1.0, 2.0, 4.0, 8.0])
    curves = Curves("velocity [rad/s]", tuple("abcd"), np.array([high, -high]), -high, high)
    chart = Chart(None, curves)
    chart.times(np.array([0.0, 1.0]))
    _, *values = chart.data(0.0)[:5]
    np.testing.assert_allclose([each[-1] for each in values], -1.0)
