"""The law as a motion: what an integrator calls, on one kind of path.

Here stand the few lines that have to know the path, and for single velocities the robot; `program`
binds them. What they call is compiled once for all robots, and so are the rates, which call a
robot's kinematics by its address.
"""

from __future__ import annotations

from typing import NamedTuple

from manip_dyn.clik.law.joint_velocity import joint_velocity
from manip_dyn.clik.law.settings import task_of
from manip_dyn.clik.paths.path import evaluate_path as desired_pose
from manip_dyn.clik.placeholders import kinematics
from manip_dyn.clik.samples import fill_row
from manip_dyn.codegen.kernel_addresses import call_kernel
from manip_dyn.core.arrays import row
from manip_dyn.core.checks import Vector
from manip_dyn.core.compiled import compiled


class TrackingArguments(NamedTuple):
    """What the rates are about.

    Attributes:
        path: The path's parameters.
        memory: Constants and scratch of the law, see `workspace`.
        kinematics: Address of the robot's kernel.
    """

    path: Vector
    memory: Vector
    kinematics: int


@compiled(short=True)
def velocity(q, desired, memory, v):
    """Write the joint velocities (n,) for a desired pose and twist (18,); return their scale."""
    kinematics(q, task_of(memory).actual)
    return joint_velocity(q, desired, memory, v)


@compiled(short=True, python=False)
def rate(t, y, p, out):
    """Write the rate of the state (q, path time) under what is `Tracked`."""
    task = task_of(p.memory)
    desired = task.desired
    desired_pose(y[y.size - 1], p.path, desired)
    call_kernel(p.kinematics, (y, task.actual))
    out[y.size - 1] = joint_velocity(y, desired, p.memory, out)


@compiled(short=True)
def look(times, states, p, out, rows):
    """Write the rows, see `record`, of times (k,) and states (k, n + 1)."""
    for k in range(rows.shape[0]):
        y = row(states, k)
        rate(times[k], y, p, out)
        fill_row(times[k], y, out, p.memory, row(rows, k))
