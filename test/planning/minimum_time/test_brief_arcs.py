"""Certified plans with arcs that are shorter than a cell of the grid."""

import pytest
from extremals import check

import manip_dyn as md

CASES = {
    "brief final arc": ([-2.685, -3.029], [0.502, -1.941]),
    "brief singular arc and brief touch of a speed limit": ([-2.964, -2.361], [1.072, 0.925]),
    "coarse grid violates a limit": ([-1.116, -2.169], [3.089, 2.634]),
}
"""Start and goal of the robot rr; regressions of the search for certified motions."""


@pytest.mark.parametrize("case", CASES)
def test_the_plan_is_certified_and_arrives(case):
    plan = md.plan_minimum_time(md.load_robot("rr"), *CASES[case], budget=None)
    assert plan.status == "solved"
    check(plan)
    if case == "brief final arc":
        (arc,) = plan.certificate.singular_arcs
        assert 0.0 < plan.t_final - arc[2] < 1e-3 * plan.t_final
