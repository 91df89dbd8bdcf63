"""Certified plans with arcs that are shorter than a cell of the grid."""

import pytest
from extremals import check

import manip_dyn as md
from manip_dyn.bench import random_arms

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


HIDDEN = {
    "pulse": ("hanging", [1.299, -0.607], [-1.292, 0.408]),
    "pulse between two contact points": ("hanging", [1.307, 0.1], [-0.721, -0.186]),
    "two pulses at the start": ("planar", [-1.041, -0.402, -2.453], [-1.954, 0.887, 0.765]),
    "contact point at a switch": ("hanging", [0.894, -0.992], [-0.267, -0.248]),
    "contact point on a singular arc": ("extending", [-2.137, 0.009], [0.4, 0.096]),
    "pulse and contact point": (
        "planar",
        [-2.548, -0.702, -2.191],
        [0.794, -1.176, 1.054],
    ),
    "contact point before an arc": ("planar", [-0.397, 0.449, -1.962], [2.256, 0.957, 1.684]),
    "arc where a switch exceeds a speed limit": ("rr", [-0.862, -1.069], [2.788, -1.889]),
}
"""Robot, start and goal of motions with arcs that their motions on the grid do not show."""


@pytest.mark.parametrize("case", HIDDEN)
def test_arcs_that_the_grid_does_not_show_are_found(case):
    """Without them, the conditions at the limits exceed the number of switches, or a limit is."""
    name, start, goal = HIDDEN[case]
    check(md.plan_minimum_time(random_arms.known_arm(name), start, goal, budget=None))
