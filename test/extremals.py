"""Checks of minimum-time plans, and the arm of Fan (2003), chapter 5."""

import numpy as np
import pinocchio
import pytest
from scipy.integrate import solve_ivp

import manip_dyn as md

CYLINDRICAL = """<robot name="rp">
  <link name="base"/>
  <joint name="turn" type="revolute">
    <parent link="base"/> <child link="arm"/> <axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" velocity="20" effort="2"/>
  </joint>
  <link name="arm">
    <inertial><mass value="3"/>
      <inertia ixx="0.81" ixy="0" ixz="0" iyy="0.81" iyz="0" izz="0.81"/></inertial>
  </link>
  <joint name="slide" type="prismatic">
    <parent link="arm"/> <child link="head"/> <origin xyz="0.6 0 0"/> <axis xyz="1 0 0"/>
    <limit lower="-0.5" upper="0.5" velocity="20" effort="2"/>
  </joint>
  <link name="head">
    <inertial><mass value="1"/>
      <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial>
  </link>
</robot>"""
"""Fan (2003), chapter 5, parameter set 1."""


def arrived(plan):
    """Return the final state of a plan by pinocchio's dynamics, integrated arc by arc."""
    robot, n = plan.robot, plan.robot.n
    data = robot.model.createData()

    def rhs(t, y, end):
        q, v = y[:n], y[n:]
        tau = plan.effort(min(t, np.nextafter(end, 0.0)))
        assert np.all(np.abs(tau) <= robot.tau_max * (1 + 1e-9))
        tau = tau - robot.damping * v - robot.stiffness * (q - robot.rest)
        return np.concatenate([v, pinocchio.aba(robot.model, data, q, v, tau)])

    y = np.concatenate([plan.q0, np.zeros(n)])
    for begin, end, _ in plan.switching.arcs():
        if end > begin:
            run = solve_ivp(rhs, (begin, end), y, "DOP853", args=(end,), rtol=1e-10, atol=1e-12)
            y = run.y[:, -1]
    return y


def check(plan):
    """Assert what every solved plan must be."""
    assert plan.success, plan.reason
    assert arrived(plan) == pytest.approx([*plan.qf, *np.zeros(len(plan.qf))], abs=1e-6)
    assert plan.certificate.boundary < 1e-8
    assert plan.certificate.hamiltonian < 1e-6
    assert plan.certificate.margin > 0.0
    assert np.abs(plan.net_work).max() < 1e-6 * plan.peak_work


def check_limits(plan, count):
    """Assert that efforts, speeds and positions are within their limits at `count` times."""
    robot = plan.robot
    for t in np.linspace(0.0, plan.t_final, count)[:-1]:
        q, v = plan.state(t)
        assert np.all(np.abs(plan.effort(t)) <= robot.tau_max * (1.0 + 1e-9))
        assert np.all(np.abs(v) <= robot.v_max * (1.0 + 1e-9))
        assert np.all((robot.q_min - 1e-9 <= q) & (q <= robot.q_max + 1e-9))


def along_limits(plan):
    """Assert that a motion at limits keeps to them and that its costates are sensitivities."""
    robot, n = plan.robot, plan.robot.n
    check(plan)
    assert plan.certificate.limit_force >= 0.0
    for t in np.linspace(0.0, plan.t_final, 200)[:-1]:
        q, v = plan.state(t)
        assert np.all(np.abs(v) < robot.v_max + 1e-8)
        assert np.all((robot.q_min - 1e-8 < q) & (q < robot.q_max + 1e-8))
        accelerations = md.customize(robot).forward_dynamics(q, v, plan.effort(t))
        rates = np.concatenate([v, accelerations])
        assert 1.0 + plan.costate(t) @ rates == pytest.approx(0.0, abs=1e-6)
    for step in 1e-4 * np.eye(n):
        later, earlier = (
            md.plan_minimum_time(robot, plan.q0 + shift, plan.qf, budget=None).t_final
            for shift in (step, -step)
        )
        slope = (later - earlier) / 2e-4
        assert plan.certificate.costates[:n] @ step == pytest.approx(slope * 1e-4, rel=1e-4)
