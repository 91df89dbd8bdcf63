"""Plans in which the effort of another joint holds a joint at a limit, or brakes at a handover."""

import numpy as np
import pinocchio
import pytest
from extremals import check, check_limits

import manip_dyn as md
from manip_dyn.bench import random_arms

CASES = {
    "direct": ("hanging", [0.648, -0.905], [-1.614, 0.84], 0.346802),
    "indirect": ("extending", [0.987, 0.003], [-2.305, 0.075], 0.612261),
    "braking": ("rr", [1.13, -2.369], [-2.817, 2.2], 0.492616),
}
"""Robot, start, goal and the best of nine local minima of CasADi + IPOPT, Hermite-Simpson with 100
intervals, s. Regressions of the search for certified motions."""


@pytest.fixture(scope="module", params=CASES)
def plan(request):
    name, start, goal, collocation = CASES[request.param]
    solution = md.plan_minimum_time(random_arms.known_arm(name), start, goal, budget=None)
    assert solution.t_final < collocation + 1e-4
    return request.param, solution


def test_the_plan_is_certified_and_arrives(plan):
    _, solution = plan
    assert solution.status == "solved"
    check(solution)
    check_limits(solution, 300)


def test_one_effort_holds_the_other_joint(plan):
    """The joint rests at its limit, or has constant speed, and its own effort is full."""
    _, solution = plan
    robot, data, count = solution.robot, solution.robot.model.createData(), 0
    for begin, end, controls in solution.switching.arcs():
        held = [control.held(effort) for effort, control in enumerate(controls)]
        others = [k for k, limit in enumerate(held) if limit is not None and limit[0] != k]
        if not others:
            continue
        (holder,) = others
        joint = held[holder][0]
        t = 0.5 * (begin + end)
        tau, (q, v), costate = solution.effort(t), solution.state(t), solution.costate(t)
        assert abs(tau[holder]) < robot.tau_max[holder]
        assert abs(tau[joint]) == pytest.approx(robot.tau_max[joint], rel=1e-12)
        acceleration = pinocchio.aba(robot.model, data, q, v, tau - robot.damping * v)
        assert abs(acceleration[joint]) < 1e-6 * robot.tau_max[joint]
        mass = pinocchio.crba(robot.model, data, q)
        functions = np.linalg.solve(np.triu(mass) + np.triu(mass, 1).T, costate[2:])
        assert abs(functions[holder]) < 1e-6 * abs(functions[joint])
        assert functions[joint] * tau[joint] < 0.0
        count += 1
    assert count >= 1


def test_the_arc_has_the_expected_kind(plan):
    case, solution = plan
    values = solution.switching.values
    if case == "braking":
        assert any(value.brakes for value in values)
    else:
        assert any(value.is_boundary_arc_of_position and value.joint >= 0 for value in values)
        assert any(value.is_indirect for value in values) == (case == "indirect")
