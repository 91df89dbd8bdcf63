"""How results and robots appear in a console, in a notebook and as a data frame."""

import numpy as np
import pytest

import manip_dyn as md


@pytest.fixture(scope="module")
def results():
    """Return the robot, a plan, a path timing and a trajectory."""
    robot = md.load_robot("ibm7535")
    plan = md.plan_zero_net_work(robot, [0.76, 0.2618], [0.0, 0.0])
    timing = md.time_path(robot, [[0.0, 0.0], [0.5, 0.2], [1.0, 0.0]])
    fall = md.simulate(robot, [0.3, 0.0], [0.0, 0.0], [1.0, 0.0], duration=0.05)
    return robot, plan, timing, fall


def test_reprs_are_one_line_with_duration_and_status(results):
    _, plan, timing, fall = results
    assert repr(plan) == f"Plan(zero_net_work, {plan.t_final:.5g} s, solved)"
    assert repr(timing) == f"PathTiming({timing.t_final:.5g} s, solved)"
    assert repr(fall) == "Trajectory(0.05 s, success)"


def test_the_repr_of_a_failure_contains_the_reason():
    arm = md.load_robot("rr")
    fall = md.simulate(arm, [0, 0], [0, 0], lambda _t, q, _v: q * np.nan, duration=0.05)
    assert not fall.success
    assert fall.reason in repr(fall)


def test_notebooks_show_tables_without_the_long_arrays(results):
    robot, plan, _, fall = results
    assert "<td>shoulder</td>" in robot._repr_html_()
    assert "<td>array (51, 2)</td>" in fall._repr_html_()
    assert f"<td>{plan.reason}</td>" in plan._repr_html_()


def test_the_repr_of_a_robot_is_a_table_of_its_joints(results):
    title, head, *rows = repr(results[0]).splitlines()
    assert title == "Robot 'ibm7535': 2 joints, base_link to tool0"
    assert head.split() == ["joint", "type", "lower", "upper", "speed", "effort"]
    assert [row.split()[0] for row in rows] == ["shoulder", "elbow"]


def test_data_frames_have_named_columns(results):
    pytest.importorskip("pandas", reason="pip install '.[pandas]'")
    robot, plan, timing, fall = results
    frame = plan.to_dataframe(0.01)
    assert frame["t"].iloc[-1] == plan.t_final
    np.testing.assert_allclose(frame["position_shoulder"].iloc[-1], plan.qf[0], atol=1e-9)
    middle = frame.iloc[50]
    np.testing.assert_allclose(middle[["effort_shoulder", "effort_elbow"]], plan.effort(0.5))
    assert "acceleration_elbow" in timing.to_dataframe()
    assert list(fall.to_dataframe(robot))[:3] == ["t", "position_shoulder", "position_elbow"]
    np.testing.assert_array_equal(fall.to_dataframe()["velocity_1"], fall.v[:, 1])
