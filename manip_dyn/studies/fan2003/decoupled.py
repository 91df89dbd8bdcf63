"""Two links without coupling (section 3.1.3) and motions with one switch (section 3.2).

The mass matrix is constant and diagonal, so each link is a double integrator (eqs. 3.48, 3.49)::

    t_f1 = 2 t_sw1 = 2 sqrt(|q10| (m1 + m2) / T1),  t_f2 = 2 t_sw2 = 2 sqrt(|q20| m2 / T2)

with final times t_f, switching times t_sw, initial positions q10 and q20, masses m and force
limits T.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning import plan_minimum_time, plan_zero_net_work
from manip_dyn.robot import Robot, load_robot
from manip_dyn.studies.fan2003.settings import Decoupled
from manip_dyn.studies.report.charts import Chart, Line, Panel

URDF = """<?xml version="1.0"?>
<robot name="decoupled">
  <link name="base_link"/>
  {first}
  {second}
</robot>
"""
RAIL = """<joint name="joint_{k}" type="prismatic">
    <parent link="{parent}"/><child link="link_{k}"/><axis xyz="{axis}"/>
    <limit lower="-2" upper="2" velocity="20" effort="{effort}"/>
  </joint>
  <link name="link_{k}"><inertial><mass value="{mass}"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
SAME = 1e-6
"""Largest difference up to which a time counts as reproduced, s."""


class DecoupledRow(NamedTuple):
    """A quantity of sections 3.1.3 and 3.2: value of the thesis's formula and computed value."""

    item: str
    quantity: str
    published: float
    computed: float
    difference: float
    status: str


def decoupled_arm(arm: Decoupled) -> Robot:
    """Return two links on perpendicular rails, with M = diag(m1 + m2, m2)."""
    parts = [
        RAIL.format(k=k + 1, parent=parent, axis=axis, effort=arm.forces[k], mass=arm.masses[k])
        for k, (parent, axis) in enumerate((("base_link", "1 0 0"), ("link_1", "0 1 0")))
    ]
    return load_robot(URDF.format(first=parts[0], second=parts[1]))


def decoupled_rows(arm: Decoupled) -> list[DecoupledRow]:
    """Return rows that compare eqs. 3.48 and 3.49 with zero-net-work and minimum-time plans."""
    robot, start = decoupled_arm(arm), np.array(arm.start)
    masses = (sum(arm.masses), arm.masses[1])
    half = [np.sqrt(start[k] * masses[k] / arm.forces[k]) for k in range(2)]
    slow = plan_zero_net_work(robot, start, np.zeros(2))
    fast = plan_minimum_time(robot, start, np.zeros(2), budget=None)
    rows = []
    for k in range(2):
        item = f"eq. 3.4{8 + k}"
        rows.append(_row(item, f"t_sw{k + 1} [s]", half[k], slow.switch_times[k][0]))
        rows.append(_row(item, f"t_f{k + 1} [s]", 2.0 * half[k], slow.arrival_times[k]))
    rows.append(_row("section 3.1.3", "minimum time, both [s]", 2.0 * max(half), fast.t_final))
    return rows


class Switched(NamedTuple):
    """Motion of the link of section 3.1.2 with one switch (section 3.2).

    Attributes:
        title: Case of section 3.2.
        figure: Number of the figure.
        time: Times (k,), s.
        q: Positions (k,), rad.
        v: Velocities (k,), rad/s.
        stops_at: Position at which the link stops before its goal, rad; 0 if it arrives.
        speed: Speed at the goal, rad/s.
        work: Net work on the link until it stops or arrives, J.
    """

    title: str
    figure: str
    time: Vector
    q: Vector
    v: Vector
    stops_at: float
    speed: float
    work: float


def switched(title: str, figure: str, limit: float, inertia: float, q0: float, at: float):
    """Return the closed-form motion from `q0` towards 0 with a switch at `at`.

    Args:
        title: Case of section 3.2.
        figure: Number of the figure.
        limit: Effort limit, N m.
        inertia: Moment of inertia about the axis, kg m^2.
        q0: Initial position, rad.
        at: Switching position, rad.
    """
    u = limit / inertia
    t_switch = np.sqrt(2.0 * (q0 - at) / u)
    fastest = u * t_switch
    stops_at = max(at - 0.5 * fastest**2 / u, 0.0)
    speed = np.sqrt(max(fastest**2 - 2.0 * u * at, 0.0))
    end = t_switch + (fastest - speed) / u
    time = np.linspace(0.0, end, 201)
    driven, braked = time <= t_switch, np.maximum(time - t_switch, 0.0)
    q = np.where(driven, q0 - 0.5 * u * time**2, at - fastest * braked + 0.5 * u * braked**2)
    v = np.where(driven, -u * time, -fastest + u * braked)
    work = limit * (q0 - at) - limit * (at - stops_at)
    return Switched(title, figure, time, q, v, float(stops_at), float(speed), float(work))


def switching_cases(limit: float, inertia: float, q0: float, off: float) -> list[Switched]:
    """Return the three cases of section 3.2: an exact, an early and a late switch.

    Args:
        limit: Effort limit, N m.
        inertia: Moment of inertia about the axis, kg m^2.
        q0: Initial position, rad.
        off: Error of the switching position of the early and the late switch, rad.
    """
    switches = (("case 1", "3.7", 0.0), ("case 2", "3.9", off), ("case 3", "3.11", -off))
    return [
        switched(f"{title}: switch at {0.5 * q0 + shift:g} rad", figure, limit, inertia, q0, at)
        for title, figure, shift in switches
        for at in (0.5 * q0 + shift,)
    ]


def switching_rows(cases: Iterable[Switched], limit: float, inertia: float, q0: float, off: float):
    """Return rows that compare the net work of eq. 3.55 with the final kinetic energy."""
    rows = []
    for case, shift in zip(cases, (0.0, off, -off), strict=True):
        printed = limit * q0 - 2.0 * limit * (0.5 * q0 + shift) + limit * case.stops_at
        left = 0.5 * inertia * case.speed**2
        rows.append(_row(f"figure {case.figure}", "work at the end [J]", printed, left))
    return rows


def switching_chart(cases: Iterable[Switched]) -> Chart:
    """Return the chart of figures 3.7, 3.9 and 3.11."""
    panels = tuple(
        Panel(
            f"figure {case.figure}, {case.title}",
            "time [s]",
            "position [rad], velocity [rad/s]",
            (
                Line("position", tuple(case.time.tolist()), tuple(case.q.tolist()), 0, "-"),
                Line("velocity", tuple(case.time.tolist()), tuple(case.v.tolist()), 3, "--"),
            ),
        )
        for case in cases
    )
    title = "Fan (2003), section 3.2: exact, early and late switch"
    return Chart("3_2_switching", title, panels, 3, (12.0, 4.0))


def _row(item: str, quantity: str, published: float, computed: float) -> DecoupledRow:
    gap = computed - published
    status = "reproduced" if abs(gap) <= SAME else "differs"
    return DecoupledRow(item, quantity, float(published), float(computed), float(gap), status)
