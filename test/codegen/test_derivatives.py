"""Exact derivatives agree with central differences, with one another and with pinocchio."""

import numpy as np
import pinocchio
import pytest
from arms import load, random_state, random_tree

import manip_dyn as md
from manip_dyn.codegen import Equations, Graph, derivatives, gradient, rates

ROBOTS = ("rr", "ibm7535", "pa10", "ur5", "tree2")
STEP = 1e-6


@pytest.fixture(params=ROBOTS)
def case(request, tmp_path):
    """A robot's kernels and a random state (q, v, tau)."""
    robot = load(request.param, tmp_path)
    return md.customize(robot), *random_state(robot, np.random.default_rng(7))


def slope(function, x):
    """Return the derivatives of `function` by each entry of `x`, by central differences."""
    rises = [function(x + d) - function(x - d) for d in STEP * np.eye(len(x))]
    return np.stack(rises, axis=-1) / (2 * STEP)


def close(actual, expected, bound):
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, rtol=0, atol=bound * scale)


def test_the_jacobian_rate_equals_that_of_pinocchio(case):
    kernels, q, v, _ = case
    model = kernels.robot.model
    data, tip = model.createData(), model.getFrameId(kernels.robot.tip)
    pinocchio.computeJointJacobiansTimeVariation(model, data, q, v)
    pinocchio.updateFramePlacements(model, data)
    expected = pinocchio.getFrameJacobianTimeVariation(
        model, data, tip, pinocchio.LOCAL_WORLD_ALIGNED
    )
    close(kernels.jacobian_rate(q, v), expected.reshape(6, -1), 1e-12)


def test_jacobian_derivatives_equal_central_differences_and_give_its_rate(case):
    kernels, q, v, _ = case
    by_position = kernels.jacobian_derivatives(q)
    close(by_position, slope(kernels.jacobian, q), 1e-8)
    close(by_position @ v, kernels.jacobian_rate(q, v), 1e-13)


def test_inverse_dynamics_derivatives_equal_central_differences(case):
    kernels, q, v, a = case
    by_q, by_v, by_a = kernels.inverse_dynamics_derivatives(q, v, a)
    close(by_q, slope(lambda x: kernels.inverse_dynamics(x, v, a), q), 1e-7)
    close(by_v, slope(lambda x: kernels.inverse_dynamics(q, x, a), v), 1e-7)
    close(by_a, kernels.mass_matrix(q), 1e-13)


def test_the_adjoint_is_a_combination_of_the_derivatives(case):
    kernels, q, v, tau = case
    adjoint = np.random.default_rng(1).normal(size=len(q))
    by = kernels.forward_dynamics_derivatives(q, v, tau)
    slopes = kernels.forward_dynamics_adjoint(q, v, tau, adjoint)
    for one, matrix in zip(slopes, by, strict=True):
        close(one, adjoint @ matrix, 1e-11)


def test_second_derivatives_are_symmetric_and_equal_differences_of_the_adjoint(tmp_path):
    kernels = md.customize(md.load_robot(random_tree(tmp_path, 1, joints=3)))
    state = random_state(kernels.robot, np.random.default_rng(7))
    n = kernels.robot.n
    adjoint = np.random.default_rng(1).normal(size=n)
    second = kernels.forward_dynamics_second_derivatives(*state, adjoint)
    assert second.shape == (3, n, 3, n)
    flat = second.reshape(3 * n, 3 * n)
    close(flat, flat.T, 1e-11)

    def slopes(x):
        return np.concatenate(kernels.forward_dynamics_adjoint(*x.reshape(3, n), adjoint))

    close(flat, slope(slopes, np.concatenate(state)), 1e-6)
    close(second[2, :, 2, :], np.zeros((n, n)), 1e-14)


def test_closed_form_and_forward_accumulation_agree(tmp_path):
    robot = load("tree2", tmp_path)
    equations, graph, n = Equations(robot, robot.tip_frame), Graph(), robot.n
    inputs = [[graph.input(f"{name}[{i}]") for i in range(n)] for name in "qva"]
    accumulated = derivatives(
        equations.inverse_dynamics(*inputs), [x for group in inputs for x in group]
    )
    numbers = dict(zip("qva", random_state(robot, np.random.default_rng(2)), strict=True))
    expected = equations.inverse_dynamics_derivatives(*(x.tolist() for x in numbers.values()))
    values = evaluated(graph, numbers)
    table = np.array([[value_of(x, values) for x in row] for row in accumulated])
    for k in range(3):
        close(table[:, k * n : (k + 1) * n], np.array(expected[k]), 1e-12)


def evaluated(graph, numbers):
    """Return the value of every operation of a graph."""
    operate = {
        "add": np.add,
        "subtract": np.subtract,
        "multiply": np.multiply,
        "divide": np.divide,
        "sin": np.sin,
        "cos": np.cos,
    }
    values = []
    for kind, operands, content in graph.operations:
        if kind == "constant":
            values.append(float(content))
        elif kind == "input":
            values.append(numbers[content[0]][int(content[2:-1])])
        else:
            values.append(operate[kind](*(values[i] for i in operands)))
    return values


def value_of(scalar, values):
    return -values[scalar.node] if scalar.negative else values[scalar.node]


def test_forward_and_reverse_accumulation_agree():
    graph = Graph()
    x, y = graph.input("x[0]"), graph.input("y[0]")
    output = (x * y).sin() / (2.0 - y * y) - x.cos() * x + 3.0
    forward = derivatives([output, -output], [x, y])
    reverse = gradient(output, [x, y])
    along = rates([output], [x, y], [y, x])
    values = evaluated(graph, {"x": [0.7], "y": [0.4]})
    for row, sign in zip(forward, (1.0, -1.0), strict=True):
        for a, b in zip(row, reverse, strict=True):
            assert value_of(a, values) == pytest.approx(sign * value_of(b, values), rel=1e-14)
    by_x, by_y = (value_of(scalar, values) for scalar in reverse)
    assert value_of(along[0], values) == pytest.approx(by_x * 0.4 + by_y * 0.7, rel=1e-14)
    x0, y0 = 0.7, 0.4
    exact = y0 * np.cos(x0 * y0) / (2 - y0**2) + np.sin(x0) * x0 - np.cos(x0)
    assert by_x == pytest.approx(exact, rel=1e-14)


def test_derivatives_by_unused_inputs_are_zero():
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    assert graph.value_of(derivatives([x * x], [y])[0][0]) == 0.0
    assert graph.value_of(gradient(x * x, [y])[0]) == 0.0
    assert graph.value_of(rates([x * x], [y], [x])[0]) == 0.0
