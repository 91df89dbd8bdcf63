"""The certificate of a minimum-time plan: Pontryagin's conditions, checked along the motion.

The motion and its costates are integrated once more, from the start, with nothing of the search
but the initial costates and the switches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.integrate import METHODS, Options, compile_engine
from manip_dyn.planning.equations import compiled_equations
from manip_dyn.planning.extremal import Extremal
from manip_dyn.planning.switching import Switching, assembled
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

BOUNDARY, HAMILTONIAN, MARGIN, CURVATURE = 1e-8, 1e-6, 1e-6, -1e-9
SINGULAR = 1e-9
"""A switching function below this share of the largest is zero."""
SAMPLES = 16
"""Samples per arc, more where a cubic between two of them has to be looked into."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """How well a motion meets the necessary conditions for minimum time.

    Attributes:
        costates: Costates (2 n,) at the start, s per unit of the state: what the final time
            loses per unit by which the start is moved.
        boundary: Largest distance from the goal at rest at the end, in the units of the state.
        hamiltonian: Largest absolute value of H = 1 + p . x' along the motion; 0 in theory.
        margin: Least switching function with the sign that its effort asks for, over the largest
            one of the joint and over the share of the motion between this time and the joint's
            nearest switch (at a switch: its slope). Below 0 an effort has the wrong sign, at 0 a
            switch is not strict.
        curvature: Least second derivative of the final time along those changes of the switches
            that still arrive, s/s^2; inf where there are none, as with 2 n - 1 switches.
        singular: Joints whose switching function is zero throughout, so that the conditions do
            not say what their efforts have to be.
        times: Sample times (k,), s.
        switching: Switching functions (k, n) there.
        hamiltonians: H (k,) there.
    """

    costates: Vector
    boundary: float
    hamiltonian: float
    margin: float
    curvature: float
    singular: tuple[str, ...]
    times: Vector = field(repr=False)
    switching: Vector = field(repr=False)
    hamiltonians: Vector = field(repr=False)

    @property
    def failures(self) -> list[str]:
        """What does not hold, one phrase each; empty for a certified motion."""
        found = []
        if not self.boundary <= BOUNDARY:
            found.append(f"it ends {self.boundary:.1e} from the goal at rest")
        if not self.hamiltonian <= HAMILTONIAN:
            found.append(f"its Hamiltonian reaches {self.hamiltonian:.1e}")
        if self.singular:
            found.append(f"the efforts of {', '.join(self.singular)} are singular")
        if not self.margin >= MARGIN:
            found.append(f"a switching function has the wrong sign (margin {self.margin:.1e})")
        if not self.curvature >= CURVATURE:
            found.append("it is a saddle, not a minimum")
        return found

    @property
    def holds(self) -> bool:
        """Whether all conditions are met, strictly."""
        return not self.failures


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
    """

    times: Vector
    arcs: Vector
    states: Vector
    switching: Vector
    slopes: Vector
    hamiltonians: Vector


def course(robot: Robot, start: Vector, extremal: Extremal) -> Course:
    """Integrate the motion from rest at `start` (n,) with its costates."""
    n, kernels = robot.n, customize(robot).unchecked
    engine = _compiled_canonical(robot)
    space = engine.space(rtol=1e-13, atol=1e-14, max_steps=5000)
    rhs: Any = compiled_equations(robot).canonical
    y = np.concatenate([start, np.zeros(n), extremal.costate])
    rates, rows = np.empty(4 * n), []
    for place, (begin, end, signs) in enumerate(extremal.switching.arcs()):
        tau = signs * robot.tau_max
        scratch = (tau, np.empty(n), np.empty(n), np.empty(n), np.empty((3, n)))
        for share in np.linspace(0.0, 1.0, SAMPLES):
            if share > 0.0 and end > begin:
                engine.run(0.0, (end - begin) / (SAMPLES - 1), scratch, y, space)
            rhs(0.0, y, scratch, rates)
            q, v, adjoint = y[:n].copy(), y[n : 2 * n].copy(), y[3 * n :].copy()
            curves = kernels.forward_dynamics_second_derivatives(q, v, tau, adjoint)
            inverse = kernels.forward_dynamics_derivatives(q, v, tau)[2]
            slope = curves[2, :, 0] @ v + inverse @ rates[3 * n :]
            hamiltonian = 1.0 + y[2 * n :] @ rates[: 2 * n]
            time = begin + share * (end - begin)
            rows.append((time, place, y.copy(), scratch[4][2].copy(), slope, hamiltonian))
    return Course(*(np.array(column) for column in zip(*rows, strict=True)))


def certificate(robot: Robot, goal: Vector, extremal: Extremal, along: Course) -> Certificate:
    """Return what the samples of a motion say about Pontryagin's conditions."""
    n = robot.n
    end = along.states[-1, : 2 * n] - np.concatenate([goal, np.zeros(n)])
    largest = np.abs(along.switching).max(axis=0)
    singular = largest < SINGULAR * largest.max()
    margins = [
        _margin(along, extremal.switching, joint, largest[joint])
        for joint in np.flatnonzero(~singular)
    ]
    return Certificate(
        costates=extremal.costate,
        boundary=float(np.abs(end).max()),
        hamiltonian=float(np.abs(along.hamiltonians).max()),
        margin=min(margins),
        curvature=extremal.curvature,
        singular=tuple(robot.joint_names[joint] for joint in np.flatnonzero(singular)),
        times=along.times,
        switching=along.switching,
        hamiltonians=along.hamiltonians,
    )


def wanted(along: Course, switching: Switching) -> Switching:
    """Return the structure whose efforts have the signs that the switching functions ask for."""
    n = along.switching.shape[1]
    signs, rows = np.ones(n), []
    for joint in range(n):
        times, values = _refined(along, joint)
        right = values < 0.0
        signs[joint] = 1.0 if right[np.argmax(np.abs(values[:4]))] else -1.0
        current = signs[joint] > 0.0
        for k in range(1, len(values)):
            if right[k] != current and abs(values[k]) > 1e-9 * np.abs(values).max():
                a, b = values[k - 1], values[k]
                share = a / (a - b) if a * b < 0.0 else 0.0
                rows.append((float(times[k - 1] + share * (times[k] - times[k - 1])), joint))
                current = right[k]
    return assembled(signs, rows, switching.t_final)


def _margin(along: Course, switching: Switching, joint: int, largest: float) -> float:
    own, t_final = np.array(switching.per_joint()[joint]), switching.t_final
    arc_signs = np.array([signs[joint] for _, _, signs in switching.arcs()])
    times, values = _refined(along, joint)
    signs = arc_signs[np.repeat(along.arcs[:-1].astype(int), 4)]
    toward = -signs * values[:-1]
    distance = np.full(len(toward), t_final)
    if own.size:
        distance = np.abs(times[:-1, None] - own).min(axis=1)
    far = distance > 1e-3 * t_final
    least = float((toward[far] * t_final / distance[far]).min())
    for place in np.flatnonzero(np.array(switching.joints) == joint):
        slope = -arc_signs[place + 1] * along.slopes[(place + 1) * SAMPLES, joint]
        least = min(least, float(slope * t_final))
    return least / largest


def _refined(along: Course, joint: int) -> tuple[Vector, Vector]:
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


@lru_cache(maxsize=64)
def _compiled_canonical(robot: Robot):
    """Return the engine of state and costate."""
    options = Options(size=4 * robot.n, adaptive=True)
    return compile_engine(compiled_equations(robot).canonical, METHODS["rkdp87"], options)
