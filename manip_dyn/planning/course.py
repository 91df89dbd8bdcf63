"""The course of an extremal: its motion with costates at samples, and what they ask for.

Integrated from the start with nothing of the search but the initial costates and the switches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manip_dyn.codegen import customize
from manip_dyn.planning.efforts import Control, of_sign
from manip_dyn.planning.extremal import Extremal
from manip_dyn.planning.flow import Flow
from manip_dyn.planning.switching import Switching, assembled
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

FULL = 1.0 + 1e-9
"""Efforts between their limits may come to them, but for rounding."""
SAMPLES = 16
"""Samples per arc, more where a cubic between two of them has to be looked into."""


@dataclass(frozen=True, eq=False)
class Course:
    """A motion with costates at samples.

    Attributes:
        times: Sample times (k,), s; both ends of every arc are among them.
        arcs: The arc of each sample (k,).
        states: (q, v, p) at the samples (k, 4 n).
        switching: Switching functions (k, n).
        slopes: Their rates (k, n), 1/s.
        hamiltonians: H (k,).
        shares: Efforts over their limits (k, n) where they lie between them, else 1.
        forces: What limits add to -p_v' (k, n).
        strengths: By how much S'' falls with the full effort there (k,), else 0.
    """

    times: Vector
    arcs: Vector
    states: Vector
    switching: Vector
    slopes: Vector
    hamiltonians: Vector
    shares: Vector
    forces: Vector
    strengths: Vector


def course(robot: Robot, start: Vector, extremal: Extremal) -> Course | None:
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
    return Course(*(np.array(column) for column in zip(*rows, strict=True)))


def wanted(along: Course, switching: Switching) -> Switching:
    """Return the structure whose efforts have the signs that the switching functions ask for.

    Where they lie between their limits they remain there, and where they would pass them they
    are at them.
    """
    n, arcs, here = along.switching.shape[1], switching.arcs(), refined_arcs(along)
    controls, rows = list(switching.controls), list[tuple[float, int, Control]]()
    touched = [row for row in switching.rows() if row[2].is_contact]
    for joint in range(n):
        times, values = refined(along, joint)
        own = [each[joint] for _, _, each in arcs]
        is_full = np.array([each.is_full for each in own])[here]
        shares = along.shares[refined_samples(along), joint]
        signs = np.where(is_full, -np.sign(values), np.sign(shares)).tolist()
        is_asked = is_full | (np.abs(shares) > FULL)
        asked = [
            of_sign(sign) if new else own[arc]
            for sign, new, arc in zip(signs, is_asked.tolist(), here.tolist(), strict=True)
        ]
        clear = ~is_full | (np.abs(values) > 1e-9 * np.abs(values).max())
        first = int(np.argmax(clear * (1.0 + np.abs(values)) * (times <= times[3])))
        controls[joint] = current = asked[first]
        for k in np.flatnonzero(clear):
            if asked[k] != current:
                a, b = values[k - 1], values[k]
                share = a / (a - b) if a * b < 0.0 else 0.0
                rows.append(
                    (float(times[k - 1] + share * (times[k] - times[k - 1])), joint, asked[k])
                )
                current = asked[k]
    return assembled(controls, rows + touched, switching.t_final)


def refined_samples(along: Course) -> NDArray[np.int64]:
    """Return the sample before or at each value of `refined`."""
    return np.append(np.repeat(np.arange(len(along.times) - 1), 4), len(along.times) - 1)


def refined_arcs(along: Course) -> NDArray[np.int64]:
    """Return the arc of each value of `refined`."""
    return along.arcs[refined_samples(along)].astype(np.int64)


def refined(along: Course, joint: int) -> tuple[Vector, Vector]:
    """Return times and values of a switching function, with three between any two samples.

    Those are on the cubic through values and slopes.
    """
    t, s, r = along.times, along.switching[:, joint], along.slopes[:, joint]
    h = np.diff(t)[:, None]
    z = np.array([0.0, 0.25, 0.5, 0.75])
    cubic = (
        (1 + 2 * z) * (1 - z) ** 2 * s[:-1, None]
        + z * (1 - z) ** 2 * h * r[:-1, None]
        + z**2 * (3 - 2 * z) * s[1:, None]
        + z**2 * (z - 1) * h * r[1:, None]
    )
    times = t[:-1, None] + z * h
    return np.append(times.ravel(), t[-1]), np.append(cubic.ravel(), s[-1])
