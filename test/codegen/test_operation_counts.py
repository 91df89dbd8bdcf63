"""Operation counts before and after customization."""

import re

import numpy as np
import pytest
from arms import load

import manip_dyn as md
from manip_dyn.codegen import BY_NAME, Equations, Graph, program_text, trace


def manual_solution():
    """Return Galhano, Machado (1994), eq. 6, solved for the accelerations by hand."""
    graph = Graph()
    (q1, q2), (v1, v2), (t1, t2) = ([graph.input(f"{x}[{i}]") for i in range(2)] for x in "qvt")
    m1, m2, r1, r2, j1, j2, g = 0.5, 6.25, 1.0, 0.8, 1.0, 1.0, 9.81
    c2 = m2 * r1 * r2 * q2.cos()
    j11 = 2.0 * c2 + ((m1 + m2) * r1**2 + m2 * r2**2 + j1)
    j12, j22 = c2 + m2 * r2**2, m2 * r2**2 + j2
    s2 = m2 * r1 * r2 * q2.sin()
    g2 = g * m2 * r2 * (q1 + q2).cos()
    left1 = t1 + s2 * v2 * (v2 + 2.0 * v1) - (g * (m1 + m2) * r1 * q1.cos() + g2)
    left2 = t2 - s2 * (v1 * v1) - g2
    inverse = 1.0 / (j11 * j22 - j12 * j12)
    a1 = (j22 * left1 - j12 * left2) * inverse
    a2 = (j11 * left2 - j12 * left1) * inverse
    return graph, [a1, a2]


def test_the_rr_arm_needs_few_more_operations_than_its_manual_solution():
    graph, accelerations = manual_solution()
    hand = graph.count(accelerations).total()
    report = md.customize(md.load_robot("rr")).report()
    assert report["forward_dynamics"].after.total <= 1.2 * hand
    # The same algorithm in loops needs about twenty times the operations.
    assert report["forward_dynamics"].before.total > 15 * hand


def test_accelerations_of_the_rr_arm_equal_its_manual_solution():
    """Eq. 6 with the numbers of rr.urdf."""
    kernels = md.customize(md.load_robot("rr"))
    q, v, tau = np.array([0.3, 0.9]), np.array([1.5, -2.0]), np.array([4.0, 7.0])
    m1, m2, r1, r2, motor, g = 0.5, 6.25, 1.0, 0.8, np.eye(2), 9.81
    c1, c2, c12, s2 = np.cos(q[0]), np.cos(q[1]), np.cos(q.sum()), np.sin(q[1])
    across = m2 * r2**2 + m2 * r1 * r2 * c2
    first = (m1 + m2) * r1**2 + m2 * r2**2 + 2 * m2 * r1 * r2 * c2
    mass = np.array([[first, across], [across, m2 * r2**2]]) + motor
    coriolis = m2 * r1 * r2 * s2 * np.array([-(v[1] ** 2) - 2 * v[0] * v[1], v[0] ** 2])
    weight = g * np.array([(m1 + m2) * r1 * c1 + m2 * r2 * c12, m2 * r2 * c12])
    expected = np.linalg.solve(mass, tau - coriolis - weight)
    np.testing.assert_allclose(kernels.forward_dynamics(q, v, tau), expected, rtol=1e-13)


@pytest.mark.parametrize("name", ["ibm7535", "pa10", "tree2"])
def test_the_counts_equal_those_of_the_generated_source(tmp_path, name):
    robot = load(name, tmp_path)
    report = md.customize(robot).report()
    function = trace(Equations(robot, robot.tip_frame), BY_NAME["forward_dynamics"])
    body = program_text(function)
    after = report["forward_dynamics"].after
    assert len(re.findall(r" \* ", body)) == after.multiplications
    assert len(re.findall(r" [+-] ", body)) == after.additions
    assert len(re.findall(r" / ", body)) == after.divisions
    assert len(re.findall(r"= (?:sin|cos)\(", body)) == after.sines


def test_a_planar_arm_needs_one_sine_and_one_cosine():
    """Fan (2003), eqs. 6.21-6.22: a horizontal double link."""
    report = md.customize(md.load_robot("ibm7535")).report()
    assert report["inverse_dynamics"].after.sines == 2
    assert report["inverse_dynamics"].after.total <= 23
    assert report["forward_dynamics"].after.total <= 29


def test_the_report_prints_a_table():
    text = str(md.customize(md.load_robot("pa10")).report())
    assert text.startswith("pa10: operations before and after customization")
    assert re.search(r"forward_dynamics +2390 +1968 +\d+ +\d+ +\d+  \| +\d+ +\d+", text)
    assert "jacobian_rate " in text
    assert " -  |" in text
