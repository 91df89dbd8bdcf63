"""Forces between two bodies and their derivatives: scalar force laws, and `UserForce`.

A force f(x, dx/dt, t) that opposes a scalar x(q) with the gradient x_q adds -f x_q to the
generalized forces. Their derivatives follow from the rate of the gradient and the Hessian of x,
which the expression graph provides.

A `UserForce` is a Python function. It is traced once into the expression graph and compiled. The
compiled equations call it by address, so they are not compiled again for each mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import atan2, floor, nan, pi, sqrt
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen import traced_program
from manip_dyn.codegen.backend.statements import Program
from manip_dyn.codegen.rigid_body import vectors as vec
from manip_dyn.codegen.rigid_body.graph import Graph, derivatives
from manip_dyn.core.checks import finite_vector
from manip_dyn.core.compiled import compiled, inlined
from manip_dyn.core.errors import ManipDynError
from manip_dyn.multibody.equations.primitives import (
    INPUTS,
    PLACE_CURVATURE,
    PLACE_RATE,
    PLACE_SLOPE,
    SIZE,
    body_angular_velocity,
    evaluate_kernel,
    kernel_address,
    rotation,
    run_kernel,
    two_bodies,
)
from manip_dyn.multibody.equations.tables import (
    DERIVATIVES,
    FIRST,
    KERNEL,
    LAW,
    ROTATIONAL_SPRING,
    SECOND,
    SPRING,
    TYRE,
    bodies_of,
    forces_of,
    loads_of,
    motion_of,
)

VALUE, BY_POSITION, BY_VELOCITY, BY_TIME = 0, SIZE, SIZE + SIZE**2, SIZE + 2 * SIZE**2
"""Offsets of the generalized force (14,) and its derivatives with respect to position (14, 14),
velocity (14, 14) and time (14,)."""
USER_RESULT = BY_TIME + SIZE


class BodyState(NamedTuple):
    """Motion of a body in global axes, as lists of floats or expressions.

    Attributes:
        position: Centre of mass (3,), m.
        rotation: Rotation matrix (3, 3) from body axes to global axes.
        velocity: Velocity of the centre of mass (3,), m/s.
        angular_velocity: Angular velocity (3,), rad/s.
    """

    position: list[Any]
    rotation: list[list[Any]]
    velocity: list[Any]
    angular_velocity: list[Any]


ForceFunction = Callable[[Any, BodyState, BodyState], tuple[Sequence[Any], Sequence[Any]]]


@dataclass(frozen=True, eq=False)
class UserForce:
    """A force and a moment between two bodies, as a function of time and their motion.

    Attributes:
        bodies: Names of two bodies, or "ground".
        function: ``function(t, first, second)`` of the time (s) and two `BodyState`s. It returns
            the force (3,), N, on the second body at its centre of mass, and the moment (3,), N m,
            both in global axes. The opposite force and moment act on the first body, at the same
            point. The function may use ``+ - * /``, `manip_dyn.codegen.sine` and `cosine`, but no
            conditions.
        name: Name for messages.
    """

    bodies: tuple[str, str]
    function: ForceFunction
    name: str = ""

    def __post_init__(self) -> None:
        """Check the function by tracing it and by evaluating it for two bodies at rest."""
        object.__setattr__(self, "name", self.name or f"user force {'-'.join(self.bodies)}")
        start = [0.1, 0.2, 0.3, 1.0, 0.0, 0.0, 0.0, 0.5, 0.7, 1.1, 0.8, 0.0, 0.6, 0.0]
        self._program(2)
        force = self._checked_generalized(0.0, start, [0.0] * SIZE)
        finite_vector(f"{self.name}, generalized force", [float(f) for f in force], SIZE)

    def generalized(self, t: Any, x: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        """Return the generalized force (14,) for coordinates and rates (14,) of two bodies."""
        first, second = _state(x[:7], v[:7]), _state(x[7:], v[7:])
        force, moment = (list(vector) for vector in self.function(t, first, second))
        arm = vec.subtract(second.position, first.position)
        back = vec.scale(-1.0, vec.add(moment, vec.cross(arm, force)))
        return [
            *vec.scale(-1.0, force),
            *_turning_force(x[3:7], first.rotation, back),
            *force,
            *_turning_force(x[10:14], second.rotation, moment),
        ]

    @property
    def depends_on_place(self) -> bool:
        """Whether the force depends on time, position or orientation, not only on velocities."""
        first, second = (
            BodyState([nan] * 3, [[nan] * 3] * 3, [v, 0.7, 1.1], [0.8, v, 0.6]) for v in (0.5, 0.3)
        )
        try:
            force, moment = self.function(nan, first, second)
        except ArithmeticError:  # such as a division by the difference of equal velocities
            return True
        return not bool(np.isfinite([*force, *moment]).all())

    def addresses(self) -> tuple[int, int]:
        """Return the addresses of the compiled force, without and with its derivatives."""
        first, second = (kernel_address(program) for program in self._programs)
        return first, second

    def evaluated(self, t: float, x: Any, v: Any) -> np.ndarray:
        """Return the compiled force and its derivatives (420,), with offsets as in `VALUE`."""
        positions, velocities = (np.array(values, dtype=np.float64) for values in (x, v))
        out = np.zeros(USER_RESULT)
        evaluate_kernel(
            self.addresses()[1], positions, velocities, velocities, np.array([float(t)]), out
        )
        return out

    @cached_property
    def _programs(self) -> list[Program]:
        return [self._program(order) for order in (1, 2)]

    def _checked_generalized(self, t: Any, x: list[Any], v: list[Any]) -> list[Any]:
        try:
            return self.generalized(t, x, v)
        except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
            raise ManipDynError(
                f"{self.name} must be a function(t, first, second) that returns a force (3,) and "
                f"a moment (3,) built from + - * /, sine and cosine, got an error: {error}."
            ) from error

    def _program(self, order: int) -> Program:
        graph = Graph()
        t, x, v = graph.input("r[0]"), two_bodies(graph, "q"), two_bodies(graph, "v")
        force = [graph.lift(entry) for entry in self._checked_generalized(t, x, v)]
        results = list(force)
        if order > 1:
            for inputs in (x, v, [t]):
                results += [entry for row in derivatives(force, inputs) for entry in row]
        return traced_program(f"force_{order}", INPUTS, graph, results)


def _state(x: Sequence[Any], v: Sequence[Any]) -> BodyState:
    turn = rotation(x[3:])
    return BodyState(
        list(x[:3]), turn, list(v[:3]), vec.times(turn, body_angular_velocity(x[3:], v[3:]))
    )


def _turning_force(e: Sequence[Any], turn: vec.Matrix3, moment: Sequence[Any]) -> list[Any]:
    """Return the generalized force (4,) of a global moment (3,), Haug (1989), eq. 11.3.4."""
    w, x, y, z = e
    a, b, c = vec.times(vec.transposed(turn), moment)
    return [
        2.0 * entry
        for entry in (
            -x * a - y * b - z * c,
            w * a - z * b + y * c,
            z * a + w * b - x * c,
            -y * a + x * b + w * c,
        )
    ]


RADIUS, HEIGHT, SPEED, CONTACT_TIME = 4, 5, 6, 7
"""Indices of the radii of wheel and bump, m, the speed, m/s, and the contact time, s."""


@inlined
def bump_height(c, t):
    """Return the lift of a wheel that rolls over a bump, and its first two time derivatives.

    The centre of a rigid wheel of radius R on a half-cylinder of radius r moves on a circle of
    radius R + r. This motion starts where the wheel on the road first touches the half-cylinder.

    Args:
        c: Constants of the tyre (8,).
        t: Time, s.
    """
    reach = c[RADIUS] + c[HEIGHT]
    half = sqrt(reach * reach - c[RADIUS] * c[RADIUS])
    x = (t - c[CONTACT_TIME]) * c[SPEED] - half
    if not abs(x) < half:
        return 0.0, 0.0, 0.0
    up = sqrt(reach * reach - x * x)
    slope = -x / up
    bend = -(1.0 + slope * slope) / up
    return up - c[RADIUS], slope * c[SPEED], bend * c[SPEED] * c[SPEED]


@inlined
def force_law(kind, c, t, x, rate):
    """Return the force that opposes x, and its derivatives with respect to x, `rate` and `t`.

    `rate` is dx/dt. `c` (8,) contains the stiffness, the damping, the force-free x or length, the
    constant force, and the constants of the road.
    """
    if kind == SPRING:  # x is the squared length
        length = sqrt(x)
        pull = c[0] * (length - c[2]) + c[1] * rate / (2.0 * length) + c[3]
        by_x = c[0] / (2.0 * length) - c[1] * rate / (4.0 * x * length)
        return (
            pull / (2.0 * length),
            by_x / (2.0 * length) - pull / (4.0 * x * length),
            c[1] / (4.0 * x),
            0.0,
        )
    if kind == TYRE:
        road, slope, bend = bump_height(c, t)
        push = c[0] * (x - c[2] - road) + c[1] * (rate - slope) + c[3]
        return push, c[0], c[1], -c[0] * slope - c[1] * bend
    return c[0] * x + c[1] * rate + c[3], c[0], c[1], 0.0


@inlined
def nearest_turn(angle, last):
    """Return the angle shifted by full turns to within half a turn of the previous one."""
    return angle + 2.0 * pi * floor((last - angle) / (2.0 * pi) + 0.5)


@compiled(short=True, python=False, counted=False)
def count_turns(p):
    """Update the angles of all rotational springs at the current positions, with full turns."""
    forces, motion = forces_of(p), motion_of(p)
    rows, numbers, angles = forces.rows, forces.numbers, forces.angles
    q, along, across = motion.q, motion.result, motion.across
    for k in range(rows.shape[0]):
        if rows[k, LAW] == ROTATIONAL_SPRING:
            kernel, first, second = rows[k, KERNEL], rows[k, FIRST], rows[k, SECOND]
            run_kernel(kernel, q, q, q, first, second, numbers, 24 * k, along)
            run_kernel(kernel, q, q, q, first, second, numbers, 24 * k + 12, across)
            angles[k] = nearest_turn(atan2(across[0], along[0]), angles[k])


@compiled(short=True, python=False, counted=False)
def convert_to_angle(along, across, last, v, row, order):
    """Convert the kernel results of two dot products to an angle, and return its rate.

    The angle is atan2 of the components of a direction of body j along and across a direction of
    body i. It is shifted by full turns to the value nearest to `last`.

    Args:
        along: Kernel result of the first product; replaced with the angle, its gradient, the rate
            of the gradient and, with DERIVATIVES, the Hessian.
        across: Kernel result of the second product.
        last: Previous angle, rad.
        v: Velocities of all bodies.
        row: Row (6,) of the force.
        order: VALUES or DERIVATIVES.
    """
    c, s = along[0], across[0]
    size = c * c + s * s
    turn, c_rate, s_rate = nearest_turn(atan2(s, c), last), 0.0, 0.0
    for i in range(SIZE):
        speed = v[row[FIRST + i // 7] + i % 7]
        c_rate += along[PLACE_SLOPE + i] * speed
        s_rate += across[PLACE_SLOPE + i] * speed
    rate = (c * s_rate - s * c_rate) / size
    growth = 2.0 * (c * c_rate + s * s_rate) / size
    if order == DERIVATIVES:
        for i in range(SIZE):
            c_i, s_i = along[PLACE_SLOPE + i], across[PLACE_SLOPE + i]
            for j in range(SIZE):
                entry = PLACE_CURVATURE + SIZE * i + j
                c_j, s_j = along[PLACE_SLOPE + j], across[PLACE_SLOPE + j]
                bent = c_j * s_i - s_j * c_i + c * across[entry] - s * along[entry]
                bent -= (c * s_i - s * c_i) * 2.0 * (c * c_j + s * s_j) / size
                along[entry] = bent / size
    for i in range(SIZE):
        c_i, s_i = along[PLACE_SLOPE + i], across[PLACE_SLOPE + i]
        c_i_rate, s_i_rate = along[PLACE_RATE + i], across[PLACE_RATE + i]
        slope = (c * s_i - s * c_i) / size
        bent = c_rate * s_i - s_rate * c_i + c * s_i_rate - s * c_i_rate
        along[PLACE_SLOPE + i] = slope
        along[PLACE_RATE + i] = bent / size - slope * growth
    along[0] = turn
    return rate


@compiled(short=True, python=False, counted=False)
def add_user_forces(t, p, order):
    """Add the user forces and, if `order` is DERIVATIVES, their derivatives."""
    forces, motion, loads = forces_of(p), motion_of(p), loads_of(p)
    rows, time, q, v, result = forces.user_rows, forces.time, motion.q, motion.v, motion.result
    force, by_time = loads.force, loads.by_time
    stiffness, damping = loads.stiffness, loads.damping
    size = force.shape[0]
    time[0] = t
    for k in range(rows.shape[0]):
        row = rows[k]
        run_kernel(row[KERNEL + order], q, v, v, row[FIRST], row[SECOND], time, 0, result)
        for i in range(SIZE):
            index = row[FIRST + i // 7] + i % 7
            if index >= size:
                continue
            force[index] += result[i]
            if order < DERIVATIVES:
                continue
            by_time[index] += result[BY_TIME + i]
            for j in range(SIZE):
                column = row[FIRST + j // 7] + j % 7
                if column < size:
                    stiffness[index, column] -= result[BY_POSITION + SIZE * i + j]
                    damping[index, column] -= result[BY_VELOCITY + SIZE * i + j]


@compiled(short=True, python=False, counted=False)
def add_forces(t, p, order):
    """Add gravity and all forces and, if `order` is DERIVATIVES, their derivatives."""
    add_user_forces(t, p, order)
    forces, motion, loads, bodies = forces_of(p), motion_of(p), loads_of(p), bodies_of(p)
    rows, numbers, constants = forces.rows, forces.numbers, forces.constants
    angles, q, v, a = forces.angles, motion.q, motion.v, motion.a
    result, across = motion.result, motion.across
    force, by_time = loads.force, loads.by_time
    stiffness, damping = loads.stiffness, loads.damping
    mass, gravity, size = bodies.mass, bodies.gravity, force.shape[0]
    for b in range(mass.shape[0]):
        for i in range(gravity.shape[0]):
            force[7 * b + i] += mass[b] * gravity[i]
    for k in range(rows.shape[0]):
        row = rows[k]
        kernel, first, second = row[KERNEL + order], row[FIRST], row[SECOND]
        run_kernel(kernel, q, v, a, first, second, numbers, 24 * k, result)
        rate = 0.0
        if row[LAW] == ROTATIONAL_SPRING:
            run_kernel(kernel, q, v, a, first, second, numbers, 24 * k + 12, across)
            rate = convert_to_angle(result, across, angles[k], v, row, order)
        else:
            for i in range(SIZE):
                rate += result[PLACE_SLOPE + i] * v[row[FIRST + i // 7] + i % 7]
        f, by_x, by_rate, by_t = force_law(row[LAW], constants[k], t, result[0], rate)
        for i in range(SIZE):
            index, slope = row[FIRST + i // 7] + i % 7, result[PLACE_SLOPE + i]
            if index >= size:
                continue
            force[index] -= f * slope
            if order < DERIVATIVES:
                continue
            by_time[index] -= by_t * slope
            for j in range(SIZE):
                column, slope_j = row[FIRST + j // 7] + j % 7, result[PLACE_SLOPE + j]
                if column >= size:
                    continue
                bent = by_x * slope_j + by_rate * result[PLACE_RATE + j]
                bent = slope * bent + f * result[PLACE_CURVATURE + SIZE * i + j]
                stiffness[index, column] += bent
                damping[index, column] += by_rate * slope * slope_j
