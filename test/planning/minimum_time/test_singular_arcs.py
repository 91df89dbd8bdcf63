"""Minimum-time plans with a singular arc, alone or with a boundary arc of speed."""

import numpy as np
import pytest
from extremals import arrived, check

import manip_dyn as md


@pytest.mark.parametrize(
    ("start", "goal"),
    [
        ([2.366, -2.774], [-1.030, -2.197]),
        ([0.692, -3.053], [-2.439, -2.129]),
    ],
)
def test_a_speed_limit_precedes_a_singular_arc(start, goal):
    """Certified, confirmed by pinocchio and SciPy, and S is zero on both kinds of arcs."""
    robot = md.load_robot("rr")
    plan = md.plan_minimum_time(robot, start, goal, budget=None)
    proof = plan.certificate
    assert plan.status == "solved"
    assert proof.boundary <= 1e-8
    assert proof.hamiltonian <= 1e-6
    assert np.abs(arrived(plan) - [*goal, 0.0, 0.0]).max() < 1e-6
    ((cruising, kind, *cruise),) = proof.limit_arcs
    ((singular, *arc),) = proof.singular_arcs
    assert (cruising, kind, singular) == ("joint_1", "speed", "joint_1")
    assert cruise[0] < cruise[1] < arc[0] < arc[1] < plan.t_final
    for begin, end in (cruise, arc):
        inside = (proof.times > begin + 1e-9) & (proof.times < end - 1e-9)
        assert np.abs(proof.switching[inside, 0]).max() < 1e-7 * np.abs(proof.switching).max()
        assert abs(plan.effort(0.5 * (begin + end))[0]) < robot.tau_max[0]
    assert abs(plan.state(0.5 * sum(cruise))[1][0]) == pytest.approx(20.0, abs=1e-8)
    speeds = [np.abs(plan.state(t)[1]) for t in np.linspace(0.0, plan.t_final, 300)]
    assert np.all(np.array(speeds) <= 20.0 * (1.0 + 1e-9))


def test_the_certificate_reports_a_singular_arc(cylindrical):
    """Fan (2003), table 5.4, has a bang-bang motion, but there the switching function is 0."""
    plan = md.plan_minimum_time(cylindrical, [0.2, 0.3], [0.0, 0.0], budget=None)
    ((joint, begin, end),) = plan.certificate.singular_arcs
    assert joint == "turn"
    assert plan.certificate.singular_effort < 1.0
    assert plan.certificate.legendre_clebsch > 0.0
    middle = 0.5 * (begin + end)
    assert abs(plan.effort(middle)[0]) < 2.0
    assert len(plan.switch_times[0]) == 3
    assert plan.effort(middle)[1] == pytest.approx(-2.0)
    mass = md.customize(cylindrical).mass_matrix(plan.state(middle)[0])
    switching = np.linalg.solve(mass, plan.costate(middle)[2:])
    assert abs(switching[0]) < 1e-9 < abs(switching[1])
    assert len(plan.samples(0.01)) == 5 + int((end - begin) / 0.01) + 1
    check(plan)
