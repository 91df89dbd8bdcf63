"""Primitives of joints and forces (scalar functions of two bodies) and their kernels.

The coordinates of a body are its centre of mass p (3,) and its Euler parameters e (4,). A
primitive is a function of x and r. The coordinates of two bodies are x = (p_i, e_i, p_j, e_j)
(14,). Directions and points that are fixed to the bodies are r = (a_i, a_j, s_i, s_j) (12,), in
body axes. The four primitives of Haug, Computer-aided kinematics and dynamics of mechanical
systems (1989), chapter 9, and the norm of Euler parameters are defined once over the expression
graph, which provides their derivatives up to order 3.

A kernel evaluates a primitive with its derivatives. It reads positions, velocities and
accelerations of two bodies, q_i, q_j, v_i, v_j, a_i, a_j (7,) each, and numbers r, and writes
``out``. Its callers use its address, so they are compiled once for all kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from manip_dyn import codegen
from manip_dyn.codegen.backend.statements import Program
from manip_dyn.codegen.backend.straight_line import one_state_at, plain_one_state
from manip_dyn.codegen.rigid_body import vectors as vec
from manip_dyn.codegen.rigid_body.graph import Graph, Scalar, derivatives, gradient, rates
from manip_dyn.core.arrays import address_for, array_pointer, emit_call
from manip_dyn.core.cache import generated_module, source_of
from manip_dyn.core.compiled import PLAIN, compiled

INPUTS = "q_i", "q_j", "v_i", "v_j", "a_i", "a_j", "r"
"""Arguments of a kernel: pointers to the arrays of two bodies, and to its numbers."""
_KINDS = (types.CPointer(types.float64),) * (len(INPUTS) + 1)
_python_kernels: list[Callable[..., None]] = []
"""Kernels in plain Python. If the compiler is disabled, their indices serve as addresses."""


@cache
def kernel_address(program: Program) -> int:
    """Compile a program on first use; return its machine-code address for `run_kernel`.

    If the compiler is disabled, return the index of a Python function instead.
    """
    if PLAIN:
        _python_kernels.append(plain_one_state(program))
        return len(_python_kernels) - 1
    return address_for(pointer_kernel(program), _KINDS)


def pointer_kernel(program: Program) -> Any:
    """Return the compiled function of a program; its arguments are pointers."""
    run = one_state_at(program, (1,))

    @compiled(python=False, counted=False)
    def kernel(q_i, q_j, v_i, v_j, a_i, a_j, r, out):
        run((q_i, q_j, v_i, v_j, a_i, a_j, r), out)

    return kernel


@intrinsic
def _run_kernel(_context, address, q, v, a, first, second, numbers, offset, out):
    for array in (q, v, a, numbers, out):
        contiguous = isinstance(array, types.Array) and array.layout == "C"
        if not (contiguous and array.dtype == types.float64):
            raise TypingError(f"Kernel arrays must be C-contiguous float64, got {array}.")
    for integer in (address, first, second, offset):
        if not isinstance(integer, types.Integer):
            raise TypingError(f"Kernel addresses and offsets must be integers, got {integer}.")

    def generate(context, builder, signature, values):
        def pointer(array, start=None):
            kind = signature.args[array]
            data = array_pointer(context, builder, kind, values[array])
            if start is None:
                return data
            value = context.cast(builder, values[start], signature.args[start], types.intp)
            return builder.gep(data, [value])

        bodies = [pointer(array, start) for array in (1, 2, 3) for start in (4, 5)]
        parts = [*bodies, pointer(6, 7), pointer(8)]
        return emit_call(context, builder, values[0], types.none, _KINDS, parts)

    return types.void(address, q, v, a, first, second, numbers, offset, out), generate


def _run_python_kernel(address, q, v, a, first, second, numbers, offset, out):
    bodies = [array[start:] for array in (q, v, a) for start in (first, second)]
    _python_kernels[address]([*bodies, numbers.reshape(-1)[offset:]], out)


run_kernel: Any = _run_python_kernel if PLAIN else _run_kernel
"""``run_kernel(address, q, v, a, first, second, numbers, offset, out)``: run a kernel. The
coordinates of the two bodies start at the indices `first` and `second` of q, v and a, and the
numbers r of the kernel at `offset` in the memory of `numbers`."""


@compiled(short=True, counted=False)
def evaluate_kernel(address, x, v, a, r, out):
    """Write the result of a kernel for coordinates x, rates v and a (14,), and r into `out`."""
    run_kernel(address, x, v, a, 0, 7, r, 0, out)


HEADER = '''"""Programs about two bodies. Written by manip_dyn.multibody; do not edit."""

from manip_dyn.codegen.backend.statements import Program
'''
ENTRY = '''
{name} = Program("{name}", {inputs}, 1, """
{text}
""")
'''

SIZE = 14
"""Number of coordinates of two bodies."""
PLACE_SLOPE, PLACE_RATE, PLACE_SECOND, PLACE_CURVATURE = 1, 15, 29, 43
"""Offsets of the gradient, its first and second rate, and the Hessian in a result."""
RESULT = PLACE_CURVATURE + SIZE * SIZE
INERTIA_BY_A, INERTIA_BY_E, INERTIA_BY_V = 4, 20, 36
"""Offsets of the derivatives of a body's inertial force in a result."""


def rotation(e: Sequence[Any]) -> vec.Matrix3:
    """Return the rotation matrix (3, 3) from body to global axes, quadratic in e (4,)."""
    w, x, y, z = e
    return [
        [w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]


def body_angular_velocity(e: Sequence[Any], rate: Sequence[Any]) -> vec.Vector3:
    """Return the angular velocity 2 G(e) de/dt (3,), rad/s, in body axes, Haug (1989), eq. 9.3.35.

    `rate` is de/dt (4,), 1/s.
    """
    w, x, y, z = e
    rows = [[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]]
    return [2.0 * vec.dot(row, rate) for row in rows]


def _direction(x: Sequence[Any], r: Sequence[Any], body: int) -> vec.Vector3:
    return vec.times(rotation(x[7 * body + 3 : 7 * body + 7]), r[3 * body : 3 * body + 3])


def _point(x: Sequence[Any], r: Sequence[Any], body: int) -> vec.Vector3:
    lever = vec.times(rotation(x[7 * body + 3 : 7 * body + 7]), r[6 + 3 * body : 9 + 3 * body])
    return vec.add(x[7 * body : 7 * body + 3], lever)


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
    """Return the squared distance from P_i to P_j."""
    offset = _offset(x, r)
    return vec.dot(offset, offset)


def norm(x: Sequence[Any], r: Sequence[Any]) -> Any:
    """Return half the squared norm of e_i."""
    return 0.5 * vec.dot(x[3:7], x[3:7])


PRIMITIVES: tuple[Callable[..., Any], ...] = (dot_1, dot_2, point, distance, norm)
DOT_1, DOT_2, POINT, DISTANCE, NORM = range(len(PRIMITIVES))


ORDERS = 3
"""Number of kernels of a primitive."""


@cache
def kernel_addresses(kind: int) -> tuple[int, int, int]:
    """Return the addresses of a primitive's kernels of order 0, 1 and 2 for `run_kernel`.

    Order 0 writes the value and the gradient, 15 numbers. Order 1 (29 numbers) adds the rate of
    the gradient at the velocities. Order 2 (239 numbers) adds the gradient of the second rate of
    the primitive at fixed velocities and accelerations, and the Hessian (14, 14).
    """
    first, second, third = (primitive_address(kind, order) for order in range(ORDERS))
    return first, second, third


def primitive_address(kind: int, order: int) -> int:
    """Return the address of one kernel of a primitive, without compiling the others."""
    return kernel_address(getattr(generated_programs(), f"{PRIMITIVES[kind].__name__}_{order}"))


@cache
def inertia_addresses() -> tuple[int, int]:
    """Return the addresses of the kernels for the rotational inertia of a body.

    The first kernel writes the inertial generalized force (4,) at zero acceleration and its
    derivatives (4, 4) with respect to the acceleration. The second writes the force at an
    acceleration and its derivatives with respect to acceleration, e and v. The numbers r of both
    kernels are the moments of inertia (6,).
    """
    return kernel_address(generated_programs().inertia_1), kernel_address(
        generated_programs().inertia_2
    )


@cache
def generated_programs() -> ModuleType:
    """Return the programs of primitives and inertia, generated once for all mechanisms."""
    generator = source_of(Path(codegen.__file__).parent)
    content = Path(__file__).read_bytes() + generator
    return generated_module("multibody", content, _module_source)


def _module_source() -> str:
    programs = [_primitive_program(item, order) for item in PRIMITIVES for order in range(ORDERS)]
    programs += [_inertia_program(order) for order in (1, 2)]
    return HEADER + "".join(
        ENTRY.format(
            name=item.name, inputs=item.inputs, dimensions=item.dimensions, text=item.text
        )
        for item in programs
    )


def _primitive_program(primitive: Callable[..., Any], order: int) -> Program:
    graph = Graph()
    x, *motion = (two_bodies(graph, name) for name in "qva"[: order + 1])
    value = graph.lift(primitive(x, [graph.input(f"r[{i}]") for i in range(12)]))
    slope = gradient(value, x)
    results = [value, *slope]
    if order > 0:
        speed = vec.dot(slope, motion[0])
        results += gradient(speed, x)
    if order > 1:
        acceleration = rates([speed], x, motion[0])[0] + vec.dot(slope, motion[1])
        results += gradient(acceleration, x)
        results += [entry for row in derivatives(slope, x) for entry in row]
    return codegen.traced_program(f"{primitive.__name__}_{order}", INPUTS, graph, results)


def _inertia_program(order: int) -> Program:
    """Return the program of the inertial force d/dt dT/de' - dT/de; T is the rotational energy."""
    graph = Graph()
    e, v, a = ([graph.input(f"{name}_i[{i}]") for i in range(3, 7)] for name in "qva")
    omega = body_angular_velocity(e, v)
    xx, yy, zz, xy, xz, yz = (graph.input(f"r[{i}]") for i in range(6))
    energy = 0.5 * vec.dot(omega, vec.times([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], omega))
    momentum = gradient(energy, v)
    acceleration = a if order > 1 else [graph.lift(0.0)] * 4
    force = vec.subtract(rates(momentum, [*e, *v], [*v, *acceleration]), gradient(energy, e))
    results = [*force, *(entry for row in derivatives(momentum, v) for entry in row)]
    if order > 1:
        for inputs in (e, v):
            results += [entry for row in derivatives(force, inputs) for entry in row]
    return codegen.traced_program(f"inertia_{order}", INPUTS, graph, results)


def two_bodies(graph: Graph, name: str) -> list[Scalar]:
    """Return the inputs (14,) of two bodies: positions, velocities or accelerations.

    `name` is "q", "v" or "a".
    """
    return [graph.input(f"{name}_{body}[{i}]") for body in "ij" for i in range(SIZE // 2)]
