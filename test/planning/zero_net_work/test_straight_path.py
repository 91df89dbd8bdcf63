"""Plans along the straight joint path if no plan with one switch per joint exists."""

import numpy as np
import pytest
from arms import ARM, changed, write, write_shipped
from replays import check

import manip_dyn as md
from manip_dyn import ManipDynError
from manip_dyn.planning import fastest_squares


def test_double_integrators_move_bang_bang_along_the_path():
    """x = 2 u s until the middle, then symmetric; the grid solution is exact."""
    one, none = np.ones((101, 1)), np.zeros((101, 1))
    x = fastest_squares(one, none, none, none, np.array([3.0]), 1e12)
    s = np.linspace(0.0, 1.0, 101)
    assert x == pytest.approx(2.0 * 3.0 * np.minimum(s, 1.0 - s), abs=1e-9)
    capped = fastest_squares(one, none, none, none, np.array([3.0]), 2.0)
    assert capped == pytest.approx(np.minimum(x, 2.0), abs=1e-9)


def test_near_minimum_plans_state_the_reason():
    robot = md.load_robot("ibm7535")
    plan = md.plan_zero_net_work(robot, [-1.18, -0.48], [2.06, -0.57])
    assert plan.status == "near_minimum"
    assert "joint 'elbow' needs the effort 13.34 to be held; its limit is 9" in plan.reason
    assert "straight joint path" in plan.reason
    check(robot, plan)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('velocity="3"', 'velocity="1"'), "'shoulder' would reach 7"),
        (('effort="20"', 'effort="4.5"'), "'shoulder' would reach 7"),
        (('velocity="5"', 'velocity="2"'), "'elbow' would reach 15"),
    ],
)
def test_weaker_arms_move_slower(tmp_path, change, words):
    """Include damping and gravity; speed limits become phases of constant speed."""
    robot = md.load_robot(write(tmp_path, changed(ARM, change)))
    plan = md.plan_zero_net_work(robot, [0.9, 0.3], [0.0, 0.9])
    assert plan.status == "near_minimum"
    assert words in plan.reason
    assert (
        plan.t_final > md.plan_zero_net_work(load_fast(tmp_path), [0.9, 0.3], [0.0, 0.9]).t_final
    )
    check(robot, plan)


def load_fast(folder):
    """Return the arm with very high speed limits."""
    fast = changed(ARM, ('velocity="3"', 'velocity="90"'), ('velocity="5"', 'velocity="90"'))
    return md.load_robot(write(folder, fast))


def test_arms_too_weak_along_the_path_raise(tmp_path):
    """The load is 7.35 N m at the horizontal; 5 N m only hold start and goal."""
    robot = md.load_robot(
        write_shipped(tmp_path, "one_link_vertical", ('effort="8"', 'effort="5"'))
    )
    with pytest.raises(ManipDynError, match=r"% of the straight joint path .* its limit is 5"):
        md.plan_zero_net_work(robot, [-1.3], [1.3])
