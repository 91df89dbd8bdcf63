"""The certificate of a minimum-time plan: Pontryagin's conditions, checked along the motion.

The motion and its costates are integrated once more, from the start, with nothing of the search
but the initial costates and the switches.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.planning.extremal import Extremal
from manip_dyn.planning.flow import Flow
from manip_dyn.planning.switching import Switching, alternating, assembled
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

BOUNDARY, HAMILTONIAN, MARGIN, CURVATURE = 1e-8, 1e-6, 1e-6, -1e-9
SINGULAR_SWITCHING = 1e-7
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
            nearest switch (at a switch: its slope; near a singular arc: the share squared).
            Below 0 an effort has the wrong sign, at 0 a switch is not strict.
        curvature: Least second derivative of the final time along those changes of the switches
            that still arrive, s/s^2; inf where there are none, as with 2 n - 1 switches.
        singular: Joints whose switching function is zero throughout, so that the conditions do
            not say what their efforts have to be.
        singular_arcs: Joint, begin and end (s) of the arcs in which its effort lies between the
            limits and keeps its switching function zero.
        singular_effort: Largest effort over its limit on singular arcs, 0 without any.
        singular_switching: Largest switching function there, over the joint's largest.
        legendre_clebsch: Least fall of the second rate of the switching function with the effort
            there, times t_final^2 over the largest switching function; inf without any. It has
            to be above 0 (Kelley, Kopp, Moyer 1967).
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
    singular_arcs: tuple[tuple[str, float, float], ...]
    singular_effort: float
    singular_switching: float
    legendre_clebsch: float
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
        if not self.singular_effort <= 1.0:
            found.append(f"a singular effort is {self.singular_effort:.3g} times its limit")
        if not self.singular_switching <= SINGULAR_SWITCHING:
            found.append(f"S reaches {self.singular_switching:.1e} on a singular arc")
        if not self.legendre_clebsch > 0.0:
            found.append("a singular arc does not meet the Legendre-Clebsch condition")
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
        shares: The singular effort over its limit (k,), 0 where there is none.
        strengths: By how much S'' falls with the full effort there (k,), else 0.
    """

    times: Vector
    arcs: Vector
    states: Vector
    switching: Vector
    slopes: Vector
    hamiltonians: Vector
    shares: Vector
    strengths: Vector


def course(robot: Robot, start: Vector, extremal: Extremal) -> Course | None:
    """Integrate the motion from rest at `start` (n,) with its costates."""
    n, kernels = robot.n, customize(robot).unchecked
    y = np.concatenate([start, np.zeros(n), extremal.costate])
    rows, flows = [], Flow(robot)
    for place, (begin, end, signs) in enumerate(extremal.switching.arcs()):
        flow = flows.along(signs)
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
            share, strength = flow.share, flow.legendre_clebsch
            hamiltonian = 1.0 + y[2 * n :] @ rates[: 2 * n]
            rows.append((time, place, y, inverse @ p_v, slope, hamiltonian, share, strength))
    return Course(*(np.array(column) for column in zip(*rows, strict=True)))


def certificate(robot: Robot, goal: Vector, extremal: Extremal, along: Course) -> Certificate:
    """Return what the samples of a motion say about Pontryagin's conditions."""
    n = robot.n
    end = along.states[-1, : 2 * n] - np.concatenate([goal, np.zeros(n)])
    largest = np.abs(along.switching).max(axis=0)
    singular = largest < SINGULAR * largest.max()
    margins = [
        _margin(along, extremal.switching, int(joint), largest[joint])
        for joint in np.flatnonzero(~singular)
    ]
    return Certificate(
        costates=extremal.costate,
        boundary=float(np.abs(end).max()),
        hamiltonian=float(np.abs(along.hamiltonians).max()),
        margin=min(margins),
        curvature=extremal.curvature,
        singular=tuple(robot.joint_names[joint] for joint in np.flatnonzero(singular)),
        **_singular_arcs(robot, along, extremal.switching, largest),
        times=along.times,
        switching=along.switching,
        hamiltonians=along.hamiltonians,
    )


def _singular_arcs(robot: Robot, along: Course, switching: Switching, largest: Vector) -> dict:
    arcs, effort, rest, strength = [], 0.0, 0.0, np.inf
    for place, (begin, end, signs) in enumerate(switching.arcs()):
        for joint in np.flatnonzero(signs == 0.0):
            arcs.append((robot.joint_names[joint], begin, end))
            here = along.arcs == place
            effort = max(effort, float(np.abs(along.shares[here]).max()))
            rest = max(rest, float(np.abs(along.switching[here, joint]).max() / largest[joint]))
            scale = switching.t_final**2 / largest[joint]
            strength = min(strength, float(along.strengths[here].min() * scale))
    return {
        "singular_arcs": tuple(arcs),
        "singular_effort": effort,
        "singular_switching": rest,
        "legendre_clebsch": strength,
    }


def wanted(along: Course, switching: Switching) -> Switching:
    """Return the structure whose efforts have the signs that the switching functions ask for."""
    n = along.switching.shape[1]
    signs, rows = np.ones(n), []
    for joint in range(n):
        times, values = _refined(along, joint)
        right = values < 0.0
        signs[joint] = 1.0 if right[np.argmax(np.abs(values[:4]))] else -1.0
        current, found = signs[joint] > 0.0, []
        for k in range(1, len(values)):
            if right[k] != current and abs(values[k]) > 1e-9 * np.abs(values).max():
                a, b = values[k - 1], values[k]
                share = a / (a - b) if a * b < 0.0 else 0.0
                found.append(float(times[k - 1] + share * (times[k] - times[k - 1])))
                current = right[k]
        rows += [(t, joint, value) for t, value in alternating(signs[joint], found)]
    return assembled(signs, rows, switching.t_final)


def _margin(along: Course, switching: Switching, joint: int, largest: float) -> float:
    """Return the least switching function of one joint as `Certificate.margin` has it."""
    t_final = switching.t_final
    arc_signs = np.array([signs[joint] for _, _, signs in switching.arcs()])
    times, values = _refined(along, joint)
    signs = arc_signs[np.repeat(along.arcs[:-1].astype(int), 4)]
    toward = -signs * values[:-1]
    room, least = np.ones(len(toward)), np.inf
    for place in np.flatnonzero(np.array(switching.joints) == joint):
        away = np.abs(times[:-1] - switching.times[place]) / t_final
        before, after = arc_signs[place], arc_signs[place + 1]
        room = np.minimum(room, away if before * after else away**2)
        if before * after:
            slope = -after * along.slopes[(place + 1) * SAMPLES, joint]
            least = min(least, float(slope * t_final))
    far = (room > 1e-5) & (signs != 0.0)
    return min(least, float((toward[far] / room[far]).min())) / largest


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
