"""What joints and forces are made of: scalar functions of two bodies, and their derivatives.

A body is where its centre of mass is, p (3,), and how it is turned, Euler parameters e (4,). A
primitive is a function of the coordinates x = (p_i, e_i, p_j, e_j) (14,) of two bodies and of
r = (a_i, a_j, s_i, s_j) (12,): directions and points fixed to them, in their axes. The four of
Haug, Computer-aided kinematics and dynamics of mechanical systems (1989), chapter 9, are written
once over the expression graph, which gives their derivatives up to order 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from manip_dyn.codegen import vectors as vec
from manip_dyn.codegen.derivatives import derivatives, gradient, rates
from manip_dyn.codegen.emit import module_text
from manip_dyn.codegen.expression import Graph, Scalar
from manip_dyn.codegen.trace import Declaration, Function
from manip_dyn.core.generated import generated_module, source_of

SIZE = 14
"""Coordinates of two bodies."""
PLACE_SLOPE, PLACE_RATE, PLACE_SECOND, PLACE_CURVATURE = 1, 15, 29, 43
"""Where gradient, rate of the gradient, its second rate and the Hessian begin in a result."""
RESULT = PLACE_CURVATURE + SIZE * SIZE


def rotation(e: Sequence[Any]) -> vec.Matrix3:
    """Return the matrix (3, 3) that turns body axes to global ones, quadratic in e (4,)."""
    w, x, y, z = e
    return [
        [w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]


def turning(e: Sequence[Any], rate: Sequence[Any]) -> vec.Vector3:
    """Return the angular velocity 2 G(e) e' (3,) in body axes, Haug (1989), eq. 9.3.35."""
    w, x, y, z = e
    rows = [[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]]
    return [2.0 * vec.dot(row, rate) for row in rows]


def _direction(x: Sequence[Any], r: Sequence[Any], body: int) -> vec.Vector3:
    return vec.times(rotation(x[7 * body + 3 : 7 * body + 7]), r[3 * body : 3 * body + 3])


def _point(x: Sequence[Any], r: Sequence[Any], body: int) -> vec.Vector3:
    turned = vec.times(rotation(x[7 * body + 3 : 7 * body + 7]), r[6 + 3 * body : 9 + 3 * body])
    return vec.add(x[7 * body : 7 * body + 3], turned)


def _offset(x: Sequence[Any], r: Sequence[Any]) -> vec.Vector3:
    return vec.subtract(_point(x, r, 1), _point(x, r, 0))


def dot_1(x: Sequence[Any], r: Sequence[Any]) -> Any:
    """Return a_i . a_j."""
    return vec.dot(_direction(x, r, 0), _direction(x, r, 1))


def dot_2(x: Sequence[Any], r: Sequence[Any]) -> Any:
    """Return a_i . (P_j - P_i)."""
    return vec.dot(_direction(x, r, 0), _offset(x, r))


def point(x: Sequence[Any], r: Sequence[Any]) -> Any:
    """Return a component of P_j - P_i along the global direction a_i."""
    return vec.dot(r[:3], _offset(x, r))


def distance(x: Sequence[Any], r: Sequence[Any]) -> Any:
    """Return the square of the distance from P_i to P_j."""
    offset = _offset(x, r)
    return vec.dot(offset, offset)


def norm(x: Sequence[Any], r: Sequence[Any]) -> Any:
    """Return half the square of the norm of e_i."""
    return 0.5 * vec.dot(x[3:7], x[3:7])


PRIMITIVES: tuple[Callable[..., Any], ...] = (dot_1, dot_2, point, distance, norm)
DOT_1, DOT_2, POINT, DISTANCE, NORM = range(len(PRIMITIVES))


@cache
def kernels() -> ModuleType:
    """Return the compiled primitives and the inertia, generated once for all mechanisms.

    ``NAME_0(x, r, out)`` writes value and gradient (15,), ``NAME_1(x, v, r, out)`` the rate of
    the gradient at the velocities v (14,) too (29,), and ``NAME_2(x, v, a, r, out)`` (239,) also
    the gradient of phi'' at fixed velocities and accelerations a (14,) and the Hessian (14, 14).
    ``inertia(e, v, a, j, out)`` writes the inertial generalized force (4,) of a turning body with
    the inertia j (6,), and its derivatives (4, 4) by e, v and a.
    """
    here = Path(__file__)
    content = here.read_bytes() + source_of(here.parents[1] / "codegen")
    return generated_module("multibody", content, _text)


def _text() -> str:
    functions = [_traced(each, order) for each in PRIMITIVES for order in range(3)]
    return module_text("bodies", [*functions, _traced_inertia()])


def _traced(primitive: Callable[..., Any], order: int) -> Function:
    arguments = ("x", "v", "a")[: order + 1]
    graph = Graph()
    x, *motion = (_inputs(graph, name, SIZE) for name in arguments)
    value = graph.lift(primitive(x, _inputs(graph, "r", 12)))
    slope = gradient(value, x)
    results = [value, *slope]
    if order > 0:
        speed = vec.dot(slope, motion[0])
        results += gradient(speed, x)
    if order > 1:
        acceleration = rates([speed], x, motion[0])[0] + vec.dot(slope, motion[1])
        results += gradient(acceleration, x)
        results += [each for row in derivatives(slope, x) for each in row]
    return traced_function(f"{primitive.__name__}_{order}", (*arguments, "r"), graph, results)


def _traced_inertia() -> Function:
    """Return d/dt dT/de' - dT/de by Lagrange, with T the energy of turning."""
    graph = Graph()
    e, v, a, j = (_inputs(graph, name, 4 if name != "j" else 6) for name in ("e", "v", "a", "j"))
    omega = turning(e, v)
    xx, yy, zz, xy, xz, yz = j
    energy = 0.5 * vec.dot(omega, vec.times([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], omega))
    momentum = gradient(energy, v)
    force = vec.subtract(rates(momentum, [*e, *v], [*v, *a]), gradient(energy, e))
    results = [*force]
    for inputs in (e, v, a):
        results += [each for row in derivatives(force, inputs) for each in row]
    return traced_function("inertia", ("e", "v", "a", "j"), graph, results)


def _inputs(graph: Graph, name: str, size: int) -> list[Scalar]:
    return [graph.input(f"{name}[{i}]") for i in range(size)]


def traced_function(
    name: str, arguments: tuple[str, ...], graph: Graph, results: list
) -> Function:
    """Return a function of arrays that writes the results into ``out``."""
    values = [graph.lift(each) for each in results]
    declaration = Declaration(name, "multibody", arguments, lambda n: (len(values),))
    return Function(
        declaration, graph, (len(values),), [((k,), value) for k, value in enumerate(values)]
    )
