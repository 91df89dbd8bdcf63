"""Minimum-time plans along position and speed limits."""

import numpy as np
import pytest
from arms import write_shipped
from extremals import along_limits, check

import manip_dyn as md
from manip_dyn.bench import random_arms

RARE = {
    "lift-off at the start of an arc": ("extending", [1.844, 0.317], [-0.017, 0.082]),
    "lift-off within an arc": ("hanging", [0.232, -0.037], [1.436, -0.994]),
    "lift-off instead of a short arc": ("hanging", [0.401, -1.023], [-0.913, 0.179]),
    "lift-off that the grid shows": ("hanging", [0.28, 0.245], [1.665, -1.027]),
    "arc instead of a contact point": ("ibm7535", [2.286, 1.266], [-1.295, 1.682]),
    "switch within the last cell": ("hanging", [-0.429, -0.169], [-0.04, 1.144]),
}
"""Robot, start and goal of motions along position limits that are difficult to certify."""


def test_a_link_with_a_speed_limit_moves_by_a_trapezoid(tmp_path):
    """The duration is distance over speed plus speed over acceleration, which is 1 rad/s^2."""
    change = ('velocity="10"', 'velocity="0.5"')
    robot = md.load_robot(write_shipped(tmp_path, "one_link_horizontal", change))
    plan = md.plan_minimum_time(robot, [1.0], [0.0], budget=None)
    assert plan.t_final == pytest.approx(1.0 / 0.5 + 0.5, abs=1e-9)
    assert plan.switch_times == [[pytest.approx(0.5, abs=1e-9), pytest.approx(2.0, abs=1e-9)]]
    assert plan.certificate.limit_arcs == (("joint_1", "speed", *plan.switch_times[0]),)
    assert plan.effort(1.0) == pytest.approx([0.0], abs=1e-9)
    check(plan)


def test_a_plan_satisfies_a_speed_limit(tmp_path):
    path = write_shipped(tmp_path, "ibm7535", ('velocity="20"', 'velocity="3"'))
    plan = md.plan_minimum_time(md.load_robot(path), [1.5, 0.2], [0.0, 0.0], budget=None)
    assert "speed" in {kind for _, kind, _, _ in plan.certificate.limit_arcs}
    along_limits(plan)


def test_a_joint_rests_at_its_stop(cylindrical):
    plan = md.plan_minimum_time(cylindrical, [2.14, -0.46], [1.38, -0.32], budget=None)
    ((joint, kind, begin, end),) = plan.certificate.limit_arcs
    assert (joint, kind) == ("slide", "position")
    q, v = plan.state(0.5 * (begin + end))
    assert (q[1], v[1]) == pytest.approx((-0.5, 0.0), abs=1e-8)
    along_limits(plan)


def test_a_joint_that_starts_near_its_stop_rests_at_the_stop(cylindrical):
    """The stop is 0.2 mm away, which takes a hundredth of the duration."""
    plan = md.plan_minimum_time(cylindrical, [-0.585, -0.4998], [1.535, 0.182], budget=None)
    ((joint, kind, begin, _),) = plan.certificate.limit_arcs
    assert (joint, kind) == ("slide", "position")
    # The head weighs 1 kg, its effort is at most 2 N: once toward the stop, once away from it.
    assert begin == pytest.approx(2.0 * np.sqrt(0.0002 / 2.0), rel=1e-2)
    assert plan.t_final < 1.94174
    along_limits(plan)


@pytest.mark.parametrize("case", RARE)
def test_a_motion_along_position_limits_is_certified(case):
    name, start, goal = RARE[case]
    plan = md.plan_minimum_time(random_arms.known_arm(name), start, goal, budget=None)
    proof = plan.certificate
    check(plan)
    contacts = [begin for _, _, begin, end in proof.limit_arcs if begin == end]
    if "lift-off" in case:
        assert len(contacts) == 1
        assert len(proof.limit_arcs) >= 2
    elif "arc" in case:
        ((_, _, begin, end),) = proof.limit_arcs
        assert 0.0 < end - begin < 1e-3 * plan.t_final
    else:
        assert plan.t_final - plan.switch_times[1][-1] < plan.t_final / 512


def test_a_joint_rests_at_a_limit_where_the_multiplier_vanishes():
    """The grid shows a limit that acts only near both ends of the arc."""
    start, goal = [1.815, 0.67], [-1.938, -2.402]
    plan = md.plan_minimum_time(md.load_robot("ibm7535"), start, goal, budget=None)
    ((joint, kind, begin, end),) = plan.certificate.limit_arcs
    assert (joint, kind) == ("elbow", "position")
    assert end - begin > 0.1 * plan.t_final
    check(plan)


def test_a_joint_reaches_its_speed_limit_without_acceleration():
    """Its effort is at the opposing limit on arrival."""
    start, goal = [-0.59971848, -1.89429841], [-2.57137445, 0.50474327]
    plan = md.plan_minimum_time(md.load_robot("rr"), start, goal, budget=None)
    assert plan.certificate.jumps.size == 1
    assert plan.certificate.singular_effort == pytest.approx(1.0, abs=1e-8)
    along_limits(plan)
