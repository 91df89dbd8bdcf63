"""The dynamics of an arm some of whose joints are locked, one compiled time loop for n joints.

A locked joint has neither velocity nor acceleration; the effort that this takes follows from the
dynamics of the others (Fan 2003, eqs. 5.70, 6.53 and 6.55, for any arm)::

    M_dd a_d = tau_d - h_d,    a_h = 0,    tau_h = M_hd a_d + h_h

with d the driven and h the locked joints, and the bias h = ID(q, v, 0).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen.kernel_addresses import addresses, call_kernel
from manip_dyn.core.arrays import address_of
from manip_dyn.core.compiled import compiled
from manip_dyn.integration import METHODS, Engine, Options, compile_engine
from manip_dyn.robot import Robot

TOLERANCES: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-12, "max_steps": 2000}


class LockedJointKernels(NamedTuple):
    """Addresses of the kernels of one robot, and of `run` of the loop."""

    locked_joint_motion: int = 0
    locked_joint_efforts: int = 0
    motion: int = 0
    energy: int = 0
    run: int = 0


@compiled(merge=True)
def rates(t, y, p, out):
    """Write the rates (2 n,) of y = (q, v); p is the kernels and what drives.

    That is, (2 n,), the efforts, and 1 for driven joints and 0 for locked ones.
    """
    call_kernel(p[0].locked_joint_motion, (y, p[1], out))


@lru_cache(maxsize=64)
def kernels_of(robot: Robot) -> LockedJointKernels:
    """Return what the loop and the search take to be about `robot`."""
    *names, _ = LockedJointKernels._fields
    return LockedJointKernels._make((*addresses(robot, *names), _address_of_run(robot.n)))


@lru_cache(maxsize=64)
def _address_of_run(n: int) -> int:
    engine, y = locked_joint_engine(n), np.empty(2 * n)
    return address_of(
        engine.run, 0.0, 0.0, (LockedJointKernels(), y), y, engine.space(**TOLERANCES)
    )


@lru_cache(maxsize=64)
def locked_joint_engine(n: int) -> Engine:
    """Return the compiled time loop of n joints between two changes of what drives them."""
    return compile_engine(rates, METHODS["rkdp87"], Options(size=2 * n, adaptive=True))
