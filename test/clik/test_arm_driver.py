"""Driving an arm along a path from the states that are heard of it."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.clik.arm_driver import ArmDriver
from manip_dyn.clik.joint_reference import JointReference
from manip_dyn.control.computed_torque import DAMPING, STIFFNESS, ComputedTorque
from manip_dyn.simulation import Simulation, held

STEP = 0.002
STEP_NS = 2_000_000
START = [0.0, 0.5, 0.0, 0.9, 0.0, 0.4, 0.0]


class Driven:
    """A driver, and the simulated arm that it drives in lockstep."""

    def __init__(self, **options):
        robot = md.load_robot("pa10")
        tool = md.customize(robot).forward_kinematics(START)
        circle = md.Circle(
            tool[:3, 3] - 0.1 * tool[:3, 0],
            tool[:3, 2],
            tool[:3, 0],
            tool[:3, :3],
            0.05,
            0.5,
            ramp=0.5,
        )
        self.reference = JointReference(md.PathFollower(robot, circle, START, STEP))
        self.begun = []
        controller = ComputedTorque(robot, STIFFNESS, DAMPING, STEP)
        self.driver = ArmDriver(self.reference, controller, self.begun.append, **options)
        self.simulation = Simulation(robot, START, np.zeros(7))
        self.stamp = 7_000_000_000

    def go(self, periods):
        """Answer that many states."""
        for _ in range(periods):
            simulation = self.simulation
            efforts = self.driver.answer(self.stamp, simulation.q, simulation.v)
            simulation.law = held(simulation.robot, efforts.effort)
            simulation.advance(STEP_NS)
            self.stamp += STEP_NS
        return np.abs(self.simulation.q - self.driver.wanted.q).max()


def test_the_arm_follows_the_path_which_begins_at_the_first_stamp():
    driven = Driven()
    assert driven.go(300) < 1e-3
    assert driven.begun == [7_000_000_000]
    assert driven.driver.steps == 299
    assert driven.reference.sample.t == pytest.approx(299 * STEP)
    assert driven.driver.pick_ups == 0


@pytest.mark.parametrize(
    ("options", "happens", "words"),
    [
        ({"max_error": 0.005}, "jolt", "joint 'S2' was 0.00"),
        ({"timeout": 0.1}, "silence", "no joint state for 0.4"),
    ],
)
def test_an_arm_that_is_lost_is_picked_up_where_it_is_and_led_back(options, happens, words):
    driven = Driven(**options)
    driven.go(100)
    if happens == "jolt":
        jolted = driven.simulation.v
        jolted[1] += 0.4
        driven.simulation = Simulation(driven.simulation.robot, driven.simulation.q, jolted)
        driven.go(20)
    else:
        driven.stamp += 200 * STEP_NS
    driven.go(1)
    assert driven.driver.pick_ups == 1
    assert words in driven.driver.reason
    path_time = driven.reference.path_time
    error = driven.go(1500)
    assert driven.driver.pick_ups == 1
    assert error < 1e-3
    assert driven.reference.on_path
    assert driven.reference.path_time > path_time


def test_a_paused_arm_is_held_and_a_restart_begins_anew():
    driven = Driven()
    driven.go(400)
    driven.driver.paused = True
    driven.go(600)
    here = driven.simulation.q
    driven.go(200)
    np.testing.assert_allclose(driven.simulation.q, here, atol=1e-9)
    assert driven.reference.sample.t == pytest.approx(399 * STEP)
    driven.driver.paused = False
    driven.driver.restart()
    stamp = driven.stamp
    assert driven.go(1500) < 1e-3
    assert len(driven.begun) == 2
    assert driven.begun[-1] > stamp  # it went to the path's first pose first
    assert driven.reference.path_time == pytest.approx(
        (driven.stamp - driven.begun[-1]) * 1e-9 - STEP
    )


def test_a_fast_arm_is_braked_before_it_is_led():
    """It was "tracking" with an error of zero: picked up anew in every period."""
    driven = Driven(max_error=0.02)
    driven.go(100)
    fast = np.array([2.0, -2.0, 2.0, 2.0, -3.0, 3.0, 3.0])
    driven.simulation = Simulation(driven.simulation.robot, driven.simulation.q, fast)
    speeds = []
    driven.go(10)
    assert driven.driver.braking
    assert "joint error [rad or m]" not in driven.driver.report()
    while driven.driver.braking and len(speeds) < 3000:
        driven.go(1)
        speeds.append(np.abs(driven.simulation.v).max())
    assert speeds[-1] <= 0.5 * 0.5 + 0.05
    assert driven.driver.pick_ups == 1
    for _ in range(16):
        error = driven.go(1000)
        if driven.reference.on_path:
            break
    assert driven.reference.on_path
    assert error < 1e-3
    assert driven.driver.pick_ups == 1


def test_an_arm_that_is_reset_begins_anew_whatever_its_stamps_are():
    """Stamps of wall-clock time go on while the arm jumps."""
    driven = Driven()
    driven.go(500)
    assert driven.reference.path_time > 0.9
    elsewhere = np.add(driven.simulation.q, [0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    driven.simulation = Simulation(driven.simulation.robot, elsewhere, np.zeros(7))
    driven.go(1)
    assert driven.driver.resets == 1
    assert driven.driver.pick_ups == 0
    assert "joint 'S1' jumped by" in driven.driver.reason
    assert driven.reference.path_time == 0.0
