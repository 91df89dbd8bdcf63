"""Plans whose certificate needs an arc that a grid hardly shows, or a finer grid."""

import pytest
from extremals import check

import manip_dyn as md

CASES = {
    "closed singular arc": ([-2.685, -3.029], [0.502, -1.941]),
    "coarse grid passes a limit": ([-1.116, -2.169], [3.089, 2.634]),
}
"""Start and goal of the robot rr; the search used to find no certified motion."""


@pytest.mark.parametrize("case", CASES)
def test_it_is_certified_and_arrives(case):
    plan = md.plan_minimum_time(md.load_robot("rr"), *CASES[case])
    assert plan.status == "solved"
    check(plan)
    if case == "closed singular arc":
        (arc,) = plan.certificate.singular_arcs
        assert 0.0 < plan.t_final - arc[2] < 1e-3 * plan.t_final
