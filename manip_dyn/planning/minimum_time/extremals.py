"""Extremals with their certificates, and the motion of an extremal.

A certificate contains the residuals of Pontryagin's conditions at samples of the motion, which is
integrated again from the start using only the initial costates and the switches.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manip_dyn.core.checks import Vector, distinct_digits
from manip_dyn.planning.certificate import FULL_EFFORT, Certificate
from manip_dyn.planning.minimum_time.flow import (
    SAMPLES,
    Flow,
    Trajectory,
    refined,
    refined_arcs,
)
from manip_dyn.planning.minimum_time.splines import exceeded_limit
from manip_dyn.planning.minimum_time.structures import (
    Controls,
    Extremal,
    Switching,
    are_full,
    effort_signs,
)
from manip_dyn.planning.plan import Samples
from manip_dyn.robot import Robot


class Candidate(NamedTuple):
    """An extremal with its trajectory, its certificate and the violated limit, if any."""

    extremal: Extremal
    trajectory: Trajectory
    certificate: Certificate
    violation: str

    @property
    def t_final(self) -> float:
        """Time of arrival, s."""
        return self.extremal.switching.t_final

    @property
    def holds(self) -> bool:
        """Whether the certificate holds and no limit is violated."""
        return self.certificate.holds and not self.violation


def are_same(first: Candidate, second: Candidate) -> bool:
    """Return whether two motions have equal durations and equal initial costates."""
    costates = first.extremal.costate, second.extremal.costate
    size = max(float(np.abs(costates[0]).max()), 1e-30)
    away = float(np.abs(costates[0] - costates[1]).max())
    return abs(first.t_final / second.t_final - 1.0) < SAME_TIME and away < 1e-4 * size


SAME_TIME = 1e-7
"""Relative difference below which durations of extremals are equal."""


def distinct_motions(candidates: list[Candidate]) -> list[Candidate]:
    """Return the distinct certified motions, fastest first."""
    distinct: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda candidate: candidate.t_final):
        if candidate.holds and not any(are_same(candidate, previous) for previous in distinct):
            distinct.append(candidate)
    return distinct


def violated_limit(robot: Robot, along: Trajectory) -> str:
    """Return the first violated limit of effort, speed or position, or ""."""
    for joint, load in zip(
        robot.joint_names, np.abs(along.normalized_efforts).max(axis=0).tolist(), strict=True
    ):
        if load > FULL_EFFORT:
            (ratio, _) = distinct_digits(load, 1.0, digits=4)
            return f"joint '{joint}' would require {ratio} times its effort limit"
    n = robot.n
    return exceeded_limit(robot, along.times, along.states[:, :n], along.states[:, n : 2 * n])


NOTHING = 1e-9
"""Switching functions below this fraction of the largest one count as zero."""


def certificate(robot: Robot, goal: Vector, extremal: Extremal, along: Trajectory) -> Certificate:
    """Compute the certificate of Pontryagin's conditions from the samples of a motion."""
    n = robot.n
    end = along.states[-1, : 2 * n] - np.concatenate([goal, np.zeros(n)])
    largest = np.abs(along.switching).max(axis=0)
    is_singular = largest < NOTHING * largest.max()
    sample_arcs = refined_arcs(along)[:-1]
    margins = [
        _margin(along, extremal.switching, sample_arcs, joint, largest[joint])
        for joint in np.flatnonzero(~is_singular).tolist()
    ]
    return Certificate(
        costates=extremal.costate,
        jumps=extremal.jumps,
        boundary=float(np.abs(end).max()),
        distance=float(np.abs(goal - along.states[0, :n]).max()),
        hamiltonian=float(np.abs(along.hamiltonians).max()),
        margin=min(margins),
        curvature=extremal.curvature,
        singular=tuple(robot.joint_names[joint] for joint in np.flatnonzero(is_singular)),
        **_inner_arcs(robot, along, extremal, largest),
        times=along.times,
        switching=along.switching,
        hamiltonians=along.hamiltonians,
    )


def _inner_arcs(robot: Robot, along: Trajectory, extremal: Extremal, largest: Vector) -> dict:
    """Return the certificate's fields for efforts between their limits."""
    t_final = extremal.switching.t_final
    singular, effort, rest, strength = [], 0.0, 0.0, np.inf
    for arc, (begin, end, controls) in enumerate(extremal.switching.arcs()):
        if are_full(controls):
            continue
        here = along.arcs == arc
        for joint in np.flatnonzero([not control.is_full for control in controls]):
            effort = max(effort, float(np.abs(along.normalized_efforts[here, joint]).max()))
            rest = max(rest, float(np.abs(along.switching[here, joint]).max() / largest[joint]))
            if controls[joint].is_singular:
                singular.append((robot.joint_names[joint], begin, end))
                scale = t_final**2 / largest[joint]
                strength = min(strength, float(along.strengths[here].min() * scale))
    at_limits = list(limit_arcs(along, extremal))
    forces = [force for *_, force in at_limits]
    strongest = max([float(np.abs(force).max()) for force in forces], default=1.0)
    return {
        "singular_arcs": tuple(singular),
        "singular_effort": effort,
        "singular_switching": rest,
        "limit_arcs": tuple(
            (robot.joint_names[joint], kind, begin, end)
            for joint, kind, begin, end, _ in at_limits
        ),
        "limit_force": min([float(force.min()) / strongest for force in forces], default=np.inf),
        "legendre_clebsch": strength,
    }


def limit_arcs(
    along: Trajectory, extremal: Extremal
) -> Iterator[tuple[int, str, float, float, Vector]]:
    """Yield joint, ``speed`` or ``position``, start, end (s) and multipliers of boundary arcs.

    At a contact point start and end are equal.

    The multipliers of a speed limit are given at the samples, s/rad. Those of a position limit are
    the decreases of the position's costate at the start, between samples and at the end.
    """
    switching, n = extremal.switching, along.switching.shape[1]
    jumps = dict(zip(switching.jumps(), extremal.jumps, strict=True))
    arcs = switching.arcs()
    for switch, (joint, value) in enumerate(zip(switching.joints, switching.values, strict=True)):
        if value.is_contact:
            at, kind = (3, "speed") if value.is_about_speed else (2, "position")
            drop = -value.direction * jumps[switch, at * n + joint]
            yield joint, kind, arcs[switch][1], arcs[switch][1], np.array([drop])
    for joint in range(n):
        begun, latest = 0, NO_LIMIT
        limits = [*(_limit(controls, joint) for _, _, controls in arcs), NO_LIMIT]
        for switch, limit in enumerate(limits):
            if limit == latest:
                continue
            kind, side = latest
            if latest != NO_LIMIT:
                here = (along.arcs >= begun) & (along.arcs < switch)
                force = side * along.forces[here, joint]
                at = 2 if kind == "position" else 3
                keys = [(k, at * n + joint) for k in range(begun - 1, switch)]
                drops = [-side * jumps[key] for key in keys if key in jumps]
                if kind == "position":
                    last = -drops[-1] if drops else force[-1]
                    force = -np.diff(np.concatenate([[0.0], force, [last]]))
                else:
                    # At a smooth entry, exit or handover the costate of the speed jumps.
                    force = np.append(force, np.array(drops) / switching.t_final)
                yield joint, kind, arcs[begun][0], arcs[switch - 1][1], force
            begun, latest = switch, limit


NO_LIMIT = ("", 0.0)


def _limit(controls: Controls, joint: int) -> tuple[str, float]:
    """Return the kind and the side of the limit that a joint has reached, or `NO_LIMIT`."""
    for effort, control in enumerate(controls):
        limit = control.held(effort)
        if limit is not None and limit[0] == joint:
            return ("speed" if control.is_about_speed else "position"), limit[1]
    return NO_LIMIT


def _margin(
    along: Trajectory,
    switching: Switching,
    sample_arcs: NDArray[np.int64],
    joint: int,
    largest: float,
) -> float:
    """Return the smallest switching function of one joint, scaled as `Certificate.margin`.

    `sample_arcs` contains the arcs of the refined samples, except the last one.
    """
    t_final = switching.t_final
    joint_controls = [controls[joint] for _, _, controls in switching.arcs()]
    arc_signs = effort_signs(joint_controls)
    times, values = refined(along, joint)
    signs = arc_signs[sample_arcs]
    toward = -signs * values[:-1]
    room, least = np.ones(len(toward)), np.inf
    for switch, (first, second) in enumerate(pairwise(joint_controls)):
        if first == second:
            continue
        away = np.abs(times[:-1] - switching.times[switch]) / t_final
        before, after = arc_signs[switch], arc_signs[switch + 1]
        is_regular = not (first.is_singular or second.is_singular)
        room = np.minimum(room, away if is_regular else away**2)
        if before * after == -1.0:
            slope = -after * along.slopes[(switch + 1) * SAMPLES, joint]
            least = min(least, float(slope * t_final))
    far = (room > 1e-5) & (np.abs(signs) == 1.0)
    return min(least, float((toward[far] / room[far]).min())) / largest


class ExtremalMotion:
    """Motion with efforts that jump between their limits, or are between them on some arcs."""

    def __init__(self, robot: Robot, start: Vector, extremal: Extremal):
        """Start at rest at `start` (n,)."""
        self._robot, self._start, self._extremal = robot, start, extremal
        arcs = extremal.switching.arcs()
        self._begins = [begin for begin, _, _ in arcs]
        self._controls: list[Controls] = [controls for _, _, controls in arcs]

    @property
    def switching(self) -> Switching:
        """Controls, switches and final time."""
        return self._extremal.switching

    @property
    def knots(self) -> Vector:
        """Times (k,) from 0 to the arrival, s, between which the efforts are smooth."""
        return np.array([*self._begins, self.switching.t_final])

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t`, s."""
        n, y = self._robot.n, self._canonical(self._arc(t), t, costates=False)
        return y[:n], y[n : 2 * n]

    def costate(self, t: float) -> Vector:
        """Return the costates (2 n,) at time `t`, s, in s per unit of the state."""
        return self._canonical(self._arc(t), t)[2 * self._robot.n :]

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) from time `t`, s, on, N m or N."""
        arc = self._arc(t)
        controls = self._controls[arc]
        flow = None if are_full(controls) else self._flows.along(controls)
        if flow is None:
            return effort_signs(controls) * self._robot.tau_max
        flow.rates(self._canonical(arc, t))
        return flow.tau

    def samples(self, period: float) -> Samples:
        """Return the times (s) and efforts (n,) of samples.

        There is a sample at every jump. Arcs with efforts between their limits are sampled every
        `period` seconds.
        """
        times = set[float]()
        for begin, controls, end in zip(self._begins, self._controls, self.knots[1:], strict=True):
            times |= {begin} if are_full(controls) else set(np.arange(begin, end, period))
        before = (float(t) for t in sorted(times) if t < self.switching.t_final)
        return [(t, self.effort(t)) for t in before]

    @cached_property
    def _flows(self) -> Flow:
        return Flow(self._robot)

    def _arc(self, t: float) -> int:
        return max(int(np.searchsorted(self._begins, t, side="right")) - 1, 0)

    @cached_property
    def _nodes(self) -> list[Vector]:
        """States and costates (4 n,) at the starts of the arcs."""
        nodes = [np.concatenate([self._start, 0.0 * self._start, self._extremal.costate])]
        jumping = list(zip(self.switching.jumps(), self._extremal.jumps, strict=True))
        for arc, end in enumerate(self._begins[1:]):
            node = self._canonical(arc, end, nodes[arc]).copy()
            for (switch, component), jump in jumping:
                node[component] += jump if switch == arc else 0.0
            nodes.append(node)
        return nodes

    def _canonical(
        self, arc: int, t: float, node: Vector | None = None, costates: bool = True
    ) -> Vector:
        """Return state and costates (4 n,) at time `t`, s, of an arc, or only the state."""
        begin = self._nodes[arc] if node is None else node
        flow = self._flows.along(self._controls[arc])
        if flow is None:
            return begin
        move = flow.moved if costates else flow.state
        end = move(begin, max(t, 0.0) - self._begins[arc])
        return begin if end is None else end
