"""The work on a link equals its kinetic energy."""

import numpy as np
import pinocchio
import pytest

import manip_dyn as md
from manip_dyn.planning import link_powers
from manip_dyn.robot import Oracle

LINK = """<link name="{0}"><inertial><origin xyz="0.2 0 0"/><mass value="{1}"/>
  <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>"""
JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>
  <origin xyz="0.4 0 0"/><axis xyz="0 -1 0"/><limit lower="-3" upper="3" effort="90" velocity="9"/>
  {3}</joint>"""
COUPLED = "".join(
    [
        '<robot name="coupled"><link name="base"/>',
        *(LINK.format(*link) for link in (("a", 3), ("b", 2), ("c", 1))),
        JOINT.format("first", "base", "a", ""),
        JOINT.format("second", "a", "b", ""),
        JOINT.format("third", "b", "c", '<mimic joint="second" multiplier="-1.5" offset="0.2"/>'),
        "</robot>",
    ]
)
PA10 = ([0.4, 0.6, -0.3, 1.1, 0.3, 0.5, -0.4], [-0.4, 0.3, 0.3, 1.6, -0.3, -0.2, 0.5])


@pytest.mark.parametrize(
    ("name", "start", "goal"),
    [
        ("ibm7535", [0.76, 0.2618], [0.0, 0.0]),
        ("cylindrical", [0.2, 0.3], [0.0, 0.0]),
        ("pa10", *PA10),
    ],
)
def test_work_on_each_link_equals_its_kinetic_energy(name, start, goal):
    """Compare with the kinetic energy of each body by pinocchio (work-energy principle)."""
    robot = md.load_robot(name)
    plan = md.plan_zero_net_work(robot, start, goal)
    curves, data = plan.work_curves, robot.model.createData()
    for t, work in list(zip(*curves, strict=True))[1:-1:7]:
        pinocchio.forwardKinematics(robot.model, data, *plan.state(t))
        energies = [0.5 * robot.model.inertias[i].vtiv(data.v[i]) for i in range(1, robot.n + 1)]
        assert work == pytest.approx(energies, abs=1e-8 * plan.peak_work)
    assert plan.peak_work > 0.0


def test_work_on_links_with_mimic_joints():
    robot = md.load_robot(COUPLED)
    start, goal = np.zeros(2), np.array([0.4, 0.6])
    for plan in (
        md.plan_zero_net_work(robot, start, goal),
        md.plan_minimum_time(robot, start, goal),
    ):
        curves, oracle = plan.work_curves, Oracle(robot)
        assert curves.work.shape[1] == len(robot.bodies) == 3
        for t, work in list(zip(*curves, strict=True))[1:-1:7]:
            q, v = plan.state(t)
            energy = 0.5 * v @ oracle.mass_matrix(q) @ v
            assert work.sum() == pytest.approx(energy, abs=1e-8 * plan.peak_work)
        assert np.abs(plan.net_work).max() < 1e-6 * plan.peak_work


def test_link_powers_sum_to_the_power_of_efforts_and_weight():
    """Internal reactions cancel; rotors and dampers absorb a fraction of the power."""
    robot, rng = md.load_robot("pa10"), np.random.default_rng(5)
    q, v, a = rng.uniform(-1.0, 1.0, (3, 4, 7))
    reference = Oracle(robot)
    for i in range(4):
        efforts = reference.inverse_dynamics(q[i], v[i], a[i])
        gravity = reference.inverse_dynamics(q[i], 0 * v[i], 0 * a[i])
        expected = v[i] @ (efforts - gravity - robot.armature * a[i] - robot.damping * v[i])
        powers = link_powers(robot, q[i : i + 1], v[i : i + 1], a[i : i + 1])
        assert powers.sum() == pytest.approx(expected, rel=1e-10)
