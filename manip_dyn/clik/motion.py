"""Compiled functions of the law on one kind of path: rates, samples and single velocities.

`follower` binds the path function and, for single velocities, the kinematics of the robot. The
other functions called here are compiled once for all robots. The rates are, too: they call the
kinematics of the robot by address.
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
    """Arguments of the rates.

    Attributes:
        path: Parameters of the path.
        memory: Constants and working memory of the law, see `law_memory`.
        kinematics: Address of the robot's kinematics kernel.
    """

    path: Vector
    memory: Vector
    kinematics: int


@compiled(short=True)
def velocity(q, desired, memory, v):
    """Write joint velocities (n,) for a desired pose and twist (18,); return the speed scale."""
    kinematics(q, task_of(memory).actual)
    return joint_velocity(q, desired, memory, v)


@compiled(short=True, python=False)
def rate(t, y, p, out):
    """Write the rate of the state y = (q, path time) for `TrackingArguments` p."""
    task = task_of(p.memory)
    desired = task.desired
    desired_pose(y[y.size - 1], p.path, desired)
    call_kernel(p.kinematics, (y, task.actual))
    out[y.size - 1] = joint_velocity(y, desired, p.memory, out)


@compiled(short=True)
def look(times, states, p, out, rows):
    """Write the sample rows, see `samples`, at times (k,) and states (k, n + 1)."""
    for k in range(rows.shape[0]):
        y = row(states, k)
        rate(times[k], y, p, out)
        fill_row(times[k], y, out, p.memory, row(rows, k))
