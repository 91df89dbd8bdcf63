"""The robot's equations as expression graphs: one `Function` per kernel."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from manip_dyn.codegen import algorithms, motion, vectors
from manip_dyn.codegen.derivatives import jacobian, substitute
from manip_dyn.codegen.expression import Graph, Scalar
from manip_dyn.robot import Robot

Entry = tuple[tuple[int, ...], Scalar]
"""Where a value goes in the output array, and the value."""


class Function(NamedTuple):
    """A kernel: its name, the array arguments (n,), its graph, shape and entries of the output."""

    name: str
    arguments: tuple[str, ...]
    graph: Graph
    shape: tuple[int, ...]
    entries: list[Entry]

    @property
    def outputs(self) -> list[Scalar]:
        """The values alone."""
        return [value for _, value in self.entries]


def trace_kernels(robot: Robot) -> list[Function]:
    """Run the algorithms over expressions and return the robot's functions."""
    n = robot.n
    return [
        _function("forward_dynamics", ("q", "v", "tau"), (n,), robot, _forward_dynamics),
        _function("inverse_dynamics", ("q", "v", "a"), (n,), robot, _inverse_dynamics),
        _function("mass_matrix", ("q",), (n, n), robot, _mass_matrix),
        _function("forward_kinematics", ("q",), (4, 4), robot, _forward_kinematics),
        _function("jacobian", ("q",), (6, n), robot, _jacobian),
        _function("energy", ("q", "v"), (2,), robot, _energy),
    ]


def trace_derivatives(robot: Robot) -> list[Function]:
    """Return the function of the forward dynamics' derivatives.

    Its output (3, n, n) holds the derivatives of the accelerations by q, v and tau.
    """
    n = robot.n
    shape = (3, n, n)
    return [
        _function("forward_dynamics_derivatives", ("q", "v", "tau"), shape, robot, _derivatives)
    ]


def _function(
    name: str,
    arguments: tuple[str, ...],
    shape: tuple[int, ...],
    robot: Robot,
    algorithm: Callable[..., Any],
) -> Function:
    graph = Graph()
    inputs = [[graph.input(f"{each}[{i}]") for i in range(robot.n)] for each in arguments]
    result = algorithm(robot, *inputs)
    places = list(itertools.product(*map(range, shape)))
    values = result
    for _ in shape[1:]:
        values = [value for row in values for value in row]
    lifted = [_as_scalar(graph, value) for value in values]
    return Function(name, arguments, graph, shape, list(zip(places, lifted, strict=True)))


def _as_scalar(graph: Graph, value: Any) -> Scalar:
    return value if isinstance(value, Scalar) else graph.constant(float(value))


def _passive(robot: Robot, q: list, v: list) -> list:
    """Return the efforts of dampers and springs."""
    return [
        -(robot.damping[i] * v[i]) - robot.stiffness[i] * (q[i] - robot.rest[i])
        for i in range(robot.n)
    ]


def _forward_dynamics(robot: Robot, q: list, v: list, tau: list) -> list:
    poses = motion.joint_poses(robot.bodies, q)
    resting = [0.0 * each for each in v]
    gravity = robot.gravity.tolist()
    bias = algorithms.inverse_dynamics(robot.bodies, poses, v, resting, gravity)
    passive = _passive(robot, q, v)
    efforts = [tau[i] + passive[i] - bias[i] for i in range(robot.n)]
    armature = robot.armature.tolist()
    return algorithms.solve_by_articulated_bodies(robot.bodies, poses, armature, efforts)


def _inverse_dynamics(robot: Robot, q: list, v: list, a: list) -> list:
    poses = motion.joint_poses(robot.bodies, q)
    efforts = algorithms.inverse_dynamics(robot.bodies, poses, v, a, robot.gravity.tolist())
    passive = _passive(robot, q, v)
    return [efforts[i] + robot.armature[i] * a[i] - passive[i] for i in range(robot.n)]


def _mass_matrix(robot: Robot, q: list) -> list[list]:
    poses = motion.joint_poses(robot.bodies, q)
    return algorithms.mass_matrix(robot.bodies, poses, robot.armature.tolist())


def _energy(robot: Robot, q: list, v: list) -> list:
    """Return kinetic and potential energy; gravity's is zero at the base origin."""
    mass, gravity = _mass_matrix(robot, q), robot.gravity.tolist()
    kinetic = 0.5 * vectors.dot(v, [vectors.dot(row, v) for row in mass])
    potential = 0.0 * q[0]
    for body, (rotation, origin) in zip(robot.bodies, _world(robot, q), strict=True):
        center = vectors.add(origin, vectors.times(rotation, body.com.tolist()))
        potential -= body.mass * vectors.dot(gravity, center)
    for i, stretch in enumerate(a - b for a, b in zip(q, robot.rest.tolist(), strict=True)):
        potential += 0.5 * robot.stiffness[i] * (stretch * stretch)
    return [kinetic, potential]


def _derivatives(robot: Robot, q: list, v: list, tau: list) -> list[list[list]]:
    """Return da/dq, da/dv, da/dtau from M a + h(q, v) = tau: da/dx = -M^-1 dID/dx at fixed a."""
    graph, n = q[0].graph, robot.n
    poses = motion.joint_poses(robot.bodies, q)
    armature = robot.armature.tolist()
    # Accelerations as inputs of their own: the inverse dynamics is differentiated at fixed a.
    symbols = [graph.input(f"a{i}") for i in range(n)]
    efforts = _inverse_dynamics(robot, q, v, symbols)
    by_state = jacobian(graph, efforts, [*q, *v])
    actual = _forward_dynamics(robot, q, v, tau)
    known = {symbol.place: value for symbol, value in zip(symbols, actual, strict=True)}
    by_state = substitute(graph, by_state, known)
    units = [[graph.constant(float(i == k)) for i in range(n)] for k in range(n)]
    solve = algorithms.solve_by_articulated_bodies
    inverse = [solve(robot.bodies, poses, armature, unit) for unit in units]
    columns = vectors.transposed(by_state)
    solved = [[-vectors.dot(row, column) for column in columns] for row in inverse]
    return [[row[:n] for row in solved], [row[n:] for row in solved], inverse]


def _world(robot: Robot, q: list) -> list:
    return motion.world_poses(robot.bodies, motion.joint_poses(robot.bodies, q))


def _forward_kinematics(robot: Robot, q: list) -> list[list]:
    rotation, origin = motion.frame_pose(robot.tip_frame, _world(robot, q))
    rows = [[*row, place] for row, place in zip(rotation, origin, strict=True)]
    return [*rows, [0.0, 0.0, 0.0, 1.0]]


def _jacobian(robot: Robot, q: list) -> list[list]:
    return motion.jacobian(robot.bodies, robot.tip_frame, _world(robot, q))
