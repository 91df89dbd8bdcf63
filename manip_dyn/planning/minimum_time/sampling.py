"""An extremal integrated: from the start, with nothing but initial costates and switches."""

from __future__ import annotations

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.planning.minimum_time.flow import Flow
from manip_dyn.planning.minimum_time.structure import Extremal
from manip_dyn.planning.minimum_time.trajectory import SAMPLES, Trajectory
from manip_dyn.robot import Robot


def trajectory_of(robot: Robot, start: Vector, extremal: Extremal) -> Trajectory | None:
    """Integrate the motion from rest at `start` (n,) with its costates."""
    n, kernels = robot.n, customize(robot).unchecked
    y = np.concatenate([start, np.zeros(n), extremal.costate])
    rows, flows = [], Flow(robot)
    jumping = zip(extremal.switching.jumps(), extremal.jumps, strict=True)
    after = {place + 1: (component, jump) for (place, component), jump in jumping}
    for place, (begin, end, controls) in enumerate(extremal.switching.arcs()):
        flow = flows.along(controls)
        if flow is None:
            return None
        if place in after:
            y = y.copy()
            y[after[place][0]] += after[place][1]
        for k in range(SAMPLES):
            later = flow.moved(y, (end - begin) / (SAMPLES - 1)) if k > 0 else y
            if later is None:
                return None
            y = later
            rates = flow.rates(y)
            q, v, _, p_v = y.reshape(4, n).copy()
            curves = kernels.forward_dynamics_second_derivatives(q, v, v, p_v)
            inverse = kernels.forward_dynamics_derivatives(q, v, v)[2]
            slope = curves[2, :, 0] @ v + inverse @ rates[3 * n :]
            time = begin + k / (SAMPLES - 1) * (end - begin)
            shares, forces, strength = flow.shares, flow.forces, flow.legendre_clebsch
            hamiltonian = 1.0 + y[2 * n :] @ rates[: 2 * n]
            rows.append(
                (time, place, y, inverse @ p_v, slope, hamiltonian, shares, forces, strength)
            )
    return Trajectory(*(np.array(column) for column in zip(*rows, strict=True)))
