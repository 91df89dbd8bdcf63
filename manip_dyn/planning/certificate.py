"""The certificate of a minimum-time plan: Pontryagin's conditions, checked along the motion.

The motion and its costates are integrated once more, from the start, with nothing of the search
but the initial costates and the switches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from manip_dyn.planning.course import FULL, SAMPLES, Course, refined, refined_arcs
from manip_dyn.planning.efforts import Controls, directions
from manip_dyn.planning.extremal import Extremal
from manip_dyn.planning.switching import Switching
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector

BOUNDARY, HAMILTONIAN, MARGIN, CURVATURE, FORCE = 1e-8, 1e-6, 1e-6, -1e-9, -1e-9
SINGULAR_SWITCHING = 1e-7
NOTHING = 1e-9
"""A switching function below this share of the largest is zero."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """How well a motion meets the necessary conditions for minimum time.

    Attributes:
        costates: Costates (2 n,) at the start, s per unit of the state: what the final time
            loses per unit by which the start is moved.
        jumps: By how much costates jump where a joint leaves or touches a limit of position,
            touches one of speed, comes to it or leaves it smoothly, or efforts take over there.
        boundary: Largest distance from the goal at rest at the end, in the units of the state.
        way: Largest distance of a joint between start and goal, rad or m; with a short one the
            end has to be nearer.
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
        singular_effort: Largest effort over its limit on singular arcs and at limits of position
            or speed, 0 without any.
        singular_switching: Largest switching function there, over the joint's largest.
        limit_arcs: Joint, ``speed`` or ``position``, begin and end (s) of where it is at its
            limit, whichever effort keeps it there; both are the same where it only touches it.
        limit_force: Least multiplier of these limits over the largest one; inf without any. It
            must not be negative (Hartl, Sethi, Vickson 1995, theorem 4.1).
        legendre_clebsch: Least fall of the second rate of the switching function with the effort
            there, times t_final^2 over the largest switching function; inf without any. It has
            to be above 0 (Kelley, Kopp, Moyer 1967).
        times: Sample times (k,), s.
        switching: Switching functions (k, n) there.
        hamiltonians: H (k,) there.
    """

    costates: Vector
    jumps: Vector
    boundary: float
    way: float
    hamiltonian: float
    margin: float
    curvature: float
    singular: tuple[str, ...]
    singular_arcs: tuple[tuple[str, float, float], ...]
    singular_effort: float
    singular_switching: float
    limit_arcs: tuple[tuple[str, str, float, float], ...]
    limit_force: float
    legendre_clebsch: float
    times: Vector = field(repr=False)
    switching: Vector = field(repr=False)
    hamiltonians: Vector = field(repr=False)

    @property
    def failures(self) -> list[str]:
        """What does not hold, one phrase each; empty for a certified motion."""
        found = []
        if not self.boundary <= BOUNDARY * min(1.0, self.way):
            found.append(f"it ends {self.boundary:.1e} from the goal at rest")
        if not self.hamiltonian <= HAMILTONIAN:
            found.append(f"its Hamiltonian reaches {self.hamiltonian:.1e}")
        if self.singular:
            found.append(f"the efforts of {', '.join(self.singular)} are singular")
        if not self.margin >= MARGIN:
            found.append(f"a switching function has the wrong sign (margin {self.margin:.1e})")
        if not self.singular_effort <= FULL:
            found.append(
                f"an effort between limits would be {self.singular_effort:.3g} times its limit"
            )
        if not self.singular_switching <= SINGULAR_SWITCHING:
            found.append(f"S reaches {self.singular_switching:.1e} where it has to be 0")
        if not self.limit_force >= FORCE:
            found.append(f"a limit pulls instead of pushing ({self.limit_force:.1e})")
        if not self.legendre_clebsch > 0.0:
            found.append("a singular arc does not meet the Legendre-Clebsch condition")
        if not self.curvature >= CURVATURE:
            found.append("it is a saddle, not a minimum")
        return found

    @property
    def lack(self) -> float:
        """By how much margin, efforts and multipliers lack what they should be, 0 if nothing."""
        signs = (self.margin, FULL - self.singular_effort, self.limit_force)
        return -sum(min(sign, 0.0) for sign in signs)

    @property
    def holds(self) -> bool:
        """Whether all conditions are met, strictly."""
        return not self.failures


def certificate(robot: Robot, goal: Vector, extremal: Extremal, along: Course) -> Certificate:
    """Return what the samples of a motion say about Pontryagin's conditions."""
    n = robot.n
    end = along.states[-1, : 2 * n] - np.concatenate([goal, np.zeros(n)])
    largest = np.abs(along.switching).max(axis=0)
    singular = largest < NOTHING * largest.max()
    margins = [
        _margin(along, extremal.switching, int(joint), largest[joint])
        for joint in np.flatnonzero(~singular)
    ]
    return Certificate(
        costates=extremal.costate,
        jumps=extremal.jumps,
        boundary=float(np.abs(end).max()),
        way=float(np.abs(goal - along.states[0, :n]).max()),
        hamiltonian=float(np.abs(along.hamiltonians).max()),
        margin=min(margins),
        curvature=extremal.curvature,
        singular=tuple(robot.joint_names[joint] for joint in np.flatnonzero(singular)),
        **_inner_arcs(robot, along, extremal, largest),
        times=along.times,
        switching=along.switching,
        hamiltonians=along.hamiltonians,
    )


def _inner_arcs(robot: Robot, along: Course, extremal: Extremal, largest: Vector) -> dict:
    """Return what there is to say about efforts that lie between their limits."""
    t_final = extremal.switching.t_final
    singular, effort, rest, strength = [], 0.0, 0.0, np.inf
    for place, (begin, end, controls) in enumerate(extremal.switching.arcs()):
        here = along.arcs == place
        for joint in np.flatnonzero([not each.is_full for each in controls]):
            effort = max(effort, float(np.abs(along.shares[here, joint]).max()))
            rest = max(rest, float(np.abs(along.switching[here, joint]).max() / largest[joint]))
            if controls[joint].is_singular:
                singular.append((robot.joint_names[joint], begin, end))
                scale = t_final**2 / largest[joint]
                strength = min(strength, float(along.strengths[here].min() * scale))
    at_limits = list(stays(along, extremal))
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


def stays(along: Course, extremal: Extremal) -> Iterator[tuple[int, str, float, float, Vector]]:
    """Yield joint, ``speed`` or ``position``, begin, end (s) and multipliers of stays at limits.

    The multipliers are those of a limit of speed at the samples, s/rad, or those by which the
    costate of a position drops at the begin, between the samples and at the end.
    """
    switching, n = extremal.switching, along.switching.shape[1]
    jumps = dict(zip(switching.jumps(), extremal.jumps, strict=True))
    arcs = switching.arcs()
    for place, (joint, value) in enumerate(zip(switching.joints, switching.values, strict=True)):
        if value.is_contact:
            at, kind = (3, "speed") if value.is_about_speed else (2, "position")
            drop = -value.direction * jumps[place, at * n + joint]
            yield joint, kind, arcs[place][1], arcs[place][1], np.array([drop])
    for joint in range(n):
        begun, latest = 0, NO_LIMIT
        for place, limit in enumerate([*(_limit(each, joint) for _, _, each in arcs), NO_LIMIT]):
            if limit == latest:
                continue
            kind, side = latest
            if latest != NO_LIMIT:
                here = (along.arcs >= begun) & (along.arcs < place)
                force = side * along.forces[here, joint]
                at = 2 if kind == "position" else 3
                places = [(each, at * n + joint) for each in range(begun - 1, place)]
                drops = [-side * jumps[each] for each in places if each in jumps]
                if kind == "position":
                    last = -drops[-1] if drops else force[-1]
                    force = -np.diff(np.concatenate([[0.0], force, [last]]))
                else:
                    # Where it comes or leaves smoothly, or another effort takes over smoothly,
                    # the costate of the speed drops at once.
                    force = np.append(force, np.array(drops) / switching.t_final)
                yield joint, kind, arcs[begun][0], arcs[place - 1][1], force
            begun, latest = place, limit


NO_LIMIT = ("", 0.0)


def _limit(controls: Controls, joint: int) -> tuple[str, float]:
    """Return the kind and the side of the limit at which a joint is, or `NO_LIMIT`."""
    if controls[joint].is_boundary_arc_of_position:
        return "position", controls[joint].direction
    kept = [each.kept(effort) for effort, each in enumerate(controls)]
    sides = [each[1] for each in kept if each is not None and each[0] == joint]
    return ("speed", sides[0]) if sides else NO_LIMIT


def _margin(along: Course, switching: Switching, joint: int, largest: float) -> float:
    """Return the least switching function of one joint as `Certificate.margin` has it."""
    t_final = switching.t_final
    controls = [each[joint] for _, _, each in switching.arcs()]
    arc_signs = directions(controls)
    times, values = refined(along, joint)
    signs = arc_signs[refined_arcs(along)[:-1]]
    toward = -signs * values[:-1]
    room, least = np.ones(len(toward)), np.inf
    for place, (first, second) in enumerate(pairwise(controls)):
        if first == second:
            continue
        away = np.abs(times[:-1] - switching.times[place]) / t_final
        before, after = arc_signs[place], arc_signs[place + 1]
        is_regular = not (first.is_singular or second.is_singular)
        room = np.minimum(room, away if is_regular else away**2)
        if before * after == -1.0:
            slope = -after * along.slopes[(place + 1) * SAMPLES, joint]
            least = min(least, float(slope * t_final))
    far = (room > 1e-5) & (np.abs(signs) == 1.0)
    return min(least, float((toward[far] / room[far]).min())) / largest
