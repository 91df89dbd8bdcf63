"""`UserForce`: a force written in Python, whose derivatives the expression graph gives.

The function runs once, over the graph, and becomes machine code that the compiled equations call
by its address: no mechanism compiles them anew for a force of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen.backend.statements import Program
from manip_dyn.codegen.rigid_body import vectors as vec
from manip_dyn.codegen.rigid_body.graph import Graph, derivatives
from manip_dyn.core.checks import finite_vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.multibody.kernels.kernel import evaluate, kernel_address
from manip_dyn.multibody.kernels.primitives import (
    SIZE,
    rotation,
    traced_program,
    turning,
    two_bodies,
)

VALUE, BY_POSITION, BY_VELOCITY, BY_TIME = 0, SIZE, SIZE + SIZE**2, SIZE + 2 * SIZE**2
"""Where the generalized force (14,) and its derivatives, (14, 14) twice and (14,), begin."""
USER_RESULT = BY_TIME + SIZE


class BodyState(NamedTuple):
    """How a body moves, in global axes; plain lists of floats or of expressions.

    Attributes:
        position: Of the centre of mass (3,), m.
        rotation: From body axes to global ones (3, 3).
        velocity: Of the centre of mass (3,), m/s.
        angular_velocity: (3,), rad/s.
    """

    position: list[Any]
    rotation: list[list[Any]]
    velocity: list[Any]
    angular_velocity: list[Any]


Law = Callable[[Any, BodyState, BodyState], tuple[Sequence[Any], Sequence[Any]]]


@dataclass(frozen=True, eq=False)
class UserForce:
    """A force and a moment between two bodies by a function of time and their motion.

    Attributes:
        bodies: Names of two bodies, or "ground".
        function: ``function(t, first, second)`` of the time, s, and two `BodyState` that returns
            the force (3,), N, on the second body at its centre of mass, and the moment (3,), N m,
            both in global axes. The opposite acts on the first body, at the same place. It is
            made of ``+ - * /``, `codegen.graph.expression.sine` and `cosine`; no conditions.
        name: For messages.
    """

    bodies: tuple[str, str]
    function: Law
    name: str = ""

    def __post_init__(self) -> None:
        """Try the function on two bodies at rest."""
        object.__setattr__(self, "name", self.name or f"user force {'-'.join(self.bodies)}")
        start = [0.1, 0.2, 0.3, 1.0, 0.0, 0.0, 0.0, 0.5, 0.7, 1.1, 0.8, 0.0, 0.6, 0.0]
        self._program(2)
        found = self._called(0.0, start, [0.0] * SIZE)
        finite_vector(f"{self.name}, generalized force", [float(each) for each in found], SIZE)

    def generalized(self, t: Any, x: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        """Return the generalized force (14,) of two bodies' coordinates and rates (14,)."""
        first, second = _state(x[:7], v[:7]), _state(x[7:], v[7:])
        force, moment = (list(each) for each in self.function(t, first, second))
        arm = vec.subtract(second.position, first.position)
        back = vec.scale(-1.0, vec.add(moment, vec.cross(arm, force)))
        return [
            *vec.scale(-1.0, force),
            *_turning_force(x[3:7], first.rotation, back),
            *force,
            *_turning_force(x[10:14], second.rotation, moment),
        ]

    def addresses(self) -> tuple[int, int]:
        """Return where the machine code of the force, and of it with its derivatives, is."""
        first, second = (kernel_address(each) for each in self._programs)
        return first, second

    def evaluated(self, t: float, x: Any, v: Any) -> np.ndarray:
        """Return the compiled force and its derivatives (420,), see `VALUE` and the rest."""
        positions, velocities = (np.array(each, dtype=np.float64) for each in (x, v))
        out = np.zeros(USER_RESULT)
        evaluate(self.addresses()[1], positions, velocities, velocities, np.array([float(t)]), out)
        return out

    @cached_property
    def _programs(self) -> list[Program]:
        return [self._program(order) for order in (1, 2)]

    def _called(self, t: Any, x: list[Any], v: list[Any]) -> list[Any]:
        try:
            return self.generalized(t, x, v)
        except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
            raise ManipDynError(
                f"{self.name} cannot be evaluated ({error}); expected function(t, first, second) "
                "that returns a force (3,) and a moment (3,) made of + - * /, sine and cosine"
            ) from error

    def _program(self, order: int) -> Program:
        graph = Graph()
        t, x, v = graph.input("r[0]"), two_bodies(graph, "q"), two_bodies(graph, "v")
        force = [graph.lift(each) for each in self._called(t, x, v)]
        results = list(force)
        if order > 1:
            for inputs in (x, v, [t]):
                results += [each for row in derivatives(force, inputs) for each in row]
        return traced_program(f"force_{order}", graph, results)


def _state(x: Sequence[Any], v: Sequence[Any]) -> BodyState:
    turn = rotation(x[3:])
    return BodyState(list(x[:3]), turn, list(v[:3]), vec.times(turn, turning(x[3:], v[3:])))


def _turning_force(e: Sequence[Any], turn: vec.Matrix3, moment: Sequence[Any]) -> list[Any]:
    """Return 2 G^T times a global moment (3,) in body axes, Haug (1989), eq. 11.3.4."""
    w, x, y, z = e
    a, b, c = vec.times(vec.transposed(turn), moment)
    return [
        2.0 * each
        for each in (
            -x * a - y * b - z * c,
            w * a - z * b + y * c,
            z * a + w * b - x * c,
            -y * a + x * b + w * c,
        )
    ]
