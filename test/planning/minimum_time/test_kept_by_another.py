"""Plans in which another joint's effort keeps a joint at a limit, or hands it over braking."""

import numpy as np
import pinocchio
import pytest
from arms import write
from extremals import check
from gravity_arms import EXTENDING, HANGING

import manip_dyn as md
from manip_dyn.planning.minimum_time.extremals.controls import Kind

CASES = {
    "by an effort": (HANGING, [0.648, -0.905], [-1.614, 0.84], 0.346802),
    "by a speed": (EXTENDING, [0.987, 0.003], [-2.305, 0.075], 0.612261),
    "touched": (EXTENDING, [-2.137, 0.009], [0.4, 0.0956], 0.502000),
    "braking": ("rr", [1.13, -2.369], [-2.817, 2.2], 0.492616),
}
"""Robot, start, goal and the best of nine local minima of CasADi + IPOPT, Hermite-Simpson with 100
intervals, s; of twenty for "touched". The search used to find no certified motion."""


@pytest.fixture(scope="module", params=CASES)
def plan(request, tmp_path_factory):
    source, start, goal, collocation = CASES[request.param]
    if source != "rr":
        source = write(tmp_path_factory.mktemp("arm"), source)
    found = md.plan_minimum_time(md.load_robot(source), start, goal)
    assert found.t_final < collocation + 1e-4
    return request.param, found


def test_it_is_certified_and_arrives(plan):
    _, found = plan
    assert found.status == "solved"
    check(found)
    robot = found.robot
    for t in np.linspace(0.0, found.t_final, 300)[:-1]:
        q, v = found.state(t)
        assert np.all(np.abs(found.effort(t)) <= robot.tau_max * (1.0 + 1e-9))
        assert np.all(np.abs(v) <= robot.v_max * (1.0 + 1e-9))
        assert np.all((robot.q_min - 1e-9 <= q) & (q <= robot.q_max + 1e-9))


def test_one_effort_keeps_the_other_joint(plan):
    """The joint rests at its limit, or keeps its speed, and its own effort is full."""
    _, found = plan
    robot, data, kept = found.robot, found.robot.model.createData(), 0
    for begin, end, controls in found.switching.arcs():
        held = [each.held(effort) for effort, each in enumerate(controls)]
        others = [k for k, each in enumerate(held) if each is not None and each[0] != k]
        if not others:
            continue
        (keeper,) = others
        joint = held[keeper][0]
        t = 0.5 * (begin + end)
        tau, (q, v), costate = found.effort(t), found.state(t), found.costate(t)
        assert abs(tau[keeper]) < robot.tau_max[keeper]
        assert abs(tau[joint]) == pytest.approx(robot.tau_max[joint], rel=1e-12)
        acceleration = pinocchio.aba(robot.model, data, q, v, tau - robot.damping * v)
        assert abs(acceleration[joint]) < 1e-6 * robot.tau_max[joint]
        mass = pinocchio.crba(robot.model, data, q)
        functions = np.linalg.solve(np.triu(mass) + np.triu(mass, 1).T, costate[2:])
        assert abs(functions[keeper]) < 1e-6 * abs(functions[joint])
        assert functions[joint] * tau[joint] < 0.0
        kept += 1
    assert kept >= 1


def test_the_kind_of_arc(plan):
    case, found = plan
    values = found.switching.values
    if case == "braking":
        assert any(value.brakes for value in values)
    else:
        assert Kind.OTHER_JOINT_POSITION in [value.kind for value in values]
        assert any(value.is_indirect for value in values) == (case in ("by a speed", "touched"))


@pytest.mark.parametrize("plan", ["touched"], indirect=True)
def test_the_limit_is_touched_before_the_joint_rests_there(plan):
    """While the slide comes to its inner end the arm turns back too slowly to keep it there."""
    _, found = plan
    rows = found.switching.rows()
    indirect = next(k for k, row in enumerate(rows) if row[2].is_indirect)
    assert [row[2].is_singular for row in (rows[indirect - 1], rows[indirect + 1])] == [True, True]
    (before,) = [t for t, _, value in rows[:indirect] if value.is_contact]
    between = np.linspace(before, rows[indirect][0], 50)[1:-1]
    assert all(found.state(t)[0][1] > 0.0 for t in between)
