"""The regressor equals that of pinocchio, and base parameters are independent."""

import numpy as np
import pytest
from arms import random_state, random_tree

import manip_dyn as md
from manip_dyn.identification import (
    base_parameters,
    observation,
    regressor,
    spring_efforts,
    stated_parameters,
)
from manip_dyn.robot import Oracle

ARMS = ("rr", "cylindrical", "stiff_pendulum", "ur5", "pa10", "tree")


def load(name, folder):
    return md.load_robot(random_tree(folder, 7) if name == "tree" else name)


def states_of(robot, count):
    rng = np.random.default_rng(2)
    return np.array([random_state(robot, rng) for _ in range(count)]).transpose(1, 0, 2)


@pytest.mark.parametrize("name", ARMS)
def test_the_regressor_equals_that_of_pinocchio(name, tmp_path):
    robot = load(name, tmp_path)
    states, oracle = states_of(robot, 4), Oracle(robot)
    ours = regressor(robot, *states)[:, :, : 10 * robot.n]
    theirs = np.array([oracle.regressor(*state) for state in zip(*states, strict=True)])
    np.testing.assert_allclose(ours, theirs, atol=1e-11 * np.abs(theirs).max())


@pytest.mark.parametrize("name", ARMS)
def test_base_parameters_are_independent_and_determine_the_efforts(name, tmp_path):
    robot = load(name, tmp_path)
    base, states = base_parameters(robot), states_of(robot, 40)
    observed = observation(robot, base, *states)
    efforts = observed @ base.of(stated_parameters(robot)) + spring_efforts(robot, states[0])
    oracle = Oracle(robot)
    expected = np.array([oracle.inverse_dynamics(*state) for state in zip(*states, strict=True)])
    expected += robot.coulomb_friction * np.sign(states[1])
    np.testing.assert_allclose(efforts, expected, atol=1e-9 * np.abs(expected).max())
    rows = observed.reshape(-1, len(base.names))
    assert np.linalg.matrix_rank(rows / np.linalg.norm(rows, axis=0)) == len(base.names)
    full = regressor(robot, *states).reshape(len(rows), -1)
    assert np.linalg.matrix_rank(full, tol=1e-8 * np.linalg.norm(full)) <= len(base.names)


@pytest.mark.parametrize(("name", "count"), [("ur5", 36), ("pa10", 43), ("panda", 43)])
def test_their_number_equals_the_rank_of_the_regressor_of_pinocchio(name, count):
    robot = md.load_robot(name)
    oracle = Oracle(robot)
    states = zip(*states_of(robot, 40), strict=True)
    rows = np.vstack([oracle.regressor(*state) for state in states])
    assert np.linalg.matrix_rank(rows, tol=1e-9 * np.linalg.norm(rows)) == count
    assert len(base_parameters(robot, ()).names) == count


def test_formulas_contain_the_combined_parameters():
    """The elbow of the RR arm is 1 m along -y of the shoulder's body."""
    base = base_parameters(md.load_robot("rr"), ("armature",))
    formulas = dict(zip(base.names, map(base.formula, range(len(base.names))), strict=True))
    assert formulas["joint_1 Izz"] == "joint_1 Izz + joint_2 m + joint_1 armature"
    assert formulas["joint_1 my"] == "joint_1 my -1 joint_2 m"
    assert formulas["joint_2 Izz"] == "joint_2 Izz"
    assert {"joint_1 m", "joint_2 Ixx", "joint_1 damping"} <= set(base.invisible)
