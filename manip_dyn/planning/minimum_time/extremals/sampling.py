"""Sampled trajectory of an extremal, integrated from its initial costates and switches."""

from __future__ import annotations

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.planning.minimum_time.extremals.flow import Flow
from manip_dyn.planning.minimum_time.extremals.structure import Extremal
from manip_dyn.planning.minimum_time.extremals.trajectory import SAMPLES, Trajectory


def trajectory_of(flows: Flow, start: Vector, extremal: Extremal) -> Trajectory | None:
    """Integrate an extremal with its costates from rest at `start` (n,)."""
    n, arcs = len(start), extremal.switching.arcs()
    jumping = zip(extremal.switching.jumps(), extremal.jumps, strict=True)
    after = {arc + 1: (component, jump) for (arc, component), jump in jumping}
    count = SAMPLES * len(arcs)
    states, rates = np.empty((2, count, 4 * n))
    normalized, forces = np.empty((2, count, n))
    times, strengths = np.empty((2, count))
    y, row = np.concatenate([start, np.zeros(n), extremal.costate]), 0
    for arc, (begin, end, controls) in enumerate(arcs):
        flow = flows.along(controls)
        if flow is None:
            return None
        if arc in after:
            y = y.copy()
            y[after[arc][0]] += after[arc][1]
        for k in range(SAMPLES):
            state = flow.moved(y, (end - begin) / (SAMPLES - 1)) if k > 0 else y
            if state is None:
                return None
            states[row] = y = state
            rates[row] = flow.rates(y)
            times[row] = begin + k / (SAMPLES - 1) * (end - begin)
            normalized[row], forces[row] = flow.normalized_efforts, flow.forces
            strengths[row] = flow.legendre_clebsch
            row += 1
    switching, slopes = flows.switching_functions(states, rates)
    x_rates, p = rates[:, None, : 2 * n], states[:, 2 * n :, None]
    hamiltonians = 1.0 + (x_rates @ p)[:, 0, 0]
    sample_arcs: Vector = np.repeat(np.arange(len(arcs)), SAMPLES)
    return Trajectory(
        times, sample_arcs, states, switching, slopes, hamiltonians, normalized, forces, strengths
    )
