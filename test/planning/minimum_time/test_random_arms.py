"""Certified plans of random arms: several joints at limits, and brief singular arcs."""

import numpy as np
import pinocchio
import pytest
from extremals import check, check_limits

import manip_dyn as md
from manip_dyn.bench import random_arms, random_goals

CASES = {
    "two joints at limits": (8101, 3, 4),
    "singular arc of another joint": (8101, 3, 3),
    "brief singular arcs": (8101, 4, 1),
    "two costates jump": (8101, 9, 3),
}
"""Seed, index of the arm and index of the goal. Regressions of the search for certificates."""


@pytest.fixture(scope="module", params=CASES)
def plan(request):
    seed, arm, goal = CASES[request.param]
    robot = md.load_robot(random_arms.random_urdf(seed, arm))
    *_, (start, end) = random_goals.random_pairs(robot, goal + 1, seed)
    return request.param, md.plan_minimum_time(robot, start, end, budget=None)


def test_the_plan_is_certified_and_arrives(plan):
    _, solution = plan
    assert solution.status == "solved"
    check(solution)
    check_limits(solution, 200)


def test_switching_functions_and_accelerations_are_zero_on_arcs(plan):
    """Those of efforts between their limits, and those of joints at limits."""
    case, solution = plan
    robot, n = solution.robot, solution.robot.n
    data, counts = robot.model.createData(), set()
    for begin, end, controls in solution.switching.arcs():
        free = [k for k, control in enumerate(controls) if not control.is_full]
        if not free or end - begin < 1e-6:
            continue
        t = 0.5 * (begin + end)
        (q, v), costate, tau = solution.state(t), solution.costate(t), solution.effort(t)
        mass = pinocchio.crba(robot.model, data, q)
        functions = np.linalg.solve(np.triu(mass) + np.triu(mass, 1).T, costate[n:])
        assert np.abs(functions[free]).max() < 1e-6 * np.abs(functions).max()
        a = pinocchio.aba(robot.model, data, q, v, tau - robot.damping * v)
        held = [controls[k].held(k)[0] for k in free if controls[k].is_at_limit]
        assert len(set(held)) == len(held)
        assert np.abs(a[held]).max(initial=0.0) < 1e-6 * np.abs(a).max() + 1e-6
        counts.add((len(held), len(free) - len(held)))
    switches = [switch for switch, _ in solution.switching.jumps()]
    assert {
        "two joints at limits": (2, 0) in counts,
        "singular arc of another joint": (1, 1) in counts,
        "brief singular arcs": len(solution.certificate.singular_arcs) == 2,
        "two costates jump": len(set(switches)) < len(switches),
    }[case]
