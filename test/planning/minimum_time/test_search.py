"""Search for the fastest motion: comparison with collocation, and the summary of the search."""

from functools import cache

import numpy as np
import pytest
from extremals import check

import manip_dyn as md
from manip_dyn.bench import random_arms, random_goals
from manip_dyn.planning import ExtremalSearch
from manip_dyn.studies import fan2003, report

COLLOCATION = [
    ("ibm7535", [2.25, 2.066], [-2.263, 0.17], 1.748337),
    ("ibm7535", [-3.037, -1.591], [2.27, -2.113], 1.652745),
    ("rr", [-0.129, 2.881], [-1.148, -0.615], 0.380683),
    ("hanging", [1.098, 0.739], [0.055, -0.514], 0.354591),
    ("hanging", [1.075, -0.734], [-0.394, 0.715], 0.313199),
    ("extending", [-0.325, 0.487], [1.988, 0.422], 0.675790),
    ("hanging", [-1.69804918, -0.90172014], [0.61424789, 0.35325483], 0.414077),
]
"""Robot, start, goal and the best of six local minima of CasADi + IPOPT, Hermite-Simpson with 200
intervals, s. Earlier searches returned 1.834, 2.004, None, 0.363, 0.3134, None and 0.4193."""

RECURRING = [3.104062, 1.766772], [-0.090885, -0.48614]
"""Start and goal of the robot rr between which the revision of a structure recurs."""


@pytest.fixture(scope="module")
def planned():
    """Return a function that plans a row of `COLLOCATION` once."""

    @cache
    def plan(row):
        name, start, goal, _ = COLLOCATION[row]
        return md.plan_minimum_time(random_arms.known_arm(name), start, goal, budget=None)

    return plan


@cache
def published():
    """Return the plan of Fan (2003), table 6.3."""
    return md.plan_minimum_time(md.load_robot("ibm7535"), [0.76, 0.2618], [0.0, 0.0], budget=None)


@pytest.mark.parametrize("row", range(len(COLLOCATION)), ids=[row[0] for row in COLLOCATION])
def test_collocation_is_not_faster(planned, row):
    plan = planned(row)
    assert plan.t_final <= COLLOCATION[row][3] + 1e-4
    check(plan)
    check_limits(plan)


@pytest.mark.parametrize(
    ("name", "start", "goal"),
    [
        ("rr", [-2.6306, 2.3576], [2.7753, -1.4963]),
        ("extending", [-2.1855, 0.3629], [-2.0612, 0.1975]),
    ],
)
def test_motions_between_nodes_are_tightened_before_the_next_grid(name, start, goal):
    """Both were only converged, because a finer grid began outside the effort limits."""
    check(md.plan_minimum_time(random_arms.known_arm(name), start, goal, budget=None))


def test_revised_structures_start_from_the_extremal():
    """With costates from the grid, Newton's method failed for the revised structure."""
    start, goal = (
        [-0.531657773141978, 2.0722195545486475],
        [-3.0790463033859905, -0.8479399987206655],
    )
    check(md.plan_minimum_time(random_arms.known_arm("rr"), start, goal, budget=None))


def test_tightened_limits_do_not_affect_the_hamiltonian():
    """With limits that differ from node to node, its root mean square was 0.033."""
    arm = md.load_robot(random_arms.random_urdf(2911, 11))
    start = [1.1308133666623772, 1.4514940079806236, -0.6892807444119669]
    goal = [1.1123899613374184, -0.357192956179881, 0.4630151077008202]
    assert md.plan_minimum_time(arm, start, goal, budget=None).status == "converged"


def check_limits(plan):
    robot = plan.robot
    for t in np.linspace(0.0, plan.t_final, 200)[:-1]:
        q, v = plan.state(t)
        assert np.all(np.abs(v) <= robot.v_max * (1.0 + 1e-8))
        assert np.all((robot.q_min - 1e-8 <= q) & (q <= robot.q_max + 1e-8))
        assert np.all(np.abs(plan.effort(t)) <= robot.tau_max * (1.0 + 1e-9))


def test_table_6_4_has_a_faster_structure():
    """Fan (2003) prints 1.2331 s; with two switches of the shoulder's effort it is less."""
    settings = report.read_settings("fan2003", fan2003.Settings)
    case = settings.cases["6.4"]
    plan = md.plan_minimum_time(
        fan2003.build_arm(case.arm, settings.arms[case.arm]), case.start, [0.0, 0.0], budget=None
    )
    assert plan.t_final <= 1.2304
    assert [len(times) for times in plan.switch_times] == [2, 2]
    check(plan)
    # The time-reversed motion with opposite signs has the same duration.
    assert plan.certificate.searched.second == pytest.approx(plan.t_final, abs=1e-9)
    assert plan.is_unique is False


def test_a_certificate_summarizes_the_search():
    searched = published().certificate.searched
    assert searched.guesses == 21
    assert 1 <= searched.motions <= 13
    assert searched.structures >= searched.extremals >= 1
    assert searched.second > 1.005
    assert published().reason.startswith("the certificate holds; 3 basins from 21 initial guesses")
    assert published().is_unique


def test_a_search_without_time_returns_its_first_motion():
    arm, start, goal = md.load_robot("ibm7535"), [0.76, 0.2618], [0.0, 0.0]
    plan = md.plan_minimum_time(arm, start, goal, budget=0.0)
    assert plan.status in ("converged", "uncertified")
    assert "when the time was up, " in plan.reason
    assert plan.t_final > published().t_final
    check_limits(plan)


def test_a_motion_is_certified_once():
    arm, rows = md.load_robot("ibm7535"), []
    plan = md.plan_minimum_time(arm, [0.76, 0.2618], [0.0, 0.0], progress=rows.append)
    assert plan.status == "solved"
    durations = [row.duration for row in rows if row.stage == "certificate"]
    assert len(durations) == len(set(durations))


def test_progress_is_reported():
    arm, rows = md.load_robot("ibm7535"), []
    plan = md.plan_minimum_time(arm, [0.76, 0.2618], [0.0, 0.0], budget=None, progress=rows.append)
    assert rows[-1].stage == "certificate"
    assert rows[-1].duration == plan.t_final
    assert all(row.elapsed > 0.0 for row in rows)


def test_a_motion_of_three_joints_precedes_the_search_for_others():
    """Before, all initial guesses were tried first, which took most of the time."""
    arm, rows = random_arms.known_arm("planar"), []
    start, goal = next(random_goals.random_pairs(arm, 1))
    md.plan_minimum_time(arm, start, goal, budget=1.0, progress=rows.append)
    assert (rows[0].stage, rows[0].basins) == ("motion", 1)
    assert max(row.basins for row in rows) > 1


def test_a_solution_that_has_not_converged_does_not_show_whether_the_optimum_is_unique():
    """Before, surplus efforts of such a solution counted as free efforts of the optimum."""
    arm = md.load_robot(random_arms.random_urdf(8102, 5))
    *_, (start, goal) = random_goals.random_pairs(arm, 4, 8102)
    plan = md.plan_minimum_time(arm, start, goal)
    assert plan.status == "uncertified"
    assert plan.is_unique is None
    assert "not unique" not in plan.reason


def test_the_revision_of_a_structure_that_recurs_ends(monkeypatch):
    """Two structures, each of which is the revision of the other, were solved twice."""
    trails, original = [], ExtremalSearch._revised

    def recorded(self, *arguments):
        trails.append(original(self, *arguments))
        return trails[-1]

    monkeypatch.setattr(ExtremalSearch, "_revised", recorded)
    md.plan_minimum_time(md.load_robot("rr"), *RECURRING, budget=None)
    keys = [[candidate.extremal.switching.key() for candidate in trail] for trail in trails]
    assert max(map(len, keys)) > 1
    assert all(len(set(row)) == len(row) for row in keys)


def test_the_exhaustive_argument_is_deprecated():
    arm, start, goal = md.load_robot("ibm7535"), [0.76, 0.2618], [0.0, 0.0]
    with pytest.warns(DeprecationWarning, match="exhaustive"):
        plan = md.plan_minimum_time(arm, start, goal, exhaustive=5.0)
    assert plan.t_final == published().t_final
    with pytest.raises(md.ManipDynError, match=r"exhaustive must be 0 or more, got -1(\.0)? s"):
        md.plan_minimum_time(arm, start, goal, exhaustive=-1.0)
    with pytest.raises(md.ManipDynError, match=r"budget must be 0 or more, got -1(\.0)? s"):
        md.plan_minimum_time(arm, start, goal, budget=-1.0)


def test_a_joint_lifts_off_where_its_effort_is_too_weak(planned):
    """The slide would require 1.5 times its effort limit to stay at its inner end."""
    plan = planned(5)
    arcs = [arc for arc in plan.certificate.limit_arcs if arc[0] == "joint_2"]
    arcs.sort(key=lambda arc: arc[2])
    assert [end > begin for _, _, begin, end in arcs] == [True, False]
    between = 0.5 * (arcs[0][3] + arcs[1][2])
    assert 1e-4 < plan.state(between)[0][1] < 1e-2
    assert plan.state(arcs[1][2])[0][1] == pytest.approx(0.0, abs=1e-8)


def test_a_contact_point_with_a_speed_limit(planned):
    """It lies between the nodes of the grid, so only the exact motion contains it."""
    plan = planned(2)
    ((joint, kind, begin, end),) = plan.certificate.limit_arcs
    assert (joint, kind, begin) == ("joint_1", "speed", end)
    assert plan.state(begin)[1][0] == pytest.approx(-20.0, abs=1e-7)
