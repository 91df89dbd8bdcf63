"""The brake takes energy from an arm at any speed, and its feedback is stable when sampled."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.clik.control.brake import Brake
from manip_dyn.clik.control.continuity import Stamped, reset_between
from manip_dyn.simulation import Simulation, held


@pytest.fixture(scope="module", params=["rr", "pa10"])
def robot(request):
    return md.load_robot(request.param)


def test_it_never_pushes_a_joint_the_way_it_moves(robot):
    """v_i (tau_i - g_i) <= 0 for every joint, whether the limits cut or not."""
    brake, kernels = Brake(robot, 0.002), md.customize(robot)
    rng = np.random.default_rng(0)
    for speed in (0.1, 3.0, 200.0):
        for _ in range(20):
            q, v = rng.uniform(-2.0, 2.0, robot.n), rng.uniform(-speed, speed, robot.n)
            gravity = kernels.inverse_dynamics(q, np.zeros(robot.n), np.zeros(robot.n))
            effort = brake.effort(q, v)
            assert np.all(np.abs(effort) <= robot.tau_max)
            holds = np.abs(gravity) <= robot.tau_max
            assert np.all((v * (effort - gravity))[holds] <= 1e-9)


@pytest.mark.parametrize("period", [0.001, 0.02])
def test_an_arm_comes_to_rest_and_stays(period):
    robot = md.load_robot("rr")
    brake = Brake(robot, period)
    simulation = Simulation(robot, [0.3, 0.4], np.array([8.0, -4.0]))
    for _ in range(round(4.0 / period)):
        simulation.law = held(robot, brake.effort(simulation.q, simulation.v))
        simulation.advance(round(period * 1e9))
    assert np.abs(simulation.v).max() < 1e-3


STATE = Stamped(5_000_000_000, np.array([0.1, 0.2]), np.array([0.5, -1.0]))
PUT = {
    "time went back": STATE._replace(stamp_ns=0),
    "joint 'joint_1' jumped by 0.1 rad in 0.001 s": Stamped(
        5_001_000_000, np.array([0.2, 0.2]), np.zeros(2)
    ),
    "joint 'joint_2' jumped by 3 rad in 1 s": Stamped(
        6_000_000_000, np.array([0.1, 3.2]), np.array([0.5, -1.0])
    ),
    "": Stamped(5_100_000_000, np.array([0.15, 0.1]), np.array([0.5, -1.0])),
}


@pytest.mark.parametrize("why", PUT, ids=lambda why: why or "by itself")
def test_a_reset_is_told_from_a_motion(why):
    assert reset_between(md.load_robot("rr"), STATE, PUT[why]) == why
